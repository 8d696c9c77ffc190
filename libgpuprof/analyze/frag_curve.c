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

enum gp_status gp_gaps_visit(struct gp_recording *recording, gp_gap_visit *visit, void *context,
			     bool *has_late_gaps)
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
	if (has_late_gaps != NULL)
		*has_late_gaps = f->looks.refused != 0;
	gp_gap_follow_release(f);
	free(f);
	return status == GP_END ? GP_OK : status;
}

/* ---- since when ---- */

/* The first event behind which something was never fine again. */
struct since {
	bool was_fine, is_known;
	int64_t at_ns;
	uint64_t order;
};
struct search {
	uint64_t order; /* events before it */
	unsigned device;
	uint64_t fit_bytes, stranded_bytes;
	struct since fit, stranded;
};

static void see_state(struct since *s, const struct gp_gaps *gaps, bool is_fine)
{
	s->was_fine |= is_fine;
	if (is_fine || s->is_known) {
		s->is_known &= !is_fine;
		return;
	}
	s->is_known = true;
	s->at_ns = gaps->at_ns;
	s->order = gaps->order;
}

static void see(void *context, const struct gp_gaps *gaps)
{
	struct search *s = context;
	if (gaps->device != s->device || gaps->order >= s->order)
		return;
	uint64_t stranded = gaps->free_bytes - gaps->largest_bytes;
	see_state(&s->fit, gaps, gaps->largest_bytes >= s->fit_bytes);
	see_state(&s->stranded, gaps, stranded <= s->stranded_bytes / 2);
}

/* What is free at the moment, and what of it is not in the largest gap. */
static uint64_t count_stranded(const struct gp_memory *m, unsigned device, uint64_t *all)
{
	uint64_t free_bytes = 0, largest = 0;
	for (size_t i = 0; i < m->segments; i++) {
		const struct gp_memory_segment *s = &m->segment[i];
		for (size_t k = s->first; s->device == device && k < s->first + s->blocks; k++) {
			uint64_t bytes = m->block[k].bytes;
			if (m->block[k].state != GP_STATE_FREE)
				continue;
			free_bytes += bytes;
			largest = bytes > largest ? bytes : largest;
		}
	}
	*all = free_bytes;
	return free_bytes - largest;
}

enum gp_status gp_frag_find_born(struct gp_recording *recording, const struct gp_memory *memory,
				 unsigned device, uint64_t fit_bytes, struct gp_frag_born *out)
{
	uint64_t free_bytes;
	struct search s = {
		.order = memory->order,
		.device = device,
		.fit_bytes = fit_bytes,
		.stranded_bytes = count_stranded(memory, device, &free_bytes),
	};
	/* with less than that free it would not fit into one gap either */
	bool is_about_fit = fit_bytes != 0 && free_bytes >= fit_bytes;
	*out = (struct gp_frag_born){ .at_ns = -1, .stranded_bytes = s.stranded_bytes };
	enum gp_status status = gp_gaps_visit(recording, see, &s, &out->is_unsure);
	if (status != GP_OK)
		return status;
	out->is_by_fit = is_about_fit && s.fit.was_fine && s.fit.is_known;
	const struct since *found = out->is_by_fit ? &s.fit : &s.stranded;
	out->is_known = out->is_by_fit || (s.stranded_bytes != 0 && s.stranded.is_known);
	if (out->is_known) {
		out->at_ns = found->at_ns;
		out->order = found->order;
	}
	return status;
}
