/*
 * Reads a field of one of the interpreter's objects, and what the files of the walk share: the
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

/* Since 3.14 a frame's pointer to its code bears tags in bits that alignment leaves free. */
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
	_Atomic uint32_t phase;		/* enum gp_python_phase, only ever rises */
	_Atomic uint32_t walks_checked; /* walks whose frames passed the self-check */
	_Atomic(const char *) why_off;	/* set before the phase */
};

/* Partner of the release in gp_python_find. NULL: none found so far. */
extern _Atomic(struct gp_python *) gp_python_found __attribute__((visibility("hidden")));

GP_HOT struct gp_python *gp_python_get(void)
{
	return atomic_load_explicit(&gp_python_found, memory_order_acquire);
}

/* The first reason stays. */
static inline void gp_python_switch_off(struct gp_python *python, const char *why)
{
	const char *none = NULL;
	atomic_compare_exchange_strong(&python->why_off, &none, why);
	atomic_store(&python->phase, GP_PYTHON_IS_OFF);
}

/*
 * Code objects that have died at an address after they were met there, or at one of those that
 * share its place in the table: while it is the same, the code object that was met there last is
 * there. A death is counted before the memory is free, in the thread that then gives it away;
 * whoever runs the next code object there has it from that thread, so sees the count. Exact,
 * whatever code objects hold.
 */
#define GP_PYTHON_DIED_LOG 16 /* 256 KiB, of which pages appear as they are used */
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
 * The sum of all these, in a word that events read anyway. Raised behind them and likewise before
 * the memory is free: where the sum is the same, so is each.
 */
extern _Atomic uint64_t gp_python_died_in_all __attribute__((visibility("hidden")));
GP_HOT uint64_t gp_python_code_frees_in_all(void)
{
	return atomic_load_explicit(&gp_python_died_in_all, memory_order_relaxed);
}

/* From now on; NULL, or why not. Before code objects of this interpreter are walked. */
const char *gp_python_count_code_frees(const struct gp_python *python);
/* Met: from now on its death counts. Of a code object that is alive. */
void gp_python_watch_code(const void *code);
/* False: something has taken our function out again, and the walk is switched off. */
bool gp_python_counts_code_frees(struct gp_python *python);

/* Copies up to 4096 bytes that may not be there: the kernel checks them before they are read. */
bool gp_python_peek(const void *from, void *to, size_t bytes);

/*
 * The self-check of the first walks: looks at the frames of the calling thread through the kernel,
 * which refuses where a wrong offset would end the job. False: switched off. A thread without
 * frames proves nothing.
 */
bool gp_python_prove(struct gp_python *python, const void *thread_state);

/*
 * Up to 3.11 a thread that has entered a sub-interpreter still has the thread state of the
 * interpreter that it came from; the one that runs is found by the thread's id. `own`: what
 * PyGILState_GetThisThreadState returns. Reads through the kernel, as others end meanwhile.
 */
GP_COLD const void *gp_python_running(const struct gp_python *p, const void *own);

/* The list of interpreters begins with the newest one. Read where it stands: a walk's cost is
 * mostly that of the calls into the interpreter. */
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
 * The thread state may be freed at any moment once the interpreter is ending; its memory stays
 * mapped, and the frames and code objects are not freed. So what was read from it counts only when
 * the end had not begun afterwards (set before the first thread state is freed). Checking first
 * and reading then crashes. `base` is the thread state, later what it points at.
 */
GP_HOT const void *gp_python_read_unless_ending(const struct gp_python *p, const void *base, int at,
						bool *is_ending)
{
	const void *const *field = (const void *const *)(const void *)((const char *)base + at);
	/* not an acquire fence behind it, which ThreadSanitizer does not know */
	const void *value = __atomic_load_n(field, __ATOMIC_ACQUIRE);
	*is_ending = p->symbols.is_finalizing() != 0;
	return value;
}

/* Where the calling thread's frames begin; GP_PYTHON_COMPLETE, or why there are none. */
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
	start->cframe = frame; /* where there is one */
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
 * cframe of the innermost such C function. While the C frames stay the same, so does its place. The
 * interpreter's functions are not called, and its end changes nothing here. False: another version.
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
