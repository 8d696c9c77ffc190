/*
 * Interpreters with a layout, interpreters that are refused and the reasons. Also texts of str
 * objects of every form, whole and cut.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#include "python_image.h"

static struct gp_python_symbols symbols(void)
{
	unsigned minor = image.spec->minor;
	return (struct gp_python_symbols){
		.thread_state = image_thread,
		.main_interpreter = image_interpreter,
		.is_finalizing = image_is_ending,
		.version_text = image_version_text,
		.version = minor < 11 ? NULL : &image.version,
		.runtime = image.runtime->bytes,
		.code_type = &image.code_type,
		.frame_type = &image.frame_type,
		.text_type = &image.text_type,
		.bytes_type = &image.bytes_type,
	};
}

static void reads_versions(void **state)
{
	(void)state;
	assert_int_equal(gp_python_parse_version("3.10.13 (main, a date) [GCC 12]"), 0x030a00f0);
	assert_int_equal(gp_python_parse_version("3.8.18+ (heads/3.8)"), 0x030800f0);
	assert_int_equal(gp_python_parse_version("3.9.0rc2 (main)"), 0x030900f0);
	assert_int_equal(gp_python_parse_version("3.10.0b4"), 0x030a00a0);
	assert_int_equal(gp_python_parse_version("3.10.0a7+"), 0x030a00a0);
	const char *const not_versions[] = {
		NULL, "", "3", "3.", "3.10", "main", "2.7.18", ".1.2"
	};
	for (size_t k = 0; k < sizeof not_versions / sizeof *not_versions; k++)
		assert_int_equal(gp_python_parse_version(not_versions[k]), 0);
}

static void finds_the_layout_of_each_version(void **state)
{
	(void)state;
	for (size_t k = 0; k < SPECS; k++) {
		const struct spec *s = &specs[k];
		struct gp_python_layout l;
		image_start(s);
		const struct gp_python_symbols exported = symbols();
		assert_null(gp_python_layout_find(&exported, &l));
		assert_int_equal(l.minor, s->minor);
		assert_int_equal(l.thread_frame, s->thread_frame);
		assert_int_equal(l.cframe_frame, s->cframe);
		assert_int_equal(l.frame_previous, s->previous);
		assert_int_equal(l.frame_code, s->code);
		assert_int_equal(l.frame_instruction, s->instruction);
		assert_int_equal(l.frame_owner, s->owner);
		assert_int_equal(l.frame_entry, s->minor == 11 ? 68 : -1);
		assert_int_equal(l.first_shim_owner, s->minor >= 12 ? 3 : -1);
		assert_int_equal(l.code_file, s->file);
		assert_int_equal(l.code_name, s->name);
		assert_int_equal(l.code_first_line, s->first_line);
		assert_int_equal(l.code_lines, s->lines);
		assert_int_equal(l.code_bytecode, s->bytecode);
		assert_int_equal(l.code_traceable, s->traceable);
		assert_int_equal(l.type_name, 24);
		assert_int_equal(l.type_dealloc, 48);
		assert_int_equal(l.text_ascii, s->ascii);
		assert_int_equal(l.text_other, s->other);
		assert_int_equal(l.scale, s->minor == 10 ? 2 : 1);
		assert_int_equal(l.lines, s->minor < 10	 ? GP_PYTHON_LNOTAB :
					  s->minor == 10 ? GP_PYTHON_LINETABLE :
							   GP_PYTHON_LOCATIONS);
	}
}

static void refused(const struct gp_python_symbols *exported, const char *why)
{
	struct gp_python_layout l;
	const char *reason = gp_python_layout_find(exported, &l);
	assert_non_null(reason);
	assert_string_equal(reason, why);
}

static const char *two_seven(void)
{
	return "2.7.18 (default)";
}
static const char *three_seven(void)
{
	return "3.7.16 (default)";
}

static void refuses_other_versions(void **state)
{
	(void)state;
	const char *const unknown = "this version of Python is not known, CPython 3.8 to 3.14 are";
	image_start(&specs[3]);
	struct gp_python_symbols exported = symbols();
	const unsigned long versions[] = { 0, 0x030f00f0, 0x030700f0, 0x040b00f0, 0x020b00f0 };
	for (size_t k = 0; k < sizeof versions / sizeof *versions; k++) {
		image.version = versions[k];
		refused(&exported, unknown);
	}
	image.version = 0x030b00a7;
	refused(&exported, "this Python is not a release");
	image.version = 0x030b00b4;
	refused(&exported, "this Python is not a release");
	image.version = 0x030b00c1;
	struct gp_python_layout l;
	assert_null(gp_python_layout_find(&exported, &l));
	exported.version = NULL;
	exported.version_text = two_seven;
	refused(&exported, unknown);
	exported.version_text = three_seven;
	refused(&exported, unknown);
	exported.version_text = NULL;
	refused(&exported, unknown);
}

static void refuses_interpreters_without_a_symbol(void **state)
{
	(void)state;
	image_start(&specs[1]);
	for (int k = 0; k < 8; k++) {
		struct gp_python_symbols exported = symbols();
		if (k == 0)
			exported.thread_state = NULL;
		else if (k == 1)
			exported.is_finalizing = NULL;
		else if (k == 2)
			exported.runtime = NULL;
		else if (k == 7)
			exported.main_interpreter = NULL;
		else
			*(const void **[]){ &exported.code_type, &exported.frame_type,
					    &exported.text_type, &exported.bytes_type }[k - 3] =
				NULL;
		refused(&exported, "this Python does not export what is needed");
	}
}

static void refuses_other_offsets(void **state)
{
	(void)state;
	for (size_t k = SPECS - 2; k < SPECS; k++) {
		image_start(&specs[k]);
		const struct gp_python_symbols exported = symbols();
		struct gp_python_layout l;
		unsigned differing = 0;
		for (int at = 0; at < 1000; at += 8) {
			union object *part = &image.runtime[at / 256];
			part->bytes[at % 256] ^= 1;
			differing += gp_python_layout_find(&exported, &l) != NULL;
			part->bytes[at % 256] ^= 1;
		}
		/* cookie, version, free_threaded and sixteen offsets */
		assert_int_equal(differing, 3 + 16);
		image.runtime->bytes[0] ^= 1;
		refused(&exported, "this Python does not publish its offsets");
		image.runtime->bytes[0] ^= 1;
		image.runtime->bytes[8] ^= 1;
		refused(&exported, "this Python publishes the offsets of another version");
		image.runtime->bytes[8] ^= 1;
		image.runtime->bytes[16] = 1;
		refused(&exported, "this Python runs without the GIL");
		image.runtime->bytes[16] = 0;
		image.runtime->bytes[specs[k].minor == 13 ? 184 : 208] ^= 8;
		refused(&exported, "this Python publishes other offsets than its release has");
	}
}

/* A str of `n` characters of `width` bytes each. */
static union object *text_object(bool is_compact, bool is_ascii, unsigned width, const void *data,
				 size_t n)
{
	union object *object = &image.texts[0];
	memset(object, 0, sizeof *object);
	put_pointer(object, 8, &image.text_type);
	put_long(object, 16, (int64_t)n);
	put_int(object, 32,
		(int32_t)(3u | width << 2 | (unsigned)is_compact << 5 | (unsigned)is_ascii << 6 |
			  0x80));
	if (!is_compact)
		put_pointer(object, image.spec->other, data);
	else
		memcpy(object->bytes + (is_ascii ? image.spec->ascii : image.spec->other), data,
		       n * width);
	return object;
}

static char room[64];

/* Copied into `most` bytes, without writing beyond them. */
static void expect_text(const void *object, size_t most, const char *expected, bool is_cut)
{
	const struct gp_python_symbols exported = symbols();
	struct gp_python_layout l;
	struct gp_python_text out = { room, most, 0, !is_cut };
	assert_null(gp_python_layout_find(&exported, &l));
	memset(room, '#', sizeof room);
	gp_python_text_copy(&l, &image.text_type, object, &out);
	assert_int_equal(out.size, strlen(expected));
	assert_memory_equal(room, expected, out.size);
	assert_int_equal(out.is_cut, is_cut);
	for (size_t k = most; k < sizeof room; k++)
		assert_int_equal(room[k], '#');
}

static void copies_text_of_every_form(void **state)
{
	(void)state;
	const uint16_t two[] = { 'a', 0xe9, 0x4e2d, 0xdce9, 0xffff };
	const uint32_t four[] = { 'a', 0x7ff, 0x800, 0x1f600, 0x10ffff };
	for (size_t k = 0; k < SPECS; k++) {
		image_start(&specs[k]);
		for (int is_compact = 0; is_compact < 2; is_compact++) {
			expect_text(text_object(is_compact, true, 1, "plain", 5), 60, "plain",
				    false);
			expect_text(text_object(is_compact, true, 1, "", 0), 60, "", false);
			expect_text(text_object(is_compact, false, 1, "caf\xe9\x80", 5), 60,
				    "caf\u00e9\xc2\x80", false);
			/* 0xdce9: a byte of a file name that was not UTF-8 */
			expect_text(text_object(is_compact, false, 2, two, 5), 60,
				    "a\u00e9\u4e2d\xed\xb3\xa9\uffff", false);
			expect_text(text_object(is_compact, false, 4, four, 5), 60,
				    "a\u07ff\u0800\U0001f600\U0010ffff", false);
		}
	}
}

static void cuts_with_a_mark(void **state)
{
	(void)state;
	const uint16_t two[] = { 'a', 0x4e2d, 0x4e2d, 'b', 'c' };
	image_start(&specs[4]);
	const union object *plain = text_object(true, true, 1, "abcdefgh", 8);
	expect_text(plain, 8, "abcdefgh", false);
	expect_text(plain, 7, "abcd...", true);
	expect_text(plain, 4, "a...", true);
	expect_text(plain, 3, "...", true);
	expect_text(plain, 2, "..", true);
	expect_text(plain, 0, "", true);
	const union object *wide =
		text_object(true, false, 2, two, 5); /* 1 + 3 + 3 + 1 + 1 bytes */
	expect_text(wide, 9, "a\u4e2d\u4e2dbc", false);
	expect_text(wide, 8, "a\u4e2d...", true);
	expect_text(wide, 7, "a\u4e2d...", true);
	expect_text(wide, 6, "a...", true);
	expect_text(wide, 3, "...", true);
	expect_text(wide, 1, ".", true);
	expect_text(wide, 0, "", true);
}

static void shows_a_question_mark_for_invalid_texts(void **state)
{
	(void)state;
	image_start(&specs[0]);
	expect_text(NULL, 60, "?", false);
	union object *object = text_object(true, true, 1, "x", 1);
	put_pointer(object, 8, &image.bytes_type);
	expect_text(object, 60, "?", false);
	/* the old wchar_t form */
	expect_text(text_object(false, false, 0, "x", 1), 60, "?", false);
	expect_text(text_object(true, true, 3, "xxx", 1), 60, "?", false);
	expect_text(text_object(false, false, 1, NULL, 1), 60, "?", false);
	object = text_object(true, true, 1, "x", 1);
	put_long(object, 16, -1);
	expect_text(object, 60, "?", false);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reads_versions),
		cmocka_unit_test(finds_the_layout_of_each_version),
		cmocka_unit_test(refuses_other_versions),
		cmocka_unit_test(refuses_interpreters_without_a_symbol),
		cmocka_unit_test(refuses_other_offsets),
		cmocka_unit_test(copies_text_of_every_form),
		cmocka_unit_test(cuts_with_a_mark),
		cmocka_unit_test(shows_a_question_mark_for_invalid_texts),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
