/* Two events of one record each; the stack is that of an allocation. */
#include "hook_resource.h"

#include "../../libgpuprof/record/stacks/stack_take.h"

void gp_hook_resource(enum gp_resource type, uint64_t handle, unsigned device)
{
	if (!handle)
		return;
	const uint32_t caller = gp_stack_of_alloc();
	struct gp_record *r = gp_reserve(GP_RESOURCE);
	if (!r)
		return;
	r->stack = caller;
	r->resource.handle = handle;
	r->aux = (uint32_t)type;
	r->device = (uint8_t)device;
	gp_commit_memory(r);
}

void gp_hook_resource_gone(enum gp_resource type, uint64_t handle)
{
	struct gp_record *r = handle ? gp_reserve(GP_RESOURCE_GONE) : NULL;
	if (!r)
		return;
	r->resource_gone.handle = handle;
	r->aux = (uint32_t)type;
	r->device = GP_DEVICE_UNKNOWN;
	gp_commit_memory(r);
}
