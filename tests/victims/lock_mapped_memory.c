/*
 * Locks all mapped memory (mlockall with MCL_CURRENT), which makes all of it resident. A thread
 * that needs a few stacks must not have mapped memory for thousands.
 */
#include <sys/mman.h>

#include "small_threads.h"

#define THREADS 32
#define MOST_KIB (1ul << 10) /* for each thread: its stack, its ring, memos of a few stacks */

int main(void)
{
	static struct small_threads threads;
	small_threads_prepare(&threads, THREADS);
	/* not possible where the limit of locked memory is small */
	const bool is_locked = mlockall(MCL_CURRENT) == 0;
	const unsigned long before = kib_of("VmRSS:");
	small_threads_start(&threads);
	if (is_locked && mlockall(MCL_CURRENT) == 0)
		must(kib_of("VmRSS:") - before <= THREADS * MOST_KIB);
	small_threads_join(&threads);
	return 0;
}
