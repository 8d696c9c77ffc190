/*
 * The stack of an event: who is calling. Inside a hook, with depth raised and a ring at hand.
 */
#ifndef GP_STACK_TAKE_H
#define GP_STACK_TAKE_H

#include "record.h"
#include "settings.h"

/* Whether memory events carry a stack. */
GP_HOT bool gp_wants_stack(void)
{
	return gp_settings.has_python;
}

/*
 * Id of the calling thread's stack; 0: none was asked for, or there is no room for it. What repeats
 * is recognised frame by frame from the outermost on, so a new stack costs what is new in it.
 */
uint32_t gp_stack_take(void);

/*
 * Looks for the interpreter, by its exported names: where the loader may be entered, so at a door.
 * Costs nothing once it is found or when no stacks are asked for.
 */
void gp_stack_find(void *(*lookup)(void *context, const char *name), void *context);

#endif
