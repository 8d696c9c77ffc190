/* The static CUDA runtime on the machine's driver: its results must not depend on the recorder. */
#include <stdio.h>

#include <cuda_runtime_api.h>

int main(void)
{
	int devices = -1, version = -1, runtime = -1;
	void *memory = NULL;
	printf("count %d", (int)cudaGetDeviceCount(&devices));
	printf(" %d\n", devices);
	printf("driver %d", (int)cudaDriverGetVersion(&version));
	printf(" %d\n", version);
	printf("runtime %d", (int)cudaRuntimeGetVersion(&runtime));
	printf(" %d\n", runtime);
	printf("malloc %d\n", (int)cudaMalloc(&memory, 4096));
	printf("last %s\n", cudaGetErrorName(cudaGetLastError()));
	return 0;
}
