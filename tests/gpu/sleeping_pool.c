/*
 * An allocator for torch.cuda.MemPool whose memory can sleep, as vLLM's and SGLang's do: the
 * addresses stay reserved, and the physical memory is returned to the device until it wakes.
 * For tests/gpu/paged_server.py. Calls come from one thread at a time. Sizes in bytes.
 */
#include <cuda.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/types.h>

#define BLOCKS 4096

static struct {
	CUdeviceptr at;
	size_t bytes;
	CUmemGenericAllocationHandle handle;
	int device, tag, is_mapped;
} blocks[BLOCKS];
static int tag_now;

/* By look-up, as in libraries that must load on machines without a driver. */
#define CALL(function, ...)                                                                   \
	do {                                                                                  \
		static __typeof__(function) *call;                                            \
		if (!call)                                                                    \
			*(void **)&call = dlsym(dlopen("libcuda.so.1", RTLD_NOW), #function); \
		CUresult result = call(__VA_ARGS__);                                          \
		if (result != CUDA_SUCCESS) {                                                 \
			fprintf(stderr, "%s: error %d\n", #function, (int)result);            \
			abort();                                                              \
		}                                                                             \
	} while (0)

static CUmemAllocationProp place_of(int device)
{
	CUmemAllocationProp place = { .type = CU_MEM_ALLOCATION_TYPE_PINNED };
	place.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
	place.location.id = device;
	return place;
}

static void block_map(int k)
{
	CUmemAllocationProp place = place_of(blocks[k].device);
	CUmemAccessDesc access = { .location = place.location,
				   .flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE };
	CALL(cuMemCreate, &blocks[k].handle, blocks[k].bytes, &place, 0);
	CALL(cuMemMap, blocks[k].at, blocks[k].bytes, 0, blocks[k].handle, 0);
	CALL(cuMemSetAccess, blocks[k].at, blocks[k].bytes, &access, 1);
	blocks[k].is_mapped = 1;
}

static void block_unmap(int k)
{
	CALL(cuMemUnmap, blocks[k].at, blocks[k].bytes);
	CALL(cuMemRelease, blocks[k].handle);
	blocks[k].is_mapped = 0;
}

/* Blocks that are allocated from now on belong to the tag, above 0. */
void sleeping_pool_tag(int tag)
{
	tag_now = tag;
}

void *sleeping_pool_malloc(ssize_t bytes, int device, CUstream stream)
{
	CUmemAllocationProp place = place_of(device);
	size_t unit;
	int k = 0;
	(void)stream;
	while (k < BLOCKS && blocks[k].at)
		k++;
	if (k == BLOCKS)
		abort();
	CALL(cuMemGetAllocationGranularity, &unit, &place, CU_MEM_ALLOC_GRANULARITY_MINIMUM);
	blocks[k].bytes = ((size_t)bytes + unit - 1) / unit * unit;
	blocks[k].device = device;
	blocks[k].tag = tag_now;
	CALL(cuMemAddressReserve, &blocks[k].at, blocks[k].bytes, 0, 0, 0);
	block_map(k);
	return (void *)blocks[k].at;
}

void sleeping_pool_free(void *address, ssize_t bytes, int device, CUstream stream)
{
	int k = 0;
	(void)bytes, (void)device, (void)stream;
	while (k < BLOCKS && blocks[k].at != (CUdeviceptr)address)
		k++;
	if (k == BLOCKS)
		abort();
	if (blocks[k].is_mapped)
		block_unmap(k);
	CALL(cuMemAddressFree, blocks[k].at, blocks[k].bytes);
	blocks[k].at = 0;
}

/* Of the tag. The GPU must not use it. Returns the physical bytes that were released. */
size_t sleeping_pool_sleep(int tag)
{
	size_t released = 0;
	for (int k = 0; k < BLOCKS; k++)
		if (blocks[k].at && blocks[k].tag == tag && blocks[k].is_mapped) {
			released += blocks[k].bytes;
			block_unmap(k);
		}
	return released;
}

/* Of the tag, without its former content. Returns the bytes that were mapped. */
size_t sleeping_pool_wake(int tag)
{
	size_t mapped = 0;
	for (int k = 0; k < BLOCKS; k++)
		if (blocks[k].at && blocks[k].tag == tag && !blocks[k].is_mapped) {
			mapped += blocks[k].bytes;
			block_map(k);
		}
	return mapped;
}
