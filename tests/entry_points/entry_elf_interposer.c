/*
 * A preload of another tool that only exports functions of the driver and finds the next ones with
 * RTLD_NEXT. Its resolver returns a function of its own to requests for an old variant.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

int cuMemAlloc_v2(unsigned long long *address, size_t bytes);
int cuGetProcAddress_v2(const char *name, void **function, int version, unsigned long long flags,
			int *status);

static int calls;

int cuMemAlloc_v2(unsigned long long *address, size_t bytes)
{
	static int (*next)(unsigned long long *, size_t);
	if (!next)
		*(void **)&next = dlsym(RTLD_NEXT, "cuMemAlloc_v2");
	if (++calls > 1000)
		_exit(99); /* it called itself */
	return next ? next(address, bytes) : 3;
}

static int register_old(void *address, size_t bytes, unsigned flags)
{
	(void)address, (void)bytes, (void)flags;
	return 801;
}

int cuGetProcAddress_v2(const char *name, void **function, int version, unsigned long long flags,
			int *status)
{
	static int (*next)(const char *, void **, int, unsigned long long, int *);
	if (!next)
		*(void **)&next = dlsym(RTLD_NEXT, "cuGetProcAddress_v2");
	int result = next(name, function, version, flags, status);
	if (result == 0 && strcmp(name, "cuMemHostRegister") == 0 && version < 6050)
		*function = (void *)register_old;
	return result;
}

__attribute__((destructor)) static void tell(void)
{
	fprintf(stderr, "interposer saw %d allocations\n", calls);
}
