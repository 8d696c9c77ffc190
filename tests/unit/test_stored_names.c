/*
 * A recording shows its stored names like the names of its libraries, after these are gone. Frames
 * without a name are reported if the user can provide it.
 */
#include "named_recording.h"

#include <cmocka.h>

/* The whole way, in files of every shape, repeatedly. */
static void expect_travel(uint32_t slots, uint64_t slot_bytes, uint64_t work)
{
	struct library library;
	struct writer w;
	bool is_damaged;
	load_copy(&library);
	record(&w, &library, "travel.gpr", slots, slot_bytes, work);
	char *here = shown(w.path, &is_damaged);
	assert_non_null(strstr(here, " inlined"));
	hide_library(true);
	char *before = shown(w.path, &is_damaged);
	assert_string_not_equal(before, here);
	hide_library(false);
	uint64_t bare = file_bytes(w.path);
	struct gp_symbolized first = counted(w.path, NULL, NULL);
	assert_true(first.is_written);
	assert_int_equal(first.frames, places + 1);
	assert_int_equal(first.nowhere, 1);
	assert_int_equal(first.named + first.nowhere, first.frames);
	assert_int_equal(first.added, first.named);
	uint64_t grown = file_bytes(w.path);
	assert_true(grown >= bare + first.names_bytes);
	hide_library(true);
	assert_shows(w.path, here);
	struct gp_symbolized second = counted(w.path, NULL, NULL);
	assert_false(second.is_written);
	assert_int_equal(second.named, first.named);
	assert_int_equal(second.added, 0);
	assert_int_equal(file_bytes(w.path), grown);
	FILE *report = fopen("/dev/null", "w");
	assert_int_equal(gp_verify(w.path, NULL, report), GP_OK);
	/* and in a copy */
	char repaired[300];
	snprintf(repaired, sizeof repaired, "%s/repaired.gpr", directory);
	assert_int_equal(verify_repair(w.path, repaired, report), GP_OK);
	fclose(report);
	assert_shows(repaired, here);
	assert_int_equal(unlink(repaired), 0);
	assert_int_equal(unlink(w.path), 0);
	hide_library(false);
	free(here);
	free(before);
	dlclose(library.handle);
}

static void names_travel(void **state)
{
	(void)state;
	expect_travel(0, 0, 3000);
}
static void names_travel_in_a_ring(void **state)
{
	(void)state;
	expect_travel(16, 1 << 20, 3000);
	/* and in a ring that wrapped */
	expect_travel(5, 60000, 60000);
}

/* Unused slots must begin with zeros, or an older reader takes them for damaged. */
static void names_leave_slots_beginnings_out(void **state)
{
	(void)state;
	struct library library;
	struct writer w;
	static const unsigned char zeros[GP_BLOCK_HEADER];
	const uint64_t more[] = { 0, 1, 50, 95, 96, 97, 300 };
	load_copy(&library);
	record(&w, &library, "slots.gpr", 16, 1 << 20, 100);
	uint64_t used = file_bytes(w.path) - GP_FILE_HEADER - (1 << 20);
	dlclose(library.handle);
	for (size_t i = 0; i < sizeof more / sizeof *more; i++) {
		uint64_t slot_bytes = used + more[i], third = GP_FILE_HEADER + 2 * slot_bytes;
		assert_true(load(&library, "libplaces.so"));
		record(&w, &library, "slots.gpr", 16, slot_bytes, 100);
		assert_int_equal(file_bytes(w.path), third - more[i]);
		struct gp_symbolized s = counted(w.path, NULL, NULL);
		struct gp_file_header header = header_of(w.path);
		assert_int_equal(header.names_offset, third - more[i]);
		assert_true(s.names_bytes > more[i]);
		assert_int_equal(file_bytes(w.path),
				 third - more[i] + s.names_bytes + GP_SLOT_GUARD);
		size_t bytes;
		unsigned char *all = slurp(w.path, &bytes);
		assert_memory_equal(all + third, zeros, sizeof zeros);
		free(all);
		dlclose(library.handle);
		expect_travel(16, slot_bytes, 100);
	}
}

static void a_limit_leaves_the_rest_for_later(void **state)
{
	(void)state;
	struct library library;
	struct writer w;
	bool is_damaged;
	uint64_t waited = 0, parts = 0;
	load_copy(&library);
	record(&w, &library, "limit.gpr", 0, 0, 100);
	char *here = shown(w.path, &is_damaged);
	unsigned none = 0;
	struct gp_symbolized s = counted(w.path, is_over_after, &none);
	assert_false(s.is_written);
	assert_int_equal(s.waiting, places);
	for (unsigned checks = 1; checks < 200; checks++) {
		unsigned left = checks;
		s = counted(w.path, is_over_after, &left);
		assert_int_equal(s.named + s.waiting, places);
		assert_true(waited == 0 || s.waiting <= waited);
		parts += s.is_written;
		waited = s.waiting;
		assert_shows(w.path, here);
	}
	assert_int_equal(waited, 0);
	assert_true(parts > 3);
	hide_library(true);
	assert_shows(w.path, here);
	hide_library(false);
	free(here);
	dlclose(library.handle);
}

static void unnamed_frames_are_looked_up_again(void **state)
{
	(void)state;
	struct library library;
	struct writer w;
	bool is_damaged;
	load_copy(&library);
	record(&w, &library, "again.gpr", 0, 0, 100);
	char *here = shown(w.path, &is_damaged);
	hide_library(true);
	char *gone = shown(w.path, &is_damaged);
	struct gp_symbolized s = counted(w.path, NULL, NULL);
	assert_true(s.is_written);
	assert_int_equal(s.named, 0);
	assert_int_equal(s.unnamed_modules, 1);
	assert_shows(w.path, gone);
	hide_library(false);
	assert_shows(w.path, here);
	s = counted(w.path, NULL, NULL);
	assert_true(s.is_written);
	assert_int_equal(s.added, places);
	hide_library(true);
	assert_shows(w.path, here);
	hide_library(false);
	free(here);
	free(gone);
	dlclose(library.handle);
}

/* The number of unnamed frames of the only reported module; 0: no module is reported. */
static uint64_t nameless(const char *path, const char *why)
{
	static struct gp_frame frame[GP_FRAMES_MAX];
	const struct gp_unnamed *module;
	struct gp_event event;
	struct gp_stack stack;
	size_t modules;
	struct gp_recording *r = fixture_open(path);
	assert_int_equal(gp_recording_unnamed(r, &module, &modules), GP_OK);
	assert_int_equal(modules, 0);
	while (gp_recording_next(r, &event) == GP_OK)
		gp_recording_stack(r, event.record.stack, event.at_ns, GP_STACK_SYMBOLS, &stack,
				   frame, GP_FRAMES_MAX);
	for (unsigned again = 0; again < 2; again++)
		assert_int_equal(gp_recording_unnamed(r, &module, &modules), GP_OK);
	assert_in_range(modules, 0, 1);
	uint64_t frames = modules ? module->frames : 0;
	if (modules) {
		assert_string_equal(module->module, copied);
		assert_string_equal(module->why, why);
	}
	gp_recording_close(r);
	return frames;
}

static void frames_that_can_be_named_are_reported(void **state)
{
	(void)state;
	struct library library;
	struct writer w;
	load_copy(&library);
	record(&w, &library, "mended.gpr", 0, 0, 100);
	assert_int_equal(nameless(w.path, NULL), 0);
	hide_library(true);
	assert_int_equal(nameless(w.path, "the module's file is gone"), places);
	spill(copied, (const unsigned char *)"no library", 10);
	assert_int_equal(nameless(w.path, "the module's file cannot be read"), places);
	hide_library(false);
	counted(w.path, NULL, NULL);
	hide_library(true);
	assert_int_equal(nameless(w.path, NULL), 0);
	hide_library(false);
	dlclose(library.handle);
}

/*
 * The minor version is that of the recorder: newer rules do not apply to an older recording. Those
 * of minor 9 apply only to names.
 */
static void names_leave_the_minor(void **state)
{
	(void)state;
	struct library library;
	load_copy(&library);
	for (unsigned minor = 0; minor <= GP_FORMAT_MINOR; minor++) {
		struct writer w;
		size_t bytes;
		record(&w, &library, "minor.gpr", 0, 0, 100);
		unsigned char *all = slurp(w.path, &bytes);
		w.header.minor = (uint16_t)minor;
		gp_file_header_encode(&w.header, all);
		spill(w.path, all, bytes);
		free(all);
		assert_true(counted(w.path, NULL, NULL).is_written);
		assert_int_equal(header_of(w.path).minor, minor < 3 ? 3 : minor == 8 ? 9 : minor);
	}
	dlclose(library.handle);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_travel),
		cmocka_unit_test(names_travel_in_a_ring),
		cmocka_unit_test(names_leave_slots_beginnings_out),
		cmocka_unit_test(a_limit_leaves_the_rest_for_later),
		cmocka_unit_test(unnamed_frames_are_looked_up_again),
		cmocka_unit_test(frames_that_can_be_named_are_reported),
		cmocka_unit_test(names_leave_the_minor),
	};
	return cmocka_run_group_tests(tests, set_up, drop_directory);
}
