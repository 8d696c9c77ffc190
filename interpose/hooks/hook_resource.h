/*
 * Objects of the driver that come and go: who made them is recorded, so that those which only come
 * are found. Recorded after they are made and before they go, as memory is.
 */
#ifndef HOOK_RESOURCE_H
#define HOOK_RESOURCE_H

#include "../../libgpuprof/record/record.h"

/* `handle` 0: it was not made. */
void gp_hook_resource(enum gp_resource type, uint64_t handle, unsigned device);
void gp_hook_resource_gone(enum gp_resource type, uint64_t handle);

#endif
