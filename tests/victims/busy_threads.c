/*
 * A hundred threads launch as fast as they can and get memory now and then: their rings stay within
 * what GPUPROF_MEMORY allows, and only launches are lost.
 */
#include <string.h>

#include "victim.h"

#define THREADS 100
#define ROUNDS 20 /* what memory events need is less than the eighth that is kept for them */
#define LAUNCHES 1000
#define MOST_KIB (24ul << 10) /* as in tests/victims/runs */

static struct driver driver;
static CUfunction kernel;
static pthread_barrier_t end;

static void *work(void *argument)
{
	must(driver_use(&driver, 0));
	for (int round = 0; round < ROUNDS; round++) {
		for (int k = 0; k < LAUNCHES; k++)
			must(driver.cuLaunchKernel(kernel, 1, 1, 1, 32, 1, 1, 0, NULL, NULL,
						   NULL) == CUDA_SUCCESS);
		alloc_and_free(&driver, 1);
	}
	pthread_barrier_wait(&end);
	pthread_barrier_wait(&end);
	return argument;
}

static unsigned long shared_kib(void)
{
	char line[256];
	unsigned long kib = 0;
	FILE *status = fopen("/proc/self/status", "r");
	must(status);
	while (fgets(line, sizeof line, status))
		if (strncmp(line, "RssShmem:", 9) == 0)
			kib = strtoul(line + 9, NULL, 10);
	fclose(status);
	return kib;
}

int main(void)
{
	CUmodule module;
	pthread_t thread[THREADS];
	driver = need_driver(DOOR_PROC_ADDRESS);
	must(driver.cuModuleLoadData(&module, "image") == CUDA_SUCCESS);
	must(driver.cuModuleGetFunction(&kernel, module, "gemm") == CUDA_SUCCESS);
	pthread_barrier_init(&end, NULL, THREADS + 1);
	for (int i = 0; i < THREADS; i++)
		must(pthread_create(&thread[i], NULL, work, NULL) == 0);
	pthread_barrier_wait(&end);
	must(shared_kib() <= MOST_KIB);
	pthread_barrier_wait(&end);
	for (int i = 0; i < THREADS; i++)
		pthread_join(thread[i], NULL);
	claim("alloc", THREADS * ROUNDS);
	claim("free", THREADS * ROUNDS);
	claim("launch", THREADS * ROUNDS * LAUNCHES);
	claim("lost_memory", 0);
	printf("%d threads\n", THREADS);
	return 0;
}
