/*
 * A caller keeps a handle from the start of a range to its end, if the end may come on another
 * thread. The handle has the thread of the range. A thread owns a block with one handle for each
 * range that it may have open. The memory is never unmapped, so a handle can be read even after its
 * thread ended. No lock, no malloc; a thread's first one maps two pages.
 */
#ifndef GP_RANGE_HANDLE_H
#define GP_RANGE_HANDLE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "../../format/event.h"

/* In a key: it ended on another thread, and its own has not removed it yet. */
#define GP_HANDLE_ENDED 1u

struct gp_range_handles;

struct gp_range_handle {
	const void *shown; /* the caller's: the value by which it finds the range */
	/* unique from its start to its end, even; 0: free. Published last */
	_Atomic uint64_t key;
	_Atomic uint64_t since; /* ticks of its push: with the thread, it identifies the range */
	/* gp_thread.generation << 32 | its thread in the recording; 0: not recorded there */
	_Atomic uint64_t owner;
	_Atomic uint32_t name;
	_Atomic uint64_t span; /* number of the captured span that it opened; 0: none */
	struct gp_range_handles *block;
};

struct gp_range_handles {
	_Atomic uint32_t is_taken;
	_Atomic uint32_t ended;	     /* how many ranges ended on other threads */
	_Atomic uint32_t deep_ended; /* of these, ranges deeper than the limit */
	struct gp_range_handles *next;
	/* stands for all deeper ranges, of which only the number is known */
	struct gp_range_handle deep;
	struct gp_range_handle of[GP_RANGES_DEEP];
};

/* For the calling thread; NULL: no memory. Slow half. Keeps errno. */
struct gp_range_handles *gp_range_handles_take(void);
/* The thread ends: its open ranges can no longer be found by handles. */
void gp_range_handles_drop(struct gp_range_handles *handles);

/* DEEP: it is not one of theirs. */
static inline uint64_t gp_range_handle_place(const struct gp_range_handles *handles,
					     const struct gp_range_handle *handle)
{
	const uintptr_t bytes = (uintptr_t)handle - (uintptr_t)handles->of;
	return handles && bytes < sizeof handles->of ? bytes / sizeof *handle : GP_RANGES_DEEP;
}

/* Its own thread ends it. False: it has ended on another one. */
bool gp_range_handle_claim(struct gp_range_handle *handle);
/*
 * Another thread ends it. False: it had already ended, or its thread had. Returns its name and the
 * captured span that it opened; later calls may overwrite both.
 */
bool gp_range_handle_end(struct gp_range_handle *handle, uint64_t key, uint64_t *since,
			 uint32_t *name, uint64_t *span);

/* The same for `deep`. */
void gp_range_handle_end_deep(struct gp_range_handle *handle);

#endif
