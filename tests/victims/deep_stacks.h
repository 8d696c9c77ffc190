/* Makes many deep stacks: a function calls itself from places that the bits of a number choose. */
#ifndef DEEP_STACKS_H
#define DEEP_STACKS_H

#include "victim.h"

/* Allocates and frees below `depth` calls, of which 16 depend on the bits of `number`. */
static __attribute__((noinline)) void go_down(const struct driver *driver, unsigned number,
					      unsigned depth)
{
	if (depth == 0) {
		must(driver->cuMemFree_v2(must_alloc(driver, 4096)) == CUDA_SUCCESS);
	} else if (number >> depth % 16 & 1) {
		go_down(driver, number, depth - 1);
		/* differs from the other branch, so that the compiler keeps two calls */
		__asm__ volatile("" ::"i"(1) : "memory");
	} else {
		go_down(driver, number, depth - 1);
		__asm__ volatile("" ::"i"(0) : "memory");
	}
}

#endif
