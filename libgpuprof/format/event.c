/* The tables behind event.h. */
#include "event.h"

#include <stddef.h>
#include <string.h>

#define F(field, meaning)            \
	{                            \
#field, GP_##meaning \
	}
#define U(n)                    \
	{                       \
		NULL, GP_UNUSED \
	}
const struct gp_event_info gp_event_infos[GP_KINDS] = {
#define EVENT(id, NAME, name, CLASS, aux, v0, v1, v2, v3) \
	[id] = { #name, GP_CLASS_##CLASS, aux, { v0, v1, v2, v3 } },
#include "events.def"
#undef EVENT
};
#undef F
#undef U

/* `dump --json` makes one object of these and of the common fields, so no name may occur twice. */
#define F(field, meaning) char field;
#define U(n)
#define EVENT(id, NAME, row, CLASS, aux, v0, v1, v2, v3)              \
	struct row##_keys {                                           \
		char at_ns, order, thread, kind, device, space, code; \
		char name, captured, ranges, text, stack;             \
		aux v0 v1 v2 v3                                       \
	};
#include "events.def"
#undef EVENT

const char *const gp_space_names[GP_SPACES] = {
	[GP_SPACE_NONE] = "-",
	[GP_SPACE_DEVICE] = "device",
	[GP_SPACE_ASYNC] = "async",
	[GP_SPACE_MANAGED] = "managed",
	[GP_SPACE_HOST] = "host",
	[GP_SPACE_HOST_REGISTER] = "host_register",
	[GP_SPACE_ARRAY] = "array",
	[GP_SPACE_PHYSICAL] = "physical",
	[GP_SPACE_RESERVATION] = "reservation",
	[GP_SPACE_MAPPED] = "mapped",
	[GP_SPACE_IPC] = "ipc",
	[GP_SPACE_EXTERNAL] = "external",
	[GP_SPACE_GRAPH] = "graph",
	[GP_SPACE_MULTICAST] = "multicast",
	[GP_SPACE_BLOCK] = "block",
	[GP_SPACE_SEGMENT] = "segment",
	[GP_SPACE_RESOURCE] = "resource",
};

const char *const gp_copy_names[GP_COPIES] = {
	[GP_COPY_UNIFIED] = "unified",
	[GP_COPY_TO_DEVICE] = "host_to_device",
	[GP_COPY_TO_HOST] = "device_to_host",
	[GP_COPY_ON_DEVICE] = "device_to_device",
	[GP_COPY_PEER] = "peer",
	[GP_COPY_FILL] = "fill",
	[GP_COPY_ON_HOST] = "host_to_host",
	[GP_COPY_PREFETCH] = "prefetch",
};
const char *const gp_wait_names[GP_WAITS] = {
	[GP_WAIT_STREAM] = "stream",	       [GP_WAIT_EVENT] = "event",
	[GP_WAIT_CONTEXT] = "context",	       [GP_WAIT_FREE] = "free",
	[GP_WAIT_FREE_HOST] = "free_host",     [GP_WAIT_UNREGISTER] = "unregister",
	[GP_WAIT_EVENT_QUERY] = "event_query", [GP_WAIT_STREAM_QUERY] = "stream_query",
};

const char *const gp_resource_names[GP_RESOURCES] = {
	[0] = "-",
	[GP_RESOURCE_STREAM] = "stream",
	[GP_RESOURCE_EVENT] = "event",
	[GP_RESOURCE_GRAPH] = "graph",
	[GP_RESOURCE_EXEC] = "exec",
	[GP_RESOURCE_MODULE] = "module",
	[GP_RESOURCE_LIBRARY] = "library",
	[GP_RESOURCE_POOL] = "pool",
};

enum gp_launched gp_launched_as(const struct gp_record *record)
{
	if (record->code != 0)
		return GP_LAUNCHED_NOT;
	if (record->kind == GP_GRAPH_LAUNCH)
		return GP_LAUNCHED_GRAPH;
	if (record->kind != GP_LAUNCH)
		return GP_LAUNCHED_NOT;
	return (record->launch.block >> 48 & GP_LAUNCH_CAPTURED) != 0 ? GP_LAUNCHED_CAPTURED :
									GP_LAUNCHED_KERNEL;
}

bool gp_is_happening(unsigned kind)
{
	const struct gp_event_info *info = &gp_event_infos[kind < GP_KINDS ? kind : 0];
	return info->name && info->class != GP_CLASS_DEFINE && info->class != GP_CLASS_CHECKPOINT;
}

bool gp_has_moment(unsigned kind)
{
	return gp_is_happening(kind) && kind < GP_LOST;
}

const char *gp_record_text(const struct gp_record *record, size_t *bytes)
{
	*bytes = 0;
	if (record->extra == 0)
		return NULL;
	uint64_t n;
	memcpy(&n, record + 1, sizeof n);
	size_t most = record->extra * sizeof *record - sizeof n;
	*bytes = n < most ? (size_t)n : most;
	return (const char *)(record + 1) + sizeof n;
}

/* Without a copy on the stack, which may be a job's small one. */
void gp_text_put(struct gp_record *slots, uint64_t mask, uint64_t at, const char *text,
		 size_t bytes)
{
	const uint64_t length = bytes;
	size_t from = sizeof length; /* in the slot */
	for (; bytes != 0; at++) {
		unsigned char *slot = (unsigned char *)&slots[at & mask];
		const size_t n = bytes < sizeof *slots - from ? bytes : sizeof *slots - from;
		memset(slot, 0, sizeof *slots);
		if (from != 0)
			memcpy(slot, &length, sizeof length);
		memcpy(slot + from, text, n);
		text += n;
		bytes -= n;
		from = 0;
	}
}
