/*
 * Creation and destruction of driver objects, with the stack of the creator, so that leaked objects
 * can be found. As with memory, creation is recorded after the call and destruction before it.
 */
#ifndef HOOK_RESOURCE_H
#define HOOK_RESOURCE_H

#include "../../libgpuprof/record/record.h"

/* `handle` 0: it was not created. */
void gp_hook_resource(enum gp_resource type, uint64_t handle, unsigned device);
void gp_hook_resource_gone(enum gp_resource type, uint64_t handle);

#endif
