/*
 * Another preload, behind us: it answers requests for device memory with managed memory, through an
 * ordinary linked call. Its frame is as small as can be.
 */
#include <stddef.h>

int cuMemAlloc_v2(unsigned long long *address, size_t bytes);
int cuMemAllocManaged(unsigned long long *address, size_t bytes, unsigned flags);

int cuMemAlloc_v2(unsigned long long *address, size_t bytes)
{
	return cuMemAllocManaged(address, bytes, 1);
}
