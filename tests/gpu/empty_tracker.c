/*
 * attach_empty_tracker(): gives PyTorch's caching allocator a trace tracker that does nothing, so
 * that what a tracker costs inside PyTorch can be measured apart from what ours does. For a script
 * that loads it with ctypes after the first CUDA tensor. Knows no layouts: the slot is that of the
 * exported override. 0, or the line that failed.
 */
#include <dlfcn.h>
#include <link.h>
#include <stdio.h>
#include <string.h>

#define ATTACH                                                           \
	"_ZN5torch4cuda22CUDAPluggableAllocator22CUDAPluggableAllocator" \
	"27attachAllocatorTraceTrackerESt8functionIFvRKN3c10"
#define SLOTS_MAX 120

struct any_function { /* libstdc++'s std::function */
	void *state[2];
	int (*manage)(void *to, const void *from, int operation);
	void (*call)(const void *state, const void *entry);
};

static int manage(void *to, const void *from, int operation)
{
	if (operation == 1)
		*(const void **)to = from;
	else if (operation == 2)
		memcpy(to, from, sizeof(void *[2]));
	return 0;
}

static void ignore(const void *state, const void *entry)
{
	(void)state;
	(void)entry;
}

static int keep_path(struct dl_phdr_info *info, size_t bytes, void *context)
{
	(void)bytes;
	const char *slash = strrchr(info->dlpi_name, '/');
	const char **wanted = context;
	if (!slash || strncmp(slash + 1, wanted[0], strlen(wanted[0])) != 0)
		return 0;
	wanted[1] = info->dlpi_name;
	return 1;
}

static void *mapped(const char *library)
{
	const char *wanted[2] = { library, NULL };
	dl_iterate_phdr(keep_path, wanted);
	return wanted[1] ? dlopen(wanted[1], RTLD_LAZY | RTLD_NOLOAD) : NULL;
}

int attach_empty_tracker(void)
{
	void *c10 = mapped("libc10_cuda.so"), *cuda = mapped("libtorch_cuda.so");
	if (!c10 || !cuda)
		return __LINE__;
	void ***object = *(void ****)dlsym(c10, "_ZN3c104cuda20CUDACachingAllocator9allocatorE");
	void **table =
		dlsym(cuda, "_ZTVN5torch4cuda22CUDAPluggableAllocator22CUDAPluggableAllocatorE");
	void *attach = dlsym(cuda, ATTACH "22CachingDeviceAllocator10TraceEntryEEE");
	if (!attach)
		attach = dlsym(cuda, ATTACH "4cuda20CUDACachingAllocator10TraceEntryEEE");
	if (!object || !table || !attach)
		return __LINE__;
	int slot = 2;
	while (slot < SLOTS_MAX && table[slot] != attach)
		slot++;
	if (slot == SLOTS_MAX)
		return __LINE__;
	struct any_function tracker = { { NULL, NULL }, manage, ignore };
	void (*call)(void *, struct any_function *);
	memcpy(&call, &(*object)[slot - 2], sizeof call);
	call(object, &tracker);
	return 0;
}
