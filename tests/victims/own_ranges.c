/*
 * A training loop with the ranges that PyTorch opens itself: a loader, an optimizer, and a backward
 * pass on a thread of the engine, which sometimes throws. Other threads open ranges all the time,
 * also while the callbacks are being added.
 */
#include "../fake/fake_ranges.h"
#include "victim.h"

#define THREADS 4

static const struct fake_ranges *ranges;
static const struct fake_c10 *c10;
static struct driver driver;
static CUfunction kernel;
static unsigned long steps;

static void gradients(void *number)
{
	must(driver_use(&driver, 0));
	void *gradient = c10->allocate(0, (size_t)4096 << *(int *)number);
	must(gradient);
	c10->release(gradient);
}

static void *open_many(void *nothing)
{
	for (unsigned long i = 0; i < 20 * steps; i++) {
		void *outer = ranges->begin("worker"), *inner = ranges->begin("worker's inner");
		ranges->end(inner);
		ranges->end(outer);
	}
	return nothing;
}

static void step(int number)
{
	void *loader = ranges->begin("enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__");
	void *batch = c10->allocate(0, 1 << 20);
	ranges->end(loader);
	must(batch);
	must(driver.cuLaunchKernel(kernel, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL) == CUDA_SUCCESS);
	must(ranges->backward(gradients, &number) == 5);
	if (number % 3 == 2)
		must(ranges->backward(NULL, NULL) == -24);
	void *optimizer = ranges->begin("Optimizer.step#AdamW.step");
	void *moment = c10->allocate(0, 8192);
	ranges->end(optimizer);
	must(moment);
	c10->release(moment);
	c10->release(batch);
}

int main(int argc, char **argv)
{
	steps = count_argument(argc, argv, 6);
	void *library = dlopen("libtorch_cpu_ranges.so", RTLD_NOW | RTLD_LOCAL);
	if (!library) {
		fputs("no libtorch_cpu_ranges.so: it could not be built here\n", stderr);
		return VICTIM_SKIPPED;
	}
	driver = need_driver(FROM_PROC_ADDRESS);
	CUmodule module;
	must(driver.cuModuleLoadData(&module, "image") == CUDA_SUCCESS);
	must(driver.cuModuleGetFunction(&kernel, module, "gemm") == CUDA_SUCCESS);
	c10 = need_c10();
	ranges = dlsym(library, "fake_ranges");
	must(ranges);
	pthread_t thread[THREADS];
	for (int k = 0; argc > 2 && k < THREADS; k++)
		must(pthread_create(&thread[k], NULL, open_many, NULL) == 0);
	for (unsigned long k = 0; k < steps; k++)
		step((int)(k % 8));
	for (int k = 0; argc > 2 && k < THREADS; k++)
		must(pthread_join(thread[k], NULL) == 0);
	printf("%lu steps\n", steps);
	return 0;
}
