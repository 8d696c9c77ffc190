/* Answers of several reports from one replay: they equal those that each report finds alone. */
#include "recording_writer.h"

#include "recordings.h"

#define POINTS 64u

/* A sum of what a report answers, names as texts. */
static uint64_t add(uint64_t sum, uint64_t number)
{
	return gp_hash_pair(sum, number);
}

static uint64_t add_text(uint64_t sum, const char *text)
{
	for (; text != NULL && *text != '\0'; text++)
		sum = add(sum, (unsigned char)*text);
	return add(sum, text != NULL);
}

static uint64_t sum_timeline(struct gp_recording *r)
{
	struct gp_timeline t;
	uint64_t sum = 1;
	assert_int_equal(gp_timeline_build(r, POINTS, 0, INT64_MAX, &t), GP_OK);
	for (size_t k = 0; k < t.devices; k++) {
		const struct gp_timeline_device *d = &t.device[k];
		for (size_t i = 0; i < d->points; i++)
			for (unsigned c = 0; c < GP_CURVES; c++)
				sum = add(add(sum, (uint64_t)d->point[i].at_ns),
					  d->point[i].bytes[c]);
		for (unsigned c = 0; c < GP_CURVES; c++)
			sum = add(add(sum, d->peak_bytes[c]), (uint64_t)d->peak_at_ns[c]);
		sum = add(add(sum, d->marks), d->ooms);
	}
	gp_timeline_free(&t);
	return sum;
}

static uint64_t sum_bands(struct gp_recording *r)
{
	struct gp_role_timeline t;
	uint64_t sum = 2;
	assert_int_equal(gp_role_timeline_build(r, POINTS, 0, INT64_MAX, &t), GP_OK);
	for (size_t k = 0; k < t.devices; k++)
		for (size_t i = 0; i < t.device[k].bands; i++)
			for (unsigned role = 0; role < GP_MEMORY_ROLES; role++)
				sum = add(sum, t.device[k].band[i].bytes[role]);
	gp_role_timeline_free(&t);
	return sum;
}

static uint64_t sum_leaks(struct gp_recording *r)
{
	struct gp_leaks l;
	uint64_t sum = 3;
	assert_int_equal(gp_leaks_build(r, INT64_MIN, INT64_MAX, &l), GP_OK);
	sum = add(add(add(sum, l.leaks), l.fillings), l.has_verdict);
	for (size_t k = 0; k < l.leaks; k++)
		sum = add(sum, l.leak[k].stack);
	gp_leaks_free(&l);
	return sum;
}

static uint64_t sum_waits(struct gp_recording *r)
{
	struct gp_waits w;
	uint64_t sum = 4;
	assert_int_equal(gp_waits_build(r, INT64_MIN, INT64_MAX, &w), GP_OK);
	sum = add(add(sum, (uint64_t)w.from_ns), (uint64_t)w.to_ns);
	sum = add(add(sum, (uint64_t)w.blocked_ns), (uint64_t)w.lost_ns);
	sum = add(add(sum, w.rows), w.has_calls);
	gp_waits_free(&w);
	return sum;
}

static uint64_t sum_phases(struct gp_recording *r)
{
	struct gp_phases_options whole = { .device = GP_DEVICE_UNKNOWN,
					   .of = GP_CURVES,
					   .from_ns = INT64_MIN,
					   .to_ns = INT64_MAX };
	struct gp_phases p;
	struct gp_steps steps;
	uint64_t sum = 5;
	assert_int_equal(gp_steps_find(r, &steps), GP_OK);
	if (steps.warmup > 0 && steps.warmup < steps.steps)
		whole.warm_ns = steps.step[steps.warmup].begin_ns;
	gp_steps_free(&steps);
	assert_int_equal(gp_phases_build(r, &whole, &p), GP_OK);
	for (size_t k = 0; k < p.phases; k++) {
		sum = add_text(sum, p.phase[k].name);
		sum = add(add(sum, p.phase[k].calls), p.phase[k].allocated_bytes);
		sum = add(add(sum, p.phase[k].freed_bytes), p.phase[k].peak_bytes);
	}
	gp_phases_free(&p);
	return sum;
}

static uint64_t (*const sums[])(struct gp_recording *r) = { sum_timeline, sum_bands, sum_leaks,
							    sum_waits, sum_phases };
#define SUMS (sizeof sums / sizeof *sums)

static void reports_equal(const char *path)
{
	uint64_t alone[SUMS];
	struct gp_recording *r;
	for (size_t k = 0; k < SUMS; k++) {
		assert_int_equal(gp_recording_open(path, &r, NULL), GP_OK);
		alone[k] = sums[k](r);
		gp_recording_close(r);
	}
	assert_int_equal(gp_recording_open(path, &r, NULL), GP_OK);
	assert_int_equal(gp_recording_prepare(r), GP_OK);
	assert_int_equal(gp_recording_prepare_reports(r, POINTS), GP_OK);
	const unsigned rewinds = r->rewinds;
	for (size_t k = 0; k < SUMS; k++)
		assert_int_equal(sums[k](r), alone[k]);
	assert_int_equal(r->rewinds, rewinds); /* all were kept */
	for (size_t k = 0; k < SUMS; k++)      /* each once */
		assert_int_equal(sums[k](r), alone[k]);
	assert_true(r->rewinds >= rewinds + SUMS);
	gp_recording_close(r);
}

static bool visit(const char *path)
{
	reports_equal(path);
	return true;
}

static void prepared_answers_equal_those_alone(void **state)
{
	(void)state;
	assert_true(recordings_visit(visit) > 20);
}

/* Segments, and a second thread that decodes ahead. */
static void also_of_many_segments(void **state)
{
	(void)state;
	struct writer w;
	uint64_t seed = 0;
	writer_open(&w, "segments.gpr", 0, 0);
	for (unsigned k = 0; k < 6; k++) {
		put_work(&w, 20000, &seed);
		if (k < 5)
			next_segment(&w);
	}
	writer_close(&w, true);
	reports_equal(w.path);
}

/* Steps of another range make kept answers outdated. */
static void another_name_of_steps_drops_answers(void **state)
{
	(void)state;
	char path[1024];
	struct gp_recording *r;
	snprintf(path, sizeof path, "%s/fake-ranges.gpr", recordings_directory());
	assert_int_equal(gp_recording_open(path, &r, NULL), GP_OK);
	assert_int_equal(gp_recording_prepare(r), GP_OK);
	assert_int_equal(gp_recording_prepare_reports(r, POINTS), GP_OK);
	gp_steps_name(r, "no such range");
	const unsigned rewinds = r->rewinds;
	struct gp_leaks l;
	assert_int_equal(gp_leaks_build(r, INT64_MIN, INT64_MAX, &l), GP_OK);
	assert_int_equal(l.steps.steps, 0);
	assert_true(r->rewinds > rewinds);
	gp_leaks_free(&l);
	gp_recording_close(r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(prepared_answers_equal_those_alone),
		cmocka_unit_test(also_of_many_segments),
		cmocka_unit_test(another_name_of_steps_drops_answers),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
