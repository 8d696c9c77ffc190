/*
 * Starts and ends a captured span twice, the requested number, while threads allocate and launch
 * without a pause. Then it works on for long: threads start and end, it forks, and frees what was
 * allocated while it was recorded. Its recording is complete and ends where the second span did.
 */
#include <pthread.h>
#include <stdatomic.h>

#include "victim.h"

#define WORKERS 4
#define HELD 64u

static struct driver driver;
static CUfunction kernel;
static atomic_bool is_over;
static atomic_uint started;

static void launch(int times)
{
	for (int k = 0; k < times; k++)
		must(driver.cuLaunchKernel(kernel, 1, 1, 1, 32, 1, 1, 0, NULL, NULL, NULL) ==
		     CUDA_SUCCESS);
}

static void *work(void *unused)
{
	CUdeviceptr held[HELD] = { 0 };
	(void)unused;
	must(driver_use(&driver, 0));
	atomic_fetch_add(&started, 1);
	for (unsigned k = 0; !atomic_load(&is_over) || k < HELD; k++) {
		CUdeviceptr *one = &held[k % HELD];
		if (*one)
			must(driver.cuMemFree_v2(*one) == CUDA_SUCCESS);
		*one = must_alloc(&driver, 512 + k % 7 * 512);
		launch(1);
		work_for(5000);
	}
	for (unsigned k = 0; k < HELD; k++)
		must(driver.cuMemFree_v2(held[k]) == CUDA_SUCCESS);
	return NULL;
}

static void capture(int launches)
{
	must(driver.cuProfilerStart() == CUDA_SUCCESS);
	launch(launches);
	must(driver.cuProfilerStop() == CUDA_SUCCESS);
}

/* Its parent's recording has ended, so this child gets no recording. */
static void be_late_child(void)
{
	alloc_and_free(&driver, 100);
	capture(3);
	claim("recordings", 0);
	_exit(0);
}

/* One span is left for the child, as for its parent. */
static void be_child(void)
{
	capture(2);
	alloc_and_free(&driver, 100);
	capture(4);
	claim("launch", 2);
	claim("alloc", 0);
	claim("captures", 1);
	claim("complete", 1);
	claim("recordings", 1);
	_exit(0);
}

int main(void)
{
	pthread_t worker[WORKERS], late;
	CUmodule module;
	driver = need_driver(FROM_PROC_ADDRESS);
	must(driver.cuModuleLoadData(&module, "image") == CUDA_SUCCESS);
	must(driver.cuModuleGetFunction(&kernel, module, "gemm") == CUDA_SUCCESS);
	CUdeviceptr kept = must_alloc(&driver, 4096);
	capture(5);
	pid_t child = fork();
	if (child == 0)
		be_child();
	must(wait_for(child) == 0);
	for (int k = 0; k < WORKERS; k++)
		must(pthread_create(&worker[k], NULL, work, NULL) == 0);
	while (atomic_load(&started) < WORKERS)
		sched_yield();
	capture(6);
	alloc_and_free(&driver, 5000);
	child = fork();
	if (child == 0)
		be_late_child();
	must(wait_for(child) == 0);
	atomic_store(&is_over, true);
	for (int k = 0; k < WORKERS; k++)
		must(pthread_join(worker[k], NULL) == 0);
	for (int k = 0; k < 20; k++) {
		must(pthread_create(&late, NULL, work, NULL) == 0);
		must(pthread_join(late, NULL) == 0);
	}
	capture(7);
	must(driver.cuMemFree_v2(kept) == CUDA_SUCCESS);
	claim_as(getpid(), ">=", "launch", 11);
	claim_as(getpid(), ">=", "alloc", 1);
	claim("captures", 2);
	claim("complete", 1);
	claim("ended_by", 4); /* cuProfilerStop */
	claim("scope", 5);
	claim_recordings(2);
	printf("done\n");
	return 0;
}
