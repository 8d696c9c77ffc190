/*
 * The columns of a block's payload: shared by the writer (column_write.c) and the reader
 * (column_read.c). A symbol is a record without its time, order and running totals. Symbols are
 * numbered by first appearance in the block; most records repeat one. docs/FORMAT.md has the rules.
 * Uses only the caller's memory; no I/O, no zstd.
 */
#ifndef GP_COLUMN_H
#define GP_COLUMN_H

#include "block.h"

/* In the order of the payload. On disk. */
enum gp_stream {
	GP_STREAM_TIME_LOW,  /* low bytes of the time differences */
	GP_STREAM_TIME_HIGH, /* high bytes */
	GP_STREAM_TIME_WIDE, /* differences that do not fit in these bytes */
	GP_STREAM_ORDER,
	GP_STREAM_SYMBOL,
	GP_STREAM_TOTAL,
	GP_STREAM_NUMBER, /* from here on: fields of new symbols */
	GP_STREAM_WORD,
	GP_STREAM_WORD_NEW,
	GP_STREAM_ADDRESS,
	GP_STREAM_ADDRESS_NEW,
	GP_STREAM_BYTES,
	GP_STREAM_BYTES_NEW,
	GP_STREAM_HANDLE,
	GP_STREAM_HANDLE_NEW,
	GP_STREAM_TEXT,
	GP_STREAMS,
};

/*
 * Coding of a field. On disk, in the kind table of each block, so that readers do not need
 * events.def.
 */
enum gp_coding {
	GP_CODING_NUMBER,
	GP_CODING_WORD,
	GP_CODING_ADDRESS,
	GP_CODING_BYTES,
	GP_CODING_HANDLE,
	GP_CODING_TOTAL,       /* unchanged */
	GP_CODING_TOTAL_PLUS,  /* increased by the record's bytes */
	GP_CODING_TOTAL_MINUS, /* decreased by them */
	GP_CODINGS,
};

#define GP_FIELDS 5u /* v0..v3, aux */
#define GP_FIELD_AUX 4u
#define GP_FIELD_NONE 255u

struct gp_kind_coding {
	uint16_t kind;
	uint8_t takes_order; /* 1: the next record's order is one higher */
	uint8_t coding[GP_FIELDS];
	/* derived */
	uint8_t bytes_field; /* first field coded as bytes */
	uint8_t totals;
	uint8_t total_field[4];
	uint64_t total_sign[4]; /* 1, 0 or -1: factor of the record's bytes in the change */
	uint64_t kept[4];	/* v[n] & kept[n] is a part of the symbol: 0 for totals */
};

#define GP_KIND_CODING_BYTES 8u
/* times are in multiples of 64 ticks (about 25 ns of a 2.5 GHz TSC): saves a byte per event */
#define GP_TIME_SHIFT 6u
#define GP_TIME_SHIFT_MAX 16u
#define GP_TIME_WIDE 0xffffu

/*
 * The largest payload before compression: shift, kind table, lengths, streams of GP_BLOCK_RECORDS
 * worst records.
 */
#define GP_COLUMNS_HEAD (3u + GP_KINDS * GP_KIND_CODING_BYTES + GP_STREAMS * 5u)
#define GP_COLUMNS_MAX (GP_COLUMNS_HEAD + GP_BLOCK_RECORDS * 128u)

#define GP_DICTIONARY_MAX GP_BLOCK_RECORDS /* entries; later values are written in full each time */
#define GP_DICTIONARY_SLOTS 16384u

/* First token of a dictionary-coded value; GP_TOKEN_INDEX + n is entry n. */
enum { GP_TOKEN_PREDICTED = 0, GP_TOKEN_NEW = 1, GP_TOKEN_INDEX = 2 };

/* The two previous symbols predict the next. */
#define GP_SUCCESSORS 8192u

static inline unsigned gp_successor_cell(uint32_t last, uint32_t before)
{
	return (last * 0x9e3779b1u + before * 0x85ebca6bu) >> 19;
}

/* State of both sides while they process a block. Symbol and dictionary numbers have 16 bits. */
struct gp_column_state {
	uint64_t time; /* in units of 1 << shift */
	uint64_t next_order;
	uint32_t symbols;
	uint32_t last, before; /* previous symbols; GP_BLOCK_RECORDS: none */
	uint64_t address, address_new, handle_new;
	uint64_t predicted[GP_KINDS + 1]
			  [GP_FIELDS]; /* last value of this kind's field in a new symbol */
	uint64_t totals[256][4];       /* by device and place among the record's totals */
	uint64_t bytes_at[GP_DICTIONARY_MAX +
			  1];	    /* by address entry; the last is for records without an entry */
	uint64_t word_predicted[2]; /* shape, stack */
	uint16_t successor[GP_SUCCESSORS]; /* 1 + symbol; 0: none */
	struct gp_record symbol[GP_BLOCK_RECORDS];
};
_Static_assert(GP_SUCCESSORS == 1u << (32 - 19), "the cell's shift");

void gp_column_state_init(struct gp_column_state *state);

/* Sets the derived fields. False: a correct writer cannot have written these codings. */
bool gp_kind_coding_complete(struct gp_kind_coding *kind);
/* This version's coding of a kind; `out` is complete. Kinds without a row have numbers only. */
void gp_kind_coding_of(unsigned kind, struct gp_kind_coding *out);

/*
 * Bytes 16..23 of a record as one number: kind | extra << 16 | device << 24 | space << 32 | zero <<
 * 40 | code << 48.
 */
static inline uint64_t gp_shape_of(const struct gp_record *r)
{
	return r->kind | (uint64_t)r->extra << 16 | (uint64_t)r->device << 24 |
	       (uint64_t)r->space << 32 | (uint64_t)r->zero << 40 | (uint64_t)r->code << 48;
}

static inline void gp_shape_to(struct gp_record *r, uint64_t shape)
{
	r->kind = (uint16_t)shape;
	r->extra = (uint8_t)(shape >> 16);
	r->device = (uint8_t)(shape >> 24);
	r->space = (uint8_t)(shape >> 32);
	r->zero = (uint8_t)(shape >> 40);
	r->code = (uint16_t)(shape >> 48);
}

/* By how many bytes the record changes totals. */
static inline uint64_t gp_total_bytes(const struct gp_kind_coding *kind, const struct gp_record *r)
{
	if (kind->bytes_field == GP_FIELD_NONE)
		return 0;
	return kind->bytes_field == GP_FIELD_AUX ? r->aux : r->v[kind->bytes_field];
}

/* The expected total: the last one of this device and place, changed by the record's bytes. */
static inline uint64_t gp_total_predicted(const struct gp_column_state *state,
					  const struct gp_kind_coding *kind,
					  const struct gp_record *r, unsigned place)
{
	return state->totals[r->device][place] + gp_total_bytes(kind, r) * kind->total_sign[place];
}

/* The writer's half. The streams lie in its own memory. */
struct gp_column_writer;
size_t gp_column_writer_bytes(void);
void gp_column_writer_init(struct gp_column_writer *writer);

/* One piece of the payload; the pieces are contiguous in the file. */
struct gp_piece {
	const unsigned char *bytes;
	size_t n;
};

/*
 * Transposes the slots. pieces[0] is the head, then one for each stream. Sets records, raw_bytes,
 * first_order and last_order. GP_E_ARGUMENT: the slots are not whole records.
 */
enum gp_status gp_columns_write(struct gp_column_writer *writer, struct gp_column_state *state,
				struct gp_block_header *header, const struct gp_record *ring,
				uint64_t ring_slots, uint64_t first, uint64_t slots,
				struct gp_piece pieces[1 + GP_STREAMS]);

/* The reader's half. `raw` has header->raw_bytes bytes. */
struct gp_column_reader;
size_t gp_column_reader_bytes(void);
enum gp_status gp_columns_read(struct gp_column_reader *reader, struct gp_column_state *state,
			       const struct gp_block_header *header, const unsigned char *raw,
			       struct gp_record *records, uint64_t *slots);

#endif
