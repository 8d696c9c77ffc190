/*
 * Ranges and marks that a source (NVTX, PyTorch, its engine, gpuprof) reports of the job. Any
 * thread of the job may call at any time, also while recording is off. Then only the thread's own
 * stack of open ranges is kept, to be recorded when recording begins or resumes. Ranges alone do
 * not begin a recording. No malloc, no lock; a thread's first range maps two pages.
 */
#ifndef GP_RANGE_MARK_H
#define GP_RANGE_MARK_H

#include "range_handle.h"
#include "range_name.h"

/*
 * In the stack frame of a function that is a range: zero before, later the mark of a living range.
 * Enough words that hardly another frame in their place keeps all of them.
 */
#define GP_FRAME_WORDS 16u
struct gp_range_frame {
	uint64_t word[GP_FRAME_WORDS];
};

struct gp_range {
	enum gp_range_source source;
	uint32_t domain;  /* gp_range_name(0, ...) of the domain's; 0: the default one */
	uint32_t name;	  /* gp_range_name(domain, ...) if known; 0: looks up `text` */
	const char *text; /* NULL: no name */
	size_t bytes;	  /* of text, or GP_TO_NUL */
	enum gp_payload payload_type;
	uint64_t payload;
	/*
	 * For callers that end the range with gp_range_pop_frame. If the frame is left in another
	 * way (a jump over it), the thread's next push ends the range. That requires the frame to
	 * be on the thread's own stack. NULL: any pop ends it.
	 */
	struct gp_range_frame *frame;
	bool has_stack; /* a pushed one: its record has the stack of the caller */
};

/* Returns how many ranges were open on this thread before: its level. */
uint32_t gp_range_push(const struct gp_range *range);
/*
 * Ends the innermost range of that source and domain; returns its level. -1: there is none, which
 * is recorded as unbalanced.
 */
int64_t gp_range_pop(enum gp_range_source source, uint32_t domain);
/*
 * Ends the range of that frame, unless it has ended since, and the ranges of that source inside it.
 * NULL: the innermost one with a living frame.
 */
void gp_range_pop_frame(enum gp_range_source source, const struct gp_range_frame *frame);
/*
 * A range that may end on any thread, and before later ones. `key` is the address of an object that
 * lives until then. The handle is for its end, and is readable while the process lives. NULL: no
 * memory.
 */
struct gp_range_handle *gp_range_push_kept(const struct gp_range *range, const void *key);
/* NULL: the innermost one of that source, of this thread. */
void gp_range_pop_kept(enum gp_range_source source, struct gp_range_handle *handle,
		       const void *key);
/* Returns a number unique in this process, with which any thread may end it. Never 0. */
uint64_t gp_range_start(const struct gp_range *range);
void gp_range_end(enum gp_range_source source, uint64_t number);
void gp_range_mark(const struct gp_range *range);
/* range_object.c: the name of an object; a new name replaces it. */
void gp_range_name_object(enum gp_object what, uint64_t handle, const char *text, size_t bytes);
/* Records all names so far, for a recording that begins. Call inside. */
void gp_range_objects_write(void);

/* ---- recorder.c's ---- */

/* Records the open ranges of this thread, which begins to record. Call inside. */
void gp_range_resumed(void);
/*
 * Records the started ranges that have not ended, when recording begins or resumes; on resumption,
 * also that the list is complete. Call inside.
 */
void gp_range_starts_write(bool goes_on);
/* A thread ends: its open ranges end with it, also if no event of it was recorded yet. */
void gp_range_thread_end(struct gp_thread *thread);
/* Frees the memory of a thread that ends. */
void gp_range_thread_close(struct gp_thread *thread);

#endif
