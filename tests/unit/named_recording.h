/*
 * For tests of stored names: a recording, and all text that readers show of it. Its native frames
 * are the places in a library of tests/symbols/.
 */
#ifndef NAMED_RECORDING_H
#define NAMED_RECORDING_H

#include "recording_writer.h"

#include "places_library.h"

#define BLOCKS 400u
static char copied[PATH_MAX]; /* the path of the library in the recording */

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

/* Two segments; each allocation of the second has one of the library's places as its stack. */
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
	/* in none of the modules */
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

/* All text that readers show of all events. */
static char *shown(const char *path, bool *is_damaged)
{
	static struct gp_frame frame[GP_FRAMES_MAX];
	const struct gp_info *info;
	struct gp_event event;
	struct gp_stack stack;
	char *text;
	size_t bytes;
	struct gp_recording *r = fixture_info(path, &info);
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

static struct gp_symbolized counted(const char *path, bool (*is_over)(void *, uint64_t, uint64_t),
				    void *context)
{
	const struct gp_symbolizing how = { is_over, context };
	struct gp_symbolized out, copy;
	struct gp_recording *r = fixture_open(path);
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

static struct gp_file_header header_of(const char *path)
{
	struct gp_file_header header;
	size_t bytes;
	unsigned char *all = slurp(path, &bytes);
	assert_int_equal(gp_file_header_decode(all, &header), GP_OK);
	free(all);
	return header;
}

static bool is_over_after(void *context, uint64_t done, uint64_t frames)
{
	unsigned *left = context;
	assert_true(done <= frames);
	return *left == 0 || --*left == 0;
}

static int set_up(void **state)
{
	return make_directory(state) || find_folder(state);
}

#endif
