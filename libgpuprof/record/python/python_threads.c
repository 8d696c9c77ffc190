/*
 * Finds the running thread state of the calling thread if there are several interpreters. Up to
 * 3.11 PyGILState_GetThisThreadState still returns the thread state that the thread came from. The
 * kernel checks that memory is mapped before each read. Memory that another thread unmaps between
 * check and read is not covered. Code objects that outlive Py_Finalize keep their memory.
 */
#include <errno.h>
#include <pthread.h>

#include "python_object.h"

#define LOOKS 1024u /* limits for thread states and interpreters: changing lists may be circular */

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

/* A thread state of this thread in this interpreter, with frames; NULL: none. */
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
	/* an interpreter entered from another one is the newer of both */
	for (; interpreter && !found && ++looks < LOOKS;
	     interpreter = peek_pointer(interpreter, l->interpreter_next))
		if (interpreter != own_interpreter)
			found = running_in(l, interpreter, &looks);
	errno = error;
	return found ? found : own;
}
