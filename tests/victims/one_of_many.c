/*
 * One rank of a job of many: a training loop that may differ from the others in one way.
 *	one_of_many [STEPS [WAY]]	WAY: alike (default), leaks, slow, holds (more than others),
 *					fails (requests too much memory after its steps)
 */
#include <time.h>

#include "training.h"

#ifndef WORK_NS /* of a step without recorded events */
#define WORK_NS 1000000
#endif
#define SLOW_NS (WORK_NS + 11000000)
#define LEAK_BYTES ((size_t)128 << 10)
#define HELD_BYTES ((size_t)64 << 20)
#define LAUNCHES 64

int main(int argc, char **argv)
{
	struct training t;
	unsigned long steps = count_argument(argc, argv, 40);
	const char *way = argc > 2 ? argv[2] : "alike";
	const struct timespec work = { .tv_nsec = strcmp(way, "slow") ? WORK_NS : SLOW_NS };
	training_init(&t, need_c10());
	struct driver driver = need_driver(FROM_DLSYM);
	CUmodule module;
	CUfunction kernel;
	must(driver.cuModuleLoadData(&module, "image") == CUDA_SUCCESS);
	must(driver.cuModuleGetFunction(&kernel, module, "gemm") == CUDA_SUCCESS);
	must(strcmp(way, "holds") || t.c10->allocate(0, HELD_BYTES));
	for (unsigned long i = 0; i < steps; i++) {
		must(strcmp(way, "leaks") || t.c10->allocate(0, LEAK_BYTES));
		training_step(&t);
		for (int k = 0; k < LAUNCHES; k++)
			must(driver.cuLaunchKernel(kernel, 64, 1, 1, 256, 1, 1, 0, NULL, NULL,
						   NULL) == CUDA_SUCCESS);
		nanosleep(&work, NULL);
	}
	must(strcmp(way, "fails") || !t.c10->allocate(0, (size_t)1 << 40));
	training_print(&t);
	return 0;
}
