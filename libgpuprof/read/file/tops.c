/*
 * The highest kept moment of each curve and of unused memory, found by the replay for the info. For
 * unused memory, a new segment counts once it has a block. The job never sees the time between the
 * two, because the allocator holds its lock.
 */
#include <stdlib.h>
#include <string.h>

#include "recording.h"

static void top_see(const struct gp_recording *r, struct gp_curve_top *top, uint64_t bytes,
		    uint64_t ticks)
{
	if (bytes <= top->bytes)
		return;
	top->bytes = bytes;
	top->event = r->seen;
	top->order = gp_live_count(r->live, GP_COUNT_NEWEST_ORDER) + 1;
	top->at_ns = gp_tick_ns(&r->tick, ticks);
}

static void tops_see_device(struct gp_recording *r, unsigned device, uint64_t ticks)
{
	const struct gp_curve_state *curve = gp_live_device(r->live, device)->curve;
	struct gp_tops *t = &r->tops;
	const uint64_t allocated = curve[GP_CURVE_ALLOCATED].now_bytes;
	const uint64_t reserved = curve[GP_CURVE_RESERVED].now_bytes;
	for (unsigned c = 0; c < GP_CURVES; c++)
		top_see(r, &t->curve[device][c], curve[c].now_bytes, ticks);
	if (allocated == t->allocated[device])
		return;
	t->allocated[device] = allocated;
	struct gp_unused_peak *unused = &t->unused[device];
	if (reserved <= allocated || reserved - allocated <= unused->bytes)
		return;
	*unused = (struct gp_unused_peak){
		.bytes = reserved - allocated,
		.reserved_bytes = reserved,
		.is_after_last = true,
		.at_ns = gp_tick_ns(&r->tick, ticks),
		.order = gp_live_count(r->live, GP_COUNT_NEWEST_ORDER) + 1,
	};
}

static void tops_see_all(struct gp_recording *r, uint64_t ticks)
{
	for (unsigned device = 0; device < GP_DEVICES; device++)
		tops_see_device(r, device, ticks);
	top_see(r, &r->tops.host, gp_live_host(r->live)->pinned.now_bytes, ticks);
	r->tops.live = r->live;
}

enum gp_status gp_tops_begin(struct gp_recording *r)
{
	const size_t room = r->index.segments;
	uint64_t *before = realloc(r->tops.before, (room + 1) * sizeof *before);
	if (before == NULL)
		return GP_E_MEMORY;
	r->tops = (struct gp_tops){ .before = before, .room = room };
	memset(r->tops.allocated, 0xff, sizeof r->tops.allocated);
	tops_see_all(r, r->file.header.start_ticks);
	return GP_OK;
}

/* The next segments up to that of the last event begin before it, or where the replay ended. */
static void segments_begin(struct gp_recording *r, size_t end, uint64_t seen)
{
	for (; r->tops.segments < end && r->tops.segments < r->tops.room; r->tops.segments++)
		r->tops.before[r->tops.segments] = seen;
}

void gp_tops_see(struct gp_recording *r, const struct gp_record *record)
{
	if (r->tops.segments <= r->segment)
		segments_begin(r, r->segment + 1, r->seen - 1);
	if (record->kind == GP_BLOCK_ALLOC && record->device < GP_DEVICES)
		r->tops.unused[record->device].is_after_last = false;
	uint64_t moved = gp_live_take_moved(r->live);
	for (; moved != 0; moved &= moved - 1)
		tops_see_device(r, (unsigned)__builtin_ctzll(moved), record->time);
	if (gp_live_take_host_moved(r->live))
		top_see(r, &r->tops.host, gp_live_host(r->live)->pinned.now_bytes, record->time);
	if (r->live != r->tops.live) /* a checkpoint corrected the state after damage */
		tops_see_all(r, record->time);
}

static void top_end(const struct gp_recording *r, struct gp_curve_top *top,
		    const struct gp_curve_state *curve)
{
	if (top->event == 0 && top->bytes != 0)
		top->at_ns = (int64_t)r->info.kept_from_ns;
	top->ever_bytes = curve->peak_bytes;
	top->ever_at_ns = gp_tick_ns(&r->tick, curve->peak_time);
}

void gp_tops_end(struct gp_recording *r)
{
	const int64_t from_ns = (int64_t)r->info.kept_from_ns;
	segments_begin(r, r->tops.room, r->seen);
	r->tops.events = r->seen;
	for (unsigned device = 0; device < GP_DEVICES; device++) {
		struct gp_unused_peak *unused = &r->tops.unused[device];
		if (unused->at_ns < from_ns && unused->bytes != 0)
			unused->at_ns = from_ns;
		for (unsigned c = 0; c < GP_CURVES; c++)
			top_end(r, &r->tops.curve[device][c],
				&gp_live_device(r->live, device)->curve[c]);
	}
	top_end(r, &r->tops.host, &gp_live_host(r->live)->pinned);
}

enum gp_status gp_unused_peak_find(struct gp_recording *r, struct gp_unused_peak out[GP_DEVICES])
{
	const struct gp_info *info;
	const enum gp_status status = gp_recording_info(r, &info);
	if (status == GP_OK)
		memcpy(out, r->tops.unused, sizeof r->tops.unused);
	return status;
}

const struct gp_unused_peak *gp_unused_peak_highest(const struct gp_unused_peak peak[GP_DEVICES],
						    unsigned device)
{
	const struct gp_unused_peak *highest = NULL;
	for (unsigned k = 0; k < GP_DEVICES; k++)
		if ((device == GP_DEVICE_UNKNOWN || device == k) &&
		    peak[k].bytes > (highest != NULL ? highest->bytes : 0))
			highest = &peak[k];
	return highest;
}
