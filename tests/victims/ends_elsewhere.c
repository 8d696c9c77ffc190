/*
 * PyTorch's ranges end on other threads than they began on, as those of futures do, or out of
 * order, and sometimes after their thread. Later events must not be attributed to them.
 *	ends_elsewhere [STEPS]
 */
#include "../fake/fake_ranges.h"
#include "victim.h"

static const struct fake_ranges *ranges;
static const struct fake_c10 *c10;
static struct driver driver;

static void allocate(size_t bytes)
{
	void *block = c10->allocate(0, bytes);
	must(block);
	c10->release(block);
}

static void *complete(void *range)
{
	must(driver_use(&driver, 0));
	ranges->end(range);
	allocate(1 << 16);
	return NULL;
}

static void *leave_open(void *range)
{
	must(driver_use(&driver, 0));
	*(void **)range = ranges->begin("left by its thread");
	allocate(1 << 14);
	return NULL;
}

static void run_thread(void *(*body)(void *), void *argument)
{
	pthread_t thread;
	must(pthread_create(&thread, NULL, body, argument) == 0);
	must(pthread_join(thread, NULL) == 0);
}

static void step(void)
{
	void *left;
	void *request = ranges->begin("rpc");
	void *inner = ranges->begin("inner");
	allocate(4096); /* in both */
	ranges->end(request);
	allocate(8192); /* in the inner one, which now has the outer range's parent */
	run_thread(complete, inner);
	allocate(1 << 20); /* in none */
	run_thread(leave_open, &left);
	ranges->end(left);
	void *optimizer = ranges->begin("Optimizer.step#SGD.step");
	allocate(2048);
	ranges->end(optimizer);
}

int main(int argc, char **argv)
{
	const unsigned long steps = count_argument(argc, argv, 20);
	void *library = dlopen("libtorch_cpu_ranges.so", RTLD_NOW | RTLD_LOCAL);
	if (!library) {
		fputs("no libtorch_cpu_ranges.so: it could not be built here\n", stderr);
		return VICTIM_SKIPPED;
	}
	driver = need_driver(FROM_PROC_ADDRESS);
	must_alloc(&driver, 512);
	c10 = need_c10();
	ranges = dlsym(library, "fake_ranges");
	must(ranges);
	CUmodule module;
	CUfunction kernel;
	must(driver.cuModuleLoadData(&module, "image") == CUDA_SUCCESS);
	must(driver.cuModuleGetFunction(&kernel, module, "gemm") == CUDA_SUCCESS);
	allocate(512); /* the callbacks are added after the next launch */
	must(driver.cuLaunchKernel(kernel, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL) == CUDA_SUCCESS);
	for (unsigned long k = 0; k < steps; k++)
		step();
	printf("%lu steps\n", steps);
	return 0;
}
