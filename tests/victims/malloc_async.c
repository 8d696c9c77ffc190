/*
 * A job with PyTorch's backend cudaMallocAsync, in which cuBLAS requests memory from the same pool.
 * The framework's curves have the blocks of the one and not of the other, whose allocations come
 * through the same runtime. One free may be refused.
 *	malloc_async [STEPS]
 */
#include "../fake/fake_async.h"
#include "victim.h"

static const struct fake_async *need(const char *library)
{
	void *object = dlopen(library, RTLD_NOW | RTLD_LOCAL);
	must(object);
	const struct fake_async *found = dlsym(object, "fake_async");
	must(found);
	return found;
}

#define KEPT 16u

int main(int argc, char **argv)
{
	unsigned long steps = count_argument(argc, argv, 40);
	struct driver driver = need_driver(FROM_PROC_ADDRESS);
	CUstream stream;
	must(driver.cuStreamCreate(&stream, 1) == CUDA_SUCCESS);
	const struct fake_async *torch = need("libc10_cuda_async.so");
	const struct fake_async *cublas = need("libcublas_async.so");
	void *kept[KEPT], *workspace = cublas->malloc(134481920, stream);
	must(workspace);
	unsigned long refused = 0;
	for (unsigned long i = 0; i < steps; i++) {
		for (unsigned k = 0; k < KEPT; k++)
			must(kept[k] = torch->malloc(100004 * (k + 1), k % 2 ? stream : NULL));
		void *other = cublas->malloc(8 << 20, NULL);
		must(other && cublas->free(other, 8 << 20, NULL) == 0);
		for (unsigned k = 0; k < KEPT; k++)
			if (torch->free(kept[k], 100004 * (k + 1), k % 2 ? stream : NULL) != 0) {
				refused++;
				must(torch->free(kept[k], 100004 * (k + 1), stream) == 0);
			}
	}
	void *last = torch->malloc(200400900, NULL);
	must(last && torch->stats->used == 200400900);
	claim("allocated_peak:0", getenv("GPUPROF_LIGHT") ? 0 : torch->stats->peak);
	claim("reserved_peak:0", getenv("GPUPROF_LIGHT") ? 0 : torch->stats->peak);
	claim("mismatches", 0);
	printf("peak %zu, %lu refused\n", torch->stats->peak, refused);
	return 0;
}
