/*
 * Starts the driver and queries its devices, but never allocates, as the workers of torch.compile
 * do: the recorder must not add a file, a thread or a descriptor.
 */
#include "victim.h"

#include <dirent.h>

static int entries(const char *path)
{
	int count = 0;
	DIR *directory = opendir(path);
	must(directory);
	while (readdir(directory))
		count++;
	closedir(directory);
	return count - 2;
}

static void ask(void)
{
	struct driver driver;
	int devices = 0, version = 0;
	CUdevice device;
	must(driver_open(&driver, FROM_PROC_ADDRESS));
	must(driver.cuDeviceGetCount(&devices) == CUDA_SUCCESS);
	must(driver.cuDriverGetVersion(&version) == CUDA_SUCCESS);
	must(driver.cuDeviceGet(&device, 0) == CUDA_SUCCESS);
	printf("%d devices, version %d, %d threads, %d descriptors\n", devices, version,
	       entries("/proc/self/task"), entries("/proc/self/fd"));
}

int main(void)
{
	ask();
	fflush(stdout);
	pid_t child = fork();
	must(child >= 0);
	if (child == 0) {
		ask();
		exit(0);
	}
	must(wait_for(child) == 0);
	claim_recordings(0);
	return 0;
}
