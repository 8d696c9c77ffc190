/* Missing or uncertain parts of a recording: the reader reports them, and counts no anomalies. */
#include "recording_writer.h"

static void flip(const struct writer *w, uint64_t offset)
{
	unsigned char byte;
	int fd = open(w->path, O_RDWR);
	assert_int_equal(pread(fd, &byte, 1, (off_t)offset), 1);
	byte ^= 4;
	assert_int_equal(pwrite(fd, &byte, 1, (off_t)offset), 1);
	close(fd);
}

static uint64_t memory_events(struct gp_recording *r)
{
	struct gp_event e;
	uint64_t events = 0;
	assert_int_equal(gp_recording_rewind(r), GP_OK);
	while (gp_recording_next(r, &e) == GP_OK)
		events += gp_event_infos[e.record.kind].class == GP_CLASS_MEMORY;
	return events;
}

static uint64_t memory_in(const struct gp_record *record, uint64_t slots)
{
	uint64_t events = 0;
	for (uint64_t i = 0; i < slots; i += 1u + record[i].extra)
		events += gp_event_infos[record[i].kind].class == GP_CLASS_MEMORY;
	return events;
}

/* A block is gone: the copy counts exactly the MEMORY events that were in it. */
static void assert_repair_counts(const struct writer *w, uint64_t missing, bool is_uncertain)
{
	char path[400];
	const struct gp_info *info;
	snprintf(path, sizeof path, "%s.mended", w->path);
	FILE *report = tmpfile();
	assert_int_equal(verify_repair(w->path, path, report), GP_E_DAMAGED);
	assert_int_equal(gp_verify(path, NULL, report), GP_OK);
	fclose(report);
	struct gp_recording *r = fixture_info(path, &info);
	assert_int_equal(info->lost_memory, missing);
	assert_int_equal(info->mismatches + info->anomalies, 0);
	assert_int_equal(info->uncertains, 1);
	assert_int_equal(info->has_uncertain_peaks, is_uncertain);
	gp_recording_close(r);
}

static void damage_causes_no_anomalies(void **state)
{
	(void)state;
	for (unsigned segments = 1; segments <= 3; segments += 2) {
		struct writer w;
		uint64_t seed = 0;
		const struct gp_info *info;
		writer_open(&w, segments == 1 ? "one.gpr" : "three.gpr", 0, 0);
		for (unsigned i = 0; i < segments; i++) {
			put_work(&w, 6000, &seed);
			if (i + 1 < segments)
				next_segment(&w);
		}
		uint64_t orders = w.order;
		writer_close(&w, true);
		flip(&w, w.block_start[5] + GP_BLOCK_HEADER + 40);
		struct gp_recording *r = fixture_info(w.path, &info);
		assert_int_equal(info->damages, 1);
		assert_int_equal(info->mismatches + info->anomalies, 0);
		assert_int_equal(info->uncertains, 1);
		assert_true(info->uncertain[0].from_ns < info->uncertain[0].to_ns);
		/*
		 * the next checkpoint corrects the figures; without one they stay uncertain to the
		 * end
		 */
		assert_int_equal(info->has_uncertain_peaks, segments == 1);
		assert_int_equal(info->uncertain[0].to_ns == (int64_t)info->duration_ns,
				 segments == 1);
		uint64_t missing = orders - memory_events(r);
		gp_recording_close(r);
		assert_true(missing > 300 && missing < 500);
		assert_repair_counts(&w, missing, segments == 1);
	}
}

/*
 * The end is missing, and before it some events of a thread that wrote less. The reader counts no
 * anomalies. The next checkpoint corrects the figures, and the copy reports that its figures are
 * too low.
 */
static void a_missing_end_causes_no_anomalies(void **state)
{
	(void)state;
	for (unsigned segments = 1; segments <= 2; segments++) {
		struct writer w;
		uint64_t seed = 0;
		const struct gp_info *info;
		char copy[400];
		writer_open(&w, segments == 1 ? "end.gpr" : "ends.gpr", 0, 0);
		put_work(&w, 3000, &seed);
		flush(&w, 2);
		put_work(&w, 600, &seed);
		uint64_t gone = memory_in(w.buffer[2], w.buffered[2]);
		w.buffered[2] = 0;
		put_work(&w, 900, &seed);
		if (segments == 2) {
			next_segment(&w);
			put_work(&w, 900, &seed);
		}
		writer_close(&w, false);
		struct gp_recording *r = fixture_info(w.path, &info);
		assert_false(info->is_complete || info->is_running || info->is_damaged);
		assert_int_equal(info->mismatches + info->anomalies, 0);
		assert_int_equal(info->uncertains, 1);
		assert_int_equal(info->uncertain[0].to_ns == (int64_t)info->duration_ns,
				 segments == 1);
		assert_true(info->has_uncertain_peaks);
		gp_recording_close(r);
		snprintf(copy, sizeof copy, "%s.mended", w.path);
		FILE *report = tmpfile();
		assert_int_equal(verify_repair(w.path, copy, report), GP_E_DAMAGED);
		assert_int_equal(gp_verify(copy, NULL, report), GP_OK);
		fclose(report);
		r = fixture_info(copy, &info);
		assert_int_equal(info->lost_memory, gone);
		assert_true(gone > 0 && info->is_sealed && info->has_hole && !info->is_complete);
		assert_int_equal(info->mismatches + info->anomalies, 0);
		gp_recording_close(r);
	}
}

static void intact_is_certain(void **state)
{
	(void)state;
	struct writer w;
	uint64_t seed = 0;
	const struct gp_info *info;
	writer_open(&w, "intact.gpr", 0, 0);
	put_work(&w, 3000, &seed);
	writer_close(&w, true);
	struct gp_recording *r = fixture_info(w.path, &info);
	assert_int_equal(info->uncertains + info->gaps + info->missed_routes, 0);
	assert_false(info->has_gap || info->is_late || info->has_framework_late);
	gp_recording_close(r);
}

/*
 * The last block's header is complete and wrong: the writer did not die there, the file was
 * changed.
 */
static void a_flip_in_the_last_block_is_damage(void **state)
{
	(void)state;
	struct writer w;
	uint64_t seed = 0;
	const struct gp_info *info;
	writer_open(&w, "last.gpr", 0, 0);
	put_work(&w, 3000, &seed);
	writer_close(&w, true);
	flip(&w, w.block_start[w.blocks - 1] + 60);
	struct gp_recording *r = fixture_info(w.path, &info);
	assert_true(info->is_damaged);
	assert_int_equal(info->damage[0].offset, w.block_start[w.blocks - 1]);
	gp_recording_close(r);
}

static void gaps_and_missed_routes_are_reported(void **state)
{
	(void)state;
	struct writer w;
	uint64_t seed = 0;
	const struct gp_info *info;
	writer_open(&w, "late.gpr", 0, 0);
	put(&w, 0, (struct gp_record){ .kind = GP_GAP, .aux = GP_WHY_STOPPED });
	uint64_t began = w.time - 1024;
	put_work(&w, 3000, &seed);
	struct gp_record fact = { .kind = GP_FACT, .aux = GP_FACT_ROUTES, .fact.value = 3 };
	put(&w, 0, fact);
	writer_close(&w, true);
	struct gp_recording *r = fixture_info(w.path, &info);
	assert_true(info->has_gap && info->is_late);
	assert_int_equal(info->gaps, 1);
	assert_int_equal(info->gap_ns[0], began);
	assert_int_equal(info->missed_routes, 3);
	gp_recording_close(r);
}

/*
 * The owner overwrites slots while its recording is read: older events are gone, and there is no
 * damage.
 */
static void overwriting_during_a_read_is_not_damage(void **state)
{
	(void)state;
	for (unsigned written = 1; written <= 24; written++) {
		struct writer w;
		uint64_t seed = 0, newest = 0;
		const struct gp_info *info;
		struct gp_event e;
		writer_open(&w, "turning.gpr", 8, 64 << 10);
		for (unsigned i = 0; i < 20; i++) {
			put_work(&w, 3000, &seed);
			next_segment(&w);
		}
		struct gp_recording *r = fixture_info(w.path, &info);
		uint64_t kept_from = info->kept_from_ns;
		for (unsigned i = 0; i < 2000; i++)
			assert_int_equal(gp_recording_next(r, &e), GP_OK);
		for (unsigned i = 0; i < written; i++) {
			put_work(&w, 3000, &seed);
			next_segment(&w);
		}
		enum gp_status status;
		while ((status = gp_recording_next(r, &e)) == GP_OK) {
			if (gp_event_infos[e.record.kind].class != GP_CLASS_MEMORY)
				continue;
			assert_true(e.record.order > newest);
			newest = e.record.order;
		}
		assert_int_equal(status, GP_END);
		struct gp_timeline timeline;
		assert_int_equal(gp_timeline_build(r, 100, 0, INT64_MAX, &timeline), GP_OK);
		gp_timeline_free(&timeline);
		assert_int_equal(gp_recording_info(r, &info), GP_OK);
		assert_false(info->is_damaged);
		assert_int_equal(info->mismatches + info->anomalies, 0);
		assert_true(info->kept_from_ns > kept_from);
		gp_recording_close(r);
		writer_close(&w, false);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(damage_causes_no_anomalies),
		cmocka_unit_test(a_missing_end_causes_no_anomalies),
		cmocka_unit_test(intact_is_certain),
		cmocka_unit_test(a_flip_in_the_last_block_is_damage),
		cmocka_unit_test(gaps_and_missed_routes_are_reported),
		cmocka_unit_test(overwriting_during_a_read_is_not_damage),
	};
	return cmocka_run_group_tests(tests, make_directory, drop_directory);
}
