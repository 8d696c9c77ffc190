/*
 * The Python frames of the calling thread, for CPython 3.8 to 3.14 with a GIL: read from the
 * interpreter's own structures without the GIL, without a reference count, a lock, an allocation or
 * a change of errno, so that it may be called under any lock of the job. Interpreters that it does
 * not know are left alone, with a reason. One word of theirs is written, see python_code_frees.c.
 *
 *	gp_python_find(dlsym_default, NULL);			// in a resolver
 *
 *	struct gp_python_frame frames[64];			// in a hook
 *	struct gp_python_walk walk;
 *	unsigned n = gp_python_walk(frames, 64, &walk);
 *	for (unsigned k = 0; k < n; k++)
 *		if (!known(gp_python_identity(frames[k].code)))
 *			gp_python_describe(frames[k].code, &file, &name, &first_line);
 *
 * `code` may be used until the hook returns: the frame holds it. Afterwards another code object may
 * have its address; the identity differs.
 */
#ifndef GP_PYTHON_WALK_H
#define GP_PYTHON_WALK_H

#include <stdbool.h>
#include <stdint.h>

#include "python_text.h"

/*
 * Looks for an interpreter by the names that it exports. `lookup` gives the address of an exported
 * function or variable in the object that the process as a whole uses (where an executable holds
 * copies of a library's variables, these), or NULL; it is called here only, so call this where the
 * loader may be entered (DESIGN 3.8). Whether there is one, be it one that we can read or not; once
 * there is, further calls cost nothing. While there is none, one name is looked up a call: an
 * interpreter may be loaded late.
 */
bool gp_python_find(void *(*lookup)(void *context, const char *name), void *context);

/*
 * The object that has the interpreter's functions, once, after it was found; what lies outside of
 * [from, to) runs no Python. Before, every pc may.
 */
void gp_python_object(uintptr_t from, uintptr_t to);
bool gp_python_may_run(uintptr_t pc);

struct gp_python_frame {
	const void *code; /* the code object */
	int32_t offset;	  /* of the instruction in its bytecode, as frame.f_lasti; < 0: not begun */
	/* This frame was entered from C: its caller in Python, if any, stands beyond the C frame of
	 * one _PyEval_EvalFrameDefault. Up to 3.10 every frame. */
	bool is_entry;
	/* Outward of this frame, before the next: so many _PyEval_EvalFrameDefault of which no
	 * frame is shown, as they have only begun. Nearly always 0. */
	uint8_t bare_entries;
	/* Of code objects at this address. While it is the same, the code object is the one that
	 * gp_python_identity last got. */
	uint32_t code_frees;
	/* Of an entry since 3.11: an address inside the C frame of that _PyEval_EvalFrameDefault,
	 * else NULL. Its name does not find it where a compiler has put its rare parts elsewhere,
	 * without a symbol: Debian's 3.13 and 3.14 do most of their calls from there. */
	const void *loop;
};

enum gp_python_reason {
	GP_PYTHON_COMPLETE,
	GP_PYTHON_TRUNCATED,	   /* deeper than there was room for */
	GP_PYTHON_NO_INTERPRETER,  /* none was found in this process */
	GP_PYTHON_NO_THREAD_STATE, /* this thread has never run Python */
	GP_PYTHON_NO_FRAMES,	   /* it has, but does not now */
	GP_PYTHON_FINALIZING,	   /* the interpreter is ending: its threads' frames are gone */
	GP_PYTHON_OFF,		   /* gp_python_why_off() */
};

struct gp_python_walk {
	enum gp_python_reason reason;
	uint32_t bare_entries; /* as in a frame: inward of the innermost */
};

/* Fills `frames`, the innermost first, and returns how many, at most `most`; why none or not all
 * is in `walk`. */
unsigned gp_python_walk(struct gp_python_frame *frames, unsigned most, struct gp_python_walk *walk);

/* The same in two steps: python_memo.h finds where to begin; what it does not know is walked. */
struct gp_python_start {
	const void *frame;  /* the innermost, begun or not */
	const void *cframe; /* where the interpreter has such */
};
unsigned gp_python_walk_from(const struct gp_python_start *start, struct gp_python_frame *frames,
			     unsigned most, struct gp_python_walk *walk);

/*
 * A number for the code object of a frame of this walk: of its address and of the code objects that
 * have died there (python_code_frees.c), which counts its own death from now on. The same code
 * object may have several, one after the other; two never have the same, but for what 64 bits leave
 * to chance. Never 0.
 */
uint64_t gp_python_identity(const void *code);

/*
 * File, qualified name (up to 3.10 the name) and first line of the code object of a frame of this
 * walk. False when it is none: then the walk is switched off.
 */
bool gp_python_describe(const void *code, struct gp_python_text *file, struct gp_python_text *name,
			int32_t *first_line);

/* Line of the instruction at `offset`, GP_PYTHON_NO_LINE when it has none. Takes time in
 * proportion to the size of the function: keep the answer. */
int32_t gp_python_line(const void *code, int32_t offset);

/*
 * A number for the text of a code object, which the caller has from gp_python_describe, and
 * its lines. Those that are made from the same source, one after the other, have the same.
 */
uint64_t gp_python_print(const void *code, const char *text, size_t text_bytes);

/* Version of the interpreter that can be read, as 3 << 8 | minor; 0 when there is none. */
uint32_t gp_python_version(void);

/*
 * Now and then, from a thread of our own: switches off where something has ended the watch over
 * code objects, whose code_frees are missed from then on.
 */
void gp_python_look_after(void);

/* Why Python frames are switched off, a text without an end of line; NULL when they are not. */
const char *gp_python_why_off(void);

#endif
