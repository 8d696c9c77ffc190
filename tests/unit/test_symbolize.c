/*
 * Places that the compiler recorded are found again: with debug information, without, stripped,
 * split in two, packed. An unknown or unproven place gets no name.
 */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "places_library.h"

static const char *file_name(const char *path)
{
	const char *slash = path != NULL ? strrchr(path, '/') : NULL;
	return slash != NULL ? slash + 1 : path;
}

/* every function of `functions` in turn, the innermost at its file and line */
static void expect_place(const struct place *is, const struct gp_symbol *got, size_t count,
			 const char *file, const char *parted_by)
{
	char functions[256], *rest = NULL;
	snprintf(functions, sizeof functions, "%s", is->functions);
	size_t frames = 0;
	for (char *name = strtok_r(functions, parted_by, &rest); name != NULL;
	     name = strtok_r(NULL, parted_by, &rest), frames++) {
		assert_true(frames < count);
		assert_non_null(got[frames].function);
		assert_string_equal(got[frames].function, name);
		assert_int_equal(got[frames].why, GP_SYMBOL_NAMED);
		assert_non_null(got[frames].file);
		assert_string_equal(file_name(got[frames].file), file);
		assert_int_equal(got[frames].is_inlined, frames + 1 < count);
		assert_true(got[frames].line > 0);
	}
	assert_int_equal(frames, count);
	assert_int_equal(got[0].line, is->line);
}

static void expect_places(const char *name, const char *debug_root, const char *file,
			  const char *parted_by)
{
	struct library library;
	if (!load(&library, name))
		skip();
	struct gp_module module = module_of(&library);
	struct gp_symbolizer *s = open_with(&module, debug_root);
	unsigned recorded = 0;
	for (unsigned round = 0; round < 2; round++) {
		for (unsigned i = 0; i < places; i++) {
			struct gp_symbol got[MOST];
			if (place[i].functions == NULL)
				continue;
			size_t count = gp_symbolizer_find(s, place[i].pc, got, MOST);
			expect_place(&place[i], got, count, file, parted_by);
			assert_string_equal(got[0].module, library.path);
			assert_int_equal(got[0].module_offset, place[i].pc - library.base);
			recorded++;
		}
	}
	assert_true(recorded >= 12);
	gp_symbolizer_close(s);
	dlclose(library.handle);
}

static void debug_information_shows_inlined_calls(void **state)
{
	(void)state;
	expect_places("libplaces.so", "none", "places.c", " ");
}
static void units_without_aranges_are_found(void **state)
{
	(void)state;
	expect_places("libplaces_unlisted.so", "none", "places.c", " ");
}
static void units_of_many_pieces_are_found(void **state)
{
	(void)state;
	expect_places("libplaces_pieces.so", "none", "places.c", " ");
}
static void packed_debug_information_is_read(void **state)
{
	(void)state;
	expect_places("libplaces_packed.so", "none", "places.c", " ");
}
static void cxx_names_are_written_out(void **state)
{
	(void)state;
	expect_places("libplaces_cxx.so", "none", "places.cc", "|");
}
static void debug_files_are_found_by_build_id(void **state)
{
	(void)state;
	expect_places("libplaces_stripped.so", "debug", "places.c", " ");
}
static void debug_files_are_found_by_link(void **state)
{
	(void)state;
	expect_places("libplaces_linked.so", "none", "places.c", " ");
}

static void shared_debug_information_is_found_by_build_id(void **state)
{
	(void)state;
	expect_places("libplaces_shared.so", "debug", "places.c", " ");
}

/* A file may name any path: libdw would open it, and block on a FIFO. */
static void debug_information_without_its_shared_part_is_left(void **state)
{
	(void)state;
	struct library library;
	assert_true(load(&library, "libplaces_shared.so"));
	struct gp_module module = module_of(&library);
	struct gp_symbolizer *s = open_with(&module, "none");
	for (unsigned i = 0; i < places; i++) {
		struct gp_symbol got[MOST];
		assert_int_equal(gp_symbolizer_find(s, place[i].pc, got, MOST), 1);
		assert_non_null(got[0].symbol);
		assert_null(got[0].file);
	}
	gp_symbolizer_close(s);
	dlclose(library.handle);
}

/* for an inlined call, the caller's line is the line of the call */
static void callers_of_inlined_calls_have_their_line(void **state)
{
	(void)state;
	struct library library;
	assert_true(load(&library, "libplaces.so"));
	struct gp_module module = module_of(&library);
	struct gp_symbolizer *s = open_with(&module, "none");
	int once = 0, twice = 0;
	for (unsigned i = 0; i < places; i++) {
		struct gp_symbol got[MOST];
		size_t count = gp_symbolizer_find(s, place[i].pc, got, MOST);
		if (count == 2)
			once = place[i].line;
		if (count != 3)
			continue;
		twice++;
		/* the source calls inlined_twice() one line after the report in inlined_once() */
		assert_true(once != 0);
		assert_int_equal(got[1].line, once + 1);
		assert_true(got[2].line > got[1].line);
		assert_string_equal(file_name(got[2].file), "places.c");
	}
	assert_int_equal(twice, 1);
	gp_symbolizer_close(s);
	dlclose(library.handle);
}

struct by_symbol {
	const char *functions, *symbol;
};

static void expect_symbols(const char *name, const char *debug_root, const struct by_symbol *row,
			   size_t rows)
{
	struct library library;
	if (!load(&library, name))
		skip();
	struct gp_module module = module_of(&library);
	struct gp_symbolizer *s = open_with(&module, debug_root);
	unsigned met = 0;
	for (unsigned i = 0; i < places; i++) {
		for (size_t r = 0; r < rows; r++) {
			struct gp_symbol got[MOST];
			if (!place[i].functions ||
			    strcmp(place[i].functions, row[r].functions) != 0)
				continue;
			met++;
			assert_int_equal(gp_symbolizer_find(s, place[i].pc, got, MOST), 1);
			assert_null(got[0].file);
			assert_int_equal(got[0].line, 0);
			assert_int_equal(got[0].module_offset, place[i].pc - library.base);
			if (row[r].symbol == NULL) {
				assert_null(got[0].function);
				assert_null(got[0].symbol);
				assert_int_equal(got[0].why, GP_SYMBOL_NO_NAME);
				continue;
			}
			assert_string_equal(got[0].symbol, row[r].symbol);
			assert_string_equal(got[0].function, row[r].symbol);
			assert_int_equal(got[0].why, GP_SYMBOL_NAMED);
		}
	}
	assert_true(met >= rows);
	gp_symbolizer_close(s);
	dlclose(library.handle);
}

static void symbols_are_next(void **state)
{
	(void)state;
	static const struct by_symbol rows[] = {
		{ "hidden_leaf", "hidden_leaf" },
		{ "inlined_twice inlined_once places_run", "places_run" },
		{ "at::_ops::addmm::call", "at::_ops::addmm::call" },
	};
	expect_symbols("libplaces_plain.so", "none", rows, 3);
}

static void stripped_libraries_have_exported_names(void **state)
{
	(void)state;
	static const struct by_symbol rows[] = {
		{ "hidden_leaf", NULL },
		{ "places_run", "places_run" },
		{ "at::_ops::addmm::call", "at::_ops::addmm::call" },
	};
	expect_symbols("libplaces_stripped.so", "none", rows, 3);
	/* a debug file with another build id than its path names is not used */
	expect_symbols("libplaces_stripped.so", "wrong", rows, 3);
}

static void packed_symbols_of_stripped_libraries_are_read(void **state)
{
	(void)state;
	static const struct by_symbol rows[] = {
		{ "hidden_leaf", "hidden_leaf" },
		{ "places_run", "places_run" },
	};
	expect_symbols("libplaces_mini.so", "none", rows, 2);
}

/* the address after a call that never returns may belong to the next function */
static void a_return_address_is_of_the_call_before_it(void **state)
{
	(void)state;
	struct library library;
	assert_true(load(&library, "libplaces.so"));
	struct gp_module module = module_of(&library);
	struct gp_symbolizer *s = open_with(&module, "none");
	struct gp_symbol got[MOST];
	uint64_t next = (uint64_t)(uintptr_t)dlsym(library.handle, "places_next");
	assert_true(gp_symbolizer_find(s, next + 1, got, MOST) >= 1);
	assert_string_equal(got[0].symbol, "places_next");
	size_t count = gp_symbolizer_find(s, next, got, MOST);
	assert_int_equal(got[0].module_offset, next - library.base);
	assert_true(count >= 1 && (got[0].symbol == NULL || strcmp(got[0].symbol, "places_next")));
	gp_symbolizer_close(s);
	dlclose(library.handle);
}

static void expect_no_names(const struct gp_module *module, const char *debug_root,
			    enum gp_symbol_why why)
{
	struct gp_symbolizer *s = open_with(module, debug_root);
	for (unsigned i = 0; i < places; i++) {
		struct gp_symbol got[MOST];
		assert_int_equal(gp_symbolizer_find(s, place[i].pc, got, MOST), 1);
		assert_int_equal(got[0].why, why);
		assert_null(got[0].function);
		assert_null(got[0].symbol);
		assert_null(got[0].file);
		assert_string_equal(got[0].module, module->path);
		assert_int_equal(got[0].module_offset, place[i].pc - module->base);
	}
	gp_symbolizer_close(s);
}

static void a_rebuilt_file_gives_no_names(void **state)
{
	(void)state;
	struct library library, rebuilt;
	assert_true(load(&rebuilt, "libplaces_rebuilt.so"));
	assert_true(load(&library, "libplaces.so"));
	assert_memory_not_equal(library.build_id.byte, rebuilt.build_id.byte, 20);
	struct gp_module module = module_of(&library);
	module.path = rebuilt.path;
	expect_no_names(&module, "none", GP_SYMBOL_MISMATCHED);
	/* a build id of another length, or a file without one, is also refused */
	module.path = library.path;
	module.build_id_bytes = 19;
	expect_no_names(&module, "none", GP_SYMBOL_MISMATCHED);
	char unmarked[PATH_MAX];
	assert_true((size_t)snprintf(unmarked, PATH_MAX, "%s/libplaces_linked.so", folder) <
		    PATH_MAX);
	module = module_of(&library);
	module.path = unmarked;
	expect_no_names(&module, "none", GP_SYMBOL_MISMATCHED);
	dlclose(library.handle);
	dlclose(rebuilt.handle);
}

/*
 * Without a build id only the time proves it: a file that was written or renamed since is another
 * file.
 */
static void a_changed_file_without_build_id_gives_no_names(void **state)
{
	(void)state;
	struct library library;
	struct stat status;
	assert_true(load(&library, "libplaces_linked.so"));
	assert_int_equal(library.build_id.bytes, 0);
	assert_int_equal(stat(library.path, &status), 0);
	struct gp_module module = module_of(&library);
	const uint64_t changed =
		(uint64_t)status.st_ctim.tv_sec * 1000000000u + (uint64_t)status.st_ctim.tv_nsec;
	module.mapped_unix_ns = changed - 1;
	expect_no_names(&module, "none", GP_SYMBOL_MISMATCHED);
	module.mapped_unix_ns = changed;
	struct gp_symbolizer *s = open_with(&module, "none");
	struct gp_symbol got[MOST];
	assert_true(gp_symbolizer_find(s, place[0].pc, got, MOST) >= 1);
	assert_int_equal(got[0].why, GP_SYMBOL_NAMED);
	gp_symbolizer_close(s);
	dlclose(library.handle);
}

/*
 * Two modules of one path in one run: the present file is only that of the later one, so neither is
 * named.
 */
static void a_file_changed_between_two_mappings_names_neither(void **state)
{
	(void)state;
	struct library library;
	struct stat status;
	assert_true(load(&library, "libplaces_linked.so"));
	assert_int_equal(stat(library.path, &status), 0);
	struct gp_module module = module_of(&library);
	const uint64_t changed =
		(uint64_t)status.st_ctim.tv_sec * 1000000000u + (uint64_t)status.st_ctim.tv_nsec;
	for (int is_later_first = 0; is_later_first < 2; is_later_first++) {
		struct gp_module other = module;
		other.base += (uint64_t)1 << 40;
		module.mapped_unix_ns = changed + 1;
		other.mapped_unix_ns = changed - 1;
		struct gp_symbolizer *s = open_with(is_later_first ? &module : &other, "none");
		assert_true(gp_symbolizer_add_module(s, is_later_first ? &other : &module));
		struct gp_symbol got[MOST];
		assert_true(gp_symbolizer_find(s, place[0].pc, got, MOST) >= 1);
		assert_int_equal(got[0].why, GP_SYMBOL_MISMATCHED);
		gp_symbolizer_close(s);
	}
	dlclose(library.handle);
}

/* the debug file with the recorded build id is right, whatever happened to the library */
static void the_debug_file_outlives_its_library(void **state)
{
	(void)state;
	struct library library;
	assert_true(load(&library, "libplaces.so"));
	static const char *const other[] = { "libplaces_rebuilt.so", "gone.so" };
	for (unsigned o = 0; o < 2; o++) {
		char path[PATH_MAX];
		assert_true((size_t)snprintf(path, PATH_MAX, "%s/%s", folder, other[o]) < PATH_MAX);
		struct gp_module module = module_of(&library);
		module.path = path;
		struct gp_symbolizer *s = open_with(&module, "debug");
		for (unsigned i = 0; i < places; i++) {
			struct gp_symbol got[MOST];
			size_t count = gp_symbolizer_find(s, place[i].pc, got, MOST);
			if (place[i].functions != NULL)
				expect_place(&place[i], got, count, "places.c", " ");
		}
		gp_symbolizer_close(s);
	}
	dlclose(library.handle);
}

static void a_missing_or_foreign_file_gives_no_names(void **state)
{
	(void)state;
	struct library library;
	assert_true(load(&library, "libplaces.so"));
	struct gp_module module = module_of(&library);
	module.path = "/nonexistent/libplaces.so";
	expect_no_names(&module, "none", GP_SYMBOL_NO_FILE);
	module.path = "[vdso]";
	expect_no_names(&module, "none", GP_SYMBOL_NO_FILE);
	module.path = "/proc/self/maps";
	expect_no_names(&module, "none", GP_SYMBOL_UNREADABLE);
	module.path = "/dev/zero";
	expect_no_names(&module, "none", GP_SYMBOL_UNREADABLE);
	module.path = folder;
	expect_no_names(&module, "none", GP_SYMBOL_UNREADABLE);
	/* in the current directory it is another file: the recorder stores whole paths */
	const int here = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_int_equal(chdir(folder), 0);
	assert_int_equal(access("libplaces.so", R_OK), 0);
	module.path = "libplaces.so";
	expect_no_names(&module, "none", GP_SYMBOL_NO_FILE);
	assert_int_equal(fchdir(here), 0);
	close(here);
	dlclose(library.handle);
}

static void a_debug_link_with_another_checksum_is_not_followed(void **state)
{
	(void)state;
	struct library library;
	assert_true(load(&library, "libplaces_linked.so"));
	assert_int_equal(library.build_id.bytes, 0);
	char copy[PATH_MAX];
	assert_true((size_t)snprintf(copy, PATH_MAX, "%s/other/libplaces_linked.so", folder) <
		    PATH_MAX);
	struct gp_module module = module_of(&library);
	module.path = copy;
	struct gp_symbolizer *s = open_with(&module, "none");
	struct gp_symbol got[MOST];
	assert_int_equal(gp_symbolizer_find(s, place[0].pc, got, MOST), 1);
	assert_null(got[0].file);
	assert_string_equal(got[0].function, "places_run");
	gp_symbolizer_close(s);
	dlclose(library.handle);
}

static void two_modules_at_one_place_need_a_time(void **state)
{
	(void)state;
	struct library library;
	assert_true(load(&library, "libplaces.so"));
	struct gp_module first = module_of(&library), second = first;
	first.until = 99;
	second.path = "/nonexistent/other.so";
	second.build_id_bytes = 0;
	second.base += 4096;
	second.from = 100;
	struct gp_symbolizer *s = open_with(&first, "none");
	assert_true(gp_symbolizer_add_module(s, &second));
	uint64_t pc = place[0].pc > second.base ? place[0].pc : second.base + 1;
	struct gp_symbol got[MOST];
	assert_int_equal(gp_symbolizer_find(s, pc, got, MOST), 1);
	assert_int_equal(got[0].why, GP_SYMBOL_AMBIGUOUS);
	assert_null(got[0].module);
	gp_symbolizer_set_time(s, 50);
	assert_true(gp_symbolizer_find(s, pc, got, MOST) >= 1);
	assert_string_equal(got[0].module, library.path);
	gp_symbolizer_set_time(s, 150);
	assert_int_equal(gp_symbolizer_find(s, pc, got, MOST), 1);
	assert_string_equal(got[0].module, second.path);
	assert_int_equal(got[0].module_offset, pc - second.base);
	/* the same module added again does not count twice */
	gp_symbolizer_set_time(s, GP_ANY_TIME);
	assert_true(gp_symbolizer_add_module(s, &first));
	assert_true(gp_symbolizer_find(s, second.base - 8, got, MOST) >= 1);
	assert_string_equal(got[0].module, library.path);
	assert_int_equal(gp_symbolizer_find(s, 4, got, MOST), 1);
	assert_int_equal(got[0].why, GP_SYMBOL_NO_MODULE);
	first.bytes = 0;
	assert_false(gp_symbolizer_add_module(s, &first));
	gp_symbolizer_close(s);
	dlclose(library.handle);
}

/*
 * _init has no size: it ends with its section, a few instructions later, and not at the begin of
 * .text
 */
static void functions_without_a_size_end_with_their_section(void **state)
{
	(void)state;
	struct library library;
	assert_true(load(&library, "libplaces_plain.so"));
	struct gp_module module = module_of(&library);
	struct gp_symbolizer *s = open_with(&module, "none");
	unsigned met = 0;
	for (uint64_t at = library.base; at < library.base + library.bytes; at++) {
		struct gp_symbol got[MOST];
		assert_int_equal(gp_symbolizer_find(s, at + 1, got, MOST), 1);
		if (got[0].symbol == NULL || strcmp(got[0].symbol, "_init") != 0)
			continue;
		met++;
	}
	assert_in_range(met, 1, 32);
	gp_symbolizer_close(s);
	dlclose(library.handle);
}

static bool after(void *context)
{
	unsigned *left = context;
	if (*left != 0)
		(*left)--;
	return *left == 0;
}

/*
 * the limit ends at every moment in turn: either the whole result or none, and all of it afterwards
 */
static void a_limit_ends_the_work_and_can_be_lifted(void **state)
{
	(void)state;
	struct library library;
	assert_true(load(&library, "libplaces.so"));
	struct gp_module module = module_of(&library);
	bool was_cut = false, was_whole = false;
	for (unsigned asked = 1; asked < 12; asked++) {
		struct gp_symbolizer *s = open_with(&module, "none");
		struct gp_symbol got[MOST];
		unsigned left = asked;
		gp_symbolizer_set_limit(s, after, &left);
		size_t count = gp_symbolizer_find(s, place[0].pc, got, MOST);
		assert_true(count >= 1);
		was_cut |= got[0].why == GP_SYMBOL_TIME_UP;
		was_whole |= got[0].why == GP_SYMBOL_NAMED;
		if (got[0].why == GP_SYMBOL_NAMED)
			expect_place(&place[0], got, count, "places.c", " ");
		else
			assert_int_equal(got[0].why, GP_SYMBOL_TIME_UP);
		gp_symbolizer_set_limit(s, NULL, NULL);
		count = gp_symbolizer_find(s, place[0].pc, got, MOST);
		expect_place(&place[0], got, count, "places.c", " ");
		gp_symbolizer_close(s);
	}
	assert_true(was_cut);
	assert_true(was_whole);
	dlclose(library.handle);
}

/* the byte after a function does not belong to it */
static void functions_end(void **state)
{
	(void)state;
	static const char *const name[] = { "places_run", "places_next", "places_never_returns" };
	struct library library;
	assert_true(load(&library, "libplaces_stripped.so"));
	struct gp_module module = module_of(&library);
	struct gp_symbolizer *s = open_with(&module, "none");
	unsigned in_a_gap = 0;
	for (unsigned i = 0; i < 3; i++) {
		Dl_info info;
		ElfW(Sym) * symbol;
		struct gp_symbol got[MOST];
		void *start = dlsym(library.handle, name[i]);
		assert_true(dladdr1(start, &info, (void **)&symbol, RTLD_DL_SYMENT) != 0);
		uint64_t end = (uint64_t)(uintptr_t)start + symbol->st_size;
		assert_int_equal(gp_symbolizer_find(s, end, got, MOST), 1);
		assert_string_equal(got[0].symbol, name[i]);
		assert_int_equal(gp_symbolizer_find(s, end + 1, got, MOST), 1);
		assert_true(got[0].symbol == NULL || strcmp(got[0].symbol, name[i]) != 0);
		in_a_gap += got[0].symbol == NULL;
	}
	assert_true(in_a_gap != 0);
	gp_symbolizer_close(s);
	dlclose(library.handle);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(debug_information_shows_inlined_calls),
		cmocka_unit_test(units_without_aranges_are_found),
		cmocka_unit_test(units_of_many_pieces_are_found),
		cmocka_unit_test(packed_debug_information_is_read),
		cmocka_unit_test(cxx_names_are_written_out),
		cmocka_unit_test(debug_files_are_found_by_build_id),
		cmocka_unit_test(debug_files_are_found_by_link),
		cmocka_unit_test(shared_debug_information_is_found_by_build_id),
		cmocka_unit_test(debug_information_without_its_shared_part_is_left),
		cmocka_unit_test(callers_of_inlined_calls_have_their_line),
		cmocka_unit_test(symbols_are_next),
		cmocka_unit_test(stripped_libraries_have_exported_names),
		cmocka_unit_test(packed_symbols_of_stripped_libraries_are_read),
		cmocka_unit_test(a_return_address_is_of_the_call_before_it),
		cmocka_unit_test(a_rebuilt_file_gives_no_names),
		cmocka_unit_test(a_changed_file_without_build_id_gives_no_names),
		cmocka_unit_test(a_file_changed_between_two_mappings_names_neither),
		cmocka_unit_test(the_debug_file_outlives_its_library),
		cmocka_unit_test(a_missing_or_foreign_file_gives_no_names),
		cmocka_unit_test(a_debug_link_with_another_checksum_is_not_followed),
		cmocka_unit_test(two_modules_at_one_place_need_a_time),
		cmocka_unit_test(a_limit_ends_the_work_and_can_be_lifted),
		cmocka_unit_test(functions_end),
		cmocka_unit_test(functions_without_a_size_end_with_their_section),
	};
	return cmocka_run_group_tests(tests, find_folder, NULL);
}
