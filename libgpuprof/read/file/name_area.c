/* Reading and writing the area: the same walk over the pieces between slots' beginnings. */
#include "name_area.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>

#include "../../format/block.h"
#include "../../format/layout.h"
#include "../symbols/name_table.h"

#define PIECE_BYTES ((size_t)1 << 20) /* of the table in one block */
#define LEVEL 3
#define WINDOW_LOG 17

/*
 * Moves *at behind the guard of a slot's beginning; how many bytes follow until the next one. A
 * reader of slots takes a slot that begins with zeros for one that was never used.
 */
static uint64_t name_area_settle(const struct gp_file_header *header, uint64_t *at)
{
	if (header->slots == 0)
		return UINT64_MAX;
	uint64_t slot = (*at - GP_FILE_HEADER) / header->slot_bytes;
	if (slot >= header->slots)
		return UINT64_MAX;
	uint64_t guarded = gp_slot_offset(header, slot) + GP_SLOT_GUARD;
	if (*at < guarded)
		*at = guarded;
	return gp_slot_offset(header, slot + 1) - *at;
}

/* Where `bytes` of blocks that begin at `at` end: slots' first bytes are left out. */
static uint64_t area_end(const struct gp_file_header *header, uint64_t at, uint64_t bytes)
{
	for (uint64_t room; bytes > 0; bytes -= room, at += room) {
		room = name_area_settle(header, &at);
		room = room < bytes ? room : bytes;
	}
	return at;
}

/* ---- reading ---- */

struct cursor {
	const struct gp_file *file;
	uint64_t at, left;
};

static enum gp_status take(struct cursor *c, void *out, size_t bytes)
{
	unsigned char *to = out;
	if (bytes > c->left)
		return GP_E_DAMAGED;
	c->left -= bytes;
	while (bytes > 0) {
		uint64_t room = name_area_settle(&c->file->header, &c->at);
		size_t n = room < bytes ? (size_t)room : bytes;
		enum gp_status status = gp_file_read(c->file, c->at, to, n);
		if (status != GP_OK)
			return status == GP_E_TRUNCATED ? GP_E_DAMAGED : status;
		to += n;
		c->at += n;
		bytes -= n;
	}
	return GP_OK;
}

struct table {
	unsigned char *bytes, *stored;
	size_t count, room, most;
};

/* Of blocks of so many bytes. */
static size_t table_most(uint64_t stored_bytes)
{
	uint64_t most = (GP_NAME_TABLE_MAX - GP_NAME_TABLE_BASE) / GP_NAME_TABLE_TIMES;
	return stored_bytes < most ?
		       GP_NAME_TABLE_BASE + (size_t)stored_bytes * GP_NAME_TABLE_TIMES :
		       GP_NAME_TABLE_MAX;
}

static enum gp_status unpack(struct table *t, const struct gp_block_header *header)
{
	if (t->count + header->raw_bytes > t->most ||
	    gp_block_has_unused_bit(t->stored, header->stored_bytes))
		return GP_E_DAMAGED;
	if (t->room - t->count < header->raw_bytes) {
		size_t room = 2 * t->room + header->raw_bytes;
		room = room < t->most ? room : t->most;
		unsigned char *grown = realloc(t->bytes, room);
		if (grown == NULL)
			return GP_E_MEMORY;
		t->bytes = grown;
		t->room = room;
	}
	size_t raw = ZSTD_decompress(t->bytes + t->count, header->raw_bytes, t->stored,
				     header->stored_bytes);
	if (raw != header->raw_bytes)
		return GP_E_DAMAGED;
	t->count += raw;
	return GP_OK;
}

static enum gp_status take_block(struct cursor *c, struct table *t, uint64_t sequence,
				 const char **what)
{
	unsigned char bytes[GP_BLOCK_HEADER];
	struct gp_block_header header;
	*what = "expected a block of names";
	enum gp_status status = take(c, bytes, sizeof bytes);
	if (status == GP_OK && gp_block_header_decode(bytes, &header) != GP_OK)
		status = GP_E_DAMAGED;
	if (status != GP_OK)
		return status;
	if (header.type != GP_BLOCK_NAMES || header.sequence != sequence || header.raw_bytes == 0)
		return GP_E_DAMAGED;
	*what = "this block of names does not decode";
	status = take(c, t->stored, header.stored_bytes);
	return status == GP_OK ? unpack(t, &header) : status;
}

enum gp_status gp_name_area_read(const struct gp_file *file, unsigned char **out, size_t *count,
				 const char **what)
{
	const struct gp_file_header *h = &file->header;
	struct cursor c = { .file = file, .at = h->names_offset, .left = h->names_bytes };
	struct table t = { .stored = malloc(gp_block_bound()), .most = table_most(h->names_bytes) };
	enum gp_status status = t.stored != NULL ? GP_OK : GP_E_MEMORY;
	if (h->names_offset < GP_FILE_HEADER || h->names_offset > file->bytes ||
	    h->names_bytes > file->bytes - h->names_offset) {
		*what = "the file is too short";
		status = GP_E_DAMAGED;
	}
	for (uint64_t n = 0; status == GP_OK && c.left > 0; n++)
		status = take_block(&c, &t, n, what);
	free(t.stored);
	if (status != GP_OK) {
		free(t.bytes);
		return status;
	}
	*out = t.bytes;
	*count = t.count;
	return GP_OK;
}

/* ---- writing ---- */

enum gp_status gp_name_area_encode(const unsigned char *table, size_t count,
				   const struct gp_block_header *last, unsigned char **out,
				   size_t *bytes)
{
	size_t pieces = (count + PIECE_BYTES - 1) / PIECE_BYTES, used = 0;
	size_t bound = ZSTD_compressBound(PIECE_BYTES) + GP_BLOCK_HEADER;
	unsigned char *blocks = malloc(pieces * bound + 1);
	ZSTD_CCtx *zstd = ZSTD_createCCtx();
	enum gp_status status = blocks != NULL && zstd != NULL ? GP_OK : GP_E_MEMORY;
	if (zstd != NULL) {
		ZSTD_CCtx_setParameter(zstd, ZSTD_c_compressionLevel, LEVEL);
		ZSTD_CCtx_setParameter(zstd, ZSTD_c_windowLog, WINDOW_LOG);
		ZSTD_CCtx_setParameter(zstd, ZSTD_c_checksumFlag, 1);
	}
	for (size_t i = 0; i < pieces && status == GP_OK; i++) {
		size_t left = count - i * PIECE_BYTES,
		       raw = left < PIECE_BYTES ? left : PIECE_BYTES;
		size_t stored =
			ZSTD_compress2(zstd, blocks + used + GP_BLOCK_HEADER,
				       bound - GP_BLOCK_HEADER, table + i * PIECE_BYTES, raw);
		if (ZSTD_isError(stored)) {
			status = GP_E_MEMORY;
			break;
		}
		struct gp_block_header header = {
			.type = GP_BLOCK_NAMES,
			/* of no segment and no part: who looks for blocks there passes over it */
			.segment = UINT32_MAX,
			.part = UINT32_MAX,
			.thread = GP_THREAD_NONE,
			.sequence = i,
			.records = 1,
			.raw_bytes = (uint32_t)raw,
			.stored_bytes = (uint32_t)stored,
			.ticks = last->ticks,
			.mono_ns = last->mono_ns,
			.unix_ns = last->unix_ns,
		};
		gp_block_header_encode(&header, blocks + used);
		used += GP_BLOCK_HEADER + stored;
	}
	ZSTD_freeCCtx(zstd);
	if (status != GP_OK) {
		free(blocks);
		return status;
	}
	*out = blocks;
	*bytes = used;
	return GP_OK;
}

static enum gp_status area_put(int fd, const struct gp_file_header *header, uint64_t at,
			       const unsigned char *blocks, size_t bytes)
{
	enum gp_status status = GP_OK;
	while (bytes > 0 && status == GP_OK) {
		uint64_t room = name_area_settle(header, &at);
		size_t n = room < bytes ? (size_t)room : bytes;
		status = gp_file_write(fd, at, blocks, n);
		blocks += n;
		at += n;
		bytes -= n;
	}
	return status;
}

static enum gp_status flush(int fd)
{
	return fsync(fd) == 0 ? GP_OK : errno == ENOSPC || errno == EDQUOT ? GP_E_SPACE : GP_E_IO;
}

/* From now on the header points at `at`. */
static enum gp_status point(int fd, struct gp_file_header *header, uint64_t at, size_t bytes)
{
	struct gp_file_header new = *header;
	unsigned char encoded[GP_FILE_HEADER];
	new.names_offset = at;
	new.names_bytes = bytes;
	/* not to GP_FORMAT_MINOR: its blocks may break rules that are newer than their recorder */
	new.minor = new.minor > GP_FORMAT_NAMES ? new.minor : GP_FORMAT_NAMES;
	gp_file_header_encode(&new, encoded);
	enum gp_status status = gp_file_write(fd, 0, encoded, sizeof encoded);
	if (status == GP_OK)
		status = flush(fd);
	if (status == GP_OK) {
		*header = new;
		return status;
	}
	/* best effort: what was there still is, or nothing can be written there any more */
	gp_file_header_encode(header, encoded);
	gp_file_write(fd, 0, encoded, sizeof encoded);
	return status;
}

static enum gp_status put_and_point(int fd, struct gp_file_header *header, uint64_t at,
				    const unsigned char *blocks, size_t bytes)
{
	enum gp_status status = area_put(fd, header, at, blocks, bytes);
	if (status == GP_OK)
		status = flush(fd);
	return status == GP_OK ? point(fd, header, at, bytes) : status;
}

enum gp_status gp_name_area_replace(int fd, struct gp_file_header *header, uint64_t end,
				    const unsigned char *blocks, size_t bytes)
{
	struct stat st;
	if (fstat(fd, &st) != 0)
		return GP_E_IO;
	uint64_t size = (uint64_t)st.st_size, last = area_end(header, end, bytes);
	if (header->names_bytes != 0) {
		/* behind the old names and behind their new place: one of both is always whole */
		uint64_t beside = size > last ? size : last;
		enum gp_status status = put_and_point(fd, header, beside, blocks, bytes);
		if (status != GP_OK) {
			(void)!ftruncate(fd, st.st_size);
			return status;
		}
	}
	bool is_first = header->names_bytes == 0;
	enum gp_status status = put_and_point(fd, header, end, blocks, bytes);
	if (status == GP_OK)
		(void)!ftruncate(fd, (off_t)last); /* what is left behind it is only lost space */
	else if (is_first)
		(void)!ftruncate(fd, st.st_size);
	return is_first ? status : GP_OK;
}
