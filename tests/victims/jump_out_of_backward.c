/*
 * A loop whose backward passes are left by a jump, sometimes one inside another: the engine never
 * returns. Later events must not be attributed to these passes.
 */
#include <setjmp.h>

#include "../fake/fake_ranges.h"
#include "victim.h"

static const struct fake_ranges *ranges;
static const struct fake_c10 *c10;
static sigjmp_buf landing;

static void hook(void *next)
{
	void *range = ranges->begin("hook");
	void *gradient = c10->allocate(0, 4096);
	must(gradient);
	c10->release(gradient);
	ranges->end(range);
	if (next)
		siglongjmp(landing, 1);
}

static void inner(void *nothing)
{
	must(ranges->backward_here(hook, nothing) == 5);
	if (sigsetjmp(landing, 1) == 0)
		ranges->backward_here(hook, &landing);
}

static void optimize(int deep)
{
	volatile char stack[65]; /* deeper than the engine's frame was */
	stack[deep] = 1;
	if (deep > 0) {
		optimize(deep - 1);
		must(stack[deep] == 1);
		return;
	}
	void *optimizer = ranges->begin("Optimizer.step#SGD.step");
	void *moment = c10->allocate(0, 8192);
	must(moment);
	c10->release(moment);
	ranges->end(optimizer);
}

int main(int argc, char **argv)
{
	const volatile unsigned long steps = count_argument(argc, argv, 300);
	void *library = dlopen("libtorch_cpu_ranges.so", RTLD_NOW | RTLD_LOCAL);
	if (!library) {
		fputs("no libtorch_cpu_ranges.so: it could not be built here\n", stderr);
		return VICTIM_SKIPPED;
	}
	struct driver driver = need_driver(FROM_PROC_ADDRESS);
	must_alloc(&driver, 512);
	c10 = need_c10();
	ranges = dlsym(library, "fake_ranges");
	must(ranges);
	for (volatile unsigned long k = 0; k < steps; k++) {
		if (sigsetjmp(landing, 1) == 0)
			ranges->backward_here(hook, &landing);
		optimize(k % 2 ? 0 : 64);
		must(ranges->backward_here(inner, NULL) == 5);
		must(ranges->backward(NULL, NULL) == -24);
	}
	printf("%lu steps\n", (unsigned long)steps);
	return 0;
}
