/* Reads each event that moves a curve once, right after it was applied. */
#include "peak_moments.h"

#include <string.h>

struct search {
	struct gp_recording *recording;
	int64_t until_ns;
	uint64_t oom_order[GP_DEVICES]; /* of the first OOM; UINT64_MAX: none */
	struct gp_peak_moments *out;
};

static void see_device(struct search *s, unsigned device, int64_t at_ns)
{
	const struct gp_live_device *d = gp_live_device(s->recording->live, device);
	for (unsigned c = 0; c < GP_CURVES; c++) {
		struct gp_top_of_curve *peak = &s->out->peak[device][c];
		if (d->curve[c].now_bytes > peak->bytes)
			*peak = (struct gp_top_of_curve){ d->curve[c].now_bytes, s->recording->seen,
							  at_ns };
	}
}

static void see_host(struct search *s, int64_t at_ns)
{
	const uint64_t now = gp_live_host(s->recording->live)->pinned.now_bytes;
	if (now > s->out->host.bytes)
		s->out->host = (struct gp_top_of_curve){ now, s->recording->seen, at_ns };
}

static void see_all(struct search *s, int64_t at_ns)
{
	for (unsigned device = 0; device < GP_DEVICES; device++)
		see_device(s, device, at_ns);
	see_host(s, at_ns);
	gp_live_take_moved(s->recording->live);
	gp_live_take_host_moved(s->recording->live);
}

static void note_oom(struct search *s, const struct gp_record *r, int64_t at_ns)
{
	if ((r->kind == GP_OOM || r->kind == GP_ALLOC_FAILED) && r->device < GP_DEVICES &&
	    r->order == s->oom_order[r->device])
		s->out->oom[r->device] = (struct gp_first_oom){ s->recording->seen, at_ns };
}

static void see_event(struct search *s, const struct gp_record *r, int64_t at_ns)
{
	uint64_t moved = gp_live_take_moved(s->recording->live);
	for (; moved != 0; moved &= moved - 1)
		see_device(s, (unsigned)__builtin_ctzll(moved), at_ns);
	if (gp_live_take_host_moved(s->recording->live))
		see_host(s, at_ns);
	note_oom(s, r, at_ns);
	if (at_ns <= s->until_ns)
		s->out->last = s->recording->seen;
}

static void keep_peaks(struct search *s)
{
	const struct gp_curve_state *pinned = &gp_live_host(s->recording->live)->pinned;
	s->out->moved_host = pinned->peak_bytes;
	s->out->moved_host_ns = gp_tick_ns(&s->recording->tick, pinned->peak_time);
	for (unsigned device = 0; device < GP_DEVICES; device++) {
		const struct gp_live_device *d = gp_live_device(s->recording->live, device);
		for (unsigned c = 0; c < GP_CURVES; c++) {
			s->out->moved_peak[device][c] = d->curve[c].peak_bytes;
			s->out->moved_peak_ns[device][c] =
				gp_tick_ns(&s->recording->tick, d->curve[c].peak_time);
		}
	}
}

static void take_ooms(struct search *s, const struct gp_ooms *ooms)
{
	for (unsigned device = 0; device < GP_DEVICES; device++) {
		s->oom_order[device] = UINT64_MAX;
		s->out->oom[device].event = GP_NO_EVENT;
	}
	for (size_t k = ooms != NULL ? ooms->ooms : 0; k-- > 0;)
		s->oom_order[ooms->oom[k].device] = ooms->oom[k].order;
}

enum gp_status gp_peak_moments_find(struct gp_recording *r, int64_t kept_from_ns, int64_t until_ns,
				    const struct gp_ooms *ooms, struct gp_peak_moments *out)
{
	struct search search = { .recording = r, .until_ns = until_ns, .out = out }, *s = &search;
	memset(out, 0, sizeof *out);
	take_ooms(s, ooms);
	enum gp_status status = gp_recording_rewind(r);
	const struct gp_live *live = r->live;
	if (status == GP_OK)
		see_all(s, kept_from_ns);
	while (status == GP_OK) {
		uint32_t thread;
		const struct gp_record *record = gp_recording_step(r, &thread, &status);
		if (record == NULL)
			break;
		int64_t at_ns = gp_tick_ns(&r->tick, record->time);
		if (r->live != live) /* a checkpoint corrected the state after damage */
			see_all(s, at_ns);
		live = r->live;
		see_event(s, record, at_ns);
	}
	keep_peaks(s);
	return status == GP_END ? GP_OK : status;
}
