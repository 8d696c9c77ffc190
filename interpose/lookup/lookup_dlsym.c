/*
 * The answer for the export `dlsym` (dlsym_x86_64.S): NULL lets the call through to the next dlsym
 * as if we were not there, anything else is the answer. Our exports have a hidden version, so that
 * look-ups by name pass over them: what the loader finds is what it would find without us, and only
 * that is routed.
 *
 * A weak reference to a function of the driver, resolved by the loader itself, does see our export
 * on a machine without a driver; the wrapper then returns CUDA_ERROR_NOT_INITIALIZED.
 */
#include <dlfcn.h>

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

/* In what the program opened with RTLD_GLOBAL later: behind everything that it started with. */
static void *find_opened(const char *name)
{
	void *volatile found = gp_libc_dlsym(RTLD_NEXT, name);
	return found && gp_elf_position(found) >= gp_objects_at_start ? found : NULL;
}

/*
 * What RTLD_DEFAULT and RTLD_NEXT find for the caller without us; NULL: not certain. RTLD_DEFAULT
 * begins with the global scope, which is everybody's. Then comes the caller's own: its answer is
 * certain where one object alone defines the name. No tail call: the caller must be us.
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
 * A pseudo handle's meaning depends on the caller. So an answer is given here only where the
 * wrapper calls just what the caller would find; else the call goes through.
 */
static void *answer_relative(void *handle, const char *name, const void *caller)
{
	void *real = find_relative(handle, name, caller);
	const struct gp_cuda_wrapper *row = gp_row_of(real);
	if (!row || *row->real != real)
		return NULL;
	dlerror(); /* of a look-up of ours that failed: the caller's succeeds */
	return row->wrapper;
}

/* Another preload's dlsym may answer with a function of its own instead of a row's. */
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

void *gp_dlsym_answer(void *handle, const char *name, const void *caller)
{
	if (!gp_next_dlsym)
		gp_dlsym_find();
	if (!is_driver_name(name))
		return NULL;
	gp_start();
	if (!gp_lookups_open || !gp_resolve() || !gp_is_resolved() || gp_is_behind_us(caller))
		return NULL;
	gp_resolver_pin();
	gp_find_python();
	if (handle == RTLD_NEXT || handle == RTLD_DEFAULT)
		return answer_relative(handle, name, caller);
	/* NULL: looked up once more, for the caller's dlerror */
	return route_answer(handle, name, gp_next_dlsym(handle, name));
}
