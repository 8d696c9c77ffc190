/*
 * Starts threads where little address space and little data is left (ulimit -v, ulimit -d). Each
 * needs a few stacks, so their memos take some MiB together. The job then maps half of the
 * remaining space.
 */
#include "small_threads.h"

#include <sys/mman.h>
#include <sys/resource.h>

#define THREADS 48
#define LEFT_BYTES (300ul << 20)

static void limit_to(int limit, unsigned long bytes)
{
	must(setrlimit(limit, &(struct rlimit){ bytes, bytes }) == 0);
}

int main(void)
{
	static struct small_threads threads;
	small_threads_prepare(&threads, THREADS);
	limit_to(RLIMIT_AS, (kib_of("VmSize:") << 10) + LEFT_BYTES);
	limit_to(RLIMIT_DATA, (kib_of("VmData:") << 10) + LEFT_BYTES);
	small_threads_start(&threads);
	must(mmap(NULL, LEFT_BYTES / 2, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
		  0) != MAP_FAILED);
	small_threads_join(&threads);
	return 0;
}
