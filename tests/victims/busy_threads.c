/*
 * Five hundred threads launch and allocate as fast as they can. GPUPROF_MEMORY is less than their
 * first rings take. They get these rings, but few rings grow, and only launches are lost.
 */
#include "ring_files.h"

#define THREADS 500
#define ROUNDS 10
#define LAUNCHES 200
#define PAIRS 100
#define MOST_KIB (32ul << 10) /* the first rings take 18, growth and stacks at most 8 */

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
		for (int k = 0; k < PAIRS; k++)
			must(driver.cuMemFree_v2(must_alloc(&driver, 4096)) == CUDA_SUCCESS);
	}
	pthread_barrier_wait(&end);
	pthread_barrier_wait(&end);
	return argument;
}

int main(void)
{
	CUmodule module;
	pthread_t thread[THREADS];
	driver = need_driver(FROM_PROC_ADDRESS);
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
	claim("alloc", THREADS * ROUNDS * PAIRS);
	claim("free", THREADS * ROUNDS * PAIRS);
	claim("launch", THREADS * ROUNDS * LAUNCHES);
	claim("lost_memory", 0);
	printf("%d threads\n", THREADS);
	return 0;
}
