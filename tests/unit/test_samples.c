/* Counters of GPUs over time: which events make a sample, both clocks, gaps and figures. */
#include <math.h>
#include <stdlib.h>

#include "gpu_records.h"

#define MS 1000000ull
#define GPU_ZERO (77ull << 40) /* the GPU's clock when the recording begins */

static const char *const names[] = { "sm__cycles_active.avg.pct_of_peak_sustained_elapsed",
				     "pcie__read_bytes.sum.per_second", "own__metric.sum" };

static void open_job(const char *name)
{
	gpu_job_open(name);
	for (uint32_t k = 0; k < 3; k++)
		gpu_put_text(0, (struct gp_record){ .kind = GP_FACT, .aux = GP_FACT_METRIC + k },
			     names[k]);
}

static void put_at(uint64_t at_ns, struct gp_record r)
{
	job.w.time = 1024 + at_ns - 64; /* put() adds 64 */
	put(&job.w, 3, r);
}

/* Read `late_ns` after its end at `ended_ns` of the recording. */
static void put_sample(uint8_t device, uint32_t metric, uint64_t ended_ns, uint64_t took_ns,
		       uint64_t late_ns, double value)
{
	struct gp_record r = { .kind = GP_SAMPLE,
			       .device = device,
			       .aux = metric,
			       .sample = { .began_ns = GPU_ZERO + ended_ns - took_ns,
					   .took_ns = took_ns } };
	memcpy(&r.sample.value, &value, sizeof value);
	put_at(ended_ns + late_ns, r);
}

static void samples_have_figures_and_moments(void **state)
{
	struct gp_samples s;
	(void)state;
	open_job("samples");
	/* the second was read at once, so all stand where they were */
	put_sample(0, 0, 20 * MS, 10 * MS, 30 * MS, 80);
	put_sample(0, 1, 20 * MS, 10 * MS, 30 * MS, 4000);
	put_sample(0, 0, 50 * MS, 10 * MS, 0, 20);
	put_sample(0, 0, 90 * MS, 30 * MS, 8 * MS, 50);
	put_sample(0, 3, 90 * MS, 30 * MS, 8 * MS, 50);	  /* of an unknown metric */
	put_sample(200, 0, 90 * MS, 30 * MS, 8 * MS, 50); /* of an unknown GPU */
	put_at(99 * MS,
	       (struct gp_record){ .kind = GP_SAMPLES_LOST, .samples_lost = { .number = 3 } });
	struct gp_recording *r = fixture_read(&job.w);
	assert_int_equal(gp_samples_build(r, INT64_MIN, INT64_MAX, &s), GP_OK);
	assert_int_equal(s.metrics, 3);
	assert_string_equal(s.label[0], "SM active");
	assert_string_equal(s.label[2], "own__metric.sum");
	assert_int_equal(s.devices, 1);
	const struct gp_sampled_device *d = &s.device[0];
	assert_int_equal(d->samples, 3);
	assert_int_equal(d->lost, 3);
	assert_int_equal(d->took_ns, 10 * MS);
	/* the clocks may drift by a 10,000th from one sample to the other */
	assert_true(llabs(d->sample[0].at_ns - (int64_t)(10 * MS)) <= 3000);
	assert_int_equal(d->sample[1].at_ns, 40 * MS);
	assert_true(llabs(d->sample[2].at_ns - (int64_t)(60 * MS)) <= 4000);
	assert_float_equal(d->figures[0].mean, (80 + 20 + 3 * 50) / 5.0, 1e-9);
	assert_float_equal(d->figures[0].median, 50, 0);
	assert_float_equal(d->figures[0].most, 80, 0);
	assert_float_equal(d->figures[1].mean, 4000, 0);
	assert_true(isnan(d->value[1 * 3 + 1]));
	assert_true(isnan(d->figures[2].mean));
	gp_samples_free(&s);
	assert_int_equal(gp_samples_build(r, 30 * MS, 55 * MS, &s), GP_OK);
	assert_int_equal(s.device[0].samples, 1);
	assert_int_equal(s.device[0].lost, 0);
	assert_float_equal(s.device[0].figures[0].mean, 20, 0);
	gp_samples_free(&s);
	gp_recording_close(r);
}

static void clocks_that_drift_are_followed(void **state)
{
	struct gp_samples s;
	(void)state;
	open_job("drift");
	/* the GPU's clock is 50 ppm fast for ten minutes; one sample of ten is read at once */
	for (uint64_t k = 1; k <= 600; k++) {
		const uint64_t at = k * 1000 * MS, late = k % 10 ? 40 * MS : 0;
		struct gp_record r = { .kind = GP_SAMPLE };
		r.sample.took_ns = MS;
		r.sample.began_ns = GPU_ZERO + at + at / 20000 - MS;
		put_at(at + late, r);
	}
	struct gp_recording *r = fixture_read(&job.w);
	assert_int_equal(gp_samples_build(r, INT64_MIN, INT64_MAX, &s), GP_OK);
	assert_int_equal(s.device[0].samples, 600);
	/* a second has 50 us of drift, and as much again that it could have */
	for (uint64_t k = 1; k <= 600; k++)
		assert_true(llabs(s.device[0].sample[k - 1].at_ns + (int64_t)MS -
				  (int64_t)(k * 1000 * MS)) <= (int64_t)(10 * MS / 5));
	gp_samples_free(&s);
	gp_recording_close(r);
}

static void samples_of_another_world_do_no_harm(void **state)
{
	struct gp_samples s;
	(void)state;
	open_job("hostile");
	for (uint64_t k = 0; k < 300; k++) {
		struct gp_record r = { .kind = GP_SAMPLE, .device = (uint8_t)(k % 70) };
		r.sample.began_ns = k * 0x9e3779b97f4a7c15u;
		r.sample.took_ns = UINT64_MAX - k * k;
		r.sample.value = k % 3 ? UINT64_MAX : 0x7ff0000000000000u; /* NaN, infinite */
		put_at(MS + k * 64, r);
	}
	struct gp_recording *r = fixture_read(&job.w);
	assert_int_equal(gp_samples_build(r, INT64_MIN, INT64_MAX, &s), GP_OK);
	assert_true(s.devices == 64);
	gp_samples_free(&s);
	gp_recording_close(r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(samples_have_figures_and_moments),
		cmocka_unit_test(clocks_that_drift_are_followed),
		cmocka_unit_test(samples_of_another_world_do_no_harm),
	};
	return cmocka_run_group_tests(tests, make_directory, drop_directory);
}
