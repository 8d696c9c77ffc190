/*
 * Correct program: several threads launch at the same time. Each makes a number of launches that a
 * round number does not divide. A child of the process launches, too.
 *	launch_from_threads [LAUNCHES]
 */
#include "victim.h"

#define THREADS 3

static struct driver driver;
static CUfunction kernel;
static unsigned long each;

static void *launch(void *argument)
{
	(void)argument;
	must(driver_use(&driver, 0));
	for (unsigned long i = 0; i < each; i++)
		must(driver.cuLaunchKernel(kernel, 1, 1, 1, 32, 1, 1, 0, NULL, NULL, NULL) ==
		     CUDA_SUCCESS);
	return NULL;
}

int main(int argc, char **argv)
{
	CUmodule module;
	pthread_t thread[THREADS];
	each = count_argument(argc, argv, 1001);
	driver = need_driver(FROM_DLSYM);
	must(driver.cuModuleLoadData(&module, "image") == CUDA_SUCCESS);
	must(driver.cuModuleGetFunction(&kernel, module, "gemm") == CUDA_SUCCESS);
	must_alloc(&driver, 4096);
	launch(NULL);
	for (unsigned i = 0; i < THREADS; i++)
		must(pthread_create(&thread[i], NULL, launch, NULL) == 0);
	for (unsigned i = 0; i < THREADS; i++)
		must(pthread_join(thread[i], NULL) == 0);
	claim("launch", (THREADS + 1) * each);
	pid_t child = fork();
	must(child >= 0);
	if (child == 0) {
		launch(NULL);
		claim("launch", each);
		return 0;
	}
	must(wait_for(child) == 0);
	printf("%lu launches\n", (THREADS + 2) * each);
	return 0;
}
