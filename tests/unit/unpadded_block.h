/* Blocks as recorders before format 1.7 wrote them. */
#ifndef UNPADDED_BLOCK_H
#define UNPADDED_BLOCK_H

#include <zstd.h>

#include "format/block.h"

/* Takes the padding off a block that gp_block_encode wrote. Returns the bytes that are left. */
static inline size_t unpad_block(unsigned char *block)
{
	struct gp_block_header header;
	if (gp_block_header_decode(block, &header) != GP_OK || header.stored_bytes == 0)
		return GP_BLOCK_HEADER;
	header.stored_bytes = (uint32_t)ZSTD_findFrameCompressedSize(block + GP_BLOCK_HEADER,
								     header.stored_bytes);
	gp_block_header_encode(&header, block);
	return GP_BLOCK_HEADER + header.stored_bytes;
}

#endif
