/*
 * Looks up the driver in every possible way on a machine that has none: a look-up must not succeed
 * because of the recorder.
 */
#include "victim.h"

extern CUresult cuInit(unsigned) __attribute__((weak));

int main(void)
{
	void *library = dlopen("libcuda.so.1", RTLD_NOW);
	void *self = dlopen(NULL, RTLD_NOW);
	printf("libcuda.so.1: %s\n", library ? "there" : "absent");
	printf("RTLD_DEFAULT: %s\n", dlsym(RTLD_DEFAULT, "cuInit") ? "there" : "absent");
	printf("RTLD_NEXT: %s\n", dlsym(RTLD_NEXT, "cuInit") ? "there" : "absent");
	printf("the program: %s\n", dlsym(self, "cuInit") ? "there" : "absent");
	printf("cuGetProcAddress_v2: %s\n",
	       dlsym(self, "cuGetProcAddress_v2") ? "there" : "absent");
	/* a weak reference finds the recorder's export: to the job, a driver that cannot start */
	printf("weak: %s\n", cuInit && cuInit(0) == CUDA_SUCCESS ? "there" : "absent");
	claim_recordings(0);
	return 0;
}
