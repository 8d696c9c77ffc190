/*
 * A library with own functions under names of the driver, opened RTLD_GLOBAL. Each calls the
 * driver, which the library opens at the first call, as XLA's stubs do.
 */
#include <dlfcn.h>
#include <stddef.h>

int cuInit(unsigned flags);
int cuMemAlloc_v2(unsigned long long *address, size_t bytes);
int cuCtxSetCurrent(void *context);
int cuDevicePrimaryCtxRetain(void **context, int device);
int entry_stub_alloc(void);
extern void *entry_stub_found;

void *entry_stub_found;

static void *find(const char *name)
{
	static void *driver;
	if (!driver)
		driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
	void *volatile found = driver ? dlsym(driver, name) : NULL;
	return found;
}

int cuInit(unsigned flags)
{
	int (*real)(unsigned);
	*(void **)&real = find("cuInit");
	return real ? real(flags) : 3;
}

int cuDevicePrimaryCtxRetain(void **context, int device)
{
	int (*real)(void **, int);
	*(void **)&real = find("cuDevicePrimaryCtxRetain");
	return real ? real(context, device) : 3;
}

int cuCtxSetCurrent(void *context)
{
	int (*real)(void *);
	*(void **)&real = find("cuCtxSetCurrent");
	return real ? real(context) : 3;
}

int cuMemAlloc_v2(unsigned long long *address, size_t bytes)
{
	int (*real)(unsigned long long *, size_t);
	*(void **)&real = entry_stub_found = find("cuMemAlloc_v2");
	return real ? real(address, bytes) : 3;
}

/* An allocation through the stubs, as the library's own code makes it. */
int entry_stub_alloc(void)
{
	void *context = NULL;
	unsigned long long address = 0;
	if (cuInit(0) || cuDevicePrimaryCtxRetain(&context, 0) || cuCtxSetCurrent(context))
		return 100;
	return cuMemAlloc_v2(&address, 4096);
}
