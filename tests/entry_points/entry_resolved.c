/*
 * A program that gets the driver as the CUDA runtime does: dlopen, dlsym of the resolver, and the
 * other functions from the resolver. Then once more with the driver that its argument names.
 */
#include "entry_probe.h"

typedef int get_proc_address(const char *, void **, int, unsigned long long, int *);

static get_proc_address *resolver;

static void *find(const char *name, int version)
{
	void *found = NULL;
	MUST(resolver(name, &found, version, 0, NULL) == 0 && found, "%s", name);
	return found;
}

static void run_job(const char *file)
{
	void *driver = dlopen(file, RTLD_NOW), *context;
	int (*init)(unsigned), (*retain)(void **, int), (*set)(void *), version = 0;
	int (*alloc)(unsigned long long *, size_t), (*drop)(unsigned long long);
	int (*get_version)(int *);
	unsigned long long address[10];
	MUST(driver, "%s", dlerror());
	*(void **)&resolver = dlsym(driver, "cuGetProcAddress_v2");
	MUST(resolver, "%s", dlerror());
	*(void **)&init = find("cuInit", 2000);
	*(void **)&get_version = find("cuDriverGetVersion", 2020);
	*(void **)&retain = find("cuDevicePrimaryCtxRetain", 7000);
	*(void **)&set = find("cuCtxSetCurrent", 4000);
	*(void **)&alloc = find("cuMemAlloc", 3020);
	*(void **)&drop = find("cuMemFree", 3020);
	MUST(init(0) == 0 && get_version(&version) == 0 && retain(&context, 0) == 0 &&
		     set(context) == 0,
	     "no device");
	for (int i = 0; i < 10; i++)
		MUST(alloc(&address[i], 4096) == 0, "allocation %d", i);
	for (int i = 0; i < 10; i++)
		MUST(drop(address[i]) == 0, "free %d", i);
	printf("version %d\n", version);
}

int main(int argc, char **argv)
{
	run_job("libcuda.so.1");
	if (argc > 1 && *argv[1])
		run_job(argv[1]);
	return 0;
}
