/*
 * A hundred threads allocate from hundreds of deep stacks each, again and again. GPUPROF_MEMORY is
 * far less than memos of all these stacks would take.
 */
#include "deep_stacks.h"

#define THREADS 100
#define STACKS 300
#define ROUNDS 4
#define DEPTH 48
#define MOST_KIB (40ul << 10) /* of all threads: 16 MiB for the recorder, 240 KiB a thread */

static struct driver driver;
static pthread_barrier_t end;

static void *work(void *argument)
{
	must(driver_use(&driver, 0));
	for (unsigned round = 0; round < ROUNDS; round++)
		for (unsigned k = 0; k < STACKS; k++)
			go_down(&driver, k, DEPTH);
	pthread_barrier_wait(&end);
	pthread_barrier_wait(&end);
	return argument;
}

int main(void)
{
	pthread_t thread[THREADS];
	driver = need_driver(FROM_PROC_ADDRESS);
	const unsigned long before = kib_of("RssAnon:");
	pthread_barrier_init(&end, NULL, THREADS + 1);
	for (int i = 0; i < THREADS; i++)
		must(pthread_create(&thread[i], NULL, work, NULL) == 0);
	pthread_barrier_wait(&end);
	must(kib_of("RssAnon:") - before <= MOST_KIB);
	pthread_barrier_wait(&end);
	for (int i = 0; i < THREADS; i++)
		pthread_join(thread[i], NULL);
	claim("alloc", THREADS * STACKS * ROUNDS);
	claim("free", THREADS * STACKS * ROUNDS);
	claim("lost_memory", 0);
	claim("stacks_cut", 0);
	printf("%d threads\n", THREADS);
	return 0;
}
