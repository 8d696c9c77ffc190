/*
 * A malloc of another tool, as profilers of host memory have it: finds libc's with dlsym when it is
 * first called. Ends the process when that look-up allocates.
 */
#include <dlfcn.h>
#include <stddef.h>
#include <unistd.h>

void *malloc(size_t bytes);
void *calloc(size_t count, size_t bytes);
void free(void *block);

static void *(*next_malloc)(size_t);
static void *(*next_calloc)(size_t, size_t);
static void (*next_free)(void *);

static void find_next(void)
{
	static int depth;
	if (next_free)
		return;
	if (depth++ != 0)
		_exit(98);
	void *volatile found = dlsym(RTLD_NEXT, "malloc");
	*(void **)&next_malloc = found;
	found = dlsym(RTLD_NEXT, "calloc");
	*(void **)&next_calloc = found;
	found = dlsym(RTLD_NEXT, "free");
	*(void **)&next_free = found;
}

void *malloc(size_t bytes)
{
	find_next();
	return next_malloc(bytes);
}

void *calloc(size_t count, size_t bytes)
{
	find_next();
	return next_calloc(count, bytes);
}

void free(void *block)
{
	find_next();
	next_free(block);
}
