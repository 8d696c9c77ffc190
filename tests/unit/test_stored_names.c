/*
 * Names that a recording stores read as those of its libraries, when these are gone; whatever is
 * damaged, cut or stopped in them costs names and nothing else.
 */
#include "recording_writer.h"

#include <signal.h>
#include <sys/resource.h>

#include <cmocka.h>

#include "places_library.h"

#define BLOCKS 400u
static char copied[PATH_MAX]; /* the library, as the recording knows it */

static void hide_library(bool is_hidden)
{
	char aside[PATH_MAX + 8];
	snprintf(aside, sizeof aside, "%s.gone", copied);
	assert_int_equal(is_hidden ? rename(copied, aside) : rename(aside, copied), 0);
}

static void define(struct writer *w, struct gp_record record, const char *text)
{
	struct gp_record slots[128] = { record };
	if (text != NULL)
		fill_text(slots, text);
	put_records(w, GP_BLOCK_DEFINE, 0, GP_THREAD_NONE, &w->none_sequence, slots,
		    1u + slots->extra);
}

/* Two segments; each allocation of the second stands in one of the places that the library told. */
static void record(struct writer *w, const struct library *library, const char *name,
		   uint32_t slots, uint64_t slot_bytes, uint64_t work)
{
	char text[PATH_MAX + 64];
	uint64_t random = 0;
	writer_open(w, name, slots, slot_bytes);
	put_work(w, work, &random);
	next_segment(w);
	size_t n = 0;
	for (size_t i = 0; i < library->build_id.bytes; i++)
		n += (size_t)sprintf(text + n, "%02x", library->build_id.byte[i]);
	snprintf(text + n, sizeof text - n, " %s", copied);
	define(w,
	       (struct gp_record){ .kind = GP_MODULE,
				   .aux = 1,
				   .module = { library->base, library->bytes, 0, 0 } },
	       text);
	for (unsigned i = 0; i < places; i++) {
		define(w,
		       (struct gp_record){ .kind = GP_NATIVE_FRAME,
					   .aux = 1 + 2 * i,
					   .native_frame = { .pc = place[i].pc } },
		       NULL);
		define(w,
		       (struct gp_record){ .kind = GP_CALL_STACK,
					   .aux = 2 + 2 * i,
					   .call_stack = { 1 + 2 * i, 0, 0, 1 } },
		       NULL);
	}
	/* in no module */
	define(w,
	       (struct gp_record){ .kind = GP_NATIVE_FRAME,
				   .aux = 1 + 2 * places,
				   .native_frame = { .pc = 4711 } },
	       NULL);
	for (unsigned i = 0; i < BLOCKS; i++)
		put(w, 1,
		    (struct gp_record){ .kind = GP_ALLOC,
					.space = GP_SPACE_DEVICE,
					.stack = 2 + 2 * (i % places),
					.alloc = { 0x9000000000 + i * 4096, 4096, 0, 0 } });
	writer_close(w, true);
}

/* All that is shown of all events, as text. */
static char *shown(const char *path, bool *is_damaged)
{
	static struct gp_frame frame[GP_FRAMES_MAX];
	struct gp_recording *r;
	const struct gp_info *info;
	struct gp_event event;
	struct gp_stack stack;
	char *text;
	size_t bytes;
	assert_int_equal(gp_recording_open(path, &r, NULL), GP_OK);
	assert_int_equal(gp_recording_info(r, &info), GP_OK);
	assert_false(info->is_damaged);
	*is_damaged = info->names_damage != NULL;
	FILE *out = open_memstream(&text, &bytes);
	while (gp_recording_next(r, &event) == GP_OK) {
		fprintf(out, "%u %llu\n", event.record.kind,
			(unsigned long long)event.record.order);
		if (!gp_recording_stack(r, event.record.stack, event.at_ns, GP_STACK_SYMBOLS,
					&stack, frame, GP_FRAMES_MAX))
			continue;
		for (size_t i = 0; i < stack.frames; i++)
			fprintf(out, " %s %s:%u %s+%llu %s%s\n", frame[i].function, frame[i].file,
				frame[i].line, frame[i].module,
				(unsigned long long)frame[i].module_offset, frame[i].unknown,
				frame[i].is_inlined ? " inlined" : "");
	}
	fclose(out);
	gp_recording_close(r);
	return text;
}

static void assert_shows(const char *path, const char *expected)
{
	bool is_damaged;
	char *text = shown(path, &is_damaged);
	assert_string_equal(text, expected);
	assert_false(is_damaged);
	free(text);
}

static enum gp_status refused(const char *path)
{
	const struct gp_symbolizing silent = { 0 };
	struct gp_symbolized out;
	struct gp_recording *r;
	assert_int_equal(gp_recording_open(path, &r, NULL), GP_OK);
	enum gp_status status = gp_recording_symbolize(r, &silent, &out);
	assert_false(out.is_written);
	gp_symbolized_free(&out);
	gp_recording_close(r);
	return status;
}

static struct gp_symbolized counted(const char *path, bool (*is_over)(void *, uint64_t, uint64_t),
				    void *context)
{
	const struct gp_symbolizing how = { is_over, context };
	struct gp_symbolized out, copy;
	struct gp_recording *r;
	assert_int_equal(gp_recording_open(path, &r, NULL), GP_OK);
	assert_int_equal(gp_recording_symbolize(r, &how, &out), GP_OK);
	copy = out;
	copy.unnamed = NULL;
	gp_symbolized_free(&out);
	gp_recording_close(r);
	return copy;
}

static uint64_t file_bytes(const char *path)
{
	struct stat st;
	assert_int_equal(stat(path, &st), 0);
	return (uint64_t)st.st_size;
}

static unsigned char *slurp(const char *path, size_t *bytes)
{
	*bytes = (size_t)file_bytes(path);
	unsigned char *all = malloc(*bytes + 1);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	assert_int_equal(read(fd, all, *bytes), *bytes);
	close(fd);
	return all;
}

static void spill(const char *path, const unsigned char *all, size_t bytes)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	assert_int_equal(write(fd, all, bytes), bytes);
	close(fd);
}

static void load_copy(struct library *library)
{
	char command[2 * PATH_MAX + 32];
	assert_true(load(library, "libplaces.so"));
	snprintf(copied, sizeof copied, "%s/libplaces.so", directory);
	snprintf(command, sizeof command, "cp '%s' '%s'", library->path, copied);
	assert_int_equal(system(command), 0);
}

/* The whole way, in files of every shape; again and again. */
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
	assert_int_equal(gp_verify(w.path, repaired, report), GP_OK);
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
static struct gp_file_header header_of(const char *path)
{
	struct gp_file_header header;
	size_t bytes;
	unsigned char *all = slurp(path, &bytes);
	assert_int_equal(gp_file_header_decode(all, &header), GP_OK);
	free(all);
	return header;
}

static void names_travel_in_a_ring(void **state)
{
	(void)state;
	expect_travel(16, 1 << 20, 3000);
	/* and in one that came round */
	expect_travel(5, 60000, 60000);
}

/* Slots that were never used begin with zeros, or an older reader takes them for damaged. */
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

static bool is_over_after(void *context, uint64_t done, uint64_t frames)
{
	unsigned *left = context;
	assert_true(done <= frames);
	return *left == 0 || --*left == 0;
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
	for (unsigned asks = 1; asks < 200; asks++) {
		unsigned left = asks;
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

static void what_has_no_name_is_looked_for_again(void **state)
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

/* Cut anywhere, flipped anywhere: the same events; names all or none. */
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
		/* zstd has bits that mean nothing: then the names are what they were */
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
		assert_int_equal(file_bytes(path), bytes);
	}
	assert_true(harmless < 5);
	assert_string_not_equal(without, here);
	hide_library(false);
	free(all);
	free(here);
	free(without);
	dlclose(library.handle);
}

/* The header says where; whatever it says, what the recorder wrote stays. */
static void a_wrong_place_is_no_place(void **state)
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

static void what_is_not_finished_is_refused(void **state)
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

/* What finds no room changes nothing. */
static void a_full_disk_costs_nothing(void **state)
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
	named[bytes - 30] ^= 1; /* so that names are written once more, in two steps */
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

static int set_up(void **state)
{
	return make_directory(state) || find_folder(state);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_travel),
		cmocka_unit_test(names_travel_in_a_ring),
		cmocka_unit_test(names_leave_slots_beginnings_out),
		cmocka_unit_test(a_limit_leaves_the_rest_for_later),
		cmocka_unit_test(what_has_no_name_is_looked_for_again),
		cmocka_unit_test(damage_costs_names_alone),
		cmocka_unit_test(a_wrong_place_is_no_place),
		cmocka_unit_test(what_is_not_finished_is_refused),
		cmocka_unit_test(a_full_disk_costs_nothing),
	};
	return cmocka_run_group_tests(tests, set_up, drop_directory);
}
