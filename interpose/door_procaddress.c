/*
 * The driver's resolver, asked first and with exactly the caller's arguments; what it answers is
 * routed by address. Name, version and flags are the driver's business: so no caller gets a
 * function of another ABI.
 */
#include "door_procaddress.h"

#include "door_misses.h"
#include "driver_export.h"
#include "resolver.h"

static void route_answer(const char *name, void **function, const void *caller)
{
	if (!function || !*function || gp_is_behind_us(caller))
		return;
	void *real = *function, *routed = gp_route(real);
	if (routed != real)
		*function = routed;
	else
		gp_miss_check(name, real);
}

CUresult gp_door_get_proc_address(const char *name, void **function, int version, cuuint64_t flags)
{
	gp_resolve();
	gp_find_stacks();
	gp_get_proc_address *real = gp_real_get_proc_address;
	if (!real)
		return CUDA_ERROR_NOT_INITIALIZED;
	CUresult result = real(name, function, version, flags);
	if (result == CUDA_SUCCESS)
		route_answer(name, function, __builtin_return_address(0));
	return result;
}

CUresult gp_door_get_proc_address_v2(const char *name, void **function, int version,
				     cuuint64_t flags, int *status)
{
	gp_resolve();
	gp_find_stacks();
	gp_get_proc_address_v2 *real = gp_real_get_proc_address_v2;
	if (!real)
		return CUDA_ERROR_NOT_INITIALIZED;
	CUresult result = real(name, function, version, flags, status);
	if (result == CUDA_SUCCESS)
		route_answer(name, function, __builtin_return_address(0));
	return result;
}

GP_DRIVER_EXPORT(cuGetProcAddress, gp_door_get_proc_address);
GP_DRIVER_EXPORT(cuGetProcAddress_v2, gp_door_get_proc_address_v2);
