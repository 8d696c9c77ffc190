/* The largest gap after every event, and the moment when it became too small. */
#include <stdlib.h>

#include "frag_rule.h"
#include "gap_follow.h"

double gp_gap_ratio(uint64_t free_bytes, uint64_t largest_bytes)
{
	return free_bytes != 0 ? 1 - (double)largest_bytes / (double)free_bytes : 0;
}

/* Reports the gaps after an event that changed a device. */
static void report(const struct gp_gap_follow *f, const struct gp_record *r, gp_gap_visit *visit,
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
		gp_gap_follow_before(f, record);
		status = gp_recording_apply(recording, record);
		if (status == GP_OK)
			status = gp_gap_follow_after(f, record);
		if (f->moved != 0 && status == GP_OK)
			report(f, record, visit, context);
		f->moved = 0;
	}
	if (has_late_gaps != NULL)
		*has_late_gaps = f->looks.refused != 0;
	gp_gap_follow_release(f);
	free(f);
	return status == GP_END ? GP_OK : status;
}

/* ---- the moment when it became too small ---- */

/* The first event after which a state was never good again. */
struct since {
	bool was_fine, is_known;
	int64_t at_ns;
	uint64_t order;
};
struct search {
	struct gp_frag_born *born;
	bool is_about_fit;
	struct since fit, stranded;
};
struct searches {
	uint64_t order;			      /* events before it */
	struct search *of_device[GP_DEVICES]; /* NULL: not requested */
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

static void frag_curve_see(void *context, const struct gp_gaps *gaps)
{
	const struct searches *all = context;
	struct search *s = all->of_device[gaps->device];
	if (s == NULL || gaps->order >= all->order)
		return;
	uint64_t stranded = gaps->free_bytes - gaps->largest_bytes;
	see_state(&s->fit, gaps, gaps->largest_bytes >= s->born->fit_bytes);
	see_state(&s->stranded, gaps, stranded <= s->born->stranded_bytes / 2);
}

/* The free bytes at the moment (*all), and those of them outside of the largest gap. */
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

static void search_begin(struct search *s, const struct gp_memory *memory,
			 struct gp_frag_born *born)
{
	uint64_t free_bytes;
	*s = (struct search){ .born = born };
	*born = (struct gp_frag_born){ .device = born->device,
				       .fit_bytes = born->fit_bytes,
				       .at_ns = -1 };
	born->stranded_bytes = count_stranded(memory, born->device, &free_bytes);
	/* with fewer free bytes the request would not fit into one gap either */
	s->is_about_fit = born->fit_bytes != 0 && free_bytes >= born->fit_bytes;
}

static void search_end(const struct search *s)
{
	struct gp_frag_born *born = s->born;
	born->is_by_fit = s->is_about_fit && s->fit.was_fine && s->fit.is_known;
	const struct since *found = born->is_by_fit ? &s->fit : &s->stranded;
	born->is_known = born->is_by_fit || (born->stranded_bytes != 0 && s->stranded.is_known);
	if (born->is_known) {
		born->at_ns = found->at_ns;
		born->order = found->order;
	}
}

enum gp_status gp_frag_find_born(struct gp_recording *recording, const struct gp_memory *memory,
				 struct gp_frag_born *born, size_t devices)
{
	struct searches all = { .order = memory->order };
	struct search *search = calloc(devices + 1, sizeof *search);
	bool is_unsure = false;
	if (search == NULL)
		return GP_E_MEMORY;
	for (size_t k = 0; k < devices; k++) {
		search_begin(&search[k], memory, &born[k]);
		if (born[k].device < GP_DEVICES)
			all.of_device[born[k].device] = &search[k];
	}
	enum gp_status status = gp_gaps_visit(recording, frag_curve_see, &all, &is_unsure);
	for (size_t k = 0; k < devices && status == GP_OK; k++) {
		born[k].is_unsure = is_unsure;
		search_end(&search[k]);
	}
	free(search);
	return status;
}
