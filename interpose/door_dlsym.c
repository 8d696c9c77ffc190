/*
 * What the door `dlsym` (dlsym_x86_64.S) asks: NULL lets the call through to the next dlsym as if
 * we were not there, anything else is the answer. Our exports carry a hidden version, so that
 * look-ups by name pass over them: what the loader finds is what it would find without us, and only
 * that is routed.
 *
 * A weak reference to a function of the driver, resolved by the loader itself, does see our export
 * on a machine without a driver; the wrapper then returns CUDA_ERROR_NOT_INITIALIZED.
 */
#include <dlfcn.h>
#include <link.h>
#include <string.h>

#include "door_misses.h"
#include "elf_lookup.h"
#include "resolver.h"

void *gp_dlsym_answer(void *handle, const char *name, const void *caller)
	__attribute__((visibility("hidden")));

/* cuMemAlloc, but not cudnnCreate, cublasCreate, curl_easy_init */
static bool is_driver_name(const char *name)
{
	return name && name[0] == 'c' && name[1] == 'u' && name[2] >= 'A' && name[2] <= 'Z';
}

/* Whether the object around `caller` names the driver among the libraries that it needs. */
static bool needs_driver(const void *caller)
{
	Dl_info info;
	const struct link_map *object = NULL;
	const char *strings = NULL;
	if (!dladdr1(caller, &info, (void **)&object, RTLD_DL_LINKMAP) || !object)
		return false;
	for (const ElfW(Dyn) *d = object->l_ld; d->d_tag != DT_NULL; d++)
		if (d->d_tag == DT_STRTAB)
			strings = (const char *)d->d_un.d_ptr;
	for (const ElfW(Dyn) *d = object->l_ld; strings && d->d_tag != DT_NULL; d++)
		if (d->d_tag == DT_NEEDED && strcmp(strings + d->d_un.d_val, "libcuda.so.1") == 0)
			return true;
	return false;
}

/*
 * RTLD_DEFAULT and RTLD_NEXT as the caller would have them: the global scope (RTLD_NEXT: for what
 * the program started with), then its own, where only the driver matters. The caller's scope cannot
 * be searched itself: glibc's dlsym crashes on the handle of an object that nobody opened. No tail
 * calls: the caller must be us.
 */
static void *find_relative(void *handle, const char *name, const void *caller)
{
	void *volatile found = NULL;
	if (handle == RTLD_DEFAULT || gp_elf_position(caller) < gp_objects_at_start)
		found = gp_libc_dlsym(handle, name);
	if (!found && needs_driver(caller))
		found = gp_driver_find(name);
	return found;
}

/* A pseudo handle's meaning depends on the caller, so only an answer that is ours is given here. */
static void *answer_relative(void *handle, const char *name, const void *caller)
{
	void *real = find_relative(handle, name, caller);
	void *routed = gp_route(real);
	return routed != real ? routed : NULL;
}

void *gp_dlsym_answer(void *handle, const char *name, const void *caller)
{
	if (!gp_next_dlsym)
		gp_dlsym_find();
	if (!is_driver_name(name))
		return NULL;
	gp_start();
	if (!gp_doors_open || !gp_resolve() || !gp_is_resolved() || gp_is_behind_us(caller))
		return NULL;
	gp_find_stacks();
	if (handle == RTLD_NEXT || handle == RTLD_DEFAULT)
		return answer_relative(handle, name, caller);
	void *real = gp_next_dlsym(handle, name), *routed = gp_route(real);
	if (routed == real)
		gp_miss_check(name, real);
	return routed; /* NULL: asked once more, for the caller's dlerror */
}
