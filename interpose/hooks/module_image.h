/*
 * The size of an image of GPU code, from its own header: a cubin (ELF), a fat binary or its
 * wrapper, or PTX text. Call it only for an image that the driver has accepted. Reads the header
 * alone, of text up to its end. No calls out, no driver.
 */
#ifndef GP_MODULE_IMAGE_H
#define GP_MODULE_IMAGE_H

#include <stdbool.h>
#include <stdint.h>

struct gp_module_image {
	uint64_t bytes; /* 0: unknown */
	bool is_ptx;	/* text, which the driver compiles */
};

/* The driver refuses longer headers than this; PTX of large libraries is a few MiB. */
#define GP_IMAGE_BYTES_MOST ((uint64_t)1 << 40)
#define GP_IMAGE_TEXT_MOST ((uint64_t)64 << 20)

/* `image` may be NULL. */
struct gp_module_image gp_module_image(const void *image);

#endif
