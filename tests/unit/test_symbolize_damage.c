/*
 * Files cut short and files with changed bytes: with debug information, packed, and symbols only.
 * Every look-up ends and returns readable text. The changes are the same in each run. A file that
 * is not a regular one is not even opened.
 */
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "read/symbols/module_file.h"
#include "read/symbols/symbolize.h"

#define MOST 64u
#ifndef FLIPS
#define FLIPS 700u
#endif

struct image {
	unsigned char *byte;
	size_t bytes;
};

static char folder[PATH_MAX], damaged[64];
static int memory; /* the damaged file */

static struct image read_image(const char *name)
{
	char path[PATH_MAX];
	assert_true((size_t)snprintf(path, PATH_MAX, "%s/%s", folder, name) < PATH_MAX);
	int fd = open(path, O_RDONLY);
	struct stat status;
	if (fd < 0)
		return (struct image){ 0 };
	assert_int_equal(fstat(fd, &status), 0);
	struct image image = { malloc((size_t)status.st_size), (size_t)status.st_size };
	assert_non_null(image.byte);
	assert_int_equal(read(fd, image.byte, image.bytes), image.bytes);
	close(fd);
	return image;
}

static void write_damaged(const unsigned char *byte, size_t bytes)
{
	assert_int_equal(ftruncate(memory, 0), 0);
	assert_int_equal(pwrite(memory, byte, bytes, 0), bytes);
}

/* A bound of the work, so that a damaged file that takes too long is noticed. */
static bool is_enough(void *context)
{
	unsigned *asked = context;
	return ++*asked > 20000;
}

static unsigned named, unnamed;

/* every 61st byte of the code, and places outside of it */
static void look_at_all(size_t bytes)
{
	struct gp_symbolizer *s = gp_symbolizer_open();
	assert_non_null(s);
	gp_symbolizer_set_debug_root(s, "/nonexistent");
	unsigned asked = 0;
	gp_symbolizer_set_limit(s, is_enough, &asked);
	const uint64_t base = 0x7f0000000000;
	struct gp_module module = {
		.path = damaged, .base = base, .bytes = bytes + 65536, .until = GP_ANY_TIME
	};
	assert_true(gp_symbolizer_add_module(s, &module));
	for (uint64_t at = 0x1000; at < 0x1400; at += 61) {
		struct gp_symbol got[MOST];
		size_t count = gp_symbolizer_find(s, base + at, got, MOST);
		assert_in_range(count, 1, MOST);
		for (size_t i = 0; i < count; i++) {
			if (got[i].function != NULL)
				assert_true(strlen(got[i].function) > 0);
			if (got[i].file != NULL)
				assert_true(strlen(got[i].file) < PATH_MAX);
			assert_string_equal(got[i].module, damaged);
		}
		named += got[0].function != NULL;
		unnamed += got[0].function == NULL;
	}
	assert_true(asked <= 20000);
	gp_symbolizer_close(s);
}

static uint64_t next(uint64_t *seed)
{
	*seed ^= *seed << 13;
	*seed ^= *seed >> 7;
	*seed ^= *seed << 17;
	return *seed;
}

static void change_bytes(const char *name)
{
	struct image whole = read_image(name);
	if (whole.byte == NULL)
		skip();
	unsigned char *byte = malloc(whole.bytes);
	assert_non_null(byte);
	uint64_t seed = 0x9e3779b97f4a7c15;
	named = unnamed = 0;
	for (unsigned flip = 0; flip < FLIPS; flip++) {
		memcpy(byte, whole.byte, whole.bytes);
		for (unsigned n = 1 + flip % 8; n > 0; n--)
			byte[next(&seed) % whole.bytes] ^= (unsigned char)(1 + next(&seed) % 255);
		/* headers of sections are at the end, headers of the file at the start */
		if (flip % 4 == 0)
			byte[next(&seed) % 64] ^= (unsigned char)next(&seed);
		if (flip % 4 == 1)
			byte[whole.bytes - 1 - next(&seed) % 2400] ^= (unsigned char)next(&seed);
		write_damaged(byte, whole.bytes);
		look_at_all(whole.bytes);
	}
	/* most damage lies where it has no effect, but some has */
	assert_true(named > FLIPS);
	assert_true(unnamed > FLIPS);
	free(byte);
	free(whole.byte);
}

static void changed_debug_information(void **state)
{
	(void)state;
	change_bytes("libplaces.so");
}
static void changed_packed_debug_information(void **state)
{
	(void)state;
	change_bytes("libplaces_packed.so");
}
static void changed_cxx_debug_information(void **state)
{
	(void)state;
	change_bytes("libplaces_cxx.so");
}
static void changed_symbols(void **state)
{
	(void)state;
	change_bytes("libplaces_mini.so");
}

static void files_cut_short(void **state)
{
	(void)state;
	static const char *const name[] = { "libplaces.so", "libplaces_packed.so",
					    "libplaces_plain.so" };
	for (unsigned n = 0; n < sizeof name / sizeof name[0]; n++) {
		struct image whole = read_image(name[n]);
		assert_non_null(whole.byte);
		for (size_t bytes = 0; bytes < whole.bytes; bytes += 1 + whole.bytes / 97) {
			write_damaged(whole.byte, bytes);
			look_at_all(whole.bytes);
		}
		free(whole.byte);
	}
}

/* The missing part reads as zeros; without a guard the process ends by SIGBUS. */
static void file_cut_while_it_is_read(void **state)
{
	(void)state;
	struct image whole = read_image("libplaces.so");
	struct gp_module_file file;
	const struct gp_build_id unknown = { .bytes = 0 };
	assert_non_null(whole.byte);
	write_damaged(whole.byte, whole.bytes);
	gp_module_file_open(&file, damaged, &unknown, 0, "/nonexistent");
	assert_int_equal(file.why, GP_SYMBOL_NAMED);
	assert_int_equal(ftruncate(memory, 0), 0);
	uint64_t sum = 0;
	for (size_t at = 0; at < whole.bytes; at++)
		sum += ((const unsigned char *)file.main.map)[at];
	/* earlier pages may still be there */
	assert_true(sum < 255 * whole.bytes);
	gp_module_file_close(&file);
	free(whole.byte);
}

/* Looks up the file of a module, and its debug file below `root`. */
static void look_up(const char *path, const char *root, enum gp_symbol_why expected)
{
	static unsigned char build_id[2] = { 0xab, 0xcd };
	const struct gp_module module = { .path = path,
					  .build_id = build_id,
					  .build_id_bytes = sizeof build_id,
					  .base = 1 << 20,
					  .bytes = 1 << 20,
					  .until = GP_ANY_TIME };
	const struct gp_build_id id = { .byte = { 0xab, 0xcd }, .bytes = sizeof build_id };
	struct gp_symbolizer *s = gp_symbolizer_open();
	struct gp_module_file file;
	struct gp_symbol symbol;
	assert_non_null(s);
	gp_symbolizer_set_debug_root(s, root);
	assert_true(gp_symbolizer_add_module(s, &module));
	assert_int_equal(gp_symbolizer_find(s, module.base + 1, &symbol, 1), 1);
	assert_null(symbol.function);
	gp_symbolizer_close(s);
	gp_module_file_open(&file, path, &id, 0, root);
	assert_int_equal(file.why, expected);
	assert_null(file.debug.elf);
	gp_module_file_close(&file);
}

/* A FIFO without a writer would block a command; a device may act when it is opened. */
static void special_files_are_not_opened(void **state)
{
	(void)state;
	char place[] = "/tmp/gpuprof-paths-XXXXXX", fifo[40], link[40], id[64], seen[4096];
	assert_non_null(mkdtemp(place));
	snprintf(fifo, sizeof fifo, "%s/fifo", place);
	snprintf(link, sizeof link, "%s/link", place);
	assert_int_equal(mkfifo(fifo, 0600), 0);
	assert_int_equal(symlink(fifo, link), 0);
	snprintf(id, sizeof id, "%s/.build-id", place);
	assert_int_equal(mkdir(id, 0700), 0);
	strcat(id, "/ab");
	assert_int_equal(mkdir(id, 0700), 0);
	strcat(id, "/cd.debug");
	assert_int_equal(symlink(fifo, id), 0);
	/* a device only for this test */
	const int master = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
	assert_true(master >= 0 && grantpt(master) == 0 && unlockpt(master) == 0);
	const char *device = ptsname(master);
	/* opening the FIFO does not block then, and is noticed */
	const int held = open(fifo, O_RDWR | O_CLOEXEC);
	const int opened = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
	assert_true(held >= 0 && opened >= 0);
	assert_true(inotify_add_watch(opened, fifo, IN_OPEN) >= 0);
	assert_true(inotify_add_watch(opened, device, IN_OPEN) >= 0);

	look_up(fifo, "/nonexistent", GP_SYMBOL_UNREADABLE);
	look_up(link, "/nonexistent", GP_SYMBOL_UNREADABLE);
	look_up(device, "/nonexistent", GP_SYMBOL_UNREADABLE);
	look_up("/nonexistent", place, GP_SYMBOL_NO_FILE);
	assert_int_equal(read(opened, seen, sizeof seen), -1);

	/* the watches work */
	close(open(fifo, O_RDONLY | O_NONBLOCK));
	close(open(device, O_RDONLY | O_NONBLOCK | O_NOCTTY));
	assert_int_equal(read(opened, seen, sizeof seen), 2 * sizeof(struct inotify_event));
	close(opened);
	close(held);
	close(master);
	unlink(id);
	*strrchr(id, '/') = '\0';
	rmdir(id);
	*strrchr(id, '/') = '\0';
	rmdir(id);
	unlink(link);
	unlink(fifo);
	rmdir(place);
}

static int find_folder(void **state)
{
	(void)state;
	ssize_t n = readlink("/proc/self/exe", folder, sizeof folder - 1);
	if (n <= 0)
		return -1;
	folder[n] = 0;
	char *unit = dirname(folder), *build = dirname(unit);
	memmove(folder, build, strlen(build) + 1);
	strcat(folder, "/symbols");
	memory = memfd_create("damaged", MFD_CLOEXEC);
	snprintf(damaged, sizeof damaged, "/proc/self/fd/%d", memory);
	return memory >= 0 ? 0 : -1;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(changed_debug_information),
		cmocka_unit_test(changed_packed_debug_information),
		cmocka_unit_test(changed_cxx_debug_information),
		cmocka_unit_test(changed_symbols),
		cmocka_unit_test(files_cut_short),
		cmocka_unit_test(file_cut_while_it_is_read),
		cmocka_unit_test(special_files_are_not_opened),
	};
	return cmocka_run_group_tests(tests, find_folder, NULL);
}
