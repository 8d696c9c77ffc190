/* Medians of counters by kernel, and what limits a kernel. */
#include <math.h>

#include "gpu_records.h"

enum { TIME, COMPUTE, MEMORY, L2, BYTES, FADD, HFMA, TENSOR, METRICS };
static const char *const names[METRICS] = {
	"gpu__time_duration.sum",
	"sm__throughput.avg.pct_of_peak_sustained_elapsed",
	"dram__throughput.avg.pct_of_peak_sustained_elapsed",
	"lts__throughput.avg.pct_of_peak_sustained_elapsed",
	"dram__bytes.sum",
	"smsp__sass_thread_inst_executed_op_fadd_pred_on.sum",
	"smsp__sass_thread_inst_executed_op_hfma_pred_on.sum",
	"sm__ops_path_tensor_src_bf16_dst_fp32.sum",
};

static void open_job(const char *name)
{
	gpu_job_open(name);
	for (uint32_t k = 0; k < METRICS; k++)
		gpu_put_text(0, (struct gp_record){ .kind = GP_FACT, .aux = GP_FACT_METRIC + k },
			     names[k]);
	gpu_put_text(
		0, (struct gp_record){ .kind = GP_FACT, .aux = GP_FACT_COUNTERS, .fact.value = 1 },
		"CUPTI 130001");
}

static void put_value(unsigned kernel, uint64_t metric, uint64_t number, double value)
{
	struct gp_record r = { .kind = GP_COUNTER,
			       .device = GP_DEVICE_UNKNOWN,
			       .aux = kernel,
			       .counter = { .metric = metric, .number = number, .passes = 13 } };
	memcpy(&r.counter.value, &value, sizeof value);
	put(&job.w, 0, r);
}

static void values_become_medians_of_each_kernel(void **state)
{
	struct gp_counters c;
	(void)state;
	open_job("medians");
	gpu_name(0, 1);
	gpu_name(0, 2);
	const double times[] = { 700, 100, 300, 900, 500 };
	for (uint64_t k = 0; k < 5; k++)
		put_value(1, TIME, k + 1, times[k]);
	put_value(1, BYTES, 1, 200);
	put_value(1, FADD, 1, 100);
	put_value(1, HFMA, 1, 50);
	put_value(1, TENSOR, 1, 600);
	put_value(2, TIME, 1, 4000);
	put_value(2, TIME, 2, 2000); /* of two the lower */
	put_value(0, TIME, 1, 1);    /* of an unknown kernel */
	put_value(2, 64, 1, 1);	     /* of an unknown metric */
	put_value(2, UINT64_MAX, 1, 1);
	struct gp_recording *r = fixture_read(&job.w);
	assert_int_equal(gp_counters_build(r, &c), GP_OK);
	assert_true(c.has_values);
	assert_true(c.is_accepted);
	assert_string_equal(c.why, "CUPTI 130001");
	assert_int_equal(c.metrics, METRICS);
	assert_int_equal(c.rows, 2);
	assert_string_equal(c.row[0].name, "_Z8kernel01Pf");
	assert_float_equal(c.row[0].time_ns, 2000, 0);
	assert_int_equal(c.row[0].count, 2);
	assert_string_equal(c.row[1].key, "kernel00");
	assert_float_equal(c.row[1].time_ns, 500, 0);
	assert_int_equal(c.row[1].count, 5);
	assert_int_equal(c.row[1].passes, 13);
	assert_int_equal(c.row[1].grid, 2);
	assert_float_equal(c.row[1].operations, 100 + 2 * 50 + 600, 0);
	assert_float_equal(c.row[1].intensity, 4, 1e-12);
	assert_true(isnan(c.row[1].compute));
	assert_int_equal(c.row[1].bound, GP_BOUND_UNKNOWN);
	gp_counters_free(&c);
	gp_recording_close(r);
}

static void a_unit_limits_from_60_percent_on(void **state)
{
	static const struct {
		double compute, memory, l2, roof;
		enum gp_bound bound;
	} cases[] = {
		{ 59.9, 59.9, 59.9, 0.599, GP_BOUND_NEITHER },
		{ 60, 59.9, 59.9, 0.6, GP_BOUND_COMPUTE },
		{ 59.9, 60, 59.9, 0.6, GP_BOUND_MEMORY },
		{ 59.9, 59.9, 60, 0.6, GP_BOUND_L2 },
		{ 60, 60, 60, 0.6, GP_BOUND_MEMORY },
		{ 90, 80, 70, 0.9, GP_BOUND_COMPUTE },
		{ 70, 80, 90, 0.9, GP_BOUND_L2 },
		{ 80, 60, NAN, 0.8, GP_BOUND_COMPUTE },
		{ 59.9, 50, NAN, 0.599, GP_BOUND_UNKNOWN },
		{ NAN, 80, 50, NAN, GP_BOUND_UNKNOWN },
		{ 80, NAN, 50, NAN, GP_BOUND_UNKNOWN },
	};
	struct gp_counters c;
	(void)state;
	for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
		open_job("bound");
		gpu_name(0, 1);
		put_value(1, COMPUTE, 1, cases[k].compute);
		put_value(1, MEMORY, 1, cases[k].memory);
		put_value(1, L2, 1, cases[k].l2);
		struct gp_recording *r = fixture_read(&job.w);
		assert_int_equal(gp_counters_build(r, &c), GP_OK);
		assert_int_equal(c.rows, 1);
		assert_int_equal(c.row[0].bound, cases[k].bound);
		if (isnan(cases[k].roof))
			assert_true(isnan(c.row[0].roof));
		else
			assert_float_equal(c.row[0].roof, cases[k].roof, 1e-9);
		gp_counters_free(&c);
		gp_recording_close(r);
	}
}

static void without_values_there_is_a_reason(void **state)
{
	struct gp_counters c;
	(void)state;
	gpu_job_open("refused");
	gpu_put_text(0, (struct gp_record){ .kind = GP_FACT, .aux = GP_FACT_COUNTERS }, "no");
	struct gp_recording *r = fixture_read(&job.w);
	assert_int_equal(gp_counters_build(r, &c), GP_OK);
	assert_false(c.has_values);
	assert_false(c.is_accepted);
	assert_string_equal(c.why, "no");
	gp_counters_free(&c);
	gp_recording_close(r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(values_become_medians_of_each_kernel),
		cmocka_unit_test(a_unit_limits_from_60_percent_on),
		cmocka_unit_test(without_values_there_is_a_reason),
	};
	return cmocka_run_group_tests(tests, make_directory, drop_directory);
}
