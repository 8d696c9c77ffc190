/*
 * Keeps more streams alive than a fixed table holds, launches on each in turn, and destroys them.
 */
#include "victim.h"

#define ROUNDS 3
#define HIGH (-1)

int main(int argc, char **argv)
{
	const unsigned long streams = count_argument(argc, argv, 16384);
	struct driver driver = need_driver(FROM_PROC_ADDRESS);
	CUstream *stream = calloc(streams, sizeof *stream);
	CUmodule module;
	CUfunction kernel;
	must(stream);
	must(driver.cuModuleLoadData(&module, "image") == CUDA_SUCCESS);
	must(driver.cuModuleGetFunction(&kernel, module, "kernel") == CUDA_SUCCESS);
	for (unsigned long k = 0; k < streams; k++) {
		must(driver.cuStreamCreateWithPriority(&stream[k], 1, HIGH) == CUDA_SUCCESS);
		work_for(1000);
	}
	for (unsigned long k = 0; k < ROUNDS * streams; k++) {
		must(driver.cuLaunchKernel(kernel, 1, 1, 1, 32, 1, 1, 0, stream[k * 7 % streams],
					   NULL, NULL) == CUDA_SUCCESS);
		work_for(1000);
	}
	for (unsigned long k = 0; k < streams; k++) {
		must(driver.cuStreamDestroy_v2(stream[k]) == CUDA_SUCCESS);
		work_for(1000);
	}
	/* a stream is defined once, at its creation: with its flags and its priority */
	claim("stream", streams);
	claim("stream_destroy", streams);
	claim_recordings(1);
	printf("%lu streams\n", streams);
	return 0;
}
