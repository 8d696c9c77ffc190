/*
 * Two events of one record each, with the stack of an allocation.
 */
#include "hook_resource.h"

#include "../../libgpuprof/record/stacks/stack_take.h"

void gp_hook_resource(enum gp_resource type, uint64_t handle, unsigned device)
{
	if (!handle)
		return;
	gp_put((struct gp_record){ .kind = GP_RESOURCE,
				   .device = (uint8_t)device,
				   .aux = (uint32_t)type,
				   .stack = gp_stack_of_alloc(),
				   .resource.handle = handle });
}

void gp_hook_resource_gone(enum gp_resource type, uint64_t handle)
{
	if (handle)
		gp_put((struct gp_record){ .kind = GP_RESOURCE_GONE,
					   .device = GP_DEVICE_UNKNOWN,
					   .aux = (uint32_t)type,
					   .resource_gone.handle = handle });
}
