/* Splits a recording into its parts and rebuilds it, with correct checksums. */
#include "recording_parts.h"

#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#define BLOCKS_MAX 4096u
#define WINDOW_LOG 17 /* same as the recorder's: decoders fail for larger windows */

/* ---- columns and records of a block ---- */

static struct gp_block_scratch *scratch_get(void)
{
	static struct gp_block_scratch *scratch;
	size_t bytes = (gp_block_scratch_bytes() + 63) / 64 * 64;
	if (!scratch)
		scratch = gp_block_scratch_init(aligned_alloc(64, bytes), bytes);
	if (!scratch)
		abort();
	return scratch;
}

static void *must_have(void *memory)
{
	if (!memory)
		abort();
	return memory;
}

static void block_set_payload(struct fuzz_block *block, const unsigned char *bytes, size_t count)
{
	unsigned char *copy = must_have(malloc(count + 1));
	if (count > 0)
		memcpy(copy, bytes, count);
	free(block->payload);
	block->payload = copy;
	block->header.stored_bytes = (uint32_t)count;
}

bool fuzz_block_records(const struct fuzz_block *block, struct gp_record *out, uint64_t *slots)
{
	*slots = 0;
	return gp_block_decode(scratch_get(), &block->header, block->payload, out, slots) ==
		       GP_OK &&
	       *slots > 0;
}

void fuzz_block_set_records(struct fuzz_block *block, const struct gp_record *record,
			    uint64_t slots)
{
	struct gp_block_header header = block->header;
	size_t room = gp_block_bound(), length;
	unsigned char *out = must_have(malloc(room));
	if (gp_block_encode(scratch_get(), &header, record, GP_BLOCK_RECORDS, 0, slots, out, room,
			    &length) == GP_OK) {
		block_set_payload(block, out + GP_BLOCK_HEADER, length - GP_BLOCK_HEADER);
		block->header = header;
	}
	free(out);
}

static unsigned char *unpack(const unsigned char *stored, size_t bytes, size_t raw_bytes)
{
	unsigned char *raw = must_have(malloc(raw_bytes + 1));
	if (ZSTD_decompress(raw, raw_bytes, stored, bytes) == raw_bytes)
		return raw;
	free(raw);
	return NULL;
}

unsigned char *fuzz_block_columns(const struct fuzz_block *block, size_t *bytes)
{
	*bytes = block->header.raw_bytes;
	if (*bytes == 0 || *bytes > (4u << 20))
		return NULL;
	return unpack(block->payload, block->header.stored_bytes, *bytes);
}

void fuzz_block_set_columns(struct fuzz_block *block, const unsigned char *columns, size_t bytes)
{
	size_t bound = ZSTD_compressBound(bytes);
	unsigned char *out = must_have(malloc(bound));
	ZSTD_CCtx *zstd = must_have(ZSTD_createCCtx());
	ZSTD_CCtx_setParameter(zstd, ZSTD_c_checksumFlag, 1);
	ZSTD_CCtx_setParameter(zstd, ZSTD_c_windowLog, WINDOW_LOG);
	struct gp_block_header header = block->header;
	size_t stored = ZSTD_compress2(zstd, out, bound, columns, bytes);
	header.raw_bytes = (uint32_t)bytes;
	header.stored_bytes = (uint32_t)stored;
	if (!ZSTD_isError(stored) && gp_block_pad(&header, out, bound) == GP_OK) {
		block_set_payload(block, out, header.stored_bytes);
		block->header = header;
	}
	ZSTD_freeCCtx(zstd);
	free(out);
}

/* ---- the list of blocks ---- */

void fuzz_parts_insert(struct fuzz_parts *parts, size_t at, const struct fuzz_block *block)
{
	if (parts->blocks >= BLOCKS_MAX)
		return;
	if (parts->blocks == parts->room) {
		parts->room = parts->room ? 2 * parts->room : 64;
		parts->block = must_have(realloc(parts->block, parts->room * sizeof *parts->block));
	}
	struct fuzz_block copy = *block;
	copy.payload = NULL;
	block_set_payload(&copy, block->payload, block->header.stored_bytes);
	memmove(parts->block + at + 1, parts->block + at,
		(parts->blocks - at) * sizeof *parts->block);
	parts->block[at] = copy;
	parts->blocks++;
}

void fuzz_parts_remove(struct fuzz_parts *parts, size_t at)
{
	free(parts->block[at].payload);
	parts->blocks--;
	memmove(parts->block + at, parts->block + at + 1,
		(parts->blocks - at) * sizeof *parts->block);
}

void fuzz_parts_release(struct fuzz_parts *parts)
{
	while (parts->blocks > 0)
		fuzz_parts_remove(parts, parts->blocks - 1);
	free(parts->block);
	*parts = (struct fuzz_parts){ 0 };
}

/* ---- decoding ---- */

static uint64_t slot_bytes_of(const struct gp_file_header *h)
{
	bool has_slots = h->slots > 0 && h->slots <= FUZZ_SLOTS_MAX && h->slot_bytes >= 2048;
	return has_slots ? h->slot_bytes : 0;
}

/* Behind damage: continues at the next slot, or at the next place that looks like a block. */
static size_t next_place(const uint8_t *data, size_t bytes, size_t at, uint64_t slot_bytes)
{
	static const unsigned char magic[] = { 'B', 'L', 'K', '1' };
	if (slot_bytes > 0) {
		uint64_t slot = (at - GP_FILE_HEADER) / slot_bytes + 1;
		uint64_t next = GP_FILE_HEADER + slot * slot_bytes;
		return next < bytes ? (size_t)next : bytes;
	}
	const uint8_t *found = memmem(data + at + 1, bytes - at - 1, magic, sizeof magic);
	return found ? (size_t)(found - data) : bytes;
}

bool fuzz_parts_decode(struct fuzz_parts *parts, const uint8_t *data, size_t bytes)
{
	*parts = (struct fuzz_parts){ 0 };
	if (bytes < GP_FILE_HEADER ||
	    gp_file_header_decode(data, &parts->header) == GP_E_NOT_RECORDING)
		return false;
	const uint64_t slot_bytes = slot_bytes_of(&parts->header);
	for (size_t at = GP_FILE_HEADER; at < bytes && bytes - at >= GP_BLOCK_HEADER;) {
		struct fuzz_block block = { 0 };
		size_t room = bytes - at - GP_BLOCK_HEADER;
		if (gp_block_header_decode(data + at, &block.header) != GP_OK ||
		    block.header.stored_bytes > room) {
			at = next_place(data, bytes, at, slot_bytes);
			continue;
		}
		const uint8_t *payload = data + at + GP_BLOCK_HEADER;
		block.slot = slot_bytes ? (uint32_t)((at - GP_FILE_HEADER) / slot_bytes) : 0;
		block.payload = (unsigned char *)(uintptr_t)payload;
		fuzz_parts_insert(parts, parts->blocks, &block);
		at += GP_BLOCK_HEADER + block.header.stored_bytes;
	}
	return true;
}

/* ---- encoding ---- */

struct output {
	uint8_t *data;
	size_t room, end;
};

static void put(struct output *out, size_t at, const unsigned char *bytes, size_t count)
{
	if (count > 0)
		memcpy(out->data + at, bytes, count);
	if (at + count > out->end)
		out->end = at + count;
}

static bool is_name(const struct fuzz_block *block)
{
	return block->header.segment == GP_SEGMENT_NONE;
}

static void put_block(struct output *out, size_t at, const struct fuzz_block *block)
{
	unsigned char header[GP_BLOCK_HEADER];
	if (at > out->room || out->room - at < GP_BLOCK_HEADER + block->header.stored_bytes)
		return;
	gp_block_header_encode(&block->header, header);
	put(out, at, header, sizeof header);
	put(out, at + sizeof header, block->payload, block->header.stored_bytes);
}

/* Makes slots as small as their blocks allow, or an input would have megabytes of zeros. */
static void shrink_slots(struct fuzz_parts *parts)
{
	uint64_t used[FUZZ_SLOTS_MAX] = { 0 }, most = 4096;
	for (size_t i = 0; i < parts->blocks; i++) {
		if (is_name(&parts->block[i]))
			continue;
		uint64_t *slot = &used[parts->block[i].slot % FUZZ_SLOTS_MAX];
		*slot += GP_BLOCK_HEADER + parts->block[i].header.stored_bytes;
		most = *slot > most ? *slot : most;
	}
	if (slot_bytes_of(&parts->header) > most + GP_BLOCK_HEADER)
		parts->header.slot_bytes = (most + GP_BLOCK_HEADER + 4095) & ~(uint64_t)4095;
}

static void put_blocks(struct fuzz_parts *parts, struct output *out)
{
	size_t used[FUZZ_SLOTS_MAX] = { 0 };
	shrink_slots(parts);
	const uint64_t slot_bytes = slot_bytes_of(&parts->header);
	for (size_t i = 0; i < parts->blocks; i++) {
		const struct fuzz_block *block = &parts->block[i];
		if (is_name(block))
			continue;
		uint32_t slot = slot_bytes ? block->slot % FUZZ_SLOTS_MAX : 0;
		put_block(out, GP_FILE_HEADER + slot * slot_bytes + used[slot], block);
		used[slot] += GP_BLOCK_HEADER + block->header.stored_bytes;
	}
}

/* Sets where they lie; a header without names, or with a wrong length, stays so. */
static void put_names(struct fuzz_parts *parts, struct output *out)
{
	const size_t begin = out->end;
	if (parts->header.names_bytes == 0 || slot_bytes_of(&parts->header))
		return;
	for (size_t i = 0; i < parts->blocks; i++)
		if (is_name(&parts->block[i]))
			put_block(out, out->end, &parts->block[i]);
	if (out->end == begin)
		return;
	parts->header.names_offset = begin;
	parts->header.names_bytes = out->end - begin;
}

size_t fuzz_parts_encode(struct fuzz_parts *parts, uint8_t *out, size_t room)
{
	struct output output = { out, room, GP_FILE_HEADER };
	if (room < GP_FILE_HEADER)
		return 0;
	memset(out, 0, room);
	put_blocks(parts, &output);
	put_names(parts, &output);
	gp_file_header_encode(&parts->header, out);
	return output.end;
}
