/* The buffer of the writer, and its rare parts. */
#include "protobuf.h"

#include <stdlib.h>

#include "../../io/message.h"

#define ROOM_FIRST (1u << 20)
#define FLUSH_FROM (1u << 19)

bool gp_protobuf_init(struct gp_protobuf *p, FILE *out)
{
	*p = (struct gp_protobuf){ .out = out, .bytes = malloc(ROOM_FIRST) };
	p->is_out_of_memory = !p->bytes;
	p->room = p->bytes ? ROOM_FIRST : 0;
	return !p->is_out_of_memory;
}

void gp_protobuf_release(struct gp_protobuf *p)
{
	free(p->bytes);
	p->bytes = NULL;
	p->room = p->used = 0;
}

void gp_protobuf_flush(struct gp_protobuf *p, bool is_end)
{
	if (!p->out || (p->used < FLUSH_FROM && !is_end))
		return;
	fwrite(p->bytes, 1, p->used, p->out);
	p->written += p->used;
	p->used = 0;
}

bool gp_protobuf_grow(struct gp_protobuf *p, size_t bytes)
{
	const size_t room = (p->room + bytes) * 2;
	unsigned char *grown = realloc(p->bytes, room);
	if (!grown) {
		p->is_out_of_memory = true;
		p->used = 0;
		return p->room >= bytes;
	}
	p->bytes = grown;
	p->room = room;
	return true;
}

void gp_protobuf_end_long(struct gp_protobuf *p, size_t begin)
{
	const size_t length = p->used - begin - 1;
	size_t further = 0;
	if (p->is_out_of_memory)
		return;
	for (size_t left = length >> 7; left; left >>= 7)
		further++;
	if (!gp_protobuf_reserve(p, further) || p->is_out_of_memory)
		return;
	memmove(p->bytes + begin + 1 + further, p->bytes + begin + 1, length);
	p->used = begin;
	gp_varint_put(p, length);
	p->used += length;
}

void gp_protobuf_text(struct gp_protobuf *p, unsigned field, const char *text, size_t bytes)
{
	uint32_t code;
	const size_t begin = gp_protobuf_begin(p, field);
	while (bytes) {
		size_t n = gp_code_point(text, bytes, &code);
		gp_protobuf_reserve(p, 4);
		if (n)
			memcpy(p->bytes + p->used, text, n);
		else
			memcpy(p->bytes + p->used, "\xef\xbf\xbd", 3);
		p->used += n ? n : 3;
		n += !n;
		text += n;
		bytes -= n;
	}
	gp_protobuf_end(p, begin);
}
