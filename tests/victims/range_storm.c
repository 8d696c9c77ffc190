/*
 * Threads open and close ranges as fast as they can, each under a new name. The recorder may lose
 * ranges, but no memory event.
 */
#include "nvtx_client.h"

#if HAVE_NVTX
#define THREADS 8

static struct driver driver;
static unsigned long each;
static pthread_barrier_t all_have_rings;

static void *storm(void *number)
{
	char text[48];
	must(driver_use(&driver, 0));
	must_alloc(&driver, 512);
	pthread_barrier_wait(&all_have_rings);
	for (unsigned long i = 0; i < each; i++) {
		snprintf(text, sizeof text, "thread %lu range %lu", (unsigned long)number, i);
		nvtxRangePushA(text);
		nvtxMarkA("the same");
		nvtxRangePop();
	}
	must_alloc(&driver, 512);
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t thread[THREADS];
	each = count_argument(argc, argv, 1000000) / THREADS;
	driver = need_driver(FROM_PROC_ADDRESS);
	must(pthread_barrier_init(&all_have_rings, NULL, THREADS) == 0);
	for (unsigned long i = 0; i < THREADS; i++)
		must(pthread_create(&thread[i], NULL, storm, (void *)i) == 0);
	for (unsigned i = 0; i < THREADS; i++)
		pthread_join(thread[i], NULL);
	claim("alloc", 2 * THREADS);
	claim("complete", 1);
	claim_as(getpid(), "<=", "range_name", 16384);
	claim_as(getpid(), ">=", "range_push", 1);
	printf("done\n");
	return 0;
}
#else
int main(void)
{
	return no_nvtx();
}
#endif
