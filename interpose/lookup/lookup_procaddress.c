/*
 * The driver's resolver is called first, with exactly the caller's arguments. Its answer is routed
 * by address, so that no caller gets a function of another ABI. Does not enter the loader: a caller
 * may hold a lock that a constructor under the loader's lock waits for.
 */
#include "lookup_procaddress.h"
#include "find_python.h"

#include "../driver/driver_export.h"
#include "resolver.h"

/* One request of either resolver; `status` is NULL for the old one. */
struct request {
	const char *name;
	int version;
	cuuint64_t flags;
	bool is_old;
};

/* The driver's own answer, to identify the row if an interposer returns another function. */
static void *query_driver(const struct request *request)
{
	void *found = NULL;
	int status = 0;
	CUresult result = CUDA_ERROR_NOT_INITIALIZED;
	if (request->is_old) {
		gp_get_proc_address *own =
			(gp_get_proc_address *)gp_driver_resolver("cuGetProcAddress");
		if (own && own != gp_real_get_proc_address)
			result = own(request->name, &found, request->version, request->flags);
	} else {
		gp_get_proc_address_v2 *own =
			(gp_get_proc_address_v2 *)gp_driver_resolver("cuGetProcAddress_v2");
		if (own && own != gp_real_get_proc_address_v2)
			result = own(request->name, &found, request->version, request->flags,
				     &status);
	}
	return result == CUDA_SUCCESS ? found : NULL;
}

/* Routes an answer by its address. Only the driver interprets name, version and flags. */
static void *route_answer(const struct request *request, void *real)
{
	void *routed = gp_route(real);
	if (routed != real)
		return routed;
	if (gp_lookups_open && !gp_is_in_driver(real)) {
		const struct gp_cuda_wrapper *row = gp_row_of(query_driver(request));
		if (row)
			return gp_route_learn(real, row);
	}
	gp_miss_check(request->name, real);
	return real;
}

static bool is_there(const char *symbol, void **real)
{
	const bool is_known = *real && (gp_is_resolved() || !gp_lookups_open);
	gp_find_python();
	return is_known || gp_resolve_call(symbol, real);
}

CUresult gp_lookup_get_proc_address(const char *name, void **function, int version,
				    cuuint64_t flags)
{
	if (!is_there("cuGetProcAddress", (void **)&gp_real_get_proc_address))
		return CUDA_ERROR_NOT_INITIALIZED;
	CUresult result = gp_real_get_proc_address(name, function, version, flags);
	if (result == CUDA_SUCCESS && function && *function &&
	    !gp_is_behind_us(__builtin_return_address(0)))
		*function =
			route_answer(&(struct request){ name, version, flags, true }, *function);
	return result;
}

CUresult gp_lookup_get_proc_address_v2(const char *name, void **function, int version,
				       cuuint64_t flags, int *status)
{
	if (!is_there("cuGetProcAddress_v2", (void **)&gp_real_get_proc_address_v2))
		return CUDA_ERROR_NOT_INITIALIZED;
	CUresult result = gp_real_get_proc_address_v2(name, function, version, flags, status);
	if (result == CUDA_SUCCESS && function && *function &&
	    !gp_is_behind_us(__builtin_return_address(0)))
		*function =
			route_answer(&(struct request){ name, version, flags, false }, *function);
	return result;
}

GP_DRIVER_EXPORT(cuGetProcAddress, gp_lookup_get_proc_address);
GP_DRIVER_EXPORT(cuGetProcAddress_v2, gp_lookup_get_proc_address_v2);
