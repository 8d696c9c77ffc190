/*
 * Every moment of a long recording is near a start: each segment has the state at its beginning, so
 * a replay may start there.
 */
#include "recording.h"

static size_t first_kept(const struct gp_recording *r)
{
	return r->unsought != SIZE_MAX ? r->unsought : r->first;
}

static bool is_beginning(const struct gp_segment *s)
{
	return s->has_begin && s->has_checkpoint;
}

size_t gp_segment_by_order(const struct gp_recording *r, uint64_t order)
{
	size_t first = first_kept(r);
	for (size_t i = r->index.segments; i-- > first + 1;)
		if (is_beginning(&r->index.segment[i]) && r->index.segment[i].cut <= order)
			return i;
	return first;
}

size_t gp_segment_by_time(const struct gp_recording *r, int64_t at_ns)
{
	size_t first = first_kept(r);
	for (size_t i = r->index.segments; i-- > first + 1;)
		if (is_beginning(&r->index.segment[i]) && gp_segment_ns(r, i) <= at_ns)
			return i;
	return first;
}

size_t gp_segment_by_event(const struct gp_recording *r, uint64_t events)
{
	size_t first = first_kept(r);
	/* the owner may have overwritten segments since then */
	const size_t known =
		r->tops.segments < r->index.segments ? r->tops.segments : r->index.segments;
	for (size_t i = known; i-- > first + 1;)
		if (is_beginning(&r->index.segment[i]) && r->tops.before[i] < events)
			return i;
	return first;
}

enum gp_status gp_recording_seek(struct gp_recording *r, size_t segment)
{
	size_t first = first_kept(r);
	unsigned overtakes = r->overtakes;
	for (size_t i = segment;; i--) {
		if (i > first && !is_beginning(&r->index.segment[i]))
			continue;
		uint64_t failures = gp_merge_failures(r->merge);
		r->unsought = first;
		r->first = i > first ? i : first;
		enum gp_status status = gp_recording_rewind(r);
		if (status != GP_OK || i <= first || r->overtakes != overtakes ||
		    gp_merge_failures(r->merge) == failures)
			return status;
	}
}

void gp_recording_stop(struct gp_recording *r)
{
	r->first = first_kept(r);
	r->unsought = SIZE_MAX;
}

enum gp_status gp_recording_unseek(struct gp_recording *r)
{
	gp_recording_stop(r);
	return gp_recording_rewind(r);
}

enum gp_status gp_recording_end(struct gp_recording *r)
{
	uint32_t thread;
	const size_t last = r->index.segments > 0 ? r->index.segments - 1 : 0;
	enum gp_status status = last > 0 ? gp_recording_seek(r, last) : gp_recording_rewind(r);
	while (status == GP_OK && gp_recording_step(r, &thread, &status) != NULL)
		;
	gp_recording_stop(r);
	return status == GP_END ? GP_OK : status;
}
