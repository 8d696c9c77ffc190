/* Threads with small stacks that record a few events each, and stay alive until all are joined. */
#ifndef SMALL_THREADS_H
#define SMALL_THREADS_H

#include "victim.h"

#define SMALL_THREADS_MOST 64
#define SMALL_STACK_BYTES (128ul << 10)
#define SMALL_THREAD_PAIRS 10

struct small_threads {
	struct driver driver;
	int number;
	pthread_barrier_t barrier; /* all have recorded; all may end */
	pthread_t thread[SMALL_THREADS_MOST];
};

static void *small_thread(void *argument)
{
	struct small_threads *threads = argument;
	must(driver_use(&threads->driver, 0));
	alloc_and_free(&threads->driver, SMALL_THREAD_PAIRS);
	pthread_barrier_wait(&threads->barrier);
	pthread_barrier_wait(&threads->barrier);
	return argument;
}

/* The calling thread records first, so that the recorder runs. */
static void small_threads_prepare(struct small_threads *threads, int number)
{
	must(number <= SMALL_THREADS_MOST);
	threads->driver = need_driver(FROM_PROC_ADDRESS);
	threads->number = number;
	pthread_barrier_init(&threads->barrier, NULL, (unsigned)number + 1);
	alloc_and_free(&threads->driver, SMALL_THREAD_PAIRS);
}

/* Returns when all have recorded. */
static void small_threads_start(struct small_threads *threads)
{
	pthread_attr_t small;
	pthread_attr_init(&small);
	must(pthread_attr_setstacksize(&small, SMALL_STACK_BYTES) == 0);
	for (int i = 0; i < threads->number; i++)
		must(pthread_create(&threads->thread[i], &small, small_thread, threads) == 0);
	pthread_barrier_wait(&threads->barrier);
}

static void small_threads_join(struct small_threads *threads)
{
	const unsigned long pairs = (unsigned long)(threads->number + 1) * SMALL_THREAD_PAIRS;
	pthread_barrier_wait(&threads->barrier);
	for (int i = 0; i < threads->number; i++)
		pthread_join(threads->thread[i], NULL);
	claim("alloc", pairs);
	claim("free", pairs);
	claim("lost_memory", 0);
	printf("%d threads\n", threads->number);
}

#endif
