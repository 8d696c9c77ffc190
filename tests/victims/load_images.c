/*
 * Loads images of GPU code that end where a page ends, with headers that name sizes far beyond it.
 * The recorder must read these headers alone.
 */
#include <elf.h>
#include <sys/mman.h>

#include "victim.h"

static char *page_end; /* the page behind it cannot be read */

static const void *at_end(const void *image, size_t bytes)
{
	return memcpy(page_end - bytes, image, bytes);
}

int main(void)
{
	struct driver driver = need_driver(FROM_PROC_ADDRESS);
	const size_t page = (size_t)sysconf(_SC_PAGESIZE);
	char *pages =
		mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	must(pages != MAP_FAILED && mprotect(pages + page, page, PROT_NONE) == 0);
	page_end = pages + page;

	static const char ptx[] = "//\n.version 8.0\n.target sm_90\n";
	Elf64_Ehdr cubin = { .e_ident = "\x7f"
					"ELF\2\1\1",
			     .e_shoff = 4096,
			     .e_shnum = 10,
			     .e_shentsize = 64 };
	struct {
		uint32_t magic;
		uint16_t version, header_bytes;
		uint64_t bytes;
	} fatbin = { 0xba55ed50u, 1, 16, 1 << 20 };
	struct {
		uint32_t magic, version;
		const void *data, *unused;
	} wrapper = { 0x466243b1u, 1, &fatbin, NULL };
	const struct {
		const void *image;
		size_t bytes;
	} image[] = { { ptx, sizeof ptx },	   { &cubin, sizeof cubin },
		      { &fatbin, sizeof fatbin },  { &wrapper, sizeof wrapper },
		      { "image", sizeof "image" }, { "", 1 } };
	const unsigned images = sizeof image / sizeof *image;
	for (unsigned k = 0; k < images; k++) {
		CUmodule module;
		must(driver.cuModuleLoadData(&module, at_end(image[k].image, image[k].bytes)) ==
		     CUDA_SUCCESS);
		must(driver.cuModuleUnload(module) == CUDA_SUCCESS);
	}
	cubin.e_shoff = UINT64_MAX;
	CUmodule module;
	must(driver.cuModuleLoadData(&module, at_end(&cubin, sizeof cubin)) == CUDA_SUCCESS);
	claim("module_load", images + 1);
	claim("module_unload", images);
	printf("%u images\n", images + 1);
	return 0;
}
