/* Recordings written with only the codec: read back, cut short, flipped, wrapped, repaired. */
#include "recording_writer.h"

static struct expected write_recording(struct writer *w, const char *name, uint32_t slots,
				       uint64_t slot_bytes, unsigned segments, uint64_t events,
				       bool is_sealed)
{
	uint64_t state = 0;
	writer_open(w, name, slots, slot_bytes);
	for (unsigned i = 0; i < segments; i++) {
		put_work(w, events, &state);
		if (i + 1 < segments)
			next_segment(w);
	}
	struct expected e = expect(w);
	writer_close(w, is_sealed);
	return e;
}

static void keep_all_reads_back(void **state)
{
	(void)state;
	struct writer w;
	struct expected e = write_recording(&w, "all.gpr", 0, 0, 3, 6000, true);
	assert_reads(w.path, &e, true);
	e = write_recording(&w, "killed.gpr", 0, 0, 3, 6000, false);
	assert_reads(w.path, &e, false);
}

static void wrapped_ring_keeps_figures(void **state)
{
	(void)state;
	struct writer w;
	struct expected e = write_recording(&w, "ring.gpr", 4, 256 << 10, 40, 4000, true);
	assert_reads(w.path, &e, true);
	const struct gp_info *info;
	struct gp_recording *r = fixture_info(w.path, &info);
	assert_true(info->kept_from_ns > 0);
	assert_true(events_kept(info) < 40 * 4000);
	assert_true(info->segments <= 4);
	assert_string_equal(gp_recording_kernel_name(r, 0xabc), "a_kernel(float*)");
	gp_recording_close(r);
}

/*
 * Small slots: segments continue in further parts, and their first parts are overwritten by newer
 * ones.
 */
static void parts_of_a_segment_join(void **state)
{
	(void)state;
	struct writer w;
	struct expected e = write_recording(&w, "parts.gpr", 8, 32 << 10, 12, 9000, true);
	assert_reads(w.path, &e, true);
}

static unsigned char *slurp(const char *path, size_t *bytes)
{
	struct stat st;
	int fd = open(path, O_RDONLY);
	assert_int_equal(fstat(fd, &st), 0);
	unsigned char *all = malloc((size_t)st.st_size);
	assert_int_equal(read(fd, all, (size_t)st.st_size), st.st_size);
	close(fd);
	*bytes = (size_t)st.st_size;
	return all;
}

static void spill(const char *path, const unsigned char *all, size_t bytes)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	assert_int_equal(write(fd, all, bytes), bytes);
	close(fd);
}

/*
 * Opens, replays, verifies; for any bytes each step ends with a status. Returns the first failure.
 */
static enum gp_status survive(const char *path, bool *is_damaged, uint64_t *kept)
{
	struct gp_recording *r;
	struct gp_damage why;
	memset(&why, 0, sizeof why);
	enum gp_status status = gp_recording_open(path, &r, &why);
	*is_damaged = status != GP_OK;
	*kept = 0;
	if (status != GP_OK) {
		assert_true(why.what[0] != '\0');
		return status;
	}
	const struct gp_info *info;
	status = gp_recording_info(r, &info);
	if (status == GP_OK) {
		*is_damaged = info->is_damaged;
		*kept = events_kept(info);
		for (size_t i = 0; i < info->damages; i++)
			assert_true(info->damage[i].what[0] != '\0');
		struct gp_timeline timeline;
		assert_int_equal(gp_timeline_build(r, 100, 0, INT64_MAX, &timeline), GP_OK);
		gp_timeline_free(&timeline);
	}
	gp_recording_close(r);
	return status;
}

/*
 * Cut at each block's boundary and one byte before and after it: a torn tail, never damage, and
 * never fewer events than in whole blocks.
 */
static void every_truncation_reads(void **state)
{
	(void)state;
	struct writer w;
	write_recording(&w, "whole.gpr", 0, 0, 3, 3000, true);
	char path[300];
	snprintf(path, sizeof path, "%s/cut.gpr", directory);
	size_t bytes;
	unsigned char *all = slurp(w.path, &bytes);
	uint64_t last_kept = 0;
	for (size_t i = 0; i < w.blocks; i++) {
		for (int by = -1; by <= 1; by++) {
			bool is_damaged;
			uint64_t kept;
			spill(path, all, w.block_start[i] + (uint64_t)(int64_t)by);
			enum gp_status status = survive(path, &is_damaged, &kept);
			if (w.block_start[i] + (uint64_t)(int64_t)by < GP_FILE_HEADER) {
				assert_int_equal(status, GP_E_TRUNCATED);
				continue;
			}
			assert_int_equal(status, GP_OK);
			assert_false(is_damaged);
			assert_true(kept >= last_kept || by < 0);
			if (by >= 0)
				last_kept = kept;
		}
	}
	assert_true(last_kept > 8000);
	free(all);
}

static void flips_are_found(void **state)
{
	(void)state;
	struct writer w;
	write_recording(&w, "flip.gpr", 0, 0, 3, 3000, true);
	const uint64_t events = 3 * 3000 + 1;
	size_t bytes;
	unsigned char *all = slurp(w.path, &bytes);
	uint64_t random = 12345, found = 0;
	const unsigned tries = 300;
	for (unsigned i = 0; i < tries; i++) {
		random = random * 6364136223846793005u + 1442695040888963407u;
		size_t at = (random >> 20) % (bytes - GP_BLOCK_HEADER);
		all[at] ^= (unsigned char)(1u << (random >> 17 & 7));
		spill(w.path, all, bytes);
		bool is_damaged;
		uint64_t kept;
		enum gp_status status = survive(w.path, &is_damaged, &kept);
		/* some bits of a zstd frame header have no effect: then all events are there */
		found += is_damaged || status != GP_OK || kept == events;
		all[at] ^= (unsigned char)(1u << (random >> 17 & 7));
	}
	assert_int_equal(found, tries);
	free(all);
}

/* One damaged block: the figures at the end are right, since a later checkpoint corrects them. */
static void damage_costs_one_block(void **state)
{
	(void)state;
	struct writer w;
	struct expected e = write_recording(&w, "hurt.gpr", 0, 0, 3, 6000, true);
	size_t bytes;
	unsigned char *all = slurp(w.path, &bytes);
	all[w.block_start[5] + GP_BLOCK_HEADER + 40] ^= 4;
	spill(w.path, all, bytes);
	free(all);
	const struct gp_info *info;
	struct gp_recording *r = fixture_info(w.path, &info);
	assert_true(info->is_damaged);
	assert_int_equal(info->damages, 1);
	assert_int_equal(info->damage[0].offset, w.block_start[5]);
	assert_in_range(events_kept(info), 18000 - 500, 18000);
	struct gp_event event;
	while (gp_recording_next(r, &event) == GP_OK)
		;
	struct gp_curves curves;
	gp_recording_curves(r, 0, &curves);
	assert_int_equal(curves.now_bytes[GP_CURVE_ALLOCATED],
			 e.device.curve[GP_CURVE_ALLOCATED].now_bytes);
	assert_int_equal(curves.peak_bytes[GP_CURVE_ALLOCATED],
			 e.device.curve[GP_CURVE_ALLOCATED].peak_bytes);
	assert_int_equal(info->mismatches + info->anomalies, 0);
	gp_recording_close(r);

	char path[300];
	snprintf(path, sizeof path, "%s/mended.gpr", directory);
	FILE *report = tmpfile();
	assert_int_equal(verify_repair(w.path, path, report), GP_E_DAMAGED);
	assert_int_equal(gp_verify(path, NULL, report), GP_OK);
	fclose(report);
}

static void repair_of_a_killed_run_adds_no_end(void **state)
{
	(void)state;
	struct writer w;
	struct expected e = write_recording(&w, "torn.gpr", 8, 64 << 10, 5, 6000, false);
	char path[300];
	snprintf(path, sizeof path, "%s/clean.gpr", directory);
	FILE *report = tmpfile();
	assert_int_equal(verify_repair(w.path, path, report), GP_OK);
	fclose(report);
	/*
	 * the copy has an end, and the run had none: more events may be missing than the file shows
	 */
	assert_reads(path, &e, false);
}

static void strangers_are_refused(void **state)
{
	(void)state;
	struct gp_recording *r;
	struct gp_damage why;
	char path[300];
	snprintf(path, sizeof path, "%s/stranger", directory);
	assert_int_equal(gp_recording_open(path, &r, &why), GP_E_OPEN);
	assert_null(r);
	unsigned char zero[8192] = { 0 };
	spill(path, zero, sizeof zero);
	assert_int_equal(gp_recording_open(path, &r, &why), GP_E_NOT_RECORDING);
	spill(path, zero, 0);
	assert_int_equal(gp_recording_open(path, &r, &why), GP_E_NOT_RECORDING);
	assert_int_equal(gp_recording_open(directory, &r, &why), GP_E_NOT_RECORDING);
	struct gp_file_header newer = { .major = GP_FORMAT_MAJOR + 1 };
	unsigned char header[GP_FILE_HEADER];
	gp_file_header_encode(&newer, header);
	spill(path, header, sizeof header);
	assert_int_equal(gp_recording_open(path, &r, &why), GP_E_VERSION);
}

/*
 * A block that was written twice (its writer died before it noted the block) counts once; a missing
 * one is a hole.
 */
static void repeats_are_dropped_and_holes_found(void **state)
{
	(void)state;
	struct writer w;
	uint64_t seed = 0;
	writer_open(&w, "again.gpr", 0, 0);
	put_work(&w, 3000, &seed);
	flush(&w, 0);
	w.sequence[0]--;
	put(&w, 0, (struct gp_record){ .kind = GP_LAUNCH });
	flush(&w, 0); /* repeats an old sequence number */
	struct expected e = expect(&w);
	e.launches--;
	writer_close(&w, true);
	assert_reads(w.path, &e, true);
	writer_open(&w, "hole.gpr", 0, 0);
	seed = 0;
	put_work(&w, 3000, &seed);
	w.sequence[2] += 2;
	put_work(&w, 3000, &seed);
	writer_close(&w, true);
	bool is_damaged;
	uint64_t kept;
	assert_int_equal(survive(w.path, &is_damaged, &kept), GP_OK);
	assert_true(is_damaged);
	assert_int_equal(kept, 6001);
}

/* ---- timeline ---- */

/* ---- figures of an open recording at a moment ---- */

/* Curves and texts are those after the last event. */
static void figures_are_those_of_the_moment(void **state)
{
	(void)state;
	struct writer w;
	struct gp_event e;
	struct gp_curves curves;
	uint64_t bytes = 0;
	write_recording(&w, "moment.gpr", 0, 0, 3, 6000, true);
	struct gp_recording *r = fixture_open(w.path);
	assert_string_equal(gp_recording_path(r), w.path);
	assert_null(gp_recording_text(r, GP_KERNEL, 0x123456));
	while (gp_recording_next(r, &e) == GP_OK) {
		const bool is_seen = gp_recording_curves(r, e.record.device, &curves);
		if (e.record.kind != GP_ALLOC || e.record.space != GP_SPACE_DEVICE)
			continue;
		assert_true(is_seen);
		assert_true(curves.now_bytes[GP_CURVE_DRIVER] >= e.record.alloc.bytes);
		if (curves.peak_bytes[GP_CURVE_DRIVER] > bytes)
			assert_int_equal(curves.peak_at_ns[GP_CURVE_DRIVER], e.at_ns);
		bytes = curves.peak_bytes[GP_CURVE_DRIVER];
	}
	assert_true(bytes > 0);
	assert_string_equal(gp_recording_text(r, GP_KERNEL, 0xabc), "a_kernel(float*)");
	gp_recording_close(r);
}

static void timeline_keeps_peaks(void **state)
{
	(void)state;
	struct writer w;
	struct expected e = write_recording(&w, "line.gpr", 0, 0, 3, 20000, true);
	struct gp_recording *r = fixture_open(w.path);
	for (size_t points = 16; points <= 4096; points *= 4) {
		struct gp_timeline t;
		assert_int_equal(gp_timeline_build(r, points, 0, INT64_MAX, &t), GP_OK);
		assert_int_equal(t.devices, 1);
		const struct gp_timeline_device *d = &t.device[0];
		assert_true(d->points <= points && d->points >= points / 8);
		for (unsigned c = 0; c < GP_CURVES; c++) {
			assert_int_equal(d->peak_bytes[c], e.device.curve[c].peak_bytes);
			assert_int_equal(d->peak_at_ns[c], e.device.curve[c].peak_time - 1024);
			bool has_peak = false;
			for (size_t i = 0; i < d->points; i++)
				has_peak |= d->point[i].bytes[c] == d->peak_bytes[c] &&
					    d->point[i].at_ns == d->peak_at_ns[c];
			assert_true(has_peak);
		}
		for (size_t i = 1; i < d->points; i++)
			assert_true(d->point[i].at_ns >= d->point[i - 1].at_ns);
		gp_timeline_free(&t);
	}
	struct gp_timeline t;
	assert_int_equal(gp_timeline_build(r, 100, 100000, 200000, &t), GP_OK);
	assert_true(t.device[0].point[0].at_ns == 100000 &&
		    t.device[0].point[0].bytes[GP_CURVE_DRIVER] == 64 << 20);
	for (size_t i = 0; i < t.device[0].points; i++)
		assert_true(t.device[0].point[i].at_ns >= 100000 &&
			    t.device[0].point[i].at_ns <= 200000);
	gp_timeline_free(&t);
	gp_recording_close(r);
}

/* A FREE is recorded without its device: the reader adds the device of the memory. */
static void frees_are_handed_out_with_their_device(void **state)
{
	(void)state;
	struct writer w;
	writer_open(&w, "devices.gpr", 0, 0);
	for (uint8_t device = 0; device < 3; device++)
		put(&w, 0,
		    (struct gp_record){
			    .kind = GP_ALLOC,
			    .space = GP_SPACE_DEVICE,
			    .device = device,
			    .alloc = { .address = 4096u * (1u + device), .bytes = 512 } });
	for (uint8_t device = 3; device-- > 0;)
		put(&w, 1,
		    (struct gp_record){ .kind = GP_FREE,
					.space = GP_SPACE_DEVICE,
					.device = GP_DEVICE_UNKNOWN,
					.free.address = 4096u * (1u + device) });
	writer_close(&w, true);
	struct gp_event e;
	unsigned frees = 0;
	struct gp_recording *r = fixture_open(w.path);
	while (gp_recording_next(r, &e) == GP_OK)
		if (e.record.kind == GP_FREE)
			assert_int_equal(e.record.device, 2 - frees++);
	assert_int_equal(frees, 3);
	gp_recording_close(r);
}

/* Two threads begin to use a name at once: the thread that did not record it may come first. */
static void a_name_is_known_before_its_definition(void **state)
{
	struct writer w;
	struct gp_recording *r;
	struct gp_damage why;
	struct gp_event event;
	struct gp_record name[2] = { { .kind = GP_RANGE_NAME, .aux = 7 } };
	unsigned pushes = 0;
	(void)state;
	fill_text(name, "step");
	writer_open(&w, "early.gpr", 0, 0);
	put(&w, 1, (struct gp_record){ .kind = GP_RANGE_PUSH, .aux = 7 });
	put(&w, 0, name[0]);
	w.buffer[0][w.buffered[0]++] = name[1];
	put(&w, 0, (struct gp_record){ .kind = GP_RANGE_PUSH, .aux = 7 });
	writer_close(&w, true);
	assert_int_equal(gp_recording_open(w.path, &r, &why), GP_OK);
	while (gp_recording_next(r, &event) == GP_OK) {
		if (event.record.kind != GP_RANGE_PUSH)
			continue;
		assert_int_equal(event.thread, 1 - pushes++);
		const char *text = gp_recording_text(r, GP_RANGE_NAME, event.record.aux);
		assert_non_null(text);
		assert_string_equal(text, "step");
	}
	assert_int_equal(pushes, 2);
	gp_recording_close(r);
}

#define LONG_NAMES 1638u /* of 240 bytes: as many as fit into one block */
#define LAUNCHES 8000u

/* One block of long names that are alike, one of launches at regular times: both are short. */
static void write_short_blocks(struct writer *w, const char *name, unsigned minor)
{
	struct gp_record *record = calloc(SLOTS_KEPT, sizeof *record);
	char text[241];
	writer_open(w, name, 0, 0);
	w->header.minor = (uint16_t)minor;
	put_header(w);
	w->is_unpadded = true;
	for (unsigned k = 0; k < LONG_NAMES; k++) {
		struct gp_record *r = &record[5 * k];
		snprintf(text, sizeof text, "%0236u%04u", 0u, k);
		*r = (struct gp_record){ .kind = GP_RANGE_NAME, .time = w->time, .aux = k + 1 };
		fill_text(r, text);
		assert_int_equal(r->extra, 4);
	}
	put_records(w, GP_BLOCK_DEFINE, 0, GP_THREAD_NONE, &w->none_sequence, record,
		    5 * LONG_NAMES);
	for (unsigned k = 0; k < LAUNCHES; k++)
		record[k] = (struct gp_record){ .kind = GP_LAUNCH, .time = w->time += 64 };
	put_records(w, GP_BLOCK_EVENTS, 0, 1, &w->sequence[1], record, LAUNCHES);
	writer_close(w, true);
	free(record);
}

static void short_blocks_of_old_recorders_are_read(void **state)
{
	(void)state;
	struct writer w;
	for (unsigned minor = 0; minor <= GP_FORMAT_MINOR; minor++) {
		const bool is_old = minor < 7;
		struct gp_event event;
		unsigned events = 0;
		char *printed, copy[300];
		size_t bytes;
		write_short_blocks(&w, "short.gpr", minor);
		struct gp_recording *r = fixture_open(w.path);
		while (gp_recording_next(r, &event) == GP_OK)
			events++;
		assert_int_equal(events, is_old ? LAUNCHES : 0);
		const char *name = gp_recording_text(r, GP_RANGE_NAME, LONG_NAMES);
		assert_int_equal(name != NULL && strlen(name) == 240, is_old);
		gp_recording_close(r);
		snprintf(copy, sizeof copy, "%s/short-copy.gpr", directory);
		FILE *report = open_memstream(&printed, &bytes);
		assert_int_equal(verify_repair(w.path, copy, report),
				 is_old ? GP_OK : GP_E_DAMAGED);
		fclose(report);
		assert_int_equal(strstr(printed,
					"8000 records of this block of thread 1 have fewer "
					"bytes than format 1.7 requires") == NULL,
				 is_old);
		free(printed);
		report = open_memstream(&printed, &bytes);
		assert_int_equal(gp_verify(copy, NULL, report), GP_OK);
		fclose(report);
		free(printed);
		assert_int_equal(unlink(copy), 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(keep_all_reads_back),
		cmocka_unit_test(wrapped_ring_keeps_figures),
		cmocka_unit_test(parts_of_a_segment_join),
		cmocka_unit_test(every_truncation_reads),
		cmocka_unit_test(flips_are_found),
		cmocka_unit_test(damage_costs_one_block),
		cmocka_unit_test(repair_of_a_killed_run_adds_no_end),
		cmocka_unit_test(strangers_are_refused),
		cmocka_unit_test(repeats_are_dropped_and_holes_found),
		cmocka_unit_test(a_name_is_known_before_its_definition),
		cmocka_unit_test(short_blocks_of_old_recorders_are_read),
		cmocka_unit_test(figures_are_those_of_the_moment),
		cmocka_unit_test(timeline_keeps_peaks),
		cmocka_unit_test(frees_are_handed_out_with_their_device),
	};
	return cmocka_run_group_tests(tests, make_directory, drop_directory);
}
