/*
 * Two libraries take turns at one address and allocate. Sometimes they stay for a while, sometimes
 * they are unloaded before a reader can see them. The size of an allocation identifies the library.
 */
#include "victim.h"

#include <limits.h>
#include <string.h>

static struct driver driver;

static void allocate(void *bytes)
{
	must(driver.cuMemFree_v2(must_alloc(&driver, *(size_t *)bytes)) == CUDA_SUCCESS);
}

/* Beside the victims' folder. */
static void stay(const char *name, size_t bytes, unsigned times)
{
	char path[PATH_MAX + 64];
	ssize_t n = readlink("/proc/self/exe", path, PATH_MAX);
	must(n > 0);
	path[n] = '\0';
	*strrchr(path, '/') = '\0';
	strcpy(strrchr(path, '/'), "/native/");
	strcat(path, name);
	void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	must(library);
	void (*call)(void (*)(void *), void *);
	*(void **)&call = dlsym(library, "native_callee");
	must(call);
	for (unsigned k = 0; k < times; k++) {
		call(allocate, &bytes);
		if (times > 1)
			work_for(1000000);
	}
	must(dlclose(library) == 0);
}

int main(void)
{
	driver = need_driver(FROM_DLSYM);
	unsigned long number = 0;
	for (unsigned round = 0; round < 60; round++) {
		unsigned times = round % 15 == 7 ? 150 : 1;
		stay("libcallee_small.so", 1000, times);
		stay("libcallee_large.so", 2000, times);
		number += 2 * times;
	}
	claim("alloc", number);
	claim("free", number);
	claim("complete", 1);
	claim_recordings(1);
	printf("allocated %lu times\n", number);
	return 0;
}
