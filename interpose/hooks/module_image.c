/*
 * Layouts: ELF64 of elf.h; wrapper and fat binary as in fatbinary_section.h and fatbinary.h of the
 * CUDA toolkit.
 */
#include "module_image.h"

#include <elf.h>
#include <string.h>

#define WRAPPER_MAGIC 0x466243b1u
#define FATBIN_MAGIC 0xba55ed50u

struct fatbin_wrapper {
	uint32_t magic, version;
	const void *data;
};
struct fatbin_header {
	uint32_t magic;
	uint16_t version, header_bytes;
	uint64_t bytes; /* behind the header */
};

/* Images need not be aligned. */
static uint32_t image_word(const void *image)
{
	uint32_t word;
	memcpy(&word, image, sizeof word);
	return word;
}

static uint64_t image_fatbin(const void *image)
{
	struct fatbin_header header;
	memcpy(&header, image, sizeof header);
	return header.bytes < GP_IMAGE_BYTES_MOST ? header.bytes + header.header_bytes : 0;
}

/* The end of the later table: ptxas writes the two tables behind the sections. */
static uint64_t image_elf(const void *image)
{
	Elf64_Ehdr header;
	if (((const unsigned char *)image)[EI_CLASS] != ELFCLASS64)
		return 0;
	memcpy(&header, image, sizeof header);
	if (header.e_shoff >= GP_IMAGE_BYTES_MOST || header.e_phoff >= GP_IMAGE_BYTES_MOST)
		return 0;
	const uint64_t sections = header.e_shoff + (uint64_t)header.e_shnum * header.e_shentsize;
	const uint64_t segments = header.e_phoff + (uint64_t)header.e_phnum * header.e_phentsize;
	return sections > segments ? sections : segments;
}

/* PTX begins with a comment, a directive or a blank. */
static bool image_is_text(unsigned char first)
{
	return first == '/' || first == '.' || first == ' ' || first == '\t' || first == '\r' ||
	       first == '\n';
}

struct gp_module_image gp_module_image(const void *image)
{
	if (image == NULL)
		return (struct gp_module_image){ 0 };
	const unsigned char *bytes = image;
	if (image_is_text(bytes[0])) {
		const uint64_t length = strnlen(image, GP_IMAGE_TEXT_MOST);
		return (struct gp_module_image){ length < GP_IMAGE_TEXT_MOST ? length : 0, true };
	}
	/* one byte after the other: a shorter image ends here */
	for (unsigned k = 0; k < sizeof(uint32_t); k++)
		if (bytes[k] == 0)
			return (struct gp_module_image){ 0 };
	if (memcmp(image, ELFMAG, SELFMAG) == 0)
		return (struct gp_module_image){ .bytes = image_elf(image) };
	if (image_word(image) == WRAPPER_MAGIC) {
		struct fatbin_wrapper wrapper;
		memcpy(&wrapper, image, sizeof wrapper);
		image = wrapper.data;
		if (image == NULL)
			return (struct gp_module_image){ 0 };
	}
	if (image_word(image) != FATBIN_MAGIC)
		return (struct gp_module_image){ 0 };
	return (struct gp_module_image){ .bytes = image_fatbin(image) };
}
