/*
 * Sizes of images of GPU code, each at the end of a page behind which none is mapped: the reader
 * must not look beyond the header, whatever sizes that names.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../../interpose/hooks/module_image.c"

static char *page_end; /* of a mapped page; the page behind cannot be read */

/* `bytes` that end where the page ends. */
static const void *at_end(const void *image, size_t bytes)
{
	return memcpy(page_end - bytes, image, bytes);
}

static int open_page(void **state)
{
	(void)state;
	const size_t page = (size_t)sysconf(_SC_PAGESIZE);
	char *pages =
		mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (pages == MAP_FAILED || mprotect(pages + page, page, PROT_NONE) != 0)
		return -1;
	page_end = pages + page;
	return 0;
}

static uint64_t bytes_of(const void *image, size_t bytes)
{
	const struct gp_module_image is = gp_module_image(at_end(image, bytes));
	assert_false(is.is_ptx);
	return is.bytes;
}

static Elf64_Ehdr cubin(void)
{
	return (Elf64_Ehdr){ .e_ident = { 0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB },
			     .e_phoff = 1000,
			     .e_phnum = 3,
			     .e_phentsize = 56,
			     .e_shoff = 400,
			     .e_shnum = 9,
			     .e_shentsize = 64 };
}

static void test_cubin_ends_behind_its_tables(void **state)
{
	(void)state;
	Elf64_Ehdr header = cubin();
	assert_int_equal(bytes_of(&header, sizeof header), 1000 + 3 * 56);
	header.e_shoff = 2000;
	assert_int_equal(bytes_of(&header, sizeof header), 2000 + 9 * 64);
}

static void test_hostile_cubin_has_no_size(void **state)
{
	(void)state;
	Elf64_Ehdr header = cubin();
	header.e_shoff = UINT64_MAX;
	assert_int_equal(bytes_of(&header, sizeof header), 0);
	header = cubin();
	header.e_phoff = GP_IMAGE_BYTES_MOST;
	assert_int_equal(bytes_of(&header, sizeof header), 0);
	header = cubin();
	header.e_ident[EI_CLASS] = ELFCLASS32;
	assert_int_equal(bytes_of(&header, sizeof header), 0);
}

static void test_fat_binary_and_its_wrapper(void **state)
{
	(void)state;
	struct fatbin_header fatbin = { FATBIN_MAGIC, 1, 16, 70000 };
	assert_int_equal(bytes_of(&fatbin, sizeof fatbin), 70016);
	struct fatbin_wrapper wrapper = { WRAPPER_MAGIC, 1, &fatbin };
	assert_int_equal(bytes_of(&wrapper, sizeof wrapper), 70016);
	fatbin.bytes = UINT64_MAX;
	assert_int_equal(bytes_of(&fatbin, sizeof fatbin), 0);
	assert_int_equal(bytes_of(&wrapper, sizeof wrapper), 0);
	fatbin.magic = WRAPPER_MAGIC; /* a wrapper of a wrapper is not followed */
	assert_int_equal(bytes_of(&wrapper, sizeof wrapper), 0);
	wrapper.data = NULL;
	assert_int_equal(bytes_of(&wrapper, sizeof wrapper), 0);
}

static void test_ptx_is_text(void **state)
{
	(void)state;
	static const char ptx[] = "//\n.version 8.0\n.target sm_90\n";
	struct gp_module_image is = gp_module_image(at_end(ptx, sizeof ptx));
	assert_true(is.is_ptx);
	assert_int_equal(is.bytes, sizeof ptx - 1);
	/* without an end within the bound */
	char *text = mmap(NULL, GP_IMAGE_TEXT_MOST, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_true(text != MAP_FAILED);
	memset(text, '.', GP_IMAGE_TEXT_MOST);
	is = gp_module_image(text);
	assert_true(is.is_ptx);
	assert_int_equal(is.bytes, 0);
	munmap(text, GP_IMAGE_TEXT_MOST);
}

static void test_other_images_have_no_size(void **state)
{
	(void)state;
	assert_int_equal(gp_module_image(NULL).bytes, 0);
	assert_int_equal(bytes_of("image", 6), 0);
	assert_int_equal(bytes_of("", 1), 0);
	assert_int_equal(bytes_of("\x7f", 2), 0);
	assert_int_equal(bytes_of("\x7f"
				  "EL",
				  4),
			 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_cubin_ends_behind_its_tables),
		cmocka_unit_test(test_hostile_cubin_has_no_size),
		cmocka_unit_test(test_fat_binary_and_its_wrapper),
		cmocka_unit_test(test_ptx_is_text),
		cmocka_unit_test(test_other_images_have_no_size),
	};
	return cmocka_run_group_tests(tests, open_page, NULL);
}
