/*
 * Two copies of each library of PyTorch in one process: the report of a copy arrives at that copy,
 * and its graphs run in its own engine. The first copy of c10 is closed, the second goes on.
 */
#include "entry_probe.h"

#include "../fake/fake_c10.h"

static void run_engine(const char *file)
{
	void *library = dlopen(file, RTLD_NOW | RTLD_LOCAL);
	MUST(library, "%s", dlerror());
	void (*backward)(void);
	*(void **)&backward = dlsym(library, "entry_backward");
	backward();
}

static const struct fake_c10 *open_c10(const char *folder, const char *copy, void **library)
{
	char path[1024];
	snprintf(path, sizeof path, "%s/%s/libc10.so", folder, copy);
	*library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	MUST(*library, "%s", dlerror());
	return dlsym(*library, "fake_c10");
}

static void tell(const char *which, const struct fake_c10 *c10, int device)
{
	struct fake_c10_stats stats;
	c10->stats(device, &stats);
	printf("%s: reported %lu, arrived %lu\n", which, (unsigned long)stats.reports,
	       (unsigned long)stats.forwarded);
}

int main(int argc, char **argv)
{
	void *library[2], *block[20];
	MUST(argc > 1, "expected: the folder of the copies");
	const struct fake_c10 *one = open_c10(argv[1], "copy_one", &library[0]);
	const struct fake_c10 *two = open_c10(argv[1], "copy_two", &library[1]);
	MUST(one != two, "one copy");
	for (int i = 0; i < 10; i++)
		block[i] = one->allocate(0, 1 << 20);
	for (int i = 10; i < 20; i++)
		block[i] = two->allocate(1, 1 << 20);
	tell("first", one, 0);
	tell("second", two, 1);
	for (int i = 0; i < 10; i++)
		one->release(block[i]);
	one->empty_cache(0);
	dlclose(library[0]);
	for (int i = 10; i < 20; i++)
		two->release(block[i]);
	tell("second, first closed", two, 1);
	run_engine("libentry_engine_one.so");
	run_engine("libentry_engine_two.so");
	run_engine("libentry_caller_two.so");
	run_engine("libentry_caller_one.so");
	return 0;
}
