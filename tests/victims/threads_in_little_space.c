/*
 * Starts threads where little address space and little data is left (ulimit -v, ulimit -d). Each
 * needs a few stacks, so their memos take some MiB together. The job then maps half of what was
 * left.
 */
#include "victim.h"

#include <sys/mman.h>
#include <sys/resource.h>

#define THREADS 48
#define PAIRS 10
#define STACK_BYTES (128ul << 10)
#define LEFT_BYTES (300ul << 20)

static struct driver driver;
static pthread_barrier_t end;

/* What is mapped, and what of it is data and stacks (proc(5)), in bytes. */
static void look(unsigned long *mapped, unsigned long *data)
{
	FILE *file = fopen("/proc/self/statm", "r");
	must(file && fscanf(file, "%lu %*u %*u %*u %*u %lu", mapped, data) == 2);
	fclose(file);
	*mapped *= (unsigned long)sysconf(_SC_PAGESIZE);
	*data *= (unsigned long)sysconf(_SC_PAGESIZE);
}

static void limit_to(int limit, unsigned long bytes)
{
	must(setrlimit(limit, &(struct rlimit){ bytes, bytes }) == 0);
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
	unsigned long mapped, data;
	driver = need_driver(DOOR_PROC_ADDRESS);
	pthread_attr_init(&small);
	must(pthread_attr_setstacksize(&small, STACK_BYTES) == 0);
	pthread_barrier_init(&end, NULL, THREADS + 1);
	alloc_and_free(&driver, PAIRS);
	look(&mapped, &data);
	limit_to(RLIMIT_AS, mapped + LEFT_BYTES);
	limit_to(RLIMIT_DATA, data + LEFT_BYTES);
	for (int i = 0; i < THREADS; i++)
		must(pthread_create(&thread[i], &small, work, NULL) == 0);
	pthread_barrier_wait(&end);
	must(mmap(NULL, LEFT_BYTES / 2, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
		  0) != MAP_FAILED);
	pthread_barrier_wait(&end);
	for (int i = 0; i < THREADS; i++)
		pthread_join(thread[i], NULL);
	claim("alloc", (THREADS + 1) * PAIRS);
	claim("free", (THREADS + 1) * PAIRS);
	claim("lost_memory", 0);
	printf("%d threads\n", THREADS);
	return 0;
}
