/*
 * Locks all memory that it will map (mlockall), as real-time jobs do. Mapped memory that is not
 * used must not become locked.
 */
#include <sys/mman.h>

#include "victim.h"

#define PAIRS 10
#define BYTES (256ul << 20) /* the fake driver needs little to describe large memory */
#define LEAST_BYTES (256ul << 20)
#define MOST_KIB (6ul << 10) /* a thread's stack, a ring, a part of the table of stacks */

/* Not where the limit of locked memory is small: the recorder would get no memory at all. */
static bool lock_what_comes(void)
{
	if (mlockall(MCL_FUTURE) != 0)
		return false;
	void *reserved = mmap(NULL, LEAST_BYTES, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (reserved != MAP_FAILED)
		return munmap(reserved, LEAST_BYTES) == 0;
	munlockall();
	return false;
}

int main(void)
{
	struct driver driver = need_driver(FROM_PROC_ADDRESS);
	must(driver_use(&driver, 0));
	const bool is_locked = lock_what_comes();
	const unsigned long locked = kib_of("VmLck:"), resident = kib_of("VmRSS:");
	for (int k = 0; k < PAIRS; k++)
		must(driver.cuMemFree_v2(must_alloc(&driver, BYTES)) == CUDA_SUCCESS);
	if (is_locked)
		must(kib_of("VmLck:") - locked <= MOST_KIB);
	must(kib_of("VmRSS:") - resident <= MOST_KIB);
	claim("alloc", PAIRS);
	claim("free", PAIRS);
	claim("complete", 1);
	printf("used the driver\n");
	return 0;
}
