/*
 * A block: up to GP_BLOCK_RECORDS records of one thread, transposed into columns, zstd level 1.
 * Owns the layout of a block; the caller provides every buffer. No I/O, no threads, no malloc.
 *
 *   header (GP_BLOCK_HEADER bytes, little endian, own CRC-32C at the end) | payload (stored_bytes)
 *
 * All deltas restart in each block. The payload is one zstd frame with a content checksum.
 */
#ifndef GP_BLOCK_H
#define GP_BLOCK_H

#include <stdbool.h>
#include <stddef.h>

#include "event.h"
#include "status.h"

#define GP_BLOCK_MAGIC 0x314b4c42u /* "BLK1" */
#define GP_BLOCK_HEADER 96u
#define GP_BLOCK_RECORDS 8192u /* slots, extra slots included */
#define GP_BLOCK_RATIO 16u     /* limit of payload bytes per byte of the block */

enum gp_block_type {
	GP_BLOCK_SEGMENT = 1,	 /* first block of a segment's part: no records */
	GP_BLOCK_DEFINE = 2,	 /* definitions in force; thread is GP_THREAD_NONE */
	GP_BLOCK_CHECKPOINT = 3, /* LIVE, CURVE, COUNT; thread is GP_THREAD_NONE */
	GP_BLOCK_EVENTS = 4,	 /* one thread's events, in its order */
	GP_BLOCK_END = 5,	 /* last block of a segment: no records */
	GP_BLOCK_OLD_NAMES = 6,	 /* before minor 9: stored names, which are now DEFINE blocks */
};

enum gp_block_flags {
	GP_BLOCK_LATE = 1,	      /* EVENTS with orders before the segment's cut */
	GP_BLOCK_LAST_CHECKPOINT = 2, /* this block completes the checkpoint */
	GP_BLOCK_SEALED = 4,	      /* END: the recording ends here */
	GP_BLOCK_ADOPTED = 8,	      /* written from the rings after the owner's death */
};

#define GP_THREAD_NONE 0xffffffffu
#define GP_SEGMENT_NONE 0xffffffffu /* of stored names, after all segments */

/* A decoded header. `cut`: SEGMENT only, the first order number that its checkpoint excludes. */
struct gp_block_header {
	uint16_t type;
	uint16_t flags;
	uint32_t segment;
	uint32_t part;	 /* the segment's part (slot) with this block */
	uint32_t thread; /* ring index; THREAD definitions have its name */
	/* per thread, from 0, without gaps in the run: readers drop repeats and report gaps */
	uint64_t sequence;
	uint32_t records; /* records without extra slots */
	uint32_t raw_bytes;
	uint32_t stored_bytes;
	uint64_t first_order; /* SEGMENT: the cut */
	uint64_t last_order;
	uint64_t ticks; /* the clock triple when the block was written */
	uint64_t mono_ns;
	uint64_t unix_ns;
};

/* Writes exactly GP_BLOCK_HEADER bytes. */
void gp_block_header_encode(const struct gp_block_header *header,
			    unsigned char out[GP_BLOCK_HEADER]);

/* GP_E_NOT_RECORDING: other magic; GP_E_DAMAGED: bad checksum or values out of range. */
enum gp_status gp_block_header_decode(const unsigned char in[GP_BLOCK_HEADER],
				      struct gp_block_header *out);

/*
 * Scratch memory of an encoder or decoder: place gp_block_scratch_bytes() at any 64-byte aligned
 * address.
 */
struct gp_block_scratch;
size_t gp_block_scratch_bytes(void);
struct gp_block_scratch *gp_block_scratch_init(void *memory, size_t bytes);
/* The same for gp_block_decode only: a third of the memory. */
size_t gp_block_decoder_bytes(void);
struct gp_block_scratch *gp_block_decoder_init(void *memory, size_t bytes);

/* The most bytes that gp_block_encode can produce, header included. */
size_t gp_block_bound(void);

/*
 * Encodes `slots` ring slots (at most GP_BLOCK_RECORDS) that start at ring[first] and wrap at
 * ring_slots (a power of two). The slots must be whole records with their extra slots. Sets
 * records, raw_bytes, stored_bytes, first_order and last_order of `header`; the caller sets the
 * rest. Writes header and payload to `out` and their length to *length.
 */
enum gp_status gp_block_encode(struct gp_block_scratch *scratch, struct gp_block_header *header,
			       const struct gp_record *ring, uint64_t ring_slots, uint64_t first,
			       uint64_t slots, unsigned char *out, size_t capacity, size_t *length);

/*
 * True if the block has fewer bytes than records, or than a GP_BLOCK_RATIO-th of its payload.
 * Recorders before minor GP_FORMAT_PADDED wrote such blocks; later ones pad them. A block below a
 * GP_BLOCK_OLD_PART-th of that limit is damaged in any file. Why: 8,192 regular events would take
 * 250 bytes, so a MiB would hold 30 million of them. A reader could not refuse them, since a coarse
 * clock records such events. The densest block of a real job had 1.3 bytes a record, so padding is
 * rare. A block of 1,638 similar names took a 28th.
 */
#define GP_BLOCK_OLD_PART 8u
bool gp_block_is_short(const struct gp_block_header *header);

/*
 * Pads a short block: appends the missing bytes to the payload, whose frame has stored_bytes, and
 * updates the counts. GP_E_SPACE: more than `capacity`.
 */
enum gp_status gp_block_pad(struct gp_block_header *header, unsigned char *payload,
			    size_t capacity);

/*
 * Decodes the payload of a block into `records` (capacity GP_BLOCK_RECORDS slots). The layout is
 * that of a ring: text stays in the extra slots. *slots is the number of filled slots. Never reads
 * outside [payload, payload + stored_bytes). GP_E_DAMAGED: a correct encoder cannot have written
 * it. Unknown kinds are kept.
 */
enum gp_status gp_block_decode(struct gp_block_scratch *scratch,
			       const struct gp_block_header *header, const unsigned char *payload,
			       struct gp_record *records, uint64_t *slots);

#endif
