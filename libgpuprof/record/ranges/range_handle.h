/*
 * What a caller keeps from the beginning of a range to its end, where the end may come on another
 * thread: it has the thread of the range. Owned by a thread as a block, one for each range that it
 * may have open; the memory is never given back to the system, so that a handle can be read
 * whatever became of the thread. No lock, no malloc; a thread's first one maps two pages.
 */
#ifndef GP_RANGE_HANDLE_H
#define GP_RANGE_HANDLE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "../../format/event.h"

/* In a key: it ended on another thread, and its own has not yet taken it off. */
#define GP_HANDLE_ENDED 1u

struct gp_range_handles;

struct gp_range_handle {
	const void *shown; /* the caller's: what it is to who keeps it */
	/* that nothing else has from its beginning to its end, even; 0: free. Published last */
	_Atomic uint64_t key;
	_Atomic uint64_t since; /* when it was pushed, ticks: with the thread, which it is */
	/* gp_thread.generation << 32 | its thread in the recording; 0: it was not recorded there */
	_Atomic uint64_t owner;
	_Atomic uint32_t name;
	_Atomic uint64_t span; /* of what is captured, which it opened; 0: none */
	struct gp_range_handles *block;
};

struct gp_range_handles {
	_Atomic uint32_t is_taken;
	_Atomic uint32_t ended;	     /* how many ranges ended on other threads */
	_Atomic uint32_t deep_ended; /* of these, deeper than what is kept */
	struct gp_range_handles *next;
	struct gp_range_handle deep; /* stands for all that are: only their number is known */
	struct gp_range_handle of[GP_RANGES_DEEP];
};

/* For the calling thread; NULL: no memory. Slow half. Keeps errno. */
struct gp_range_handles *gp_range_handles_take(void);
/* The thread ends; what it left open is no longer known by them. */
void gp_range_handles_drop(struct gp_range_handles *handles);

/* DEEP: it is none of theirs. */
static inline uint64_t gp_range_handle_place(const struct gp_range_handles *handles,
					     const struct gp_range_handle *handle)
{
	const uintptr_t bytes = (uintptr_t)handle - (uintptr_t)handles->of;
	return handles && bytes < sizeof handles->of ? bytes / sizeof *handle : GP_RANGES_DEEP;
}

/* Its own thread ends it, unasked. False: it has ended on another one. */
bool gp_range_handle_claim(struct gp_range_handle *handle);
/*
 * On another thread than its own: it has ended. False: it had already, with its thread. Its name
 * and which span of what is captured it opened, which others may overwrite from then on.
 */
bool gp_range_handle_end(struct gp_range_handle *handle, uint64_t key, uint64_t *since,
			 uint32_t *name, uint64_t *span);

/* The same of `deep`. */
void gp_range_handle_end_deep(struct gp_range_handle *handle);

#endif
