/*
 * Allocates from a new stack each time. A recorder that keeps every stack would grow without
 * bound.
 *	ever_new_stacks [NUMBER [NANOSECONDS]]	NUMBER stacks, by default one each 30 us
 */
#include "victim.h"

static struct driver driver;

/* As deep as `path` has digits, through two functions that the digits choose. */
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

static long ns_since(const struct timespec *start)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (now.tv_sec - start->tv_sec) * 1000000000 + now.tv_nsec - start->tv_nsec;
}

int main(int argc, char **argv)
{
	unsigned long number = count_argument(argc, argv, 70000);
	long each_ns = argc > 2 ? strtol(argv[2], NULL, 10) : 30000;
	driver = need_driver(FROM_DLSYM);
	struct timespec start;
	clock_gettime(CLOCK_MONOTONIC, &start);
	for (unsigned long i = 0; i < number; i++) {
		go_left(1ul << 30 | i * 2654435761ul % (1ul << 30));
		/* catches up after other programs used the processor */
		while (ns_since(&start) < (long)i * each_ns)
			;
	}
	claim("alloc", number);
	claim("free", number);
	claim("complete", 1);
	claim_recordings(1);
	printf("allocated from %lu different stacks\n", number);
	return 0;
}
