/* The stack of an event's caller. Call inside a hook, with depth raised and a ring available. */
#ifndef GP_STACK_TAKE_H
#define GP_STACK_TAKE_H

#include "../process/settings.h"
#include "../record.h"

/*
 * Id of the calling thread's stack without frames of this object; 0: there is no room. The native
 * and the Python chain are looked up as a whole. A chain that is not found is matched from the
 * outermost frame on, so only its new frames cost time. Call before gp_reserve: no order number may
 * be in flight meanwhile. `frame`: __builtin_frame_address(0) of a recorder's function on the way
 * to the caller, to skip more own frames; or NULL.
 */
uint32_t gp_stack_take(const void *frame);

/* The same by kind of event; 0 if none was requested. */
GP_HOT uint32_t gp_stack_of_alloc_at(const void *frame) /* includes failures */
{
	return gp_unlikely(gp_thread.stacks & GP_STACK_ON_ALLOC) ? gp_stack_take(frame) : 0;
}
GP_HOT uint32_t gp_stack_of_alloc(void)
{
	return gp_stack_of_alloc_at(NULL);
}
GP_HOT uint32_t gp_stack_of_free(void)
{
	return gp_unlikely(gp_thread.stacks & GP_STACK_ON_FREE) ? gp_stack_take(NULL) : 0;
}
/* The first launch of a thread has one, then each gp_settings.launch_every-th. */
GP_HOT uint32_t gp_stack_of_nth_launch(void)
{
	if (gp_thread.launches_bare != 0) {
		gp_thread.launches_bare--;
		return 0;
	}
	gp_thread.launches_bare = gp_settings.launch_every - 1;
	return gp_stack_take(NULL);
}
GP_HOT uint32_t gp_stack_of_launch(void)
{
	return gp_unlikely(gp_thread.stacks & GP_STACK_ON_LAUNCH) ? gp_stack_of_nth_launch() : 0;
}

/* The nodes of autograd that run on the calling thread. NULL: no room. Inside gp_enter. */
struct gp_node_stack *gp_stack_nodes(void);
/*
 * The id of the module whose forward runs on the calling thread, else of that whose node does; 0:
 * none. Inside gp_enter.
 */
uint32_t gp_stack_module_now(void);

/*
 * Searches for the interpreter by its exported names. Costs nothing once it is found, or if stacks
 * are off. False: not found yet.
 */
bool gp_stack_find(void *(*lookup)(void *context, const char *name), void *context);
/* Sets where the object with the interpreter's functions is mapped. */
void gp_stack_found(uintptr_t from, uintptr_t to);
/* Native frames can be walked from now on: gp_native_open has succeeded. */
void gp_stack_native_opened(void);
/* Native frames cannot be walked; static text with the reason. */
void gp_stack_native_refused(const char *why);
const char *gp_stack_why_no_native(void); /* NULL: they can, or were not requested */
/* Frees this thread's memory at its end. */
void gp_stack_thread_close(struct gp_thread *thread);
/*
 * Call after a signal handler jumped out of the recorder's work: its last note may be half written.
 */
void gp_stack_thread_left(struct gp_thread *thread);

#endif
