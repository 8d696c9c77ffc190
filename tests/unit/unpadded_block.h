/* Blocks as recorders before format 1.7 wrote them. */
#ifndef UNPADDED_BLOCK_H
#define UNPADDED_BLOCK_H

#include <zstd.h>

#include "format/block.h"
#include "format/varint.h"

/*
 * Removes the padding of a block that gp_block_encode wrote, down to the least that a reader
 * accepts. Returns the remaining bytes.
 */
static inline size_t unpad_block(unsigned char *block)
{
	struct gp_block_header header;
	if (gp_block_header_decode(block, &header) != GP_OK || header.stored_bytes == 0)
		return GP_BLOCK_HEADER;
	const uint32_t bytes = GP_BLOCK_HEADER + header.stored_bytes;
	const uint32_t least = (bytes + GP_BLOCK_OLD_PART - 1) / GP_BLOCK_OLD_PART;
	uint32_t stored = (uint32_t)ZSTD_findFrameCompressedSize(block + GP_BLOCK_HEADER,
								 header.stored_bytes);
	if (stored < header.stored_bytes && GP_BLOCK_HEADER + stored < least) {
		const uint32_t missing = least - GP_BLOCK_HEADER - stored;
		const uint32_t zeros = missing > 8 ? missing - 8 : 0;
		gp_fixed_put(block + GP_BLOCK_HEADER + stored + 4, zeros, 4);
		stored += 8 + zeros;
	}
	header.stored_bytes = stored;
	gp_block_header_encode(&header, block);
	return GP_BLOCK_HEADER + stored;
}

#endif
