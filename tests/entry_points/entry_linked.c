/*
 * A program that is linked with the driver, as Triton's launchers are: its calls reach the recorder
 * through the recorder's ELF exports.
 */
#include "entry_probe.h"

#include "../../interpose/driver/cuda_types.h"

CUresult cuInit(unsigned int flags);
CUresult cuDevicePrimaryCtxRetain(CUcontext *context, CUdevice device);
CUresult cuCtxSetCurrent(CUcontext context);
CUresult cuMemAlloc_v2(CUdeviceptr *address, size_t bytes);
CUresult cuMemFree_v2(CUdeviceptr address);
CUresult cuGetProcAddress_v2(const char *, void **, int, unsigned long long, int *);
unsigned long long fake_cuda_calls(const char *symbol);
extern void *entry_early_found; /* by a constructor, before those of preloads run */

static void must_be_ours(const char *how, const void *found)
{
	if (getenv("PROBE_OURS"))
		MUST(is_ours(found), "%s: %s of %s", how, place_of(found).symbol,
		     place_of(found).file);
}

int main(void)
{
	CUcontext context;
	CUdeviceptr address[10];
	void *found = NULL;
	MUST(cuInit(0) == 0 && cuDevicePrimaryCtxRetain(&context, 0) == 0 &&
		     cuCtxSetCurrent(context) == 0,
	     "no device");
	for (int i = 0; i < 10; i++)
		MUST(cuMemAlloc_v2(&address[i], 4096) == 0, "allocation %d", i);
	for (int i = 0; i < 10; i++)
		MUST(cuMemFree_v2(address[i]) == 0, "free %d", i);
	MUST(cuMemFree_v2(12345) == CUDA_ERROR_INVALID_VALUE, "a wrong free is refused");
	printf("driver saw %llu allocations, %llu frees\n", fake_cuda_calls("cuMemAlloc_v2"),
	       fake_cuda_calls("cuMemFree_v2"));
	must_be_ours("constructor", entry_early_found);
	must_be_ours("reference", (void *)cuMemAlloc_v2);
	must_be_ours("default", dlsym(RTLD_DEFAULT, "cuMemAlloc_v2"));
	must_be_ours("next", dlsym(RTLD_NEXT, "cuMemAlloc_v2"));
	must_be_ours("main", dlsym(dlopen(NULL, RTLD_LAZY), "cuMemAlloc_v2"));
	MUST(cuGetProcAddress_v2("cuMemAlloc", &found, 3020, 0, NULL) == 0 && found, "no resolver");
	must_be_ours("resolver", found);
	MUST(cuGetProcAddress_v2("cuMemHostRegister", &found, 3000, 0, NULL) == 0, "too old");
	MUST(cuGetProcAddress_v2("cuMemHostRegister", &found, 4000, 0, NULL) == 0 && found,
	     "no old variant");
	must_be_ours("resolver, old variant", found);
	return 0;
}
