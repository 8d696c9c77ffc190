/*
 * The answer for the export `dlsym` (dlsym_x86_64.S). NULL passes the call to the next dlsym, as if
 * we were not loaded; any other value is the answer. Our exports have a hidden version, so look-ups
 * by name skip them. The loader finds the same function as without us, and only that is replaced by
 * its wrapper.
 *
 * The loader binds a weak reference to a driver function to our export on a machine without a
 * driver. The wrapper then returns CUDA_ERROR_NOT_INITIALIZED.
 */
#include <dlfcn.h>
#include <string.h>

#include "../gpu/gpu_record.h"
#include "elf_lookup.h"
#include "find_python.h"
#include "mapped_scope.h"
#include "resolver.h"

void *gp_dlsym_answer(void *handle, const char *name, const void *caller)
	__attribute__((visibility("hidden")));

/* cuMemAlloc, but not cudnnCreate, cublasCreate, curl_easy_init */
static bool is_driver_name(const char *name)
{
	return name && name[0] == 'c' && name[1] == 'u' && name[2] >= 'A' && name[2] <= 'Z';
}

/*
 * Searches the objects that the program opened later with RTLD_GLOBAL, after those that it started
 * with.
 */
static void *find_opened(const char *name)
{
	void *volatile found = gp_libc_dlsym(RTLD_NEXT, name);
	return found && gp_elf_position(found) >= gp_objects_at_start ? found : NULL;
}

/*
 * The result of RTLD_DEFAULT or RTLD_NEXT for the caller without us; NULL: not certain.
 * RTLD_DEFAULT begins with the global scope, which is the same for all callers. The caller's own
 * scope follows; its result is certain only if exactly one object defines the name. Must not be a
 * tail call: libc must see us as the caller.
 */
static void *find_relative(void *handle, const char *name, const void *caller)
{
	const char *const names[] = { name, NULL, NULL, NULL };
	void *volatile found = NULL;
	if (handle == RTLD_DEFAULT) {
		found = gp_libc_dlsym(RTLD_DEFAULT, name);
	} else if (gp_elf_position(caller) < gp_objects_at_start) {
		found = gp_mapped_next(caller, gp_objects_at_start, name);
		return found ? found : find_opened(name);
	}
	if (!found && gp_mapped_count(name) == 1)
		found = gp_mapped_bound(caller, names);
	return found;
}

/*
 * The meaning of a pseudo handle depends on the caller. So answers only if the wrapper calls the
 * function that the caller would find. Else the call is passed on.
 */
static void *answer_relative(void *handle, const char *name, const void *caller)
{
	void *real = find_relative(handle, name, caller);
	const struct gp_cuda_wrapper *row = gp_row_of(real);
	if (!row || *row->real != real)
		return NULL;
	dlerror(); /* clears the error of our failed look-up, since the caller's succeeds */
	return row->wrapper;
}

/* Another preload's dlsym may return its own function for a row. */
static void *route_answer(void *handle, const char *name, void *real)
{
	void *routed = gp_route(real);
	const struct gp_cuda_wrapper *row = NULL;
	if (routed != real)
		return routed;
	if (real && gp_next_dlsym != gp_libc_dlsym)
		row = gp_row_of(gp_libc_dlsym(handle, name));
	if (row)
		return gp_route_learn(real, row);
	gp_miss_check(name, real);
	return real;
}

/* RTLD_DEFAULT and RTLD_NEXT find what they find. */
static void *answer_cupti(void *handle, const char *name)
{
	if (handle == RTLD_NEXT || handle == RTLD_DEFAULT)
		return NULL;
	return gp_gpu_source->route(gp_next_dlsym(handle, name));
}

void *gp_dlsym_answer(void *handle, const char *name, const void *caller)
{
	if (!gp_next_dlsym)
		gp_dlsym_find();
	if (gp_unlikely(gp_gpu_source != NULL) && name && strncmp(name, "cupti", 5) == 0)
		return answer_cupti(handle, name);
	if (!is_driver_name(name))
		return NULL;
	gp_start();
	if (!gp_lookups_open || !gp_resolve() || !gp_is_resolved() || gp_is_behind_us(caller))
		return NULL;
	gp_resolver_pin();
	gp_find_python();
	if (handle == RTLD_NEXT || handle == RTLD_DEFAULT)
		return answer_relative(handle, name, caller);
	/* with NULL it is looked up again, to set the caller's dlerror */
	return route_answer(handle, name, gp_next_dlsym(handle, name));
}
