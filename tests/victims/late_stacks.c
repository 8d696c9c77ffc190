/*
 * Many threads fill memos of stacks, each with too few events to fill its ring. Then another thread
 * adds stacks of its own, and launches. GPUPROF_MEMORY is less than all memos take, and more than
 * all rings and stacks take. So the memos must leave room for these.
 */
#include "deep_stacks.h"

#define THREADS 96
#define STACKS 500
#define LATE_STACKS 4000
#define LAUNCHES 3000
#define DEPTH 32

static struct driver driver;
static pthread_barrier_t barrier;

static void *work(void *argument)
{
	must(driver_use(&driver, 0));
	for (unsigned k = 0; k < STACKS; k++)
		go_down(&driver, k, DEPTH);
	pthread_barrier_wait(&barrier);
	pthread_barrier_wait(&barrier);
	return argument;
}

int main(void)
{
	pthread_t thread[THREADS];
	CUmodule module;
	CUfunction kernel;
	driver = need_driver(FROM_PROC_ADDRESS);
	pthread_barrier_init(&barrier, NULL, THREADS + 1);
	for (int i = 0; i < THREADS; i++)
		must(pthread_create(&thread[i], NULL, work, NULL) == 0);
	pthread_barrier_wait(&barrier);
	for (unsigned k = 0; k < LATE_STACKS; k++)
		go_down(&driver, STACKS + k, DEPTH);
	must(driver.cuModuleLoadData(&module, "image") == CUDA_SUCCESS);
	must(driver.cuModuleGetFunction(&kernel, module, "gemm") == CUDA_SUCCESS);
	for (unsigned k = 0; k < LAUNCHES; k++)
		must(driver.cuLaunchKernel(kernel, 1, 1, 1, 32, 1, 1, 0, NULL, NULL, NULL) ==
		     CUDA_SUCCESS);
	pthread_barrier_wait(&barrier);
	for (int i = 0; i < THREADS; i++)
		pthread_join(thread[i], NULL);
	claim("alloc", THREADS * STACKS + LATE_STACKS);
	claim("free", THREADS * STACKS + LATE_STACKS);
	claim("launch", LAUNCHES);
	claim("lost_memory", 0);
	claim("lost_launch", 0);
	claim("stacks_cut", 0);
	printf("%d late stacks\n", LATE_STACKS);
	return 0;
}
