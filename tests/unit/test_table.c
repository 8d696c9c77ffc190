/*
 * The table of driver functions is complete: no symbol twice, and every export of libcuda has a
 * row, a call or a reason to pass. The functions that libgpuprof.so exports in the driver's name
 * are its rows. GP_STUB and GP_LIB name other files; a missing file is a skip with its path.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <elf.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum sort { ROW, OWN_CALL, PASSES, PASSES_GRAPHICS };

static const struct entry {
	const char *symbol;
	enum sort sort;
	const char *reason;
	const char *parameters, *arguments; /* of a row, as in the source, with the parentheses */
} entries[] = {
#define CUDA(symbol, parameters, arguments, hook) { #symbol, ROW, "", #parameters, #arguments },
#define CALL(symbol, parameters) { #symbol, OWN_CALL, "", "", "" },
#include "../../interpose/driver/cuda_api.def"
#undef CUDA
#undef CALL
#define PASS(symbol, why) { #symbol, PASSES, why, "", "" },
#define PASS_GRAPHICS(symbol, why) { #symbol, PASSES_GRAPHICS, why, "", "" },
#include "../../interpose/driver/cuda_pass.def"
#undef PASS
#undef PASS_GRAPHICS
};
#define ENTRIES (sizeof entries / sizeof *entries)

static const char *const exports_of_driver[] = {
#define EXPORT(symbol) #symbol,
#include "libcuda_exports.def"
#undef EXPORT
};
#define EXPORTS (sizeof exports_of_driver / sizeof *exports_of_driver)

/* The resolvers have functions of their own instead of rows. */
static const char *const resolvers[] = { "cuGetProcAddress", "cuGetProcAddress_v2" };

static const struct entry *find_entry(const char *symbol)
{
	for (size_t k = 0; k < ENTRIES; k++)
		if (!strcmp(entries[k].symbol, symbol))
			return &entries[k];
	return NULL;
}

static bool is_resolver(const char *symbol)
{
	for (size_t k = 0; k < sizeof resolvers / sizeof *resolvers; k++)
		if (!strcmp(resolvers[k], symbol))
			return true;
	return false;
}

/* ---- the exports of an ELF file ---- */

struct exports {
	const unsigned char *file;
	size_t bytes, count;
	const Elf64_Sym *symbols;
	const char *names;
};

/* Skips the running test if the file does not exist. */
static struct exports open_exports(const char *path)
{
	struct exports e = { 0 };
	struct stat status;
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0) {
		print_message("skipped: no %s\n", path);
		skip();
	}
	assert_int_equal(fstat(fd, &status), 0);
	e.bytes = (size_t)status.st_size;
	void *file = mmap(NULL, e.bytes, PROT_READ, MAP_PRIVATE, fd, 0);
	close(fd);
	assert_ptr_not_equal(file, MAP_FAILED);
	e.file = file;
	const Elf64_Ehdr *header = file;
	assert_memory_equal(header->e_ident, ELFMAG, SELFMAG);
	const Elf64_Shdr *sections = (const Elf64_Shdr *)(e.file + header->e_shoff);
	for (unsigned k = 0; k < header->e_shnum; k++) {
		if (sections[k].sh_type != SHT_DYNSYM)
			continue;
		e.symbols = (const Elf64_Sym *)(e.file + sections[k].sh_offset);
		e.count = sections[k].sh_size / sizeof *e.symbols;
		e.names = (const char *)e.file + sections[sections[k].sh_link].sh_offset;
	}
	assert_non_null(e.symbols);
	return e;
}

/*
 * The name of a function that the file exports in the driver's name space; NULL for any other
 * symbol.
 */
static const char *driver_export(const struct exports *e, size_t index)
{
	const Elf64_Sym *symbol = &e->symbols[index];
	const char *name = e->names + symbol->st_name;
	if (symbol->st_shndx == SHN_UNDEF || ELF64_ST_TYPE(symbol->st_info) != STT_FUNC)
		return NULL;
	return name[0] == 'c' && name[1] == 'u' && name[2] >= 'A' && name[2] <= 'Z' ? name : NULL;
}

static bool has_export(const struct exports *e, const char *symbol)
{
	for (size_t k = 0; k < e->count; k++) {
		const char *name = driver_export(e, k);
		if (name && !strcmp(name, symbol))
			return true;
	}
	return false;
}

/* The library of the same build. */
static const char *library_path(void)
{
	static char path[4096];
	const char *given = getenv("GP_LIB");
	if (given)
		return given;
	ssize_t bytes = readlink("/proc/self/exe", path, sizeof path - 64);
	char *slash = bytes > 0 ? strrchr(path, '/') : NULL;
	assert_non_null(slash);
	strcpy(slash, "/../libgpuprof.so");
	return path;
}

static const char *stub_path(void)
{
	const char *given = getenv("GP_STUB");
	return given ? given : "/usr/local/cuda/lib64/stubs/libcuda.so";
}

/* ---- tests ---- */

static void test_each_symbol_once(void **state)
{
	(void)state;
	for (size_t k = 0; k < ENTRIES; k++) {
		const struct entry *first = find_entry(entries[k].symbol);
		if (first != &entries[k])
			fail_msg("%s stands in the table twice", entries[k].symbol);
	}
}

static void test_passes_have_reasons(void **state)
{
	(void)state;
	for (size_t k = 0; k < ENTRIES; k++)
		if (entries[k].sort >= PASSES && strlen(entries[k].reason) < 5)
			fail_msg("%s passes without a reason", entries[k].symbol);
}

/* Each copy and fill with 64-bit addresses is a row. */
static void test_copies_are_rows(void **state)
{
	(void)state;
	for (size_t k = 0; k < ENTRIES; k++) {
		char newer[128];
		snprintf(newer, sizeof newer, "%s_v2", entries[k].symbol);
		const bool is_copy = !strncmp(entries[k].symbol, "cuMemcpy", 8) ||
				     !strncmp(entries[k].symbol, "cuMemset", 8);
		if (is_copy && entries[k].sort != ROW &&
		    (strstr(entries[k].reason, "32-bit") == NULL || find_entry(newer) == NULL))
			fail_msg("%s passes", entries[k].symbol);
	}
}

/*
 * A stream-ordered function without its variant for per-thread streams would miss every caller that
 * was built for these.
 */
static void test_twins_are_rows(void **state)
{
	(void)state;
	for (size_t k = 0; k < ENTRIES; k++) {
		const char *suffixes[] = { "_ptsz", "_ptds" };
		for (size_t s = 0; entries[k].sort == ROW && s < 2; s++) {
			char twin[128];
			snprintf(twin, sizeof twin, "%s%s", entries[k].symbol, suffixes[s]);
			const struct entry *found = find_entry(twin);
			if (found && found->sort != ROW)
				fail_msg("%s passes although %s is a row", twin, entries[k].symbol);
		}
	}
}

/* The name at the end of the list's next element, and whether there was one. */
static bool next_name(const char **list, char *name, size_t bytes)
{
	const char *end = *list + strcspn(*list, ",)"), *start = end;
	if (*end == '\0')
		return false;
	while (start > *list && strchr(" *(", start[-1]) == NULL)
		start--;
	snprintf(name, bytes, "%.*s", (int)(end - start), start);
	*list = end + 1;
	return true;
}

/* Each wrapper passes on all of its own parameters, in their order. */
static void test_arguments_are_parameters(void **state)
{
	(void)state;
	for (size_t k = 0; k < ENTRIES; k++) {
		const char *parameters = entries[k].parameters, *arguments = entries[k].arguments;
		char parameter[64], argument[64];
		while (entries[k].sort == ROW &&
		       next_name(&parameters, parameter, sizeof parameter)) {
			assert_true(next_name(&arguments, argument, sizeof argument));
			if (strcmp(parameter, "void") == 0) /* the list is empty */
				*parameter = '\0';
			if (strcmp(parameter, argument))
				fail_msg("%s: argument %s stands for parameter %s",
					 entries[k].symbol, argument, parameter);
		}
		assert_false(entries[k].sort == ROW &&
			     next_name(&arguments, argument, sizeof argument));
	}
}

static bool is_listed(const char *symbol)
{
	for (size_t k = 0; k < EXPORTS; k++)
		if (!strcmp(exports_of_driver[k], symbol))
			return true;
	return false;
}

static void test_driver_is_covered(void **state)
{
	(void)state;
	unsigned wrong = 0;
	for (size_t k = 0; k < EXPORTS; k++)
		if (!find_entry(exports_of_driver[k])) {
			print_error("libcuda exports %s, which has neither a row nor a reason\n",
				    exports_of_driver[k]);
			wrong++;
		}
	for (size_t k = 0; k < ENTRIES; k++)
		if (!is_listed(entries[k].symbol)) {
			print_error("%s is in the table and libcuda does not export it\n",
				    entries[k].symbol);
			wrong++;
		}
	assert_true(EXPORTS > 600);
	assert_int_equal(wrong, 0);
}

/* With a toolkit installed: its stub has no function that the list lacks. */
static void test_list_has_the_stub(void **state)
{
	(void)state;
	struct exports stub = open_exports(stub_path());
	unsigned missing = 0, exports = 0;
	for (size_t k = 0; k < stub.count; k++) {
		const char *name = driver_export(&stub, k);
		exports += name != NULL;
		if (name && !is_listed(name)) {
			print_error("the stub exports %s, which libcuda_exports.def lacks\n", name);
			missing++;
		}
	}
	munmap((void *)(uintptr_t)stub.file, stub.bytes);
	assert_true(exports > 300);
	assert_int_equal(missing, 0);
}

static void test_exports_are_rows(void **state)
{
	(void)state;
	struct exports library = open_exports(library_path());
	unsigned wrong = 0;
	for (size_t k = 0; k < library.count; k++) {
		const char *name = driver_export(&library, k);
		const struct entry *entry = name ? find_entry(name) : NULL;
		if (name && !is_resolver(name) && (!entry || entry->sort != ROW)) {
			print_error("the library exports %s, which is no row\n", name);
			wrong++;
		}
	}
	for (size_t k = 0; k < ENTRIES; k++)
		if (entries[k].sort == ROW && !has_export(&library, entries[k].symbol)) {
			print_error("%s is a row and the library does not export it\n",
				    entries[k].symbol);
			wrong++;
		}
	munmap((void *)(uintptr_t)library.file, library.bytes);
	assert_int_equal(wrong, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_each_symbol_once),
		cmocka_unit_test(test_passes_have_reasons),
		cmocka_unit_test(test_copies_are_rows),
		cmocka_unit_test(test_twins_are_rows),
		cmocka_unit_test(test_arguments_are_parameters),
		cmocka_unit_test(test_driver_is_covered),
		cmocka_unit_test(test_list_has_the_stub),
		cmocka_unit_test(test_exports_are_rows),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
