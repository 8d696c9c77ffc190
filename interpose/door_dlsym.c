/*
 * What the door `dlsym` (dlsym_x86_64.S) asks: NULL lets the call through to the next dlsym as if we were not there,
 * anything else is the answer. Our exports carry a hidden version, so that look-ups by name pass over them: what
 * the loader finds is what it would find without us, and only that is routed.
 *
 * A weak reference to a function of the driver, resolved by the loader itself, does see our export on a machine
 * without a driver; the wrapper then returns CUDA_ERROR_NOT_INITIALIZED.
 */
#include <dlfcn.h>
#include <link.h>

#include "resolver.h"

void *gp_dlsym_answer(void *handle, const char *name, const void *caller) __attribute__((visibility("hidden")));

/* cuMemAlloc, but not cudnnCreate, cublasCreate, curl_easy_init */
static bool is_driver_name(const char *name)
{
	return name && name[0] == 'c' && name[1] == 'u' && name[2] >= 'A' && name[2] <= 'Z';
}

/* RTLD_DEFAULT as the caller would have it: the global scope, then that of the object that it lies in. The calls
 * must not be tail calls: the loader looks where they come from. */
static void *find_default(const char *name, const void *caller)
{
	void *volatile found = gp_libc_dlsym(RTLD_DEFAULT, name);
	if (found)
		return found;
	Dl_info info;
	struct link_map *map = NULL;
	if (!dladdr1(caller, &info, (void **)&map, RTLD_DL_LINKMAP) || !map)
		return NULL;
	found = gp_libc_dlsym(map, name);
	return found;
}

static void *find_next(const char *name)
{
	void *volatile found = gp_libc_dlsym(RTLD_NEXT, name);
	return found;
}

/* A pseudo handle's meaning depends on the caller, so only an answer that is ours is given here. */
static void *answer_relative(void *handle, const char *name, const void *caller)
{
	void *real = handle == RTLD_NEXT ? find_next(name) : find_default(name, caller);
	void *routed = gp_route(real);
	return routed != real ? routed : NULL;
}

void *gp_dlsym_answer(void *handle, const char *name, const void *caller)
{
	if (!gp_next_dlsym)
		gp_dlsym_find();
	if (!is_driver_name(name) || !gp_doors_open || !gp_resolve() || !gp_is_resolved() || gp_is_behind_us(caller))
		return NULL;
	if (handle == RTLD_NEXT || handle == RTLD_DEFAULT)
		return answer_relative(handle, name, caller);
	void *real = gp_next_dlsym(handle, name), *routed = gp_route(real);
	if (routed == real)
		gp_route_check(name, real);
	return routed; /* NULL: asked once more, for the caller's dlerror */
}
