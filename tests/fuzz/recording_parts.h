/*
 * A recording as its mutator sees it: the file header, and blocks with their payloads, also the
 * blocks of stored names. Encoding adds correct checksums. Uses the project's own codec; blocks
 * that do not decode stay as bytes.
 */
#ifndef RECORDING_PARTS_H
#define RECORDING_PARTS_H

#include "../../libgpuprof/format/layout.h"
#include "fuzz.h"

struct fuzz_block {
	struct gp_block_header header;
	unsigned char *payload; /* header.stored_bytes, from malloc */
	uint32_t slot;		/* slots of a flight recorder, counted from the file header */
};

struct fuzz_parts {
	struct gp_file_header header;
	struct fuzz_block *block;
	size_t blocks, room;
};

/* Returns false if the bytes do not begin with the header of a recording. */
bool fuzz_parts_decode(struct fuzz_parts *parts, const uint8_t *data, size_t bytes);
/* Writes at most `room` bytes and returns their number; blocks that do not fit are left out. */
size_t fuzz_parts_encode(struct fuzz_parts *parts, uint8_t *out, size_t room);
void fuzz_parts_release(struct fuzz_parts *parts);

/* Copies the payload. Has no effect above 4096 blocks. */
void fuzz_parts_insert(struct fuzz_parts *parts, size_t at, const struct fuzz_block *block);
void fuzz_parts_remove(struct fuzz_parts *parts, size_t at);

#define FUZZ_SLOTS_MAX 64u

/* Slots of a block, GP_BLOCK_RECORDS at most. False: the block does not decode, or is empty. */
bool fuzz_block_records(const struct fuzz_block *block, struct gp_record *out, uint64_t *slots);
/* Puts these records in place of the block's. Keeps the block if they cannot be encoded. */
void fuzz_block_set_records(struct fuzz_block *block, const struct gp_record *record,
			    uint64_t slots);
/* The columns before compression, from malloc; NULL: they do not decompress. */
unsigned char *fuzz_block_columns(const struct fuzz_block *block, size_t *bytes);
void fuzz_block_set_columns(struct fuzz_block *block, const unsigned char *columns, size_t bytes);

#endif
