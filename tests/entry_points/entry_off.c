/*
 * Calls the driver through linked references and through its resolver. Prints what the preload
 * object did meanwhile: fork handlers, mappings, files, keys, signal handlers, libraries and
 * variables.
 */
#include "entry_probe.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

int cuInit(unsigned flags);
int cuDevicePrimaryCtxRetain(void **context, int device);
int cuCtxSetCurrent(void *context);
int cuMemAlloc_v2(unsigned long long *address, size_t bytes);
int cuMemFree_v2(unsigned long long address);
int cuGetProcAddress_v2(const char *, void **, int, unsigned long long, int *);
int __register_atfork(void (*)(void), void (*)(void), void (*)(void), void *);
int pthread_key_create(unsigned *key, void (*destroy)(void *));
int __pthread_key_create(unsigned *key, void (*destroy)(void *));
int __sigaction(int number, const struct sigaction *action, struct sigaction *old);

#define SEEN 64
static struct {
	const char *what;
	const void *caller;
} seen[SEEN];
static unsigned seen_used;

static void see(const char *what, const void *caller)
{
	if (seen_used < SEEN)
		seen[seen_used].what = what, seen[seen_used++].caller = caller;
}

int __register_atfork(void (*before)(void), void (*parent)(void), void (*child)(void), void *object)
{
	(void)before, (void)parent, (void)child, (void)object;
	see("fork handler", __builtin_return_address(0));
	return 0;
}

int pthread_key_create(unsigned *key, void (*destroy)(void *))
{
	see("key", __builtin_return_address(0));
	return __pthread_key_create(key, destroy);
}

int sigaction(int number, const struct sigaction *action, struct sigaction *old)
{
	see("signal handler", __builtin_return_address(0));
	return __sigaction(number, action, old);
}

int open(const char *path, int flags, ...)
{
	see("file", __builtin_return_address(0));
	return (int)syscall(SYS_openat, AT_FDCWD, path, flags, 0600);
}

void *mmap(void *at, size_t bytes, int protection, int flags, int file, off_t offset)
{
	see("mapping", __builtin_return_address(0));
	return (void *)syscall(SYS_mmap, at, bytes, protection, flags, file, offset);
}

static void print_libraries(void)
{
	char line[4096];
	FILE *maps = fopen("/proc/self/maps", "r");
	while (maps && fgets(line, sizeof line, maps))
		if (strstr(line, "unwind"))
			puts("an unwinder is mapped");
	if (maps)
		fclose(maps);
}

int main(void)
{
	void *context, *found = NULL;
	unsigned long long address;
	MUST(cuGetProcAddress_v2("cuMemAlloc", &found, 3020, 0, NULL) == 0 && found, "no resolver");
	MUST(cuInit(0) == 0 && cuDevicePrimaryCtxRetain(&context, 0) == 0 &&
		     cuCtxSetCurrent(context) == 0 && cuMemAlloc_v2(&address, 4096) == 0 &&
		     cuMemFree_v2(address) == 0,
	     "no device");
	printf("answered from %s\n", place_of(found).file);
	for (unsigned i = 0; i < seen_used; i++)
		if (is_ours(seen[i].caller))
			printf("the preload made: %s\n", seen[i].what);
	print_libraries();
	printf("NVTX: %s\n", getenv("NVTX_INJECTION64_PATH") ? "taken" : "free");
	return 0;
}
