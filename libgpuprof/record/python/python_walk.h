/*
 * The Python frames of the calling thread, for CPython 3.8 to 3.14 with a GIL. Reads them from the
 * interpreter's own structures without the GIL, a reference count, a lock or an allocation. Keeps
 * errno. May therefore be called under any lock of the job. Does not touch unknown interpreters,
 * and returns a reason. Writes one word of the interpreter, see python_code_frees.c.
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
 * Searches for an interpreter by its exported names. `lookup` returns the address of an exported
 * function or variable as the whole process uses it, or NULL. If an executable holds copies of a
 * library's variables, it returns these. It is called here only, so call this where the loader may
 * be entered (DESIGN 3.8). True: there is an interpreter, readable or not; further calls then cost
 * nothing. While there is none, each call looks up one name, since an interpreter may be loaded
 * late.
 */
bool gp_python_find(void *(*lookup)(void *context, const char *name), void *context);

/*
 * Sets once, after the search, which object has the interpreter's functions. Code outside of [from,
 * to) runs no Python. Before this call, any pc may.
 */
void gp_python_object(uintptr_t from, uintptr_t to);
bool gp_python_may_run(uintptr_t pc);

struct gp_python_frame {
	const void *code; /* the code object */
	int32_t offset;	  /* of the instruction in its bytecode, as frame.f_lasti; < 0: not begun */
	/*
	 * This frame was entered from C: its caller in Python, if any, is beyond the C frame of one
	 * _PyEval_EvalFrameDefault. Up to 3.10 every frame is.
	 */
	bool is_entry;
	/*
	 * Number of _PyEval_EvalFrameDefault between this frame and the next outer one that show no
	 * frame, because they have only begun. Nearly always 0.
	 */
	uint8_t bare_entries;
	/*
	 * Deaths of code objects at this address. While it is unchanged, the code object is the one
	 * that gp_python_identity last received.
	 */
	uint32_t code_frees;
	/*
	 * Of an entry since 3.11: an address inside the C frame of that _PyEval_EvalFrameDefault,
	 * else NULL. The function's name does not find it if a compiler moved rare parts elsewhere,
	 * without a symbol. Debian's 3.13 and 3.14 do most of their calls from there.
	 */
	const void *loop;
	const void *frame; /* its address in the interpreter */
};

enum gp_python_reason {
	GP_PYTHON_COMPLETE,
	GP_PYTHON_TRUNCATED,	   /* cut at the limit `most` */
	GP_PYTHON_NO_INTERPRETER,  /* no interpreter was found in this process */
	GP_PYTHON_NO_THREAD_STATE, /* this thread has never run Python */
	GP_PYTHON_NO_FRAMES,	   /* it has run Python, but does not now */
	GP_PYTHON_FINALIZING,	   /* the interpreter is ending: its threads' frames are gone */
	GP_PYTHON_OFF,		   /* gp_python_why_off() */
};

struct gp_python_walk {
	enum gp_python_reason reason;
	uint32_t bare_entries; /* as in a frame: inward of the innermost */
};

/*
 * Fills `frames`, innermost first, and returns how many, at most `most`. `walk` has the reason if
 * some or all are missing.
 */
unsigned gp_python_walk(struct gp_python_frame *frames, unsigned most, struct gp_python_walk *walk);

/* The same in two steps: python_memo.h finds the start; a stack that it lacks is walked. */
struct gp_python_start {
	const void *frame;  /* the innermost, begun or not */
	const void *cframe; /* if the interpreter has such */
};
unsigned gp_python_walk_from(const struct gp_python_start *start, struct gp_python_frame *frames,
			     unsigned most, struct gp_python_walk *walk);

/*
 * A number for the code object of a frame of this walk, from its address and the deaths there. From
 * now on its own death counts (python_code_frees.c). One code object may have several numbers, one
 * after the other. Two never share one, except by chance in 64 bits. Never 0.
 */
uint64_t gp_python_identity(const void *code);

/*
 * File, qualified name (up to 3.10 the name) and first line of the code object of a frame of this
 * walk. False: it is not a code object; then the walk is switched off.
 */
bool gp_python_describe(const void *code, struct gp_python_text *file, struct gp_python_text *name,
			int32_t *first_line);

/*
 * Line of the instruction at `offset`; GP_PYTHON_NO_LINE: none. Takes time in proportion to the
 * size of the function: keep the result.
 */
int32_t gp_python_line(const void *code, int32_t offset);

/*
 * A number for the text of a code object (from gp_python_describe) and its lines. Code objects made
 * one after the other from the same source have the same number.
 */
uint64_t gp_python_print(const void *code, const char *text, size_t text_bytes);

/* Version of the readable interpreter, as 3 << 8 | minor; 0: there is none. */
uint32_t gp_python_version(void);

/*
 * Call from time to time, from a thread of our own. Switches off if other code removed our function
 * from the type of code objects, since code_frees are incomplete from then on.
 */
void gp_python_look_after(void);

/* Why Python frames are switched off, a text without a newline; NULL: they are not. */
const char *gp_python_why_off(void);

#endif
