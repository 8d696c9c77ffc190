/* Repeated attempts to read a recording that is being overwritten, and their number. */
#include "recording_writer.h"

#include "analyze/settle.h"

struct retried {
	struct gp_recording *recording;
	/* overtaken attempts, all attempts, calls of forget() */
	unsigned overtaken, attempts, forgotten;
	enum gp_status fails;
};

static enum gp_status attempt(void *context, const struct gp_info *info)
{
	struct retried *a = context;
	assert_int_equal(info->segments, 1);
	a->recording->overtakes += ++a->attempts <= a->overtaken;
	return a->fails;
}

static void forget(void *context)
{
	((struct retried *)context)->forgotten++;
}

static void expect_attempts(unsigned overtaken, enum gp_status fails, unsigned attempts)
{
	struct writer w;
	struct retried a = { .overtaken = overtaken, .fails = fails };
	uint64_t seed = 0;
	writer_open(&w, "settle.gpr", 0, 0);
	put_work(&w, 100, &seed);
	writer_close(&w, true);
	assert_int_equal(gp_recording_open(w.path, &a.recording, NULL), GP_OK);
	assert_int_equal(gp_retry_if_overwritten(a.recording, attempt, forget, &a), fails);
	assert_int_equal(a.attempts, attempts);
	assert_int_equal(a.forgotten, attempts - 1);
	gp_recording_close(a.recording);
}

static void a_result_without_overwriting_stands(void **state)
{
	(void)state;
	expect_attempts(0, GP_OK, 1);
	expect_attempts(3, GP_OK, 4);
}

/* A ring is overwritten faster than it can be read: the last result is returned. */
static void the_last_of_many_results_stands(void **state)
{
	(void)state;
	expect_attempts(1000, GP_OK, 16);
}

static void a_failure_is_returned_at_once(void **state)
{
	(void)state;
	expect_attempts(1000, GP_E_MEMORY, 1);
}

/* A caller may hold its devices while another analysis reads the recording again. */
static void devices_stay_where_they_are(void **state)
{
	struct writer w;
	struct gp_recording *r;
	const struct gp_info *first, *again;
	uint64_t seed = 0;
	(void)state;
	writer_open(&w, "devices.gpr", 0, 0);
	put_work(&w, 100, &seed);
	writer_close(&w, true);
	assert_int_equal(gp_recording_open(w.path, &r, NULL), GP_OK);
	assert_int_equal(gp_recording_info(r, &first), GP_OK);
	assert_true(first->devices > 0);
	const struct gp_info_device *held = first->device;
	r->has_info = false;
	assert_int_equal(gp_recording_info(r, &again), GP_OK);
	assert_ptr_equal(again, first);
	assert_ptr_equal(again->device, held);
	gp_recording_close(r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_result_without_overwriting_stands),
		cmocka_unit_test(the_last_of_many_results_stands),
		cmocka_unit_test(a_failure_is_returned_at_once),
		cmocka_unit_test(devices_stay_where_they_are),
	};
	return cmocka_run_group_tests(tests, make_directory, drop_directory);
}
