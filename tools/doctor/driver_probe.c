/*
 * Calls the driver by name. Declares only three prototypes of CUDA. Runs in a child of `doctor`.
 */
#include "driver_probe.h"

#include <dlfcn.h>
#include <link.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "gpuprof.h"

#define DRIVER "libcuda.so.1"

typedef int (*init_function)(unsigned flags);
typedef int (*number_function)(int *out);
typedef int (*text_function)(int result, const char **out);
typedef int (*address_function)(const char *name, void **out, int version, uint64_t flags,
				int *found);

static void print_path(const char *key, void *handle)
{
	struct link_map *map;
	if (dlinfo(handle, RTLD_DI_LINKMAP, &map) == 0)
		printf("%s %s\n", key, map->l_name);
}

static void print_number(void *driver, const char *key, const char *name)
{
	int number;
	number_function query = (number_function)dlsym(driver, name);
	if (query && query(&number) == 0)
		printf("%s %d\n", key, number);
}

static void print_init(void *driver)
{
	const char *text = NULL;
	init_function init = (init_function)dlsym(driver, "cuInit");
	text_function error_text = (text_function)dlsym(driver, "cuGetErrorString");
	if (!init)
		return;
	int result = init(0);
	printf("init %d\n", result);
	if (result && error_text && error_text(result, &text) == 0 && text)
		printf("init_text %s\n", text);
}

/* As the library looks for it (interpose/open_unwind.c). */
static void print_unwinder(const char *library)
{
	static const char *const beside[] = { "libgpuprof-unwind.so",
					      "gpuprof/libgpuprof-unwind.so" };
	const char *slash = strrchr(library, '/');
	char path[4096];
	void *found = NULL;
	for (size_t k = 0; k < sizeof beside / sizeof *beside && slash && !found; k++)
		if (snprintf(path, sizeof path, "%.*s%s", (int)(slash + 1 - library), library,
			     beside[k]) < (int)sizeof path)
			found = dlopen(path, RTLD_LAZY | RTLD_LOCAL);
	if (!found)
		found = dlopen("libunwind.so.8", RTLD_LAZY | RTLD_LOCAL);
	if (found)
		print_path("libunwind", found);
}

int gp_driver_probe(const char *library)
{
	print_unwinder(library);
	void *driver = dlopen(DRIVER, RTLD_NOW | RTLD_LOCAL);
	if (!driver) {
		printf("driver_error %s\n", dlerror());
		return 0;
	}
	print_path("driver", driver);
	/* keep the output so far if the driver hangs or ends the process when it starts */
	fflush(stdout);
	print_number(driver, "version", "cuDriverGetVersion");
	print_init(driver);
	print_number(driver, "devices", "cuDeviceGetCount");
	return 0;
}

static void print_object(const char *key, void *address)
{
	Dl_info object;
	if (address && dladdr(address, &object) && object.dli_fname)
		printf("%s %s\n", key, object.dli_fname);
}

int gp_lookup_probe(const char *library)
{
	printf("preloaded %s\n", dlopen(library, RTLD_LAZY | RTLD_NOLOAD) ? "yes" : "no");
	/* global, as in a program linked with it: else RTLD_DEFAULT may not find it */
	void *driver = dlopen(DRIVER, RTLD_NOW | RTLD_GLOBAL);
	if (!driver)
		return 0;
	print_object("handle", dlsym(driver, "cuMemAlloc_v2"));
	print_object("global", dlsym(RTLD_DEFAULT, "cuMemAlloc_v2"));
	void *address = NULL;
	int found;
	address_function look_up = (address_function)dlsym(driver, "cuGetProcAddress_v2");
	/* the CUDA runtime passes the name without its version, and 12.0 as the version */
	if (look_up && look_up("cuMemAlloc", &address, 12000, 0, &found) == 0)
		print_object("address", address);
	return 0;
}
