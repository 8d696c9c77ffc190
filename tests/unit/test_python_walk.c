/*
 * The walk on interpreters made of bytes, of every minor version: also versions that are not
 * installed, and rare states. An interpreter is found once a process, so each case is a child
 * process.
 */
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "python_image.h"

#define CHECK(condition)                                                                  \
	do {                                                                              \
		if (!(condition)) {                                                       \
			fprintf(stderr, "3.%u, line %d: not so: %s\n", image.spec->minor, \
				__LINE__, #condition);                                    \
			_exit(1);                                                         \
		}                                                                         \
	} while (0)

static void for_each_version(void (*check)(void))
{
	for (size_t k = 0; k < SPECS; k++) {
		int status;
		pid_t child = fork();
		if (child == 0) {
			/* cmocka's handler would continue with the next test, in the child */
			signal(SIGSEGV, SIG_DFL);
			image_start(&specs[k]);
			check();
			_exit(0);
		}
		assert_int_equal(waitpid(child, &status, 0), child);
		assert_int_equal(status, 0);
	}
}

static bool is_old(void)
{
	return image.spec->minor < 11;
}

static struct gp_python_frame frames[64];
static struct gp_python_walk walked;

static unsigned walk(unsigned most)
{
	errno = 4242;
	memset(frames, 0xee, sizeof frames);
	unsigned n = gp_python_walk(frames, most, &walked);
	CHECK(errno == 4242);
	CHECK(n >= 64 || *(unsigned char *)&frames[n] == 0xee);
	return n;
}

static bool is_frame(unsigned k, const union object *code, int unit, bool is_entry, unsigned bare)
{
	return frames[k].code == code && frames[k].offset == 2 * unit &&
	       frames[k].is_entry == (is_entry || is_old()) && frames[k].bare_entries == bare;
}

static bool says(const struct gp_python_text *text, const char *expected)
{
	return text->size == strlen(expected) && memcmp(text->bytes, expected, text->size) == 0;
}

static void check_frames(void)
{
	union object *inner = image_code("a/file.py", "Class.inner", 10);
	union object *outer = image_code("other.py", "<module>", 1);
	image_frame(inner, 20, 0);
	image_frame(inner, 10, 1);
	image_entry();
	const void *inner_loop = image.last_loop;
	image_frame(outer, 30, 0);
	image_entry();
	const void *outer_loop = image.last_loop;
	CHECK(is_old() || (inner_loop && outer_loop != inner_loop));
	CHECK(gp_python_find(image_symbol, NULL));
	CHECK(gp_python_why_off() == NULL && gp_python_version() == (3u << 8 | image.spec->minor));
	for (int k = 0; k < 10; k++) { /* during the self-check and after it */
		CHECK(walk(64) == 3 && walked.reason == GP_PYTHON_COMPLETE);
		CHECK(is_frame(0, inner, 20, false, 0) && is_frame(1, inner, 10, true, 0) &&
		      is_frame(2, outer, 30, true, 0));
		CHECK(walked.bare_entries == 0);
		CHECK(!frames[0].loop && frames[1].loop == inner_loop &&
		      frames[2].loop == outer_loop);
	}
	char file_bytes[32], name_bytes[32];
	struct gp_python_text file = { file_bytes, 32, 0, false },
			      name = { name_bytes, 32, 0, false };
	int32_t first_line;
	CHECK(gp_python_describe(inner, &file, &name, &first_line));
	CHECK(says(&file, "a/file.py") && says(&name, "Class.inner") && first_line == 10);
	CHECK(gp_python_line(inner, 40) == 30);
	CHECK(gp_python_line(inner, 20) == 20);
	CHECK(gp_python_line(inner, -1) == 10);
	CHECK(gp_python_identity(inner) != gp_python_identity(outer));
}

static void finds_the_frames_of_every_version(void **state)
{
	(void)state;
	for_each_version(check_frames);
}

static void check_not_begun(void)
{
	union object *code = image_code("f.py", "f", 1);
	if (is_old()) {
		image_frame(code, -1, 0);
		CHECK(gp_python_find(image_symbol, NULL) && walk(64) == 1);
		CHECK(frames[0].offset == -1 && gp_python_line(code, -1) == 1);
		return;
	}
	image_frame(code, 3, 0); /* before its first traceable instruction */
	image_entry();
	image_frame(code, -1, 0);
	image_frame(code, 4, 0);
	image_frame(code, 2, 1); /* a generator is shown from its start */
	image_frame(code, -1, 0);
	image_entry();
	image_frame(code, 0, 2);
	image_entry();
	image_frame(code, 5, 0);
	image_entry();
	CHECK(gp_python_find(image_symbol, NULL) && walk(64) == 3);
	CHECK(walked.bare_entries == 1);
	CHECK(is_frame(0, code, 4, false, 0) && is_frame(1, code, 2, true, 1) &&
	      is_frame(2, code, 5, true, 0));
}

static void leaves_out_frames_that_have_not_begun(void **state)
{
	(void)state;
	for_each_version(check_not_begun);
}

static void check_truncation(void)
{
	union object *code = image_code("f.py", "f", 1);
	for (int k = 0; k < 30; k++)
		image_frame(code, 5 + k, 0);
	image_entry();
	CHECK(gp_python_find(image_symbol, NULL));
	CHECK(walk(30) == 30 && walked.reason == GP_PYTHON_COMPLETE && frames[29].is_entry);
	CHECK(walk(29) == 29 && walked.reason == GP_PYTHON_TRUNCATED);
	CHECK(is_frame(28, code, 33, false, 0));
	CHECK(walk(1) == 1 && is_frame(0, code, 5, false, 0));
	CHECK(walk(0) == 0 && walked.reason == GP_PYTHON_TRUNCATED);
	/* a chain without an end is given up */
	put_pointer(&image.frames[29], image.spec->previous, &image.frames[0]);
	CHECK(walk(20) == 20 && walked.reason == GP_PYTHON_TRUNCATED);
}

static void ends_at_the_most_frames(void **state)
{
	(void)state;
	for_each_version(check_truncation);
}

static void check_reasons(void)
{
	CHECK(walk(4) == 0 && walked.reason == GP_PYTHON_NO_INTERPRETER);
	CHECK(gp_python_why_off() == NULL && gp_python_version() == 0);
	CHECK(gp_python_find(image_symbol, NULL));
	unsigned looked_up = image.looked_up;
	CHECK(gp_python_find(image_symbol, NULL) && image.looked_up == looked_up);
	if (image.spec->cframe >= 0)
		put_pointer(&image.thread, image.spec->thread_frame, &image.cframe);
	CHECK(walk(4) == 0 && walked.reason == GP_PYTHON_NO_FRAMES);
	image_frame(image_code("f.py", "f", 1), 9, 0);
	CHECK(walk(4) == 1);
}

static void gives_the_reason_of_missing_frames(void **state)
{
	(void)state;
	for_each_version(check_reasons);
}

/* The end begins with the `question`-th check; memory that was read before is freed then. */
static void check_ending_at(int question)
{
	image.ending_checks = 0;
	image.is_ending = question;
	CHECK(walk(4) == 0 && walked.reason == GP_PYTHON_FINALIZING);
}

static void check_ending(void)
{
	bool has_cframe = image.spec->cframe >= 0;
	union object *code = image_code("f.py", "f", 1);
	image_frame(code, 9, 0);
	CHECK(gp_python_find(image_symbol, NULL));
	for (int k = 0; k < 8; k++)
		CHECK(walk(4) == 1);
	char *gone = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	/* the walk reads first and checks then: the result is valid */
	image.freed = gone;
	image.ending_checks = 0;
	CHECK(walk(4) == 1 && is_frame(0, code, 9, false, 0));
	image.freed = NULL;
	if (has_cframe)
		put_pointer(&image.thread, image.spec->thread_frame, &image.cframe);
	if (has_cframe) {
		put_pointer(&image.cframe, image.spec->cframe, gone);
		check_ending_at(2);
	}
	put_pointer(&image.thread, image.spec->thread_frame, gone);
	check_ending_at(1);
}

static void follows_no_pointer_once_the_end_has_begun(void **state)
{
	(void)state;
	for_each_version(check_ending);
}

static bool is_off_because(const char *why)
{
	return walk(4) == 0 && walked.reason == GP_PYTHON_OFF && gp_python_why_off() &&
	       strcmp(gp_python_why_off(), why) == 0 && gp_python_find(image_symbol, NULL);
}

static void check_wrong_list(void)
{
	image_frame(image_code("f.py", "f", 1), 9, 0);
	put_pointer(image.runtime, image.spec->minor < 11 ? 40 : 48, &image.thread);
	CHECK(gp_python_find(image_symbol, NULL));
	CHECK(image.spec->minor > 11 ||
	      is_off_because("self-check: the list of interpreters is not where it should be"));
}
static void check_unmapped_list(void)
{
	char *gone = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (image.spec->minor < 12)
		put_pointer(image.runtime, is_old() ? 32 : 40, gone);
	check_wrong_list();
}
static void check_unmapped(void)
{
	char *gone = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	image_frame(image_code("f.py", "f", 1), 9, 0);
	image_frame(image_code("f.py", "g", 1), 9, 0);
	put_pointer(&image.frames[0], image.spec->previous, gone);
	CHECK(gp_python_find(image_symbol, NULL));
	CHECK(is_off_because("self-check: a frame is not where it should be"));
}
static void check_wrong_code(void)
{
	union object *code = image_code("f.py", "f", 1);
	image_frame(code, 9, 0);
	put_pointer(code, 8, &image.frame_type);
	CHECK(gp_python_find(image_symbol, NULL));
	CHECK(is_off_because("self-check: a frame's code is not a code object"));
}
static void check_wrong_file(void)
{
	union object *code = image_code("f.py", "f", 1);
	image_frame(code, 9, 0);
	put_pointer(&image.texts[0], 8, &image.bytes_type);
	CHECK(gp_python_find(image_symbol, NULL));
	CHECK(is_off_because("self-check: the file of a code object is not a text"));
}
static void check_wrong_name(void)
{
	union object *code = image_code("f.py", "f", 1);
	image_frame(code, 9, 0);
	put_pointer(&image.texts[1], 8, &image.bytes_type);
	CHECK(gp_python_find(image_symbol, NULL));
	CHECK(is_off_because("self-check: the name of a code object is not a text"));
}
static void check_wrong_table(void)
{
	image_frame(image_code("f.py", "f", 1), 9, 0);
	put_pointer(&image.tables[0], 8, &image.text_type);
	CHECK(gp_python_find(image_symbol, NULL));
	CHECK(is_off_because("self-check: the line table of a code object is not a bytes object"));
}
static void check_wrong_first_line(void)
{
	image_frame(image_code("f.py", "f", -7), 9, 0);
	CHECK(gp_python_find(image_symbol, NULL));
	CHECK(is_off_because("self-check: the first line of a code object is negative"));
}
static void check_wrong_instruction(void)
{
	image_frame(image_code("f.py", "f", 1), 40, 0);
	CHECK(gp_python_find(image_symbol, NULL));
	CHECK(is_old() || is_off_because("self-check: an instruction is outside its code"));
}
static void check_wrong_frame_type(void)
{
	image_frame(image_code("f.py", "f", 1), 9, 0);
	put_pointer(&image.frames[0], 8, &image.text_type);
	CHECK(gp_python_find(image_symbol, NULL));
	CHECK(!is_old() || is_off_because("self-check: a frame is not a frame object"));
}

static void switches_off_after_a_failed_check(void **state)
{
	(void)state;
	for_each_version(check_wrong_list);
	for_each_version(check_unmapped_list);
	for_each_version(check_unmapped);
	for_each_version(check_wrong_code);
	for_each_version(check_wrong_file);
	for_each_version(check_wrong_name);
	for_each_version(check_wrong_table);
	for_each_version(check_wrong_first_line);
	for_each_version(check_wrong_instruction);
	for_each_version(check_wrong_frame_type);
}

/* Errors that occur only after the first walks succeeded. */
static void check_later(void)
{
	union object *code = image_code("f.py", "f", 1);
	char file_bytes[8], name_bytes[8];
	struct gp_python_text file = { file_bytes, 8, 0, false },
			      name = { name_bytes, 8, 0, false };
	int32_t first_line;
	image_frame(code, 9, 0);
	CHECK(!gp_python_describe(code, &file, &name, &first_line));
	CHECK(gp_python_find(image_symbol, NULL));
	for (int k = 0; k < 8; k++)
		CHECK(walk(4) == 1);
	put_pointer(&image.texts[1], 8, &image.code_type); /* a str of a class of its own */
	CHECK(gp_python_describe(code, &file, &name, &first_line));
	CHECK(says(&file, "f.py") && says(&name, "?") && walk(4) == 1);
	put_pointer(&image.tables[0], 8, &image.text_type);
	CHECK(gp_python_line(code, 18) == GP_PYTHON_NO_LINE && walk(4) == 1);
	put_pointer(code, 8, &image.frame_type);
	CHECK(!gp_python_describe(code, &file, &name, &first_line));
	CHECK(is_off_because("self-check: a frame's code is not a code object"));
}

static void keeps_looking_at_first_sights(void **state)
{
	(void)state;
	for_each_version(check_later);
}

/* Another code object with the same content at the same address. */
static void check_identity(void)
{
	union object *code = image_code("f.py", "f", 1), *other = image_code("f.py", "f", 1);
	CHECK(gp_python_find(image_symbol, NULL) && !gp_python_why_off());
	uint64_t identity = gp_python_identity(code);
	CHECK(identity && identity == gp_python_identity(code) &&
	      identity != gp_python_identity(other));
	const uint64_t of_other = gp_python_identity(other);
	for (unsigned k = 1; k < 100; k++) {
		image_drop(code);
		CHECK(image.ended == k && image.ended_last == code);
		CHECK(gp_python_identity(code) != identity);
		identity = gp_python_identity(code);
	}
	CHECK(gp_python_identity(other) == of_other);
}

/* Code objects of the same source have one print, at any address; any difference changes it. */
static void check_print(void)
{
	static const char text[] = "f.py\0f";
	union object *code = image_code("f.py", "f", 1), *later = image_code("f.py", "f", 2);
	union object *again = image_code("f.py", "f", 1), *other = image_code("f.py", "f", 1);
	CHECK(gp_python_find(image_symbol, NULL) && !gp_python_why_off());
	const uint64_t print = gp_python_print(code, text, sizeof text);
	CHECK(print == gp_python_print(again, text, sizeof text));
	CHECK(print != gp_python_print(code, text, sizeof text - 1));
	CHECK(print != gp_python_print(later, text, sizeof text));
	/* bytes 32 to 111 belong to the line table, as laid out by image_code */
	unsigned char *lines = image.tables[image.codes_used - 1].bytes;
	for (unsigned k = 32; k < 112; k++) {
		lines[k] ^= 1;
		CHECK(print != gp_python_print(other, text, sizeof text));
		lines[k] ^= 1;
	}
	CHECK(print == gp_python_print(other, text, sizeof text));
}

/* The function that ends code objects is restored: later frees of code are not seen. */
static void check_watch_ended(void)
{
	struct gp_python_text file, name;
	char bytes[64];
	int32_t first_line;
	file = name = (struct gp_python_text){ .bytes = bytes, .room = sizeof bytes };
	union object *code = image_code("f.py", "f", 1);
	CHECK(gp_python_find(image_symbol, NULL));
	CHECK(gp_python_describe(code, &file, &name, &first_line));
	put_pointer(&image.code_type, 48, (const void *)image_end_code);
	CHECK(!gp_python_describe(code, &file, &name, &first_line));
	CHECK(is_off_because("another tool has ended the watch over code objects"));
}

/* Also if no code object is seen for the first time: a known one may have been replaced. */
static void check_watch_looked_after(void)
{
	struct gp_python_frame frame;
	struct gp_python_walk walk;
	gp_python_look_after();
	image_frame(image_code("f.py", "f", 1), 5, 0);
	image_entry();
	CHECK(gp_python_find(image_symbol, NULL));
	gp_python_look_after();
	CHECK(gp_python_walk(&frame, 1, &walk) == 1 && !gp_python_why_off());
	put_pointer(&image.code_type, 48, (const void *)image_end_code);
	gp_python_look_after();
	CHECK(gp_python_walk(&frame, 1, &walk) == 0 && walk.reason == GP_PYTHON_OFF);
	CHECK(is_off_because("another tool has ended the watch over code objects"));
}

/* An unknown code object has no type that could be checked. */
static void check_unknown_looked_after(void)
{
	image.version = 3u << 24 | 99u << 16 | 0x05f0;
	if (image.spec->minor < 11)
		return;
	CHECK(gp_python_find(image_symbol, NULL));
	gp_python_look_after();
	CHECK(is_off_because("this version of Python is not known, CPython 3.8 to 3.14 are"));
}

/* The recorder writes only to the type of code objects. */
static void check_other_type(void)
{
	put_pointer(&image.code_type, 24, "frame");
	const union object kept = image.code_type;
	CHECK(gp_python_find(image_symbol, NULL));
	CHECK(is_off_because("self-check: the type of code objects is not what it should be"));
	CHECK(memcmp(&kept, &image.code_type, sizeof kept) == 0);
}

static void watches_code_objects_or_steps_aside(void **state)
{
	(void)state;
	for_each_version(check_watch_ended);
	for_each_version(check_watch_looked_after);
	for_each_version(check_unknown_looked_after);
	for_each_version(check_other_type);
}

static void separates_code_objects(void **state)
{
	(void)state;
	for_each_version(check_identity);
	for_each_version(check_print);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(finds_the_frames_of_every_version),
		cmocka_unit_test(leaves_out_frames_that_have_not_begun),
		cmocka_unit_test(ends_at_the_most_frames),
		cmocka_unit_test(gives_the_reason_of_missing_frames),
		cmocka_unit_test(follows_no_pointer_once_the_end_has_begun),
		cmocka_unit_test(switches_off_after_a_failed_check),
		cmocka_unit_test(keeps_looking_at_first_sights),
		cmocka_unit_test(separates_code_objects),
		cmocka_unit_test(watches_code_objects_or_steps_aside),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
