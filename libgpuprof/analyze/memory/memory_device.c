/* Memory outside of the framework's segments, and the figures of each device. */
#include <stdlib.h>
#include <string.h>

#include "../../read/tables/array.h"
#include "../../read/tables/row_rank.h"
#include "memory_view.h"

struct orders {
	uint64_t *order;
	size_t count, room;
};

/* Lists the physical memory that is mapped in segments, by the order of its allocation. */
static enum gp_status list_mapped(const struct gp_memory_view *v, struct orders *out)
{
	for (size_t i = 0; i < v->mapped.count; i++) {
		const struct gp_live_entry *m = &v->mapped.entry[i];
		const struct gp_live_entry *in = gp_entries_find(&v->reservation, m->address);
		bool is_segment = in != NULL ?
					  (in->flags & GP_LIVE_SEGMENT) != 0 :
					  gp_entries_overlap(&v->reported, m->address, m->bytes);
		if (!is_segment)
			continue;
		uint64_t *order = gp_array_append(&out->order, &out->count, sizeof *order);
		if (order == NULL)
			return GP_E_MEMORY;
		*order = m->stream;
	}
	if (out->count > 1)
		qsort(out->order, out->count, sizeof *out->order, gp_row_order);
	return GP_OK;
}

static bool is_outside(const struct orders *mapped, const struct gp_live_entry *e)
{
	if (!gp_live_is_driver(e))
		return false;
	if (e->space != GP_SPACE_PHYSICAL)
		return (e->flags & GP_LIVE_SEGMENT) == 0;
	return mapped->count == 0 || bsearch(&e->order, mapped->order, mapped->count,
					     sizeof e->order, gp_row_order) == NULL;
}

static int compare_outsides(const void *left, const void *right)
{
	const struct gp_memory_outside *a = left, *b = right;
	if (a->device != b->device)
		return a->device < b->device ? -1 : 1;
	if (a->bytes != b->bytes)
		return a->bytes > b->bytes ? -1 : 1;
	return (a->address > b->address) - (a->address < b->address);
}

enum gp_status gp_memory_list_outside(struct gp_memory_view *v)
{
	struct gp_memory *out = v->out;
	struct orders mapped = { 0 };
	enum gp_status status = list_mapped(v, &mapped);
	out->outside = calloc(v->whole.count + 1, sizeof *out->outside);
	if (out->outside == NULL)
		status = GP_E_MEMORY;
	for (size_t i = 0; i < v->whole.count && status == GP_OK; i++) {
		const struct gp_live_entry *e = &v->whole.entry[i];
		if (is_outside(&mapped, e))
			out->outside[out->outsides++] = (struct gp_memory_outside){
				.address = e->address,
				.bytes = e->bytes,
				.device = e->device,
				.space = e->space,
				.at_ns = gp_tick_ns(&v->recording->tick, e->time),
				.stack = e->stack,
			};
	}
	free(mapped.order);
	if (out->outsides > 1)
		qsort(out->outside, out->outsides, sizeof *out->outside, compare_outsides);
	return status;
}

/* ---- figures ---- */

static void fill_used(const struct gp_recording *r, const struct gp_live_used *used,
		      struct gp_memory_device *d)
{
	d->limit_bytes = d->used_bytes = GP_BYTES_UNKNOWN;
	if (used->time == 0)
		return;
	if (d->total_bytes == 0)
		d->total_bytes = used->total_bytes;
	d->limit_bytes = used->has_limit ? used->limit_bytes : GP_BYTES_UNKNOWN;
	d->used_bytes = used->total_bytes - used->free_bytes;
	d->used_at_ns = gp_tick_ns(&r->tick, used->time);
	d->used_driver_bytes = used->driver_bytes;
	memcpy(d->part_bytes, used->part, sizeof d->part_bytes);
}

struct gp_memory_device gp_memory_device_now(const struct gp_recording *r, unsigned device)
{
	const struct gp_live_device *live = gp_live_device(r->live, device);
	const struct gp_record *gpu = gp_defined_record(r->definitions, GP_GPU, device);
	struct gp_memory_device d = {
		.device = device,
		.name = gp_defined_text(r->definitions, GP_GPU, device),
		.total_bytes = gpu != NULL ? gpu->gpu.total_bytes : 0,
		.driver_bytes = live->curve[GP_CURVE_DRIVER].now_bytes,
		.pool_unused_bytes = gp_live_held(live) - live->curve[GP_CURVE_DRIVER].now_bytes,
		.reserved_bytes = live->curve[GP_CURVE_RESERVED].now_bytes,
		.allocated_bytes = live->curve[GP_CURVE_ALLOCATED].now_bytes,
		.unmapped_bytes = live->unmapped_bytes,
		.active_bytes = live->curve[GP_CURVE_ALLOCATED].now_bytes + live->pending_bytes,
	};
	fill_used(r, &live->used, &d);
	return d;
}

static void sum_segments(const struct gp_memory *m, struct gp_memory_device *d)
{
	for (size_t i = 0; i < m->segments; i++) {
		const struct gp_memory_segment *s = &m->segment[i];
		if (s->device != d->device)
			continue;
		if (d->segments++ == 0)
			d->first_segment = i;
		if (s->requested_bytes == GP_BYTES_UNKNOWN)
			d->requested_bytes = GP_BYTES_UNKNOWN;
		else if (d->requested_bytes != GP_BYTES_UNKNOWN)
			d->requested_bytes += s->requested_bytes;
	}
	for (size_t i = 0; i < m->outsides; i++)
		if (m->outside[i].device == d->device && d->outsides++ == 0)
			d->first_outside = i;
}

static uint64_t count_imported(const struct gp_memory_view *v, unsigned device)
{
	uint64_t bytes = 0;
	for (size_t i = 0; i < v->whole.count; i++) {
		const struct gp_live_entry *e = &v->whole.entry[i];
		if (e->space == GP_SPACE_IPC && e->device == device &&
		    (e->flags & GP_LIVE_SEGMENT) == 0)
			bytes += e->bytes;
	}
	return bytes;
}

static bool is_listed(const struct gp_memory_view *v, unsigned device)
{
	if (gp_live_device(v->recording->live, device)->is_seen ||
	    gp_defined_record(v->recording->definitions, GP_GPU, device) != NULL)
		return true;
	for (size_t i = 0; i < v->out->segments; i++)
		if (v->out->segment[i].device == device)
			return true;
	return false;
}

enum gp_status gp_memory_list_devices(struct gp_memory_view *v)
{
	const struct gp_recording *r = v->recording;
	struct gp_memory *out = v->out;
	out->device = calloc(GP_DEVICES + 1, sizeof *out->device);
	if (out->device == NULL)
		return GP_E_MEMORY;
	for (unsigned i = 0; i <= GP_DEVICES; i++) {
		unsigned device = i < GP_DEVICES ? i : GP_DEVICE_UNKNOWN;
		if (!is_listed(v, device))
			continue;
		struct gp_memory_device *d = &out->device[out->devices++];
		*d = gp_memory_device_now(r, device);
		d->imported_bytes = count_imported(v, device);
		sum_segments(out, d);
	}
	return GP_OK;
}
