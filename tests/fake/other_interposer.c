/*
 * A preload of another tool, as vGPU limiters are: a C wrapper of dlsym that returns its own
 * cuMemAlloc, cuMemFree and cuGetProcAddress. Counts its calls; with OTHER_COUNT=FILE it writes the
 * counts there at the end ("allocs frees").
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))

typedef int alloc_function(unsigned long long *, size_t);
typedef int free_function(unsigned long long);
typedef int find_function(const char *, void **, int, unsigned long long, int *);
typedef void *dlsym_function(void *, const char *);

static alloc_function *real_alloc;
static free_function *real_free;
static find_function *real_find;
static _Atomic unsigned long allocs, frees;

static int other_alloc(unsigned long long *address, size_t bytes)
{
	allocs++;
	return real_alloc(address, bytes);
}

static int other_free(unsigned long long address)
{
	frees++;
	return real_free(address);
}

/* Returns this library's function when `name` is one of three and `found` is the driver's. */
static void *replace(const char *name, void *found)
{
	if (strcmp(name, "cuMemAlloc_v2") == 0) {
		real_alloc = (alloc_function *)found;
		return (void *)other_alloc;
	}
	if (strcmp(name, "cuMemFree_v2") == 0) {
		real_free = (free_function *)found;
		return (void *)other_free;
	}
	return found;
}

static int other_find(const char *name, void **out, int version, unsigned long long flags,
		      int *status)
{
	int result = real_find(name, out, version, flags, status);
	if (result == 0 && *out && strcmp(name, "cuMemAlloc") == 0)
		*out = replace("cuMemAlloc_v2", *out);
	if (result == 0 && *out && strcmp(name, "cuMemFree") == 0)
		*out = replace("cuMemFree_v2", *out);
	return result;
}

EXPORT void *dlsym(void *restrict handle, const char *restrict name)
{
	static dlsym_function *next;
	if (!next)
		*(void **)&next = dlvsym(RTLD_NEXT, "dlsym", "GLIBC_2.2.5");
	if (strncmp(name, "cuMem", 5) != 0 && strcmp(name, "cuGetProcAddress_v2") != 0)
		return next(handle, name); /* a tail call, as long as the compiler optimises */
	void *found = next(handle, name);
	if (found && strcmp(name, "cuGetProcAddress_v2") == 0) {
		real_find = (find_function *)found;
		return (void *)other_find;
	}
	return found ? replace(name, found) : NULL;
}

__attribute__((destructor)) static void write_counts(void)
{
	const char *path = getenv("OTHER_COUNT");
	FILE *file = path && allocs ? fopen(path, "w") : NULL;
	if (!file)
		return;
	fprintf(file, "%lu %lu\n", allocs, frees);
	fclose(file);
}
