/*
 * May map little more (ulimit -v, ulimit -d) at its first event. The recorder's tables take at most
 * half of that, or are all released; a thread with stacks takes some MiB more. The job gets a
 * quarter.
 */
#include "victim.h"

#include <string.h>
#include <sys/resource.h>

#define MIB (1ul << 20)
#define REFUSED_MIB 32 /* at most; the recorder's tables exceed half of this */

struct limit {
	int resource;
	const char *name, *used; /* a line of /proc/self/status */
};
static const struct limit limits[] = {
	{ RLIMIT_AS, "address space", "VmSize:" },
	{ RLIMIT_DATA, "data", "VmData:" },
};

static unsigned long used_of(const struct limit *limit)
{
	const unsigned long kib = kib_of(limit->used);
	must(kib);
	return kib << 10;
}

static void launch_within(const struct limit *limit, unsigned long bytes)
{
	CUmodule module;
	CUfunction kernel;
	struct driver driver = need_driver(FROM_PROC_ADDRESS);
	must(freopen("/dev/null", "w", stderr)); /* the recorder may report that it has no memory */
	const unsigned long before = used_of(limit);
	const rlim_t most = before + bytes;
	must(setrlimit(limit->resource, &(struct rlimit){ most, most }) == 0);
	must(driver.cuModuleLoadData(&module, "image") == CUDA_SUCCESS);
	must(driver.cuModuleGetFunction(&kernel, module, "gemm") == CUDA_SUCCESS);
	must(driver.cuLaunchKernel(kernel, 1, 1, 1, 32, 1, 1, 0, NULL, NULL, NULL) == CUDA_SUCCESS);
	if (bytes <= REFUSED_MIB * MIB && used_of(limit) > before + MIB)
		_exit(73);
	char *volatile memory = malloc(bytes / 4);
	if (!memory)
		_exit(72);
	free(memory);
}

static void try(const struct limit *limit, unsigned long mib)
{
	const pid_t child = fork();
	if (child == 0) {
		launch_within(limit, mib * MIB);
		exit(0);
	}
	printf("%s, %lu MiB: %d\n", limit->name, mib, wait_for(child));
	fflush(stdout);
}

int main(void)
{
	for (size_t k = 0; k < sizeof limits / sizeof *limits; k++)
		for (unsigned long mib = 8; mib <= 64; mib += 4)
			try(&limits[k], mib);
	return 0;
}
