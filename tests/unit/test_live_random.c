/*
 * The live state against a brute-force model on random histories: in order, through a checkpoint
 * written in slices, and with late events.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

#include "random_history.h"
#include "state/live.h"

static void assert_same_figures(const struct gp_live *live, const struct brute *model,
				bool with_peaks)
{
	for (unsigned d = 0; d < 2; d++) {
		assert_int_equal(gp_live_device(live, d)->pending_bytes, model->pending[d]);
		assert_int_equal(gp_live_device(live, d)->unmapped_bytes, model->unmapped[d]);
		for (unsigned c = 0; c < GP_CURVES; c++) {
			const struct gp_curve_state *curve = &gp_live_device(live, d)->curve[c];
			assert_int_equal(curve->now_bytes, model->now[d][c]);
			if (!with_peaks)
				continue;
			assert_int_equal(curve->peak_bytes, model->peak[d][c]);
			assert_int_equal(curve->peak_order, model->peak_order[d][c]);
			assert_int_equal(curve->peak_time,
					 model->peak[d][c] ? 1000 + 10 * model->peak_order[d][c] :
							     0);
		}
	}
}

static void assert_same_entries(const struct gp_live *live, const struct brute *model)
{
	uint64_t entries = 0;
	for (size_t i = 0; i < model->entries; i++) {
		const struct brute_entry *e = &model->entry[i];
		if (e->is_dead)
			continue;
		entries++;
		if (e->is_released)
			continue;
		const struct gp_live_entry *found = gp_live_find(live, e->space, e->address);
		assert_non_null(found);
		assert_int_equal(found->address, e->address);
		assert_int_equal(found->bytes, e->bytes);
		assert_int_equal(found->order, e->order);
		assert_int_equal(!!(found->flags & GP_LIVE_SEGMENT), e->is_segment);
		if (e->space < GP_SPACE_BLOCK)
			continue;
		assert_int_equal(found->stream, e->arena);
		assert_int_equal(!!(found->flags & GP_LIVE_PENDING), e->is_pending);
		assert_int_equal(!!(found->flags & GP_LIVE_MAPPED), e->is_mapped);
	}
	assert_int_equal(gp_live_entries(live), entries);
}

static void replay_equals_brute_force(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 12; seed++) {
		struct history h = history_make(seed, true);
		struct brute model = { 0 };
		struct gp_live *live = gp_live_open();
		for (size_t i = 0; i < h.events; i++) {
			brute_apply(&model, &h.event[i]);
			assert_int_equal(gp_live_apply(live, &h.event[i]), GP_OK);
			assert_same_figures(live, &model, true);
			if (i % 100 == 0)
				assert_same_entries(live, &model);
		}
		assert_same_entries(live, &model);
		assert_int_equal(gp_live_count(live, GP_COUNT_MISMATCHES), 0);
		assert_int_equal(gp_live_count(live, GP_COUNT_ANOMALIES), 0);
		assert_true(gp_live_count(live, GP_COUNT_FRAMEWORK_EVENTS) > 500);
		gp_live_close(live);
		free(model.entry);
		history_drop(&h);
	}
}

struct saved {
	struct gp_record *record;
	size_t records, room;
};

static void save(void *context, const struct gp_record *record)
{
	struct saved *s = context;
	if (s->records == s->room)
		s->record = realloc(s->record, (s->room = s->room * 2 + 64) * sizeof *s->record);
	s->record[s->records++] = *record;
}

static void save_entry(void *context, const struct gp_live_entry *entry)
{
	struct gp_record record;
	gp_live_to_record(entry, &record);
	save(context, &record);
}

/*
 * A checkpoint is written in slices while events go on, and loaded into a fresh state: both states
 * then end equal.
 */
static void checkpoint_in_slices_restores(void **state)
{
	(void)state;
	for (uint64_t seed = 20; seed < 30; seed++) {
		struct history h = history_make(seed, true);
		struct gp_live *live = gp_live_open();
		struct brute model = { 0 };
		struct saved saved = { 0 };
		size_t cut = 500 + history_draw(&h, 2000), i = 0;
		for (; i < cut; i++) {
			brute_apply(&model, &h.event[i]);
			gp_live_apply(live, &h.event[i]);
		}
		uint64_t entries = gp_live_entries(live);
		gp_live_totals(live, save, &saved);
		size_t totals = saved.records;
		gp_live_walk_begin(live, save_entry, &saved);
		for (bool is_over = false; !is_over; i++) {
			gp_live_apply(live, &h.event[i]);
			is_over = gp_live_walk_more(live, 1 + history_draw(&h, 3));
		}
		assert_int_equal(saved.records - totals, entries);
		struct gp_live *loaded = gp_live_open();
		for (size_t k = saved.records; k-- > 0;)
			assert_int_equal(gp_live_apply(loaded, &saved.record[k]), GP_OK);
		assert_same_entries(loaded, &model);
		assert_same_figures(loaded, &model, true);
		for (size_t k = cut; k < h.events; k++) {
			brute_apply(&model, &h.event[k]);
			gp_live_apply(loaded, &h.event[k]);
			if (k >= i)
				gp_live_apply(live, &h.event[k]);
			/*
			 * a refused free whose order lies before the cut is the only event that is
			 * not restored
			 */
			assert_same_figures(loaded, &model, true);
		}
		assert_same_entries(loaded, &model);
		assert_same_figures(live, &model, true);
		assert_int_equal(gp_live_count(loaded, GP_COUNT_ANOMALIES), 0);
		assert_int_equal(gp_live_count(loaded, GP_COUNT_MISMATCHES), 0);
		assert_int_equal(gp_live_count(loaded, GP_ALLOC), gp_live_count(live, GP_ALLOC));
		gp_live_close(live);
		gp_live_close(loaded);
		free(model.entry);
		free(saved.record);
		history_drop(&h);
	}
}

/*
 * Late events, by up to 40 places, even after their own counterpart: the same final state, without
 * an anomaly.
 */
static void late_events_end_the_same(void **state)
{
	(void)state;
	for (uint64_t seed = 40; seed < 52; seed++) {
		struct history h = history_make(seed, false);
		struct gp_live *live = gp_live_open();
		for (size_t i = 0; i < h.events; i++)
			if (h.event[i].kind ==
			    GP_FREE_FAILED) /* its own thread commits it after the free */
				h.event[i].kind = GP_OOM, h.event[i - 1].kind = GP_OOM;
		struct brute model = { 0 };
		for (size_t i = 0; i < h.events; i++)
			brute_apply(&model, &h.event[i]);
		for (size_t i = 0; i + 41 < h.events; i++) {
			if (history_draw(&h, 10) != 0 || h.event[i].kind == GP_OWNER_GONE)
				continue;
			struct gp_record late = h.event[i];
			size_t by = 1 + history_draw(&h, 40);
			for (size_t k = i; k < i + by; k++)
				by = h.event[k + 1].kind == GP_OWNER_GONE ? k - i : by;
			memmove(&h.event[i], &h.event[i + 1], by * sizeof late);
			h.event[i + by] = late;
		}
		for (size_t i = 0; i < h.events; i++)
			gp_live_apply(live, &h.event[i]);
		assert_int_equal(gp_live_count(live, GP_COUNT_ANOMALIES), 0);
		uint64_t entries = 0;
		for (size_t i = 0; i < model.entries; i++) {
			const struct brute_entry *e = &model.entry[i];
			if (e->is_dead)
				continue;
			entries++;
			const struct gp_live_entry *found =
				gp_live_find(live, e->space, e->address);
			assert_non_null(found);
			assert_int_equal(found->order, e->order);
			assert_int_equal(found->bytes, e->bytes);
			if (e->space == GP_SPACE_BLOCK)
				assert_int_equal(!!(found->flags & GP_LIVE_PENDING), e->is_pending);
		}
		assert_int_equal(gp_live_entries(live), entries);
		for (unsigned d = 0; d < 2; d++) {
			const struct gp_curve_state *curve = gp_live_device(live, d)->curve;
			assert_int_equal(curve[GP_CURVE_DRIVER].now_bytes,
					 model.now[d][GP_CURVE_DRIVER]);
			assert_int_equal(curve[GP_CURVE_ALLOCATED].now_bytes,
					 model.now[d][GP_CURVE_ALLOCATED]);
		}
		gp_live_close(live);
		free(model.entry);
		history_drop(&h);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(replay_equals_brute_force),
		cmocka_unit_test(checkpoint_in_slices_restores),
		cmocka_unit_test(late_events_end_the_same),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
