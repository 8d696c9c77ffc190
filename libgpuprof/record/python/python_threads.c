/*
 * Which thread state of the calling thread runs, where there are several interpreters. To 3.11:
 * there PyGILState_GetThisThreadState still gives the thread state that the thread came from. The
 * kernel checks before each read that memory is there; memory that another thread unmaps
 * between both is not covered. Code objects that outlive Py_Finalize keep their memory.
 */
#include <errno.h>
#include <pthread.h>

#include "python_object.h"

#define LOOKS 1024u /* at thread states and interpreters: lists that change may be circles */

static const void *peek_pointer(const void *object, int at)
{
	const void *value;
	return gp_python_peek((const char *)object + at, &value, sizeof value) ? value : NULL;
}

static bool has_frames(const struct gp_python_layout *l, const void *thread_state)
{
	const void *frame = peek_pointer(thread_state, l->thread_frame);
	if (frame && l->cframe_frame >= 0)
		frame = peek_pointer(frame, l->cframe_frame);
	return frame != NULL;
}

/* Of this thread, with frames, in this interpreter; NULL: none. */
static const void *running_in(const struct gp_python_layout *l, const void *interpreter,
			      unsigned *looks)
{
	const void *self = (const void *)pthread_self();
	const void *t = peek_pointer(interpreter, l->interpreter_threads);
	for (; t && ++*looks < LOOKS; t = peek_pointer(t, l->thread_next))
		if (peek_pointer(t, l->thread_id) == self && has_frames(l, t))
			return t;
	return NULL;
}

const void *gp_python_running(const struct gp_python *p, const void *own)
{
	const struct gp_python_layout *l = &p->layout;
	const int error = errno;
	const void *own_interpreter = peek_pointer(own, l->thread_interpreter), *found = NULL;
	const void *interpreter = gp_python_newest(p);
	unsigned looks = 0;
	/* one that was entered out of another is the newer one of both */
	for (; interpreter && !found && ++looks < LOOKS;
	     interpreter = peek_pointer(interpreter, l->interpreter_next))
		if (interpreter != own_interpreter)
			found = running_in(l, interpreter, &looks);
	errno = error;
	return found ? found : own;
}
