/*
 * Any bytes as the columns of a block, in the frame of a correct writer, so that they reach the
 * decoder.
 */
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "../../libgpuprof/format/block.h"
#include "fuzz.h"

const char fuzz_name[] = "block";

static struct gp_record records[GP_BLOCK_RECORDS + 1];

static void check_slots(uint64_t slots)
{
	if (slots > GP_BLOCK_RECORDS)
		abort();
	/* decoded records must be complete: texts end within them */
	for (uint64_t i = 0; i < slots; i += 1u + records[i].extra)
		if (i + 1u + records[i].extra > slots)
			abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	static unsigned char payload[1 << 20];
	static void *memory;
	struct gp_block_header header = { .type = GP_BLOCK_EVENTS };
	uint64_t slots = 0;
	if (bytes < 8 || ZSTD_compressBound(bytes) > sizeof payload)
		return 0;
	if (!memory)
		memory = aligned_alloc(64, (gp_block_scratch_bytes() + 63) / 64 * 64);
	struct gp_block_scratch *scratch = gp_block_scratch_init(memory, gp_block_scratch_bytes());
	uint32_t first[2];
	memcpy(first, data, sizeof first);
	header.records = first[0] % (GP_BLOCK_RECORDS + 2);
	header.first_order = first[1];
	header.last_order = first[1] + header.records;
	header.raw_bytes = (uint32_t)bytes - 8;
	header.stored_bytes =
		(uint32_t)ZSTD_compress(payload, sizeof payload, data + 8, bytes - 8, 1);
	if (gp_block_decode(scratch, &header, payload, records, &slots) == GP_OK)
		check_slots(slots);
	/* and without a frame */
	header.stored_bytes = (uint32_t)bytes;
	unsigned char *exact = malloc(bytes);
	memcpy(exact, data, bytes);
	if (gp_block_decode(scratch, &header, exact, records, &slots) == GP_OK)
		check_slots(slots);
	struct gp_block_header decoded;
	if (bytes >= GP_BLOCK_HEADER)
		(void)gp_block_header_decode(data, &decoded);
	free(exact);
	return 0;
}
