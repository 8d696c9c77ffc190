/*
 * MEMORY events have numbers without a hole. `verify` reports exactly the number of events that are
 * missing without a LOST record. Lost events, or events in flight at the end, are not a finding.
 */
#include "recording_writer.h"

/* Four threads at work; the later events are by these threads, too. */
static void open_busy(struct writer *w, const char *name, uint64_t *seed)
{
	*seed = 0;
	writer_open(w, name, 0, 0);
	put_work(w, 3000, seed);
}

static void put_blocks(struct writer *w, unsigned thread, unsigned count)
{
	for (unsigned i = 0; i < count; i++)
		put(w, thread, (struct gp_record){ .kind = GP_POOL_TRIM });
}

static void assert_verdict(const char *path, uint64_t missing, uint64_t first)
{
	char *text, expected[128];
	size_t bytes;
	FILE *report = open_memstream(&text, &bytes);
	enum gp_status status = gp_verify(path, NULL, report);
	fclose(report);
	assert_int_equal(status, missing ? GP_E_DAMAGED : GP_OK);
	snprintf(expected, sizeof expected,
		 "%llu number%s of memory events missing, the first is "
		 "%llu: ",
		 (unsigned long long)missing, missing == 1 ? " is" : "s are",
		 (unsigned long long)first);
	if (missing)
		assert_non_null(strstr(text, expected));
	else
		assert_null(strstr(text, "missing"));
	free(text);
}

static void one_that_is_gone_is_found(void **state)
{
	(void)state;
	struct writer w;
	uint64_t seed;
	open_busy(&w, "one.gpr", &seed);
	uint64_t gone = w.order++;
	put_work(&w, 3000, &seed);
	writer_close(&w, true);
	assert_verdict(w.path, 1, gone);
}

/* The copy reports the missing events, and has no other finding. */
static void a_repair_reports_the_missing_events(void **state)
{
	(void)state;
	struct writer w;
	uint64_t seed;
	char copy[400];
	const struct gp_info *info;
	open_busy(&w, "untold.gpr", &seed);
	w.order += 7;
	put_work(&w, 3000, &seed);
	writer_close(&w, true);
	snprintf(copy, sizeof copy, "%s.mended", w.path);
	FILE *report = tmpfile();
	assert_int_equal(verify_repair(w.path, copy, report), GP_E_DAMAGED);
	fclose(report);
	assert_verdict(copy, 0, 0);
	struct gp_recording *r = fixture_info(copy, &info);
	assert_int_equal(info->lost_memory, 7);
	gp_recording_close(r);
}

static void recorded_losses_are_not_findings(void **state)
{
	(void)state;
	for (uint64_t recorded = 2; recorded <= 3; recorded++) {
		struct writer w;
		uint64_t seed;
		open_busy(&w, "told.gpr", &seed);
		put(&w, 0,
		    (struct gp_record){ .kind = GP_LOST, .aux = 4, .lost.memory = recorded });
		uint64_t gone = w.order;
		w.order += 3;
		put_work(&w, 3000, &seed);
		writer_close(&w, true);
		assert_verdict(w.path, 3 - recorded, gone);
	}
}

/* Later events of their threads were written, so the missing events cannot come any more. */
static void without_an_end_a_hole_is_found(void **state)
{
	(void)state;
	struct writer w;
	uint64_t seed;
	open_busy(&w, "killed.gpr", &seed);
	uint64_t gone = w.order;
	w.order += 3;
	put_work(&w, 3000, &seed);
	writer_close(&w, false);
	assert_verdict(w.path, 3, gone);
}

static void a_missing_end_alone_is_not_a_finding(void **state)
{
	(void)state;
	struct writer w;
	uint64_t seed;
	open_busy(&w, "ended.gpr", &seed);
	writer_close(&w, false);
	assert_verdict(w.path, 0, 0);
}

/* Each thread may have had one event in flight, if it wrote no later event. */
static void one_a_thread_may_be_in_flight(void **state)
{
	(void)state;
	for (unsigned gone = 1; gone <= 3; gone++) {
		struct writer w;
		uint64_t seed;
		open_busy(&w, "flight.gpr", &seed);
		put_blocks(&w, 3, 1);
		put_blocks(&w, 2, 1);
		uint64_t first = w.order;
		for (unsigned i = 0; i < gone; i++) {
			w.order++;
			put_blocks(&w, i % 2, 1);
		}
		put_blocks(&w, 0, 5);
		put_blocks(&w, 1, 5);
		writer_close(&w, true);
		assert_verdict(w.path, gone - (gone < 2 ? gone : 2), first + 4);
	}
}

/* The last block of a thread is removed: its sequence has no hole. */
static void a_block_cut_out_is_found(void **state)
{
	(void)state;
	struct writer w;
	uint64_t seed;
	open_busy(&w, "cut.gpr", &seed);
	for (unsigned t = 0; t < 4; t++)
		flush(&w, t);
	uint64_t first = w.order;
	put_blocks(&w, 3, 2);
	flush(&w, 3);
	uint64_t from = w.block_start[w.blocks - 1], to = w.at;
	for (unsigned t = 0; t < 3; t++)
		put_blocks(&w, t, 10);
	writer_close(&w, true);
	unsigned char byte;
	int fd = open(w.path, O_RDWR);
	uint64_t end = (uint64_t)lseek(fd, 0, SEEK_END);
	for (uint64_t at = to; at < end; at++) {
		assert_int_equal(pread(fd, &byte, 1, (off_t)at), 1);
		assert_int_equal(pwrite(fd, &byte, 1, (off_t)(at - to + from)), 1);
	}
	assert_int_equal(ftruncate(fd, (off_t)(end - (to - from))), 0);
	close(fd);
	/* one of the two may have been in flight */
	assert_verdict(w.path, 1, first);
}

/* Late events of overwritten segments are gone with them; the rest has no hole. */
static void a_wrapped_ring_has_no_hole(void **state)
{
	(void)state;
	struct writer w;
	uint64_t seed = 0;
	writer_open(&w, "ring.gpr", 4, 64 << 10);
	for (unsigned i = 0; i < 20; i++) {
		put_work(&w, 3000, &seed);
		next_segment(&w);
		struct gp_record late = { .kind = GP_POOL_TRIM, .order = w.cut - 3 };
		put_records(&w, GP_BLOCK_EVENTS, GP_BLOCK_LATE, 0, &w.sequence[0], &late, 1);
	}
	put_work(&w, 1000, &seed);
	writer_close(&w, true);
	assert_verdict(w.path, 0, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_that_is_gone_is_found),
		cmocka_unit_test(a_repair_reports_the_missing_events),
		cmocka_unit_test(recorded_losses_are_not_findings),
		cmocka_unit_test(without_an_end_a_hole_is_found),
		cmocka_unit_test(a_missing_end_alone_is_not_a_finding),
		cmocka_unit_test(one_a_thread_may_be_in_flight),
		cmocka_unit_test(a_block_cut_out_is_found),
		cmocka_unit_test(a_wrapped_ring_has_no_hole),
	};
	return cmocka_run_group_tests(tests, make_directory, drop_directory);
}
