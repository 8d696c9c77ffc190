/*
 * A thousand threads begin at the same moment. Each makes more memory events than its ring holds,
 * faster than one drain thread writes them. Each must get a ring, and wait rather than lose events.
 */
#include "victim.h"

#define PAIRS 400ul

static struct driver driver;
static pthread_barrier_t start;

static void *work(void *argument)
{
	pthread_barrier_wait(&start);
	must(driver_use(&driver, 0));
	for (unsigned long i = 0; i < PAIRS; i++)
		must(driver.cuMemFree_v2(must_alloc(&driver, 4096)) == CUDA_SUCCESS);
	return argument;
}

int main(int argc, char **argv)
{
	const unsigned long threads = count_argument(argc, argv, 1000);
	pthread_t *thread = calloc(threads, sizeof *thread);
	pthread_attr_t small;
	must(thread);
	driver = need_driver(FROM_PROC_ADDRESS);
	alloc_and_free(&driver, 1);
	pthread_attr_init(&small);
	pthread_attr_setstacksize(&small, 256u << 10);
	pthread_barrier_init(&start, NULL, (unsigned)threads + 1);
	for (unsigned long i = 0; i < threads; i++)
		must(pthread_create(&thread[i], &small, work, NULL) == 0);
	pthread_barrier_wait(&start);
	for (unsigned long i = 0; i < threads; i++)
		pthread_join(thread[i], NULL);
	free(thread);
	claim("alloc", threads * PAIRS + 1);
	claim("free", threads * PAIRS + 1);
	claim("threads", threads + 1);
	claim("lost_memory", 0);
	printf("%lu threads\n", threads);
	return 0;
}
