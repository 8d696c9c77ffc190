/* The largest gap after every event, and since when it has been too small. */
#include <stdlib.h>

#include "frag_rule.h"
#include "gap_follow.h"

double gp_gap_ratio(uint64_t free_bytes, uint64_t largest_bytes)
{
	return free_bytes != 0 ? 1 - (double)largest_bytes / (double)free_bytes : 0;
}

/* Behind an event that changed a device. */
static void tell(const struct gp_gap_follow *f, const struct gp_record *r, gp_gap_visit *visit,
		 void *context)
{
	struct gp_gaps gaps = { .order = r->order };
	for (uint64_t moved = f->moved; moved != 0; moved &= moved - 1) {
		gaps.device = (unsigned)__builtin_ctzll(moved);
		const struct gp_gap_map *map = &f->map[gaps.device];
		gaps.at_ns = gp_tick_ns(&f->recording->tick, r->time);
		gaps.free_bytes = map->free_bytes;
		gaps.largest_bytes = gp_gap_map_largest(map);
		visit(context, &gaps);
	}
}

enum gp_status gp_gaps_visit(struct gp_recording *recording, gp_gap_visit *visit, void *context)
{
	struct gp_gap_follow *f = malloc(sizeof *f);
	if (f == NULL)
		return GP_E_MEMORY;
	enum gp_status status = gp_recording_rewind(recording);
	if (status != GP_OK) {
		free(f);
		return status;
	}
	status = gp_gap_follow_begin(f, recording);
	while (status == GP_OK) {
		uint32_t thread;
		const struct gp_record *record = gp_recording_fetch(recording, &thread, &status);
		if (record == NULL)
			break;
		status = gp_gap_follow_apply(f, record);
		if (f->moved != 0 && status == GP_OK)
			tell(f, record, visit, context);
		f->moved = 0;
	}
	gp_gap_follow_release(f);
	free(f);
	return status == GP_END ? GP_OK : status;
}

/* ---- since when ---- */

struct search {
	uint64_t order; /* events before it */
	unsigned device;
	uint64_t fit_bytes;	 /* 0: by what is stranded */
	uint64_t stranded_bytes; /* at the moment; the first round finds it */
	bool is_second, is_there, was_fine;
	struct gp_frag_born *out;
};

static void see(void *context, const struct gp_gaps *gaps)
{
	struct search *s = context;
	struct gp_frag_born *born = s->out;
	if (gaps->device != s->device || gaps->order >= s->order)
		return;
	uint64_t stranded = gaps->free_bytes - gaps->largest_bytes;
	if (!s->is_second) {
		s->stranded_bytes = stranded;
		s->is_there = true;
		return;
	}
	bool is_fine = s->fit_bytes != 0 ? gaps->largest_bytes >= s->fit_bytes :
					   stranded <= s->stranded_bytes / 2;
	if (is_fine) {
		s->was_fine = true;
		born->is_known = false;
		return;
	}
	if (born->is_known || (s->fit_bytes != 0 && !s->was_fine))
		return;
	born->is_known = true;
	born->at_ns = gaps->at_ns;
	born->order = gaps->order;
}

enum gp_status gp_frag_find_born(struct gp_recording *recording, const struct gp_memory *memory,
				 unsigned device, uint64_t fit_bytes, struct gp_frag_born *out)
{
	struct search s = {
		.order = memory->order, .device = device, .fit_bytes = fit_bytes, .out = out
	};
	*out = (struct gp_frag_born){ .at_ns = -1 };
	enum gp_status status = gp_gaps_visit(recording, see, &s);
	s.is_second = true;
	if (status == GP_OK && s.is_there && (s.stranded_bytes != 0 || fit_bytes != 0))
		status = gp_gaps_visit(recording, see, &s);
	out->stranded_bytes = s.stranded_bytes;
	return status;
}
