/*
 * Ranges and marks: what a source (NVTX, PyTorch, its engine, ourselves) reports of the job. May
 * be called at any time on any thread of the job, also where nothing is recorded: then only the
 * thread's own stack of open ranges is kept, so that those still open are recorded when recording
 * (again) begins. Ranges alone begin no recording. No malloc, no lock; a thread's first range maps
 * two pages.
 */
#ifndef GP_RANGE_MARK_H
#define GP_RANGE_MARK_H

#include "range_handle.h"
#include "range_name.h"

/*
 * In the stack frame of a function that a range is: zeros before, the mark that it lives since.
 * So many words that hardly another frame in their place leaves all of them as they are.
 */
#define GP_FRAME_WORDS 16u
struct gp_range_frame {
	uint64_t word[GP_FRAME_WORDS];
};

struct gp_range {
	enum gp_range_source source;
	uint32_t domain;  /* gp_range_name(0, ...) of the domain's; 0: the default one */
	uint32_t name;	  /* gp_range_name(domain, ...) where it is known; 0: `text` is looked up */
	const char *text; /* NULL: no name */
	size_t bytes;	  /* of text, or GP_TO_NUL */
	enum gp_payload payload_type;
	uint64_t payload;
	/*
	 * Of who ends it with gp_range_pop_frame. A frame that is left another way (a jump over it)
	 * has its range ended at the thread's next push, as far as it lies on the thread's own
	 * stack. NULL: whoever pops it ends it.
	 */
	struct gp_range_frame *frame;
};

/* How many ranges were open on this thread before: its level. */
uint32_t gp_range_push(const struct gp_range *range);
/*
 * Ends the innermost range of that source and domain; the level that it had. -1: there is none,
 * which is recorded as unbalanced.
 */
int64_t gp_range_pop(enum gp_range_source source, uint32_t domain);
/*
 * Ends the range of that frame, unless it was ended since, and what is open in it of that source.
 * NULL: the innermost one whose frame is not left.
 */
void gp_range_pop_frame(enum gp_range_source source, const struct gp_range_frame *frame);
/*
 * One that may end on any thread, and before others that were pushed after it. `key` is the address
 * of something that lives until then. The handle is for its end, and may be read for as long as
 * the process lives. NULL: there is no memory.
 */
struct gp_range_handle *gp_range_push_kept(const struct gp_range *range, const void *key);
/* NULL: the innermost one of that source, of this thread. */
void gp_range_pop_kept(enum gp_range_source source, struct gp_range_handle *handle,
		       const void *key);
/* A number that no other range of this process has, and that any thread may end. Never 0. */
uint64_t gp_range_start(const struct gp_range *range);
void gp_range_end(enum gp_range_source source, uint64_t number);
void gp_range_mark(const struct gp_range *range);
/* range_object.c: the name of a thing, defined anew where it changes. */
void gp_range_name_object(enum gp_object what, uint64_t handle, const char *text, size_t bytes);
/* All that were given so far, to a recording that begins. Inside. */
void gp_range_objects_tell(void);

/* ---- recorder.c's ---- */

/* The ranges that are open on this thread, which begins to record. Inside. */
void gp_range_resumed(void);
/*
 * Those that were started and have not ended: when recording begins, or goes on, and then also that
 * these are all. Inside.
 */
void gp_range_starts_tell(bool goes_on);
/* A thread ends: what it left open ends with it, also where nothing was recorded of it yet. */
void gp_range_thread_end(struct gp_thread *thread);
/* What a thread that ends keeps is given back. */
void gp_range_thread_close(struct gp_thread *thread);

#endif
