/*
 * The stack of an event: who is calling. Inside a hook, with depth raised and a ring at hand.
 */
#ifndef GP_STACK_TAKE_H
#define GP_STACK_TAKE_H

#include "record.h"

/*
 * Id of the calling thread's stack; 0: none was asked for, or there is no room for it. What repeats
 * is recognised frame by frame from the outermost on, so a new stack costs what is new in it.
 */
uint32_t gp_stack_take(void);

#endif
