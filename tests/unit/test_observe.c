/* Several analyses in one replay: events that each sees, and early ends, failures and retries. */
#include "recording_writer.h"

#include "analyze/kept.h"
#include "analyze/observe.h"

#define EVENTS 200u

struct watcher {
	struct gp_recording *recording;
	struct gp_moved moved;
	uint64_t last; /* it ends before event `last`; 0: never */
	enum gp_status fails;
	uint64_t before, after, ended_at; /* events */
	uint64_t live_bytes, steps;	  /* of device 0, by what moved */
	unsigned overtaken, attempts, ends, settled, forgotten;
};

static enum gp_status watch_prepare(void *context, const struct gp_info *info)
{
	struct watcher *w = context;
	assert_int_equal(info->segments, 1);
	w->before = w->after = w->ended_at = w->live_bytes = w->steps = 0;
	w->recording->overtakes += ++w->attempts <= w->overtaken;
	return GP_OK;
}

static uint64_t allocated_bytes(const struct watcher *w)
{
	return gp_live_device(w->recording->live, 0)->curve[GP_CURVE_ALLOCATED].now_bytes;
}

static enum gp_status watch_before(void *context, uint32_t thread, const struct gp_record *record)
{
	struct watcher *w = context;
	(void)thread;
	(void)record;
	if (w->last != 0 && w->before + 1 == w->last)
		return GP_END;
	/* the event before this one was applied, this one was not */
	assert_int_equal(w->live_bytes, allocated_bytes(w));
	w->before++;
	return GP_OK;
}

static enum gp_status watch_after(void *context, uint32_t thread, const struct gp_record *record)
{
	struct watcher *w = context;
	(void)thread;
	(void)record;
	w->after++;
	if (gp_moved_take(&w->moved) & 1) {
		w->steps += allocated_bytes(w) != w->live_bytes;
		w->live_bytes = allocated_bytes(w);
	}
	return w->after == EVENTS / 2 ? w->fails : GP_OK;
}

static enum gp_status watch_end(void *context)
{
	struct watcher *w = context;
	w->ends++;
	w->ended_at = w->after;
	return GP_OK;
}

static enum gp_status watch_answer(void *context, const struct gp_info *info)
{
	(void)context;
	(void)info;
	return GP_OK;
}

static void watch_settle(void *context)
{
	((struct watcher *)context)->settled++;
}

static void watch_forget(void *context)
{
	((struct watcher *)context)->forgotten++;
}

static enum gp_status watch_all(struct watcher *w, size_t watchers, const char *name)
{
	struct writer writer;
	struct gp_analysis analysis[3];
	struct gp_recording *r;
	uint64_t seed = 0;
	writer_open(&writer, name, 0, 0);
	put_work(&writer, EVENTS, &seed);
	writer_close(&writer, true);
	assert_int_equal(gp_recording_open(writer.path, &r, NULL), GP_OK);
	for (size_t k = 0; k < watchers; k++) {
		w[k].recording = r;
		analysis[k] = (struct gp_analysis){ .context = &w[k],
						    .observer = { NULL, watch_before, watch_after,
								  watch_end },
						    .prepare = watch_prepare,
						    .answer = watch_answer,
						    .settle = watch_settle,
						    .forget = watch_forget,
						    .moved = &w[k].moved };
	}
	const enum gp_status status = gp_analyse(r, analysis, watchers);
	gp_recording_close(r);
	return status;
}

static void all_see_all_events(void **state)
{
	(void)state;
	struct watcher w[3] = { 0 };
	assert_int_equal(watch_all(w, 3, "together.gpr"), GP_OK);
	for (unsigned k = 0; k < 3; k++) {
		assert_true(w[k].before >= EVENTS && w[k].before == w[0].before);
		assert_int_equal(w[k].after, w[k].before);
		assert_true(w[k].steps > 1 && w[k].steps == w[0].steps);
		assert_int_equal(w[k].ends, 1);
		assert_int_equal(w[k].settled, 1);
		assert_int_equal(w[k].forgotten, 0);
	}
}

static void one_ends_early(void **state)
{
	(void)state;
	struct watcher w[3] = { [1] = { .last = 50 } };
	assert_int_equal(watch_all(w, 3, "early.gpr"), GP_OK);
	assert_int_equal(w[1].before, 49);
	assert_int_equal(w[1].ended_at, 49);
	assert_int_equal(w[1].after, 49);
	assert_int_equal(w[1].ends, 1);
	assert_true(w[0].after >= EVENTS && w[2].after == w[0].after);
	struct watcher all[2] = { { .last = 50 }, { .last = 70 } };
	assert_int_equal(watch_all(all, 2, "all_early.gpr"), GP_OK);
	assert_int_equal(all[0].ended_at, 49);
	assert_int_equal(all[1].ended_at, 69);
}

static void a_failure_ends_all(void **state)
{
	(void)state;
	struct watcher w[2] = { [1] = { .fails = GP_E_MEMORY } };
	assert_int_equal(watch_all(w, 2, "failed.gpr"), GP_E_MEMORY);
	for (unsigned k = 0; k < 2; k++) {
		assert_int_equal(w[k].after, EVENTS / 2);
		assert_int_equal(w[k].ends, 0);
		assert_int_equal(w[k].settled, 1);
		assert_int_equal(w[k].forgotten, 1);
	}
}

static void all_start_again_after_overwriting(void **state)
{
	(void)state;
	struct watcher w[2] = { { .overtaken = 2 } };
	assert_int_equal(watch_all(w, 2, "overtaken.gpr"), GP_OK);
	for (unsigned k = 0; k < 2; k++) {
		assert_int_equal(w[k].attempts, 3);
		assert_int_equal(w[k].settled, 3);
		assert_int_equal(w[k].forgotten, 2);
		assert_true(w[k].after >= EVENTS);
	}
}

static unsigned dropped;

static void count_drop(void *answer)
{
	dropped++;
	free(answer);
}

static void answers_are_kept_until_overwriting(void **state)
{
	(void)state;
	struct writer writer;
	struct gp_recording *r;
	uint64_t seed = 0;
	writer_open(&writer, "kept.gpr", 0, 0);
	put_work(&writer, EVENTS, &seed);
	writer_close(&writer, true);
	assert_int_equal(gp_recording_open(writer.path, &r, NULL), GP_OK);
	assert_null(gp_kept_get(r, GP_KEPT_TIMELINE, 16));
	void *answer = malloc(1), *other = malloc(1);
	gp_keep(r, GP_KEPT_TIMELINE, 16, answer, count_drop);
	assert_null(gp_kept_get(r, GP_KEPT_TIMELINE, 17)); /* another question */
	assert_null(gp_kept_get(r, GP_KEPT_BANDS, 16));
	assert_ptr_equal(gp_kept_get(r, GP_KEPT_TIMELINE, 16), answer);
	gp_keep(r, GP_KEPT_TIMELINE, 17, other, count_drop); /* replaces it */
	assert_int_equal(dropped, 1);
	r->overtakes++;
	assert_null(gp_kept_get(r, GP_KEPT_TIMELINE, 17));
	assert_int_equal(dropped, 2);
	gp_keep(r, GP_KEPT_ROLES, 0, malloc(1), count_drop);
	answer = gp_kept_take(r, GP_KEPT_ROLES, 0);
	assert_non_null(answer);
	assert_null(gp_kept_get(r, GP_KEPT_ROLES, 0));
	gp_keep(r, GP_KEPT_ROLES, 0, answer, count_drop);
	gp_recording_close(r);
	assert_int_equal(dropped, 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_see_all_events),
		cmocka_unit_test(one_ends_early),
		cmocka_unit_test(a_failure_ends_all),
		cmocka_unit_test(all_start_again_after_overwriting),
		cmocka_unit_test(answers_are_kept_until_overwriting),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
