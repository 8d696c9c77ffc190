/*
 * Calls the driver through weak references, on a machine without a driver. With LINKED it is linked
 * with a driver that lacks the functions, which OLD_DRIVER makes.
 */
#include <stddef.h>
#include <stdio.h>

int cuInit(unsigned flags);

#ifdef OLD_DRIVER
int cuInit(unsigned flags)
{
	return flags != 0;
}
#else
int cuMemAlloc_v2(unsigned long long *address, size_t bytes) __attribute__((weak));
int cuGetProcAddress_v2(const char *, void **, int, unsigned long long, int *)
	__attribute__((weak));

int main(void)
{
	unsigned long long address = 7;
	void *found = NULL;
#ifdef LINKED
	if (cuInit(0) != 0)
		return 2;
#endif
	/* non-NULL when we are preloaded: the loader binds it to our export, which no look-up by
	 * name shows */
	if (cuMemAlloc_v2 && (cuMemAlloc_v2(&address, 512) != 3 || address != 7))
		return 1;
	if (cuGetProcAddress_v2 &&
	    (cuGetProcAddress_v2("cuInit", &found, 2000, 0, NULL) != 3 || found))
		return 1;
	puts("not there");
	return 0;
}
#endif
