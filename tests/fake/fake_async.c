/*
 * Three libraries, chosen by macro: a runtime with cudaMallocAsync (-DRUNTIME), and two callers of
 * it that stand for PyTorch's allocator and for cuBLAS (their file names differ). As in PyTorch, a
 * caller holds a lock around each call, and counts the requested bytes.
 */
#include <dlfcn.h>
#include <pthread.h>

#include "driver_entry.h"
#include "fake_async.h"

#ifdef RUNTIME
static struct driver driver;

__attribute__((constructor)) static void runtime_open(void)
{
	driver_open(&driver, FROM_PROC_ADDRESS);
}

int cudaMallocAsync(void **out, size_t bytes, void *stream)
{
	CUdeviceptr address = 0;
	int result = driver.cuMemAllocAsync(&address, bytes, stream);
	*out = (void *)(uintptr_t)address;
	return result;
}

int cudaFreeAsync(void *address, void *stream)
{
	int result = driver.cuMemFreeAsync((uintptr_t)address, stream);
	return result == CUDA_SUCCESS ? 0 : -result;
}
#else
int cudaMallocAsync(void **out, size_t bytes, void *stream);
int cudaFreeAsync(void *address, void *stream);

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct fake_async_stats stats;

static void *caller_malloc(size_t bytes, void *stream)
{
	void *address = NULL;
	pthread_mutex_lock(&lock);
	if (cudaMallocAsync(&address, bytes, stream) == 0) {
		stats.used += bytes;
		stats.peak = stats.used > stats.peak ? stats.used : stats.peak;
	}
	pthread_mutex_unlock(&lock);
	return address;
}

static int caller_free(void *address, size_t bytes, void *stream)
{
	pthread_mutex_lock(&lock);
	int result = cudaFreeAsync(address, stream);
	stats.used -= result == 0 ? bytes : 0;
	pthread_mutex_unlock(&lock);
	return result;
}

const struct fake_async fake_async = { caller_malloc, caller_free, &stats };
#endif
