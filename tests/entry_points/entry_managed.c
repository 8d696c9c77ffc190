/*
 * Another preload, behind the recorder: it answers requests for device memory with managed memory,
 * through an ordinary linked call. Its stack frame is as small as possible.
 */
#include <stddef.h>

int cuMemAlloc_v2(unsigned long long *address, size_t bytes);
int cuMemAllocManaged(unsigned long long *address, size_t bytes, unsigned flags);

int cuMemAlloc_v2(unsigned long long *address, size_t bytes)
{
	return cuMemAllocManaged(address, bytes, 1);
}
