/*
 * The state of memory just before a request failed, shared by all reports. It has the device's
 * figures of that very moment, and the requesting stream and pool even if these have no segment.
 */
#include <stdlib.h>

#include "../../gpuprof.h"

/* Figures of that very moment replace the last count before it. */
static void set_device_counts(const struct gp_oom *o, struct gp_memory *m)
{
	for (size_t k = 0; k < m->devices; k++) {
		struct gp_memory_device *d = &m->device[k];
		if (d->device != o->device)
			continue;
		if (o->limit_bytes != GP_BYTES_UNKNOWN)
			d->limit_bytes = o->limit_bytes;
		if (o->free_bytes == GP_BYTES_UNKNOWN || o->total_bytes == 0)
			continue;
		d->total_bytes = o->total_bytes;
		d->used_bytes = o->total_bytes > o->free_bytes ? o->total_bytes - o->free_bytes : 0;
		d->used_at_ns = o->at_ns;
		d->used_driver_bytes = d->driver_bytes + d->pool_unused_bytes;
	}
}

/* Finds the requesting arena. 0: unknown. */
static enum gp_status find_arena(const struct gp_arena *a, struct gp_memory *m, size_t *out)
{
	*out = 0;
	if (!a->is_known)
		return GP_OK;
	for (size_t k = 1; k < m->arenas && *out == 0; k++) {
		const struct gp_arena *b = &m->arena[k];
		if (b->is_known && b->stream == a->stream && b->pool == a->pool &&
		    b->user_pool == a->user_pool)
			*out = k;
	}
	if (*out != 0)
		return GP_OK;
	struct gp_arena *grown = realloc(m->arena, (m->arenas + 1) * sizeof *grown);
	if (grown == NULL)
		return GP_E_MEMORY;
	m->arena = grown;
	m->arena[ *out = m->arenas++] = *a;
	return GP_OK;
}

enum gp_status gp_oom_memory_build(struct gp_recording *recording, const struct gp_oom *oom,
				   struct gp_memory *out, size_t *arena)
{
	const struct gp_moment_of moment = { .when = GP_WHEN_OOM, .number = oom->number };
	enum gp_status status = gp_memory_build(recording, &moment, out);
	if (status != GP_OK)
		return status;
	set_device_counts(oom, out);
	status = find_arena(&oom->arena, out, arena);
	if (status != GP_OK)
		gp_memory_free(out);
	return status;
}
