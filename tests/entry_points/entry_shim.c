/*
 * A library in front of the driver with which entry_plugin is linked. With PLUGIN it is that
 * plugin: opened RTLD_LOCAL, it looks up the driver by a pseudo handle.
 */
#include <dlfcn.h>
#include <stddef.h>

int cuMemAlloc_v2(unsigned long long *address, size_t bytes);
int cuMemFree_v2(unsigned long long address);
extern int entry_shim_calls;
int entry_plugin_calls(void *handle);

#ifndef PLUGIN
int entry_shim_calls;

int cuMemAlloc_v2(unsigned long long *address, size_t bytes)
{
	static int (*next)(unsigned long long *, size_t);
	entry_shim_calls++;
	void *volatile found = next ? NULL : dlsym(RTLD_NEXT, "cuMemAlloc_v2");
	if (found)
		*(void **)&next = found;
	return next(address, bytes);
}
#else
/* How many calls the shim sees of one allocation and one free; -1: not found. */
int entry_plugin_calls(void *handle)
{
	int (*alloc)(unsigned long long *, size_t), (*drop)(unsigned long long);
	unsigned long long address;
	void *volatile found = dlsym(handle, "cuMemAlloc_v2");
	*(void **)&alloc = found;
	found = dlsym(handle, "cuMemFree_v2");
	*(void **)&drop = found;
	entry_shim_calls = 0;
	return !alloc || !drop || alloc(&address, 4096) || drop(address) ? -1 : entry_shim_calls;
}
#endif
