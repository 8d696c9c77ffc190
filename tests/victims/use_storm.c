/*
 * Correct program: threads launch kernels with many pointers while others allocate and free memory,
 * and so does a child of the process.
 *	use_storm [LAUNCHES]
 */
#include "victim.h"

#define THREADS 3
#define POINTERS 40

static struct driver driver;
static CUfunction kernel;
static unsigned long each;

static void *launch(void *argument)
{
	CUdeviceptr words[POINTERS];
	void *parameters[] = { words };
	(void)argument;
	must(driver_use(&driver, 0));
	for (unsigned long i = 0; i < each; i++) {
		CUdeviceptr fresh = must_alloc(&driver, 4 << 20);
		for (unsigned k = 0; k < POINTERS; k++)
			words[k] = fresh + 512 * (CUdeviceptr)k;
		must(driver.cuLaunchKernel(kernel, 1, 1, 1, 32, 1, 1, 0, NULL, parameters, NULL) ==
		     CUDA_SUCCESS);
		must(driver.cuMemFree_v2(fresh) == CUDA_SUCCESS);
		work_for(10000);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	CUmodule module;
	pthread_t thread[THREADS];
	each = count_argument(argc, argv, 1001);
	driver = need_driver(FROM_DLSYM);
	must(driver.cuModuleLoadData(&module, "image") == CUDA_SUCCESS);
	must(driver.cuModuleGetFunction(&kernel, module, "foreach.320") == CUDA_SUCCESS);
	launch(NULL);
	for (unsigned i = 0; i < THREADS; i++)
		must(pthread_create(&thread[i], NULL, launch, NULL) == 0);
	for (unsigned i = 0; i < THREADS; i++)
		must(pthread_join(thread[i], NULL) == 0);
	claim("launch", (THREADS + 1) * each);
	claim("use", (THREADS + 1) * each * (POINTERS / 4));
	claim("alloc", (THREADS + 1) * each);
	pid_t child = fork();
	must(child >= 0);
	if (child == 0) {
		launch(NULL);
		claim("launch", each);
		claim("use", each * (POINTERS / 4));
		return 0;
	}
	must(wait_for(child) == 0);
	printf("%lu launches\n", (THREADS + 2) * each);
	return 0;
}
