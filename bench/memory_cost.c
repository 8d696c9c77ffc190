/*
 * Measures the memory that the recorder adds to the target, as the kernel counts it (Pss): what a
 * number of threads and of live allocations take when recorded, less what they took bare just
 * before.
 *	memory_cost NAME THREADS LIVE	prints memory_NAME_kib
 */
#include <pthread.h>

#include "burst.h"

/* Enough calls to fill a ring once. */
#define LAPS (GP_RING_SLOTS / BURST * 5 / 4)

static struct bench bench;
static pthread_barrier_t barrier;

static uint64_t own_kib(void)
{
	char line[256];
	unsigned long long kib = 0;
	FILE *file = fopen("/proc/self/smaps_rollup", "r");
	must(file != NULL);
	while (fgets(line, sizeof line, file) && sscanf(line, "Pss: %llu", &kib) != 1)
		;
	fclose(file);
	must(kib > 0);
	return kib;
}

static void work(const struct calls *calls)
{
	for (unsigned i = 0; i < LAPS; i++) {
		burst_alloc(calls, BURST / 4);
		if (calls == &bench.wrapped)
			wait_for_room(&bench);
	}
}

static void *another_thread(void *unused)
{
	driver_use(&bench.driver, 0);
	work(&bench.bare);
	pthread_barrier_wait(&barrier); /* the bare measurement */
	pthread_barrier_wait(&barrier);
	work(&bench.wrapped);
	pthread_barrier_wait(&barrier); /* the recorded measurement */
	pthread_barrier_wait(&barrier);
	return unused;
}

static void allocate(const struct calls *calls, CUdeviceptr *live, unsigned number)
{
	for (unsigned i = 0; i < number; i++) {
		must(calls->alloc(&live[i], 512) == CUDA_SUCCESS);
		if (calls == &bench.wrapped && i % BURST == 0)
			wait_for_room(&bench);
	}
}

int main(int argc, char **argv)
{
	must(argc == 4);
	unsigned threads = (unsigned)atoi(argv[2]), number = (unsigned)atoi(argv[3]);
	CUdeviceptr *live = calloc(number + 1u, sizeof *live);
	must(live && threads > 0);
	must(pthread_barrier_init(&barrier, NULL, threads) == 0);
	bench_open_driver(&bench);
	for (unsigned i = 1; i < threads; i++) {
		pthread_t thread;
		must(pthread_create(&thread, NULL, another_thread, NULL) == 0);
	}
	allocate(&bench.bare, live, number);
	work(&bench.bare);
	for (unsigned i = 0; i < number; i++)
		must(bench.bare.free(live[i]) == CUDA_SUCCESS);
	pthread_barrier_wait(&barrier);
	uint64_t before = own_kib();
	CUdeviceptr first;
	must(bench.wrapped.alloc(&first, 512) == CUDA_SUCCESS);
	map_rings(&bench);
	pthread_barrier_wait(&barrier);
	allocate(&bench.wrapped, live, number);
	work(&bench.wrapped);
	pthread_barrier_wait(&barrier);
	wait_for_quiet(&bench);
	printf("memory_%s_kib %llu\n", argv[1], (unsigned long long)(own_kib() - before));
	printf("memory_%s_lost %llu\n", argv[1], (unsigned long long)lost_events(&bench));
	pthread_barrier_wait(&barrier);
	return 0;
}
