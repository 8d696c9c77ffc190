/*
 * Reads fields of the interpreter's objects. Also the state that the files of the walk share: the
 * interpreter that was found. Only for python_*.c.
 */
#ifndef GP_PYTHON_OBJECT_H
#define GP_PYTHON_OBJECT_H

#include <stdatomic.h>
#include <string.h>

#include "../record.h"
#include "python_layout.h"
#include "python_walk.h"

GP_HOT const void *gp_pointer_at(const void *object, int at)
{
	const void *value;
	memcpy(&value, (const char *)object + at, sizeof value);
	return value;
}
GP_HOT int64_t gp_long_at(const void *object, int at)
{
	int64_t value;
	memcpy(&value, (const char *)object + at, sizeof value);
	return value;
}
GP_HOT int32_t gp_int_at(const void *object, int at)
{
	int32_t value;
	memcpy(&value, (const char *)object + at, sizeof value);
	return value;
}
GP_HOT uint8_t gp_byte_at(const void *object, int at)
{
	return *((const uint8_t *)object + at);
}

/* Since 3.14 the low bits of a frame's pointer to its code are tags. */
GP_HOT const void *gp_untagged(const void *code)
{
	return (const void *)((uintptr_t)code & ~(uintptr_t)7);
}

/* The owner of a frame that belongs to a generator or coroutine, since 3.11. */
#define GP_PYTHON_GENERATOR 1

enum gp_python_phase { GP_PYTHON_CHECKING, GP_PYTHON_PROVEN, GP_PYTHON_IS_OFF };

/* One interpreter; everything but the atomics is set before it is published. */
struct gp_python {
	struct gp_python_symbols symbols;
	struct gp_python_layout layout;
	_Atomic uint32_t phase;		/* enum gp_python_phase, which only increases */
	_Atomic uint32_t walks_checked; /* walks whose frames passed the self-check */
	_Atomic(const char *) why_off;	/* set before the phase */
};

/* Partner of the release in gp_python_find. NULL: none found so far. */
extern _Atomic(struct gp_python *) gp_python_found __attribute__((visibility("hidden")));

GP_HOT struct gp_python *gp_python_get(void)
{
	return atomic_load_explicit(&gp_python_found, memory_order_acquire);
}

/* Switches Python frames off. The first reason is kept. */
static inline void gp_python_switch_off(struct gp_python *python, const char *why)
{
	const char *none = NULL;
	atomic_compare_exchange_strong(&python->why_off, &none, why);
	atomic_store(&python->phase, GP_PYTHON_IS_OFF);
}

/*
 * Number of code objects that were met at this address and have died. Addresses with the same place
 * in the table count together. While the number is unchanged, the code object last met there is
 * still there. The dying thread counts before it frees the memory. The next owner of that memory
 * gets it from that thread, so it sees the count. Exact, whatever code objects contain.
 */
#define GP_PYTHON_DIED_LOG 16 /* 256 KiB, of which pages are provided as they are used */
extern _Atomic uint32_t gp_python_died[1u << GP_PYTHON_DIED_LOG]
	__attribute__((visibility("hidden")));

GP_HOT _Atomic uint32_t *gp_python_code_frees_at(const void *code)
{
	return &gp_python_died[(uintptr_t)code >> 4 & ((1u << GP_PYTHON_DIED_LOG) - 1)];
}
/* Also for a pointer with tags. */
GP_HOT uint32_t gp_python_code_frees(const void *code)
{
	return atomic_load_explicit(gp_python_code_frees_at(code), memory_order_relaxed);
}

/*
 * The sum of all these, in a word that events read anyway. Incremented after them and before the
 * memory is freed: while the sum is unchanged, so is each count.
 */
extern _Atomic uint64_t gp_python_died_in_all __attribute__((visibility("hidden")));
GP_HOT uint64_t gp_python_code_frees_in_all(void)
{
	return atomic_load_explicit(&gp_python_died_in_all, memory_order_relaxed);
}

/* Starts to count; NULL, or why not. Call before code objects of this interpreter are walked. */
const char *gp_python_count_code_frees(const struct gp_python *python);
/* A code object was met: from now on its death counts. It must be alive. */
void gp_python_watch_code(const void *code);
/* False: other code has removed our function, and the walk is switched off. */
bool gp_python_counts_code_frees(struct gp_python *python);

/* Copies up to 4096 bytes of memory that may not be mapped: the kernel checks it first. */
bool gp_python_peek(const void *from, void *to, size_t bytes);

/*
 * The self-check of the first walks. Reads the frames of the calling thread through the kernel,
 * which returns an error where a wrong offset would end the job. False: switched off. A thread
 * without frames proves nothing.
 */
bool gp_python_prove(struct gp_python *python, const void *thread_state);

/*
 * Up to 3.11 a thread in a sub-interpreter still has the thread state of the interpreter that it
 * came from. The running one is found by the thread's id. `own`: the result of
 * PyGILState_GetThisThreadState. Reads through the kernel, because other threads may end meanwhile.
 */
GP_COLD const void *gp_python_running(const struct gp_python *p, const void *own);

/*
 * The list of interpreters begins with the newest one. Read directly: most of a walk's time would
 * be calls into the interpreter.
 */
GP_HOT const void *gp_python_newest(const struct gp_python *p)
{
	const void *const *word =
		(const void *const *)(const void *)(p->symbols.runtime + p->layout.runtime_newest);
	return __atomic_load_n(word, __ATOMIC_RELAXED);
}
GP_HOT const void *gp_python_main(const struct gp_python *p)
{
	return gp_pointer_at(p->symbols.runtime, p->layout.runtime_newest + (int)sizeof(void *));
}
GP_HOT bool gp_python_has_others(const struct gp_python *p)
{
	return p->layout.runtime_newest >= 0 &&
	       gp_unlikely(gp_python_newest(p) != gp_python_main(p));
}

/*
 * The thread state may be freed at any moment once the interpreter is ending. Its memory stays
 * mapped, and the frames and code objects are not freed. So values read from it are valid only if
 * the end had not begun after the read. (Its flag is set before the first thread state is freed.)
 * Checking first and reading then crashes. `base` is the thread state, later the object that it
 * points at.
 */
GP_HOT const void *gp_python_read_unless_ending(const struct gp_python *p, const void *base, int at,
						bool *is_ending)
{
	const void *const *field = (const void *const *)(const void *)((const char *)base + at);
	/* not a following acquire fence, which ThreadSanitizer does not support */
	const void *value = __atomic_load_n(field, __ATOMIC_ACQUIRE);
	*is_ending = p->symbols.is_finalizing() != 0;
	return value;
}

/* The calling thread's first frame; GP_PYTHON_COMPLETE, or why there is none. */
GP_HOT enum gp_python_reason gp_python_begin(struct gp_python *p, struct gp_python_start *start)
{
	if (!p)
		return GP_PYTHON_NO_INTERPRETER;
	const uint32_t phase = atomic_load_explicit(&p->phase, memory_order_relaxed);
	if (phase == GP_PYTHON_IS_OFF)
		return GP_PYTHON_OFF;
	const void *thread_state = p->symbols.thread_state();
	if (!thread_state)
		return GP_PYTHON_NO_THREAD_STATE;
	if (gp_unlikely(phase == GP_PYTHON_CHECKING) && !gp_python_prove(p, thread_state))
		return GP_PYTHON_OFF;
	if (gp_python_has_others(p))
		thread_state = gp_python_running(p, thread_state);
	const struct gp_python_layout *l = &p->layout;
	bool is_ending;
	const void *frame =
		gp_python_read_unless_ending(p, thread_state, l->thread_frame, &is_ending);
	start->cframe = frame; /* if there is one */
	if (!is_ending && l->cframe_frame >= 0)
		frame = gp_python_read_unless_ending(p, frame, l->cframe_frame, &is_ending);
	start->frame = frame;
	if (is_ending)
		return GP_PYTHON_FINALIZING;
	return frame ? GP_PYTHON_COMPLETE : GP_PYTHON_NO_FRAMES; /* threads of a framework's own */
}

/*
 * The same without the thread state, in 3.11 and 3.12. There, each _PyEval_EvalFrameDefault has a
 * variable, the cframe, which points at its innermost Python frame. The thread state points at the
 * cframe of the innermost such C function. While the C frames stay the same, so does its place.
 * Calls no function of the interpreter, whose end does not matter here. False: another version.
 */
GP_HOT bool gp_python_begin_at(const struct gp_python *p, const void *cframe,
			       struct gp_python_start *start)
{
	if (!p || p->layout.cframe_frame < 0 ||
	    atomic_load_explicit(&p->phase, memory_order_relaxed) != GP_PYTHON_PROVEN)
		return false;
	start->cframe = cframe;
	start->frame = gp_pointer_at(cframe, p->layout.cframe_frame);
	return start->frame != NULL;
}

#endif
