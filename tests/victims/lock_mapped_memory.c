/*
 * Locks all the memory that is mapped (mlockall with MCL_CURRENT), which fills it. A thread that
 * needs a few stacks must not have mapped memory for thousands.
 */
#include <string.h>
#include <sys/mman.h>

#include "victim.h"

#define THREADS 32
#define PAIRS 10
#define STACK_BYTES (128ul << 10)
#define MOST_KIB (1ul << 10) /* a thread: its stack, its ring, memos of a few stacks */

static struct driver driver;
static pthread_barrier_t end;

static unsigned long resident_kib(void)
{
	char line[256];
	unsigned long kib = 0;
	FILE *status = fopen("/proc/self/status", "r");
	must(status);
	while (fgets(line, sizeof line, status))
		if (strncmp(line, "VmRSS:", 6) == 0)
			kib = strtoul(line + 6, NULL, 10);
	fclose(status);
	return kib;
}

static void *work(void *argument)
{
	must(driver_use(&driver, 0));
	alloc_and_free(&driver, PAIRS);
	pthread_barrier_wait(&end);
	pthread_barrier_wait(&end);
	return argument;
}

int main(void)
{
	pthread_t thread[THREADS];
	pthread_attr_t small;
	driver = need_driver(DOOR_PROC_ADDRESS);
	pthread_attr_init(&small);
	must(pthread_attr_setstacksize(&small, STACK_BYTES) == 0);
	pthread_barrier_init(&end, NULL, THREADS + 1);
	alloc_and_free(&driver, PAIRS);
	/* not where the limit of locked memory is small */
	const bool is_locked = mlockall(MCL_CURRENT) == 0;
	const unsigned long before = resident_kib();
	for (int i = 0; i < THREADS; i++)
		must(pthread_create(&thread[i], &small, work, NULL) == 0);
	pthread_barrier_wait(&end);
	if (is_locked && mlockall(MCL_CURRENT) == 0)
		must(resident_kib() - before <= THREADS * MOST_KIB);
	pthread_barrier_wait(&end);
	for (int i = 0; i < THREADS; i++)
		pthread_join(thread[i], NULL);
	claim("alloc", (THREADS + 1) * PAIRS);
	claim("free", (THREADS + 1) * PAIRS);
	claim("lost_memory", 0);
	printf("%d threads\n", THREADS);
	return 0;
}
