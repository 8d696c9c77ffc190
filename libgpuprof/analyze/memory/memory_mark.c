/*
 * Finds the place of a moment: the segment to begin at, and the number of events or the order to
 * stop at. Reads events and the figures of checkpoints, and applies as few events as possible.
 */
#include "../../read/file/replay_places.h"
#include "memory_view.h"

#define CUDA_ERROR_OUT_OF_MEMORY 2u

/* ---- by time ---- */

/*
 * Finds the last event not later than `at_ns`. It may follow a later event, because events are not
 * sorted by time.
 */
enum gp_status gp_memory_mark_time(struct gp_recording *r, int64_t at_ns, size_t segment,
				   struct gp_memory_mark *out)
{
	*out = (struct gp_memory_mark){ .segment = segment, .order = UINT64_MAX };
	size_t first = r->unsought != SIZE_MAX ? r->unsought : r->first;
	/* earlier moments of this segment were overwritten */
	bool is_oldest = out->segment == first && out->segment < r->index.segments &&
			 r->index.segment[out->segment].number != 0;
	bool is_known = !is_oldest || at_ns >= gp_segment_ns(r, out->segment);
	enum gp_status found;
	if (gp_places_find(r, segment, at_ns, &out->events, &found))
		return found != GP_OK || is_known || out->events > 0 ? found : GP_END;
	uint64_t seen = 0;
	for (size_t i = out->segment; i < r->index.segments; i++) {
		enum gp_status status = gp_merge_begin(r->merge, i);
		if (status != GP_OK)
			return status;
		const struct gp_record *record;
		uint32_t thread;
		while ((record = gp_merge_next(r->merge, &thread)) != NULL) {
			int64_t now_ns = gp_tick_ns(&r->tick, record->time);
			seen++;
			if (now_ns <= at_ns)
				out->events = seen;
			else if (gp_has_moment(record->kind) &&
				 (uint64_t)now_ns - (uint64_t)at_ns > GP_UNEVEN_NS)
				return is_known || out->events > 0 ? GP_OK : GP_END;
		}
	}
	return is_known || out->events > 0 ? GP_OK : GP_END;
}

/* ---- by the number of a kind ---- */

static bool is_counted(const struct gp_record *r, enum gp_when when)
{
	if (when == GP_WHEN_SNAPSHOT)
		return r->kind == GP_SNAPSHOT;
	return r->kind == GP_OOM ||
	       (r->kind == GP_ALLOC_FAILED && r->code == CUDA_ERROR_OUT_OF_MEMORY);
}

static enum gp_status mark_number(struct gp_recording *r, const struct gp_moment_of *moment,
				  struct gp_memory_mark *out)
{
	uint64_t met = 0;
	const uint64_t *kept = r->info.kept;
	const uint64_t most = moment->when == GP_WHEN_SNAPSHOT ?
				      kept[GP_SNAPSHOT] :
				      kept[GP_OOM] + kept[GP_ALLOC_FAILED];
	if (r->has_info && !r->is_running && !r->is_followed && most <= moment->number)
		return GP_END;
	for (size_t i = r->first; i < r->index.segments; i++) {
		enum gp_status status = gp_merge_begin(r->merge, i);
		if (status != GP_OK)
			return status;
		const struct gp_record *record;
		uint32_t thread;
		while ((record = gp_merge_next(r->merge, &thread)) != NULL) {
			if (!is_counted(record, moment->when) || met++ != moment->number)
				continue;
			out->segment = gp_segment_by_order(r, record->order);
			out->order = record->order;
			return GP_OK;
		}
	}
	return GP_END;
}

/* ---- by the highest value of a curve ---- */

static bool is_higher(const struct gp_live *live, const struct gp_moment_of *moment,
		      uint64_t *bytes, uint64_t *order)
{
	bool is_found = false;
	for (unsigned device = 0; device < GP_DEVICES; device++) {
		const struct gp_curve_state *c = &gp_live_device(live, device)->curve[moment->of];
		bool is_selected = moment->device == GP_DEVICE_UNKNOWN || moment->device == device;
		if (!is_selected || c->peak_bytes <= *bytes)
			continue;
		*bytes = c->peak_bytes;
		*order = c->peak_order;
		is_found = true;
	}
	return is_found;
}

static enum gp_status mark_state(const struct gp_recording *r, uint64_t order,
				 struct gp_memory_mark *out)
{
	out->order = order;
	out->segment = gp_segment_by_order(r, order);
	return GP_OK;
}

/* The highest kept moment of a curve. */
static enum gp_status mark_kept(struct gp_recording *r, const struct gp_moment_of *moment,
				struct gp_memory_mark *out)
{
	const struct gp_info *info;
	const struct gp_curve_top *highest = NULL;
	enum gp_status status = gp_recording_info(r, &info);
	for (unsigned k = 0; k < GP_DEVICES && status == GP_OK; k++) {
		const struct gp_curve_top *top = &r->tops.curve[k][moment->of];
		if ((moment->device == GP_DEVICE_UNKNOWN || moment->device == k) &&
		    top->bytes > (highest != NULL ? highest->bytes : 0))
			highest = top;
	}
	if (status != GP_OK || highest == NULL)
		return status != GP_OK ? status : GP_END;
	return mark_state(r, highest->order, out);
}

static enum gp_status mark_unused(struct gp_recording *r, unsigned device,
				  struct gp_memory_mark *out)
{
	struct gp_unused_peak all[GP_DEVICES];
	enum gp_status status = gp_unused_peak_find(r, all);
	if (status != GP_OK)
		return status;
	const struct gp_unused_peak *peak = gp_unused_peak_highest(all, device);
	return peak != NULL ? mark_state(r, peak->order, out) : GP_END;
}

/* Checkpoints contain peaks, so the last segment has the places of all. */
static enum gp_status mark_peak(struct gp_recording *r, const struct gp_moment_of *moment,
				struct gp_memory_mark *out)
{
	const size_t segment = gp_segment_by_order(r, UINT64_MAX);
	struct gp_place_seen seen;
	enum gp_status status = gp_places_add(r, segment, UINT64_MAX);
	if (status == GP_OK)
		status = gp_recording_seek(r, segment);
	if (status == GP_OK && r->first == segment)
		status = gp_places_jump(r, segment, UINT64_MAX, UINT64_MAX, &seen);
	uint32_t thread;
	while (status == GP_OK && gp_recording_step(r, &thread, &status) != NULL)
		;
	if (status != GP_END)
		return status;
	uint64_t bytes = 0, order = 0;
	if (!is_higher(r->live, moment, &bytes, &order))
		return GP_END;
	status = gp_recording_unseek(r);
	const struct gp_segment *first = &r->index.segment[r->first];
	if (status == GP_OK && r->first < r->index.segments && first->number != 0 &&
	    order < first->cut)
		return mark_kept(r, moment, out);
	out->segment = gp_segment_by_order(r, order);
	out->order = order + 1;
	return status;
}

static enum gp_status mark_order(struct gp_recording *r, uint64_t order, struct gp_memory_mark *out)
{
	out->segment = gp_segment_by_order(r, order);
	out->order = order;
	if (out->segment >= r->index.segments)
		return GP_END;
	const struct gp_segment *s = &r->index.segment[out->segment];
	return s->number == 0 || s->cut <= order ? GP_OK : GP_END;
}

enum gp_status gp_memory_mark(struct gp_recording *r, const struct gp_moment_of *moment,
			      struct gp_memory_mark *out)
{
	*out = (struct gp_memory_mark){ .events = UINT64_MAX, .order = UINT64_MAX };
	switch (moment->when) {
	case GP_WHEN_TIME:
		return gp_memory_mark_time(r, moment->at_ns, gp_segment_by_time(r, moment->at_ns),
					   out);
	case GP_WHEN_OOM:
	case GP_WHEN_SNAPSHOT:
		return mark_number(r, moment, out);
	case GP_WHEN_PEAK:
		return mark_peak(r, moment, out);
	case GP_WHEN_UNUSED:
		return mark_unused(r, moment->device, out);
	case GP_WHEN_ORDER:
		return mark_order(r, moment->number, out);
	case GP_WHEN_END:
		break;
	}
	out->segment = gp_segment_by_order(r, UINT64_MAX);
	return GP_OK;
}
