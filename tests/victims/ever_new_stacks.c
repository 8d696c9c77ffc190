/*
 * Allocates from a stack that it never had before, each time, 30,000 a second: whoever keeps every
 * stack has no bound.
 */
#include "victim.h"

static struct driver driver;

/* As deep as `path` has digits, through two functions; the digits say which. */
static __attribute__((noinline)) void go_right(unsigned long path);
static __attribute__((noinline)) void go_left(unsigned long path)
{
	if (path > 1 && path & 1)
		go_right(path >> 1);
	else if (path > 1)
		go_left(path >> 1);
	else
		must(driver.cuMemFree_v2(must_alloc(&driver, 4096)) == CUDA_SUCCESS);
	__asm__ volatile("" ::: "memory");
}
static __attribute__((noinline)) void go_right(unsigned long path)
{
	if (path > 1 && path & 1)
		go_right(path >> 1);
	else if (path > 1)
		go_left(path >> 1);
	else
		must(driver.cuMemFree_v2(must_alloc(&driver, 4096)) == CUDA_SUCCESS);
	__asm__ volatile("" ::: "memory");
}

int main(int argc, char **argv)
{
	unsigned long number = count_argument(argc, argv, 70000);
	driver = need_driver(DOOR_DLSYM);
	for (unsigned long i = 0; i < number; i++) {
		go_left(1ul << 30 | i * 2654435761ul % (1ul << 30));
		work_for(30000);
	}
	claim("alloc", number);
	claim("free", number);
	claim("lost_memory", 0);
	claim("complete", 1);
	claim_recordings(1);
	printf("allocated from %lu different stacks\n", number);
	return 0;
}
