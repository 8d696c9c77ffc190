/*
 * Damage, cuts or interruptions in the stored names of a recording lose names and no events. Damage
 * elsewhere loses no name.
 */
#include "named_recording.h"

#include <signal.h>
#include <sys/resource.h>

#include <cmocka.h>

static enum gp_status refused(const char *path)
{
	const struct gp_symbolizing silent = { 0 };
	struct gp_symbolized out;
	struct gp_recording *r = fixture_open(path);
	enum gp_status status = gp_recording_symbolize(r, &silent, &out);
	assert_false(out.is_written);
	gp_symbolized_free(&out);
	gp_recording_close(r);
	return status;
}

/* Cut anywhere, flipped anywhere: the events stay the same; the names are all there or all gone. */
static void damage_costs_names_alone(void **state)
{
	(void)state;
	struct library library;
	struct writer w;
	bool is_damaged;
	char path[300];
	load_copy(&library);
	record(&w, &library, "whole.gpr", 0, 0, 100);
	struct gp_symbolized s = counted(w.path, NULL, NULL);
	char *here = shown(w.path, &is_damaged);
	hide_library(true);
	size_t bytes;
	unsigned char *all = slurp(w.path, &bytes);
	snprintf(path, sizeof path, "%s/damaged.gpr", directory);
	char *without = NULL;
	size_t harmless = 0;
	for (size_t back = 1; back <= 2 * s.names_bytes; back++) {
		bool is_cut = back <= s.names_bytes;
		size_t at = bytes - (is_cut ? back : back - s.names_bytes);
		unsigned flip = is_cut ? 0 : 1u << at % 8;
		all[at] = (unsigned char)(all[at] ^ flip);
		spill(path, all, is_cut ? at : bytes);
		all[at] = (unsigned char)(all[at] ^ flip);
		char *text = shown(path, &is_damaged);
		if (without == NULL)
			without = strdup(text);
		/* some zstd bits have no effect: then the names are unchanged */
		harmless += !is_damaged;
		assert_string_equal(text, is_damaged ? without : here);
		free(text);
		if (back % 16 != 0 || !is_damaged)
			continue;
		FILE *report = fopen("/dev/null", "w");
		assert_int_equal(gp_verify(path, NULL, report), GP_E_DAMAGED);
		fclose(report);
		hide_library(false);
		assert_int_equal(counted(path, NULL, NULL).named, places);
		hide_library(true);
		assert_shows(path, here);
		/* after the rest of the old names */
		assert_int_equal(file_bytes(path), (is_cut ? at : bytes) + s.names_bytes);
	}
	/* the names have the path of the sources: 1 to 5 of 500 flips in twelve such paths */
	assert_true(harmless * 50 < s.names_bytes);
	assert_string_not_equal(without, here);
	hide_library(false);
	free(all);
	free(here);
	free(without);
	dlclose(library.handle);
}

/*
 * A flip anywhere before the names: names are refused and no byte changes. Half of the names are
 * stored.
 */
static void damaged_blocks_keep_their_names(void **state)
{
	(void)state;
	struct library library;
	struct writer w;
	unsigned half = places / 2 + 4, refusals = 0;
	load_copy(&library);
	record(&w, &library, "blocks.gpr", 0, 0, 100);
	struct gp_symbolized s = counted(w.path, is_over_after, &half);
	assert_true(s.is_written && s.waiting > 0);
	size_t bytes, now;
	unsigned char *all = slurp(w.path, &bytes);
	FILE *report = fopen("/dev/null", "w");
	for (size_t at = GP_FILE_HEADER; at < bytes - s.names_bytes; at += 7) {
		all[at] ^= 16;
		spill(w.path, all, bytes);
		/* some zstd bits have no effect */
		if (gp_verify(w.path, NULL, report) != GP_OK) {
			enum gp_status status = refused(w.path);
			refusals += status == GP_E_DAMAGED;
			assert_true(status == GP_E_DAMAGED || status == GP_E_TRUNCATED);
			unsigned char *after = slurp(w.path, &now);
			assert_int_equal(now, bytes);
			assert_memory_equal(after, all, bytes);
			free(after);
		}
		all[at] ^= 16;
	}
	fclose(report);
	assert_true(refusals > 100);
	free(all);
	dlclose(library.handle);
}

/* Reasons without names must not replace stored names: the recording would look whole. */
static void damaged_names_are_replaced_by_names(void **state)
{
	(void)state;
	const struct gp_symbolizing silent = { 0 };
	struct gp_symbolized out;
	struct gp_recording *r;
	struct library library;
	struct writer w;
	load_copy(&library);
	record(&w, &library, "dropped.gpr", 0, 0, 100);
	counted(w.path, NULL, NULL);
	size_t bytes, now;
	unsigned char *all = slurp(w.path, &bytes);
	all[bytes - 30] ^= 1;
	for (unsigned is_hidden = 1; is_hidden < 2; is_hidden--) {
		hide_library(is_hidden);
		spill(w.path, all, bytes);
		const uint64_t offset = header_of(w.path).names_offset;
		r = fixture_open(w.path);
		assert_int_equal(gp_recording_symbolize(r, &silent, &out),
				 is_hidden ? GP_E_DAMAGED : GP_OK);
		assert_non_null(out.dropped);
		assert_int_equal(out.dropped->offset, offset);
		assert_int_equal(out.is_written, !is_hidden);
		assert_true(is_hidden == (out.obstacle != NULL));
		gp_symbolized_free(&out);
		gp_recording_close(r);
		unsigned char *after = slurp(w.path, &now);
		assert_true(is_hidden == (now == bytes && memcmp(after, all, bytes) == 0));
		free(after);
	}
	free(all);
	dlclose(library.handle);
}

/* Names from a gpuprof before minor 9 are not damage, and reasons alone do not replace them. */
static void old_names_are_replaced_by_names(void **state)
{
	(void)state;
	struct library library;
	struct writer w;
	struct gp_block_header block;
	bool is_damaged;
	load_copy(&library);
	record(&w, &library, "old.gpr", 0, 0, 100);
	char *here = shown(w.path, &is_damaged);
	counted(w.path, NULL, NULL);
	const uint64_t offset = header_of(w.path).names_offset;
	size_t bytes;
	unsigned char *all = slurp(w.path, &bytes);
	assert_int_equal(gp_block_header_decode(all + offset, &block), GP_OK);
	block.type = GP_BLOCK_OLD_NAMES;
	gp_block_header_encode(&block, all + offset);
	spill(w.path, all, bytes);
	assert_shows(w.path, here);
	hide_library(true);
	assert_false(counted(w.path, NULL, NULL).is_written);
	hide_library(false);
	const struct gp_symbolized out = counted(w.path, NULL, NULL);
	assert_true(out.is_written && out.named != 0 && out.added == out.named);
	assert_true(header_of(w.path).names_offset > offset);
	assert_shows(w.path, here);
	free(all);
	free(here);
	dlclose(library.handle);
}

/* The header has the place of the names. A wrong place never overwrites what the recorder wrote. */
static void a_wrong_place_overwrites_no_events(void **state)
{
	(void)state;
	struct library library;
	struct writer w;
	bool is_damaged;
	load_copy(&library);
	record(&w, &library, "place.gpr", 0, 0, 100);
	char *here = shown(w.path, &is_damaged);
	size_t bytes;
	unsigned char *all = slurp(w.path, &bytes);
	const uint64_t offsets[] = { 0, 1, 4096, 5000, bytes - 96, bytes, UINT64_MAX - 50 };
	for (size_t i = 0; i < sizeof offsets / sizeof *offsets; i++) {
		struct gp_file_header header = w.header;
		header.names_offset = offsets[i];
		header.names_bytes = 100;
		header.minor = GP_FORMAT_MINOR;
		gp_file_header_encode(&header, all);
		spill(w.path, all, bytes);
		char *text = shown(w.path, &is_damaged);
		assert_true(is_damaged);
		assert_string_equal(text, here);
		free(text);
		assert_true(counted(w.path, NULL, NULL).is_written);
		assert_shows(w.path, here);
	}
	free(all);
	free(here);
	dlclose(library.handle);
}

static void unfinished_recordings_are_refused(void **state)
{
	(void)state;
	struct library library;
	struct writer w;
	load_copy(&library);
	record(&w, &library, "refused.gpr", 0, 0, 100);
	size_t bytes, now;
	unsigned char *all = slurp(w.path, &bytes);
	struct gp_file_header header = w.header;
	header.minor = GP_FORMAT_MINOR + 1;
	gp_file_header_encode(&header, all);
	spill(w.path, all, bytes);
	assert_int_equal(refused(w.path), GP_E_VERSION);
	gp_file_header_encode(&w.header, all);
	spill(w.path, all, bytes - GP_BLOCK_HEADER); /* without its seal */
	assert_int_equal(refused(w.path), GP_E_TRUNCATED);
	all[500] ^= 1;
	spill(w.path, all, bytes);
	assert_int_equal(refused(w.path), GP_E_DAMAGED);
	unsigned char *after = slurp(w.path, &now);
	assert_int_equal(now, bytes);
	assert_memory_equal(after, all, bytes);
	free(after);
	free(all);
	dlclose(library.handle);
}

/* A full disk leaves the recording unchanged. */
static void a_full_disk_changes_no_byte(void **state)
{
	(void)state;
	struct library library;
	struct writer w;
	load_copy(&library);
	record(&w, &library, "full.gpr", 0, 0, 100);
	size_t bare, bytes, now;
	unsigned char *before = slurp(w.path, &bare);
	struct gp_symbolized s = counted(w.path, NULL, NULL);
	unsigned char *named = slurp(w.path, &bytes);
	assert_int_equal(bytes, bare + s.names_bytes);
	named[bytes - 30] ^= 1; /* so that names are written again */
	signal(SIGXFSZ, SIG_IGN);
	for (size_t more = 0; more < s.names_bytes; more += 37) {
		for (unsigned has_names = 0; has_names < 2; has_names++) {
			const unsigned char *old = has_names ? named : before;
			size_t size = has_names ? bytes : bare;
			spill(w.path, old, size);
			struct rlimit limit, unlimited;
			assert_int_equal(getrlimit(RLIMIT_FSIZE, &unlimited), 0);
			limit = unlimited;
			limit.rlim_cur = size + more;
			assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
			enum gp_status status = refused(w.path);
			assert_int_equal(setrlimit(RLIMIT_FSIZE, &unlimited), 0);
			assert_int_equal(status, GP_E_SPACE);
			unsigned char *after = slurp(w.path, &now);
			assert_int_equal(now, size);
			assert_memory_equal(after, old, size);
			free(after);
		}
	}
	free(before);
	free(named);
	dlclose(library.handle);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(damage_costs_names_alone),
		cmocka_unit_test(damaged_blocks_keep_their_names),
		cmocka_unit_test(damaged_names_are_replaced_by_names),
		cmocka_unit_test(old_names_are_replaced_by_names),
		cmocka_unit_test(a_wrong_place_overwrites_no_events),
		cmocka_unit_test(unfinished_recordings_are_refused),
		cmocka_unit_test(a_full_disk_changes_no_byte),
	};
	return cmocka_run_group_tests(tests, set_up, drop_directory);
}
