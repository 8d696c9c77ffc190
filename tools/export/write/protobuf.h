/*
 * Writes Protocol Buffers: fields in order, nested messages by begin and end. The length of a
 * message is known at its end only, so a buffer holds the outermost one. docs/EXPORTS.md has the
 * reason for a writer of our own.
 */
#ifndef GP_PROTOBUF_H
#define GP_PROTOBUF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum gp_wire { GP_WIRE_VARINT = 0, GP_WIRE_FIXED64 = 1, GP_WIRE_BYTES = 2 };

struct gp_protobuf {
	FILE *out;
	uint64_t written; /* bytes handed to `out` */
	bool is_out_of_memory;
	size_t used, room;
	unsigned char *bytes;
};

/* `out` NULL: all stays in `bytes`. False: out of memory. */
bool gp_protobuf_init(struct gp_protobuf *p, FILE *out);
void gp_protobuf_release(struct gp_protobuf *p);
/* Call it between outermost messages. Writes the buffer if it is large, or `is_end`. */
void gp_protobuf_flush(struct gp_protobuf *p, bool is_end);
/*
 * Makes room for `bytes` more. Out of memory: sets is_out_of_memory and empties the buffer, which
 * has room for small fields. False: not even that is enough.
 */
bool gp_protobuf_grow(struct gp_protobuf *p, size_t bytes);

#define GP_VARINT_MOST 10u

static inline bool gp_protobuf_reserve(struct gp_protobuf *p, size_t bytes)
{
	return __builtin_expect(p->room - p->used >= bytes, 1) || gp_protobuf_grow(p, bytes);
}

/* Needs a room of GP_VARINT_MOST. */
static inline void gp_varint_put(struct gp_protobuf *p, uint64_t value)
{
	unsigned char *at = p->bytes + p->used;
	while (value >= 0x80) {
		*at++ = (unsigned char)(value | 0x80);
		value >>= 7;
	}
	*at++ = (unsigned char)value;
	p->used = (size_t)(at - p->bytes);
}

/* Fields of int32 and int64 too: negative ones as uint64_t. */
static inline void gp_protobuf_number(struct gp_protobuf *p, unsigned field, uint64_t value)
{
	gp_protobuf_reserve(p, 2 * GP_VARINT_MOST);
	gp_varint_put(p, (uint64_t)field << 3 | GP_WIRE_VARINT);
	gp_varint_put(p, value);
}

static inline void gp_protobuf_fixed64(struct gp_protobuf *p, unsigned field, uint64_t value)
{
	gp_protobuf_reserve(p, GP_VARINT_MOST + sizeof value);
	gp_varint_put(p, (uint64_t)field << 3 | GP_WIRE_FIXED64);
	for (unsigned k = 0; k < sizeof value; k++)
		p->bytes[p->used++] = (unsigned char)(value >> 8 * k);
}

static inline void gp_protobuf_bytes(struct gp_protobuf *p, unsigned field, const void *bytes,
				     size_t count)
{
	if (!gp_protobuf_reserve(p, 2 * GP_VARINT_MOST + count))
		return;
	gp_varint_put(p, (uint64_t)field << 3 | GP_WIRE_BYTES);
	gp_varint_put(p, count);
	memcpy(p->bytes + p->used, bytes, count);
	p->used += count;
}

/* A string: what is not UTF-8 becomes U+FFFD. */
void gp_protobuf_text(struct gp_protobuf *p, unsigned field, const char *text, size_t bytes);

/* Begins a nested message. Pass the result to gp_protobuf_end. */
static inline size_t gp_protobuf_begin(struct gp_protobuf *p, unsigned field)
{
	gp_protobuf_reserve(p, GP_VARINT_MOST + 1);
	gp_varint_put(p, (uint64_t)field << 3 | GP_WIRE_BYTES);
	return p->used++;
}

/* Moves a message of 128 bytes or more, for the further bytes of its length. */
void gp_protobuf_end_long(struct gp_protobuf *p, size_t begin);

static inline void gp_protobuf_end(struct gp_protobuf *p, size_t begin)
{
	const size_t length = p->used - begin - 1; /* huge after the buffer was emptied */
	if (__builtin_expect(length < 0x80, 1))
		p->bytes[begin] = (unsigned char)length;
	else
		gp_protobuf_end_long(p, begin);
}

#endif
