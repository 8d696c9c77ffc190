/*
 * Has little address space left (ulimit -v) at its first event. The recorder's tables take at most
 * half of it, or are given back; a thread with stacks takes some MiB more. The job gets a quarter.
 */
#include "victim.h"

#include <string.h>
#include <sys/resource.h>

#define MIB (1ul << 20)

static unsigned long address_space(void)
{
	unsigned long pages;
	FILE *file = fopen("/proc/self/statm", "r");
	must(file && fscanf(file, "%lu", &pages) == 1);
	fclose(file);
	return pages * (unsigned long)sysconf(_SC_PAGESIZE);
}

static void launch_within(unsigned long bytes)
{
	CUmodule module;
	CUfunction kernel;
	struct driver driver = need_driver(DOOR_PROC_ADDRESS);
	must(freopen("/dev/null", "w", stderr)); /* the recorder may say that it has no memory */
	const rlim_t most = address_space() + bytes;
	must(setrlimit(RLIMIT_AS, &(struct rlimit){ most, most }) == 0);
	must(driver.cuModuleLoadData(&module, "image") == CUDA_SUCCESS);
	must(driver.cuModuleGetFunction(&kernel, module, "gemm") == CUDA_SUCCESS);
	must(driver.cuLaunchKernel(kernel, 1, 1, 1, 32, 1, 1, 0, NULL, NULL, NULL) == CUDA_SUCCESS);
	char *volatile memory = malloc(bytes / 4);
	if (!memory)
		_exit(72);
	free(memory);
}

int main(void)
{
	for (unsigned long mib = 8; mib <= 64; mib += 4) {
		const pid_t child = fork();
		if (child == 0) {
			launch_within(mib * MIB);
			exit(0);
		}
		printf("%lu MiB: %d\n", mib, wait_for(child));
		fflush(stdout);
	}
	return 0;
}
