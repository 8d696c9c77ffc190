/*
 * The moment of most unused memory, or of the highest value of a curve. For unused memory, a new
 * segment counts once it has a block. The job never sees the time between the two, because the
 * allocator holds its lock.
 */
#include <string.h>

#include "../settle.h"
#include "memory_view.h"

struct unused_search {
	struct gp_recording *recording;
	enum gp_curve of;		/* GP_CURVES: unused memory */
	uint64_t allocated[GP_DEVICES]; /* at the last look; UINT64_MAX: never */
	struct gp_unused_peak *out;
};

static void see_device(struct unused_search *s, unsigned device, int64_t at_ns)
{
	const struct gp_curve_state *curve = gp_live_device(s->recording->live, device)->curve;
	uint64_t allocated = curve[GP_CURVE_ALLOCATED].now_bytes;
	uint64_t reserved = curve[GP_CURVE_RESERVED].now_bytes;
	struct gp_unused_peak *peak = &s->out[device];
	uint64_t bytes = reserved > allocated ? reserved - allocated : 0;
	if (s->of != GP_CURVES)
		bytes = curve[s->of].now_bytes;
	else if (allocated == s->allocated[device])
		return;
	s->allocated[device] = allocated;
	if (bytes <= peak->bytes)
		return;
	*peak = (struct gp_unused_peak){
		.bytes = bytes,
		.reserved_bytes = reserved,
		.is_after_last = true,
		.at_ns = at_ns,
		.order = gp_live_count(s->recording->live, GP_COUNT_NEWEST_ORDER) + 1,
	};
}

static void see_moved(struct unused_search *s, uint64_t devices, int64_t at_ns)
{
	for (; devices != 0; devices &= devices - 1)
		see_device(s, (unsigned)__builtin_ctzll(devices), at_ns);
}

static enum gp_status search_once(void *context, const struct gp_info *info)
{
	struct unused_search *s = context;
	struct gp_recording *r = s->recording;
	memset(s->allocated, 0xff, sizeof s->allocated);
	memset(s->out, 0, GP_DEVICES * sizeof *s->out);
	enum gp_status status = gp_recording_rewind(r);
	if (status == GP_OK)
		see_moved(s, UINT64_MAX, (int64_t)info->kept_from_ns);
	while (status == GP_OK) {
		uint32_t thread;
		const struct gp_live *live = r->live;
		const struct gp_record *record = gp_recording_step(r, &thread, &status);
		if (record == NULL)
			break;
		if (record->kind == GP_BLOCK_ALLOC && record->device < GP_DEVICES)
			s->out[record->device].is_after_last = false;
		uint64_t moved = gp_live_take_moved(r->live);
		/* a checkpoint corrected the state after damage */
		see_moved(s, r->live == live ? moved : UINT64_MAX,
			  gp_tick_ns(&r->tick, record->time));
	}
	return status == GP_END ? GP_OK : status;
}

static void unused_peak_forget(void *context)
{
	(void)context; /* each attempt resets the results */
}

enum gp_status gp_kept_peak_find(struct gp_recording *recording, enum gp_curve of,
				 struct gp_unused_peak out[GP_DEVICES])
{
	struct unused_search search = { .recording = recording, .of = of, .out = out };
	return gp_retry_if_overwritten(recording, search_once, unused_peak_forget, &search);
}

enum gp_status gp_unused_peak_find(struct gp_recording *recording,
				   struct gp_unused_peak out[GP_DEVICES])
{
	return gp_kept_peak_find(recording, GP_CURVES, out);
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
