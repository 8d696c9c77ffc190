/*
 * Blocks: the header's bytes, and the payload as one zstd frame around the columns. The memory of
 * zstd lies in the caller's scratch. This file does not allocate, lock or print.
 */
#define ZSTD_STATIC_LINKING_ONLY
#include "block.h"

#include <string.h>
#include <zstd.h>

#include "column.h"
#include "crc.h"
#include "varint.h"

/*
 *   0 magic 4     12 part 4        32 raw_bytes 4      48 last_order 8     72 unix_ns 8
 *   4 type 2      16 thread 4      36 stored_bytes 4   56 ticks 8          80 zeros 12
 *   6 flags 2     20 sequence 8    40 first_order 8    64 mono_ns 8        92 CRC-32C of all before
 *   8 segment 4   28 records 4
 */
enum { CRC_AT = GP_BLOCK_HEADER - 4 };

void gp_block_header_encode(const struct gp_block_header *header,
			    unsigned char out[GP_BLOCK_HEADER])
{
	memset(out, 0, GP_BLOCK_HEADER);
	gp_fixed_put(out, GP_BLOCK_MAGIC, 4);
	gp_fixed_put(out + 4, header->type, 2);
	gp_fixed_put(out + 6, header->flags, 2);
	gp_fixed_put(out + 8, header->segment, 4);
	gp_fixed_put(out + 12, header->part, 4);
	gp_fixed_put(out + 16, header->thread, 4);
	gp_fixed_put(out + 20, header->sequence, 8);
	gp_fixed_put(out + 28, header->records, 4);
	gp_fixed_put(out + 32, header->raw_bytes, 4);
	gp_fixed_put(out + 36, header->stored_bytes, 4);
	gp_fixed_put(out + 40, header->first_order, 8);
	gp_fixed_put(out + 48, header->last_order, 8);
	gp_fixed_put(out + 56, header->ticks, 8);
	gp_fixed_put(out + 64, header->mono_ns, 8);
	gp_fixed_put(out + 72, header->unix_ns, 8);
	gp_fixed_put(out + CRC_AT, gp_crc32c(out, CRC_AT), 4);
}

/* Keeps a reader's work in proportion to the bytes of the file. */
static uint32_t least_bytes(const struct gp_block_header *h)
{
	const uint32_t of_payload = h->raw_bytes / GP_BLOCK_RATIO;
	return h->records > of_payload ? h->records : of_payload;
}

static bool is_plausible(const struct gp_block_header *h)
{
	return h->type != 0 && h->records <= GP_BLOCK_RECORDS && h->raw_bytes <= GP_COLUMNS_MAX &&
	       h->stored_bytes <= gp_block_bound() - GP_BLOCK_HEADER &&
	       !h->raw_bytes == !h->stored_bytes && !h->raw_bytes == !h->records &&
	       GP_BLOCK_OLD_PART * (GP_BLOCK_HEADER + h->stored_bytes) >= least_bytes(h) &&
	       h->first_order <= h->last_order;
}

bool gp_block_is_short(const struct gp_block_header *header)
{
	return GP_BLOCK_HEADER + header->stored_bytes < least_bytes(header);
}

enum gp_status gp_block_header_decode(const unsigned char in[GP_BLOCK_HEADER],
				      struct gp_block_header *out)
{
	if (gp_fixed_get(in, 4) != GP_BLOCK_MAGIC)
		return GP_E_NOT_RECORDING;
	const struct gp_block_header header = {
		.type = (uint16_t)gp_fixed_get(in + 4, 2),
		.flags = (uint16_t)gp_fixed_get(in + 6, 2),
		.segment = (uint32_t)gp_fixed_get(in + 8, 4),
		.part = (uint32_t)gp_fixed_get(in + 12, 4),
		.thread = (uint32_t)gp_fixed_get(in + 16, 4),
		.sequence = gp_fixed_get(in + 20, 8),
		.records = (uint32_t)gp_fixed_get(in + 28, 4),
		.raw_bytes = (uint32_t)gp_fixed_get(in + 32, 4),
		.stored_bytes = (uint32_t)gp_fixed_get(in + 36, 4),
		.first_order = gp_fixed_get(in + 40, 8),
		.last_order = gp_fixed_get(in + 48, 8),
		.ticks = gp_fixed_get(in + 56, 8),
		.mono_ns = gp_fixed_get(in + 64, 8),
		.unix_ns = gp_fixed_get(in + 72, 8),
	};
	/* a search for blocks tries each magic; the checksum takes most of the time */
	if (!is_plausible(&header) || gp_fixed_get(in + CRC_AT, 4) != gp_crc32c(in, CRC_AT))
		return GP_E_DAMAGED;
	*out = header;
	return GP_OK;
}

/* ---- scratch ---- */

/*
 * zstd level 1 with fixed parameters, so that every version needs the same memory: window 128 KiB,
 * strategy fast.
 */
#define WINDOW_LOG 17
#define CHAIN_LOG 12
#define HASH_LOG 13
#define MIN_MATCH 6

/* Flushes between columns of at least this size, so that each gets its own entropy tables. */
#define OWN_TABLES 2048u

struct gp_block_scratch {
	ZSTD_CCtx *compress;
	ZSTD_DCtx *decompress;
	struct gp_column_writer *writer;
	struct gp_column_reader *reader;
	unsigned char *raw;
	struct gp_column_state state;
};

static size_t aligned(size_t bytes)
{
	return (bytes + 63) & ~(size_t)63;
}

static size_t compressor_bytes(void)
{
	const ZSTD_compressionParameters level = { WINDOW_LOG, CHAIN_LOG, HASH_LOG, 1,
						   MIN_MATCH,  1,	  ZSTD_fast };
	return ZSTD_estimateCStreamSize_usingCParams(level);
}

size_t gp_block_decoder_bytes(void)
{
	return aligned(sizeof(struct gp_block_scratch)) + aligned(gp_column_reader_bytes()) +
	       aligned(GP_COLUMNS_MAX) + aligned(ZSTD_estimateDCtxSize());
}

size_t gp_block_scratch_bytes(void)
{
	return gp_block_decoder_bytes() + aligned(gp_column_writer_bytes()) +
	       aligned(compressor_bytes());
}

static bool set_level(ZSTD_CCtx *c)
{
	static const struct {
		ZSTD_cParameter parameter;
		int value;
	} settings[] = {
		{ ZSTD_c_compressionLevel, 1 },	  { ZSTD_c_checksumFlag, 1 },
		{ ZSTD_c_windowLog, WINDOW_LOG }, { ZSTD_c_chainLog, CHAIN_LOG },
		{ ZSTD_c_hashLog, HASH_LOG },	  { ZSTD_c_searchLog, 1 },
		{ ZSTD_c_minMatch, MIN_MATCH },	  { ZSTD_c_targetLength, 1 },
		{ ZSTD_c_strategy, ZSTD_fast },
	};
	for (size_t i = 0; i < sizeof settings / sizeof *settings; i++)
		if (ZSTD_isError(
			    ZSTD_CCtx_setParameter(c, settings[i].parameter, settings[i].value)))
			return false;
	return true;
}

struct gp_block_scratch *gp_block_decoder_init(void *memory, size_t bytes)
{
	if (!memory || (uintptr_t)memory % 64 != 0 || bytes < gp_block_decoder_bytes())
		return NULL;
	struct gp_block_scratch *s = memory;
	unsigned char *at = (unsigned char *)memory + aligned(sizeof *s);
	s->writer = NULL;
	s->compress = NULL;
	s->reader = (struct gp_column_reader *)at;
	at += aligned(gp_column_reader_bytes());
	s->raw = at;
	at += aligned(GP_COLUMNS_MAX);
	s->decompress = ZSTD_initStaticDCtx(at, aligned(ZSTD_estimateDCtxSize()));
	return s->decompress ? s : NULL;
}

struct gp_block_scratch *gp_block_scratch_init(void *memory, size_t bytes)
{
	struct gp_block_scratch *s =
		bytes < gp_block_scratch_bytes() ? NULL : gp_block_decoder_init(memory, bytes);
	if (!s)
		return NULL;
	unsigned char *at = (unsigned char *)memory + gp_block_decoder_bytes();
	s->writer = (struct gp_column_writer *)at;
	at += aligned(gp_column_writer_bytes());
	s->compress = ZSTD_initStaticCCtx(at, aligned(compressor_bytes()));
	gp_column_writer_init(s->writer);
	return s->compress && set_level(s->compress) ? s : NULL;
}

size_t gp_block_bound(void)
{
	/* each flush may add an empty block */
	return GP_BLOCK_HEADER + ZSTD_COMPRESSBOUND(GP_COLUMNS_MAX) + 64u * (GP_STREAMS + 1);
}

/* ---- encode and decode ---- */

static enum gp_status compress(ZSTD_CCtx *c, const struct gp_piece pieces[1 + GP_STREAMS],
			       uint32_t raw_bytes, ZSTD_outBuffer *out)
{
	if (ZSTD_isError(ZSTD_CCtx_reset(c, ZSTD_reset_session_only)) ||
	    ZSTD_isError(ZSTD_CCtx_setPledgedSrcSize(c, raw_bytes)))
		return GP_E_ARGUMENT;
	size_t pending = 0;
	for (unsigned i = 0; i <= GP_STREAMS; i++) {
		ZSTD_inBuffer in = { pieces[i].bytes, pieces[i].n, 0 };
		bool is_large = pieces[i].n >= OWN_TABLES;
		if (is_large && pending >= OWN_TABLES / 4) {
			ZSTD_inBuffer none = { NULL, 0, 0 };
			if (ZSTD_compressStream2(c, out, &none, ZSTD_e_flush) != 0)
				return GP_E_SPACE;
			pending = 0;
		}
		pending = is_large ? 0 : pending + pieces[i].n;
		/* not 0: an error, or no room left */
		size_t left = ZSTD_compressStream2(c, out, &in,
						   is_large ? ZSTD_e_flush : ZSTD_e_continue);
		if (ZSTD_isError(left) || in.pos != in.size || (is_large && left != 0))
			return GP_E_SPACE;
	}
	ZSTD_inBuffer none = { NULL, 0, 0 };
	return ZSTD_compressStream2(c, out, &none, ZSTD_e_end) == 0 ? GP_OK : GP_E_SPACE;
}

enum gp_status gp_block_pad(struct gp_block_header *header, unsigned char *payload, size_t capacity)
{
	const uint32_t least = least_bytes(header), bytes = GP_BLOCK_HEADER + header->stored_bytes;
	if (bytes >= least)
		return GP_OK;
	const uint32_t missing = least - bytes;
	const uint32_t zeros =
		missing > ZSTD_SKIPPABLEHEADERSIZE ? missing - ZSTD_SKIPPABLEHEADERSIZE : 0;
	unsigned char *at = payload + header->stored_bytes;
	if (capacity - header->stored_bytes < ZSTD_SKIPPABLEHEADERSIZE + zeros)
		return GP_E_SPACE;
	gp_fixed_put(at, ZSTD_MAGIC_SKIPPABLE_START, 4);
	gp_fixed_put(at + 4, zeros, 4);
	memset(at + ZSTD_SKIPPABLEHEADERSIZE, 0, zeros);
	header->stored_bytes += ZSTD_SKIPPABLEHEADERSIZE + zeros;
	return GP_OK;
}

enum gp_status gp_block_encode(struct gp_block_scratch *scratch, struct gp_block_header *header,
			       const struct gp_record *ring, uint64_t ring_slots, uint64_t first,
			       uint64_t slots, unsigned char *out, size_t capacity, size_t *length)
{
	struct gp_piece pieces[1 + GP_STREAMS];
	if (slots > GP_BLOCK_RECORDS || slots > ring_slots || (ring_slots & (ring_slots - 1)) != 0)
		return GP_E_ARGUMENT;
	if (capacity < GP_BLOCK_HEADER)
		return GP_E_SPACE;
	header->records = header->raw_bytes = header->stored_bytes = 0;
	if (slots) {
		enum gp_status status = gp_columns_write(scratch->writer, &scratch->state, header,
							 ring, ring_slots, first, slots, pieces);
		ZSTD_outBuffer payload = { out + GP_BLOCK_HEADER, capacity - GP_BLOCK_HEADER, 0 };
		if (status == GP_OK)
			status = compress(scratch->compress, pieces, header->raw_bytes, &payload);
		header->stored_bytes = (uint32_t)payload.pos;
		if (status == GP_OK)
			status = gp_block_pad(header, payload.dst, payload.size);
		if (status != GP_OK)
			return status;
	}
	gp_block_header_encode(header, out);
	*length = GP_BLOCK_HEADER + header->stored_bytes;
	return GP_OK;
}

/* The one bit of a zstd frame header that decoders ignore. */
static bool has_unused_bit(const unsigned char *payload, uint32_t bytes)
{
	return bytes > 4 && (payload[4] & 0x10) != 0;
}

enum gp_status gp_block_decode(struct gp_block_scratch *scratch,
			       const struct gp_block_header *header, const unsigned char *payload,
			       struct gp_record *records, uint64_t *slots)
{
	*slots = 0;
	if (header->raw_bytes > GP_COLUMNS_MAX || header->records > GP_BLOCK_RECORDS)
		return GP_E_DAMAGED;
	if (header->records == 0)
		return header->raw_bytes == 0 && header->stored_bytes == 0 ? GP_OK : GP_E_DAMAGED;
	if (has_unused_bit(payload, header->stored_bytes))
		return GP_E_DAMAGED;
	size_t n = ZSTD_decompressDCtx(scratch->decompress, scratch->raw, header->raw_bytes,
				       payload, header->stored_bytes);
	if (ZSTD_isError(n) || n != header->raw_bytes)
		return GP_E_DAMAGED;
	return gp_columns_read(scratch->reader, &scratch->state, header, scratch->raw, records,
			       slots);
}
