/* Modules and libraries of the driver. Kernels are forgotten with theirs. */
#include "hook_module.h"

#include "../../libgpuprof/record/stacks/stack_take.h"
#include "context.h"
#include "device_memory.h"
#include "hook_launch.h"
#include "hook_resource.h"
#include "module_image.h"

static enum gp_resource resource_of(uint32_t flags)
{
	return flags & GP_MODULE_LIBRARY ? GP_RESOURCE_LIBRARY : GP_RESOURCE_MODULE;
}

/* A library is loaded for all devices. */
static uint8_t module_device(uint32_t flags)
{
	return (uint8_t)(flags & GP_MODULE_LIBRARY ? GP_DEVICE_UNKNOWN : gp_device_current());
}

void gp_hook_module_load(CUresult result, uint64_t began, uint32_t flags, uint64_t handle,
			 const void *image)
{
	const uint64_t ended = gp_clock_now();
	if (!gp_enter())
		return;
	const uint64_t time = gp_clock_now(), head = gp_thread.head;
	/* the driver has accepted it, so it has a header */
	const struct gp_module_image is = gp_module_image(result == CUDA_SUCCESS ? image : NULL);
	const uint8_t device = module_device(flags);
	const uint32_t caller = gp_stack_of_alloc();
	struct gp_record *r = gp_reserve_at(GP_MODULE_LOAD, time);
	if (r != NULL) {
		if (gp_thread.head != head) /* definitions came in between */
			r->time = gp_clock_now();
		r->device = device;
		r->code = (uint16_t)result;
		r->aux = flags | (is.is_ptx ? GP_MODULE_PTX : 0);
		r->stack = caller;
		r->module_load.handle = handle;
		r->module_load.bytes = is.bytes;
		r->module_load.took = gp_took(began, ended);
		gp_commit(r);
	}
	gp_hook_resource(resource_of(flags), handle, GP_DEVICE_UNKNOWN);
	if (result == CUDA_SUCCESS)
		gp_device_memory_caused(gp_device_current(), GP_CAUSE_MODULE_LOAD);
	gp_leave();
}

void gp_hook_module_unload(CUresult result, uint32_t flags, uint64_t handle, bool is_recording)
{
	if (result != CUDA_SUCCESS)
		return;
	gp_kernel_forget();
	if (!is_recording)
		return;
	gp_hook_resource_gone(resource_of(flags), handle);
	gp_put((struct gp_record){ .kind = GP_MODULE_UNLOAD,
				   .device = module_device(flags),
				   .aux = flags,
				   .module_unload.handle = handle });
	gp_device_memory_caused(gp_device_current(), GP_CAUSE_MODULE_LOAD);
}
