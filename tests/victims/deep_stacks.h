/* As many deep stacks as a victim needs: two functions call each other as a number's bits say. */
#ifndef DEEP_STACKS_H
#define DEEP_STACKS_H

#include "victim.h"

/* Allocates and frees below `depth` calls, of which 16 depend on the bits of `number`. */
static __attribute__((noinline)) void go_right(const struct driver *driver, unsigned number,
					       unsigned depth);
static __attribute__((noinline)) void go_left(const struct driver *driver, unsigned number,
					      unsigned depth)
{
	if (depth == 0)
		must(driver->cuMemFree_v2(must_alloc(driver, 4096)) == CUDA_SUCCESS);
	else if (number >> depth % 16 & 1)
		go_right(driver, number, depth - 1);
	else
		go_left(driver, number, depth - 1);
	__asm__ volatile("" ::: "memory");
}
static __attribute__((noinline)) void go_right(const struct driver *driver, unsigned number,
					       unsigned depth)
{
	if (depth == 0)
		must(driver->cuMemFree_v2(must_alloc(driver, 4096)) == CUDA_SUCCESS);
	else if (number >> depth % 16 & 1)
		go_right(driver, number, depth - 1);
	else
		go_left(driver, number, depth - 1);
	__asm__ volatile("" ::: "memory");
}

#endif
