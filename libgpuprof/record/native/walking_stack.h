/*
 * Runs a function on a stack of the recorder's own: for work that needs more stack than a thread of
 * the job may have left. A job's stack may be small and lie between its other memory, without an
 * inaccessible page. No test of memory then shows where it ends.
 */
#ifndef GP_WALKING_STACK_H
#define GP_WALKING_STACK_H

#include <stdbool.h>

/* Size of each stack; libunwind used 16 KiB in tests. */
#define GP_WALKING_STACK_BYTES (64u << 10)

/*
 * Calls body(argument) there. False: no memory, and it was not called. No malloc, no lock; keeps
 * errno. A jump out of `body` loses the stack until the process ends.
 */
bool gp_walking_stack_run(void (*body)(void *argument), void *argument);

#endif
