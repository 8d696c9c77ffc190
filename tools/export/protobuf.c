/* The wire format of Protocol Buffers: a key (field << 3 | type) and a value for each field. */
#include "protobuf.h"

#include <stdlib.h>
#include <string.h>

#define VARINT_MOST 10u
enum { WIRE_VARINT = 0, WIRE_BYTES = 2 };

void gp_protobuf_release(struct gp_protobuf *p)
{
	free(p->bytes);
	*p = (struct gp_protobuf){ 0 };
}

void gp_protobuf_flush(struct gp_protobuf *p, FILE *out)
{
	fwrite(p->bytes, 1, p->count, out);
	p->count = 0;
}

/* False: out of memory. */
static bool protobuf_grow(struct gp_protobuf *p, size_t more)
{
	size_t room = p->room ? p->room : 256;
	if (p->room - p->count >= more)
		return true;
	while (room - p->count < more)
		room *= 2;
	unsigned char *moved = realloc(p->bytes, room);
	p->is_out_of_memory |= !moved;
	if (!moved)
		return false;
	p->bytes = moved;
	p->room = room;
	return true;
}

static size_t put_varint(unsigned char out[VARINT_MOST], uint64_t number)
{
	size_t n = 0;
	for (; number >= 0x80; number >>= 7)
		out[n++] = (unsigned char)(number | 0x80);
	out[n++] = (unsigned char)number;
	return n;
}

void gp_protobuf_packed(struct gp_protobuf *p, uint64_t number)
{
	if (protobuf_grow(p, VARINT_MOST))
		p->count += put_varint(p->bytes + p->count, number);
}

void gp_protobuf_number(struct gp_protobuf *p, unsigned field, uint64_t number)
{
	gp_protobuf_packed(p, (uint64_t)field << 3 | WIRE_VARINT);
	gp_protobuf_packed(p, number);
}

void gp_protobuf_bytes(struct gp_protobuf *p, unsigned field, const void *bytes, size_t count)
{
	gp_protobuf_packed(p, (uint64_t)field << 3 | WIRE_BYTES);
	gp_protobuf_packed(p, count);
	if (!count || !protobuf_grow(p, count))
		return;
	memcpy(p->bytes + p->count, bytes, count);
	p->count += count;
}

size_t gp_protobuf_begin(struct gp_protobuf *p, unsigned field)
{
	gp_protobuf_packed(p, (uint64_t)field << 3 | WIRE_BYTES);
	return p->count;
}

/* The length stands before the content: it moves the content, which is short. */
void gp_protobuf_end(struct gp_protobuf *p, size_t begin)
{
	unsigned char length[VARINT_MOST];
	if (p->is_out_of_memory || !protobuf_grow(p, VARINT_MOST))
		return;
	const size_t count = p->count - begin, n = put_varint(length, count);
	memmove(p->bytes + begin + n, p->bytes + begin, count);
	memcpy(p->bytes + begin, length, n);
	p->count += n;
}
