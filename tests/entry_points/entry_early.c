/*
 * Looks up the driver in its constructor: a library that the program needs is initialised before
 * any preload.
 */
#include <dlfcn.h>
#include <stddef.h>

extern void *entry_early_found;
void *entry_early_found;

__attribute__((constructor)) static void look_up(void)
{
	void *driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
	entry_early_found = driver ? dlsym(driver, "cuMemAlloc_v2") : NULL;
}
