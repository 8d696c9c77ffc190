/*
 * A job that collects CUPTI's activity from its second step on, as torch.profiler does, under a
 * recorder with a window of steps 5 to 6. Steps go on until the recording has the window's end.
 * Each step has a kernel of its own, but those after the window have the same.
 *   profiled_steps IS_RECORDED    a command: succeeds if the recording has so many GPU_TIME events
 */
#include "../victims/nvtx_client.h"

#if HAVE_NVTX
#include "profiling_job.h"

static CUmodule module;

static bool is_recorded(const char *command, unsigned states)
{
	char line[4096];
	must(snprintf(line, sizeof line, "%s %u", command, states) < (int)sizeof line);
	return system(line) == 0;
}

static struct span step(unsigned number)
{
	char name[32];
	snprintf(name, sizeof name, "step_%u", number);
	must(driver.cuModuleGetFunction(&kernel, module, name) == 0);
	nvtxRangePushA("step");
	const struct span span = work(40);
	nvtxRangePop();
	return span;
}

int main(int argc, char **argv)
{
	must(argc == 2);
	driver = need_driver(FROM_DLSYM);
	*(void **)&set_memory = dlsym(dlopen("libcuda.so.1", RTLD_LAZY), "cuMemsetD8_v2");
	must(set_memory && driver.cuModuleLoadData(&module, "") == 0);
	memory = must_alloc(&driver, 4096);
	step(1);
	job_start();
	struct span all = step(2);
	step(3);
	step(4);
	while (!is_recorded(argv[1], 1))
		usleep(1000);
	step(5);
	step(6);
	do
		all = both(all, step(7));
	while (!is_recorded(argv[1], 2));
	job_stop();
	job_collect();
	job_has(all);
	step(8);
	return 0;
}
#else
int main(void)
{
	return no_nvtx();
}
#endif
