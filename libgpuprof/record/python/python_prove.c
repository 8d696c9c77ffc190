/*
 * The self-check: tests whether the first frames match the layout. It costs some system calls, in
 * the first walks of a process only.
 */
#include <errno.h>

#include "../native/native_bounds.h"
#include "python_object.h"

#define WALKS 4u   /* walks that must pass */
#define FRAMES 16u /* frames to check in each */
#define OBJECT_BYTES 208u
_Static_assert(GP_PYTHON_NEWEST == 14, "all fields but code_bytecode are within OBJECT_BYTES");

/* A copy of the first bytes of an object of the interpreter. */
struct copy {
	unsigned char bytes[OBJECT_BYTES];
};

bool gp_python_peek(const void *from, void *to, size_t bytes)
{
	const uintptr_t at = (uintptr_t)from, last = at + bytes - 1;
	if (!gp_native_is_readable(at) ||
	    (last / 4096 != at / 4096 && !gp_native_is_readable(last)))
		return false;
	memcpy(to, from, bytes);
	return true;
}

static bool is_of_type(const struct gp_python *p, const void *object, const void *type)
{
	const void *found;
	return gp_python_peek((const char *)object + p->layout.object_type, &found, sizeof found) &&
	       found == type;
}

static const char *wrong_code(const struct gp_python *p, const void *object, int64_t offset)
{
	const struct gp_python_layout *l = &p->layout;
	size_t bytes = (size_t)(l->code_traceable >= 0 ? l->code_traceable + 4 : l->code_lines + 8);
	struct copy code;
	if (!is_of_type(p, object, p->symbols.code_type) || !gp_python_peek(object, &code, bytes))
		return "self-check: a frame's code is not a code object";
	if (!is_of_type(p, gp_pointer_at(&code, l->code_file), p->symbols.text_type))
		return "self-check: the file of a code object is not a text";
	if (!is_of_type(p, gp_pointer_at(&code, l->code_name), p->symbols.text_type))
		return "self-check: the name of a code object is not a text";
	if (!is_of_type(p, gp_pointer_at(&code, l->code_lines), p->symbols.bytes_type))
		return "self-check: the line table of a code object is not a bytes object";
	if (gp_int_at(&code, l->code_first_line) < 0)
		return "self-check: the first line of a code object is negative";
	/* a frame that has not begun is one unit before its code */
	if (l->minor >= 11 && (offset < -2 || offset >= 2 * gp_long_at(&code, l->object_size)))
		return "self-check: an instruction is outside its code";
	return NULL;
}

static const char *wrong_frame(const struct gp_python *p, const void *frame, const void **previous,
			       bool *is_shim)
{
	const struct gp_python_layout *l = &p->layout;
	bool is_old = l->minor < 11;
	size_t last = (size_t)(is_old ? l->frame_instruction + 4 : l->frame_owner + 1);
	struct copy copy;
	if (!gp_python_peek(frame, &copy, last))
		return "self-check: a frame is not where it should be";
	if (is_old && gp_pointer_at(&copy, l->object_type) != p->symbols.frame_type)
		return "self-check: a frame is not a frame object";
	*previous = gp_pointer_at(&copy, l->frame_previous);
	*is_shim = l->first_shim_owner >= 0 &&
		   gp_byte_at(&copy, l->frame_owner) >= l->first_shim_owner;
	if (*is_shim)
		return NULL;
	const char *code = gp_untagged(gp_pointer_at(&copy, l->frame_code));
	int64_t offset = 0;
	if (!is_old)
		offset = (const char *)gp_pointer_at(&copy, l->frame_instruction) - code -
			 l->code_bytecode;
	return wrong_code(p, code, offset);
}

/*
 * The innermost frame; NULL: there is none, or the interpreter is ending. Reads in the same order
 * as the walk.
 */
static const void *first_frame(const struct gp_python *p, const void *thread_state)
{
	const struct gp_python_layout *l = &p->layout;
	const void *frame = NULL;
	if (!gp_python_peek((const char *)thread_state + l->thread_frame, &frame, sizeof frame) ||
	    p->symbols.is_finalizing())
		return NULL;
	if (l->cframe_frame >= 0 &&
	    (!gp_python_peek((const char *)frame + l->cframe_frame, &frame, sizeof frame) ||
	     p->symbols.is_finalizing()))
		return NULL;
	return frame;
}

static const char *wrong_walk(const struct gp_python *p, const void *thread_state, unsigned *seen)
{
	if (p->layout.runtime_newest >= 0 && gp_python_main(p) != p->symbols.main_interpreter())
		return "self-check: the list of interpreters is not where it should be";
	const void *frame = first_frame(p, thread_state);
	for (unsigned k = 0; frame && k < FRAMES; k++) {
		bool is_shim = false;
		const char *wrong = wrong_frame(p, frame, &frame, &is_shim);
		if (wrong)
			return wrong;
		*seen += !is_shim;
	}
	return NULL;
}

GP_COLD bool gp_python_prove(struct gp_python *python, const void *thread_state)
{
	int kept = errno;
	unsigned seen = 0;
	const char *wrong = wrong_walk(python, thread_state, &seen);
	errno = kept;
	if (wrong) {
		gp_python_switch_off(python, wrong);
		return false;
	}
	uint32_t checking = GP_PYTHON_CHECKING;
	if (seen && atomic_fetch_add(&python->walks_checked, 1) + 1 >= WALKS)
		atomic_compare_exchange_strong(&python->phase, &checking, GP_PYTHON_PROVEN);
	return true;
}
