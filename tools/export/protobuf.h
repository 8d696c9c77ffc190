/*
 * Writes messages of Protocol Buffers into memory: varints, bytes, and messages in messages. The
 * caller writes the bytes to a stream when a message is complete.
 */
#ifndef GP_PROTOBUF_H
#define GP_PROTOBUF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* Zeroed: empty. */
struct gp_protobuf {
	unsigned char *bytes;
	size_t count, room;
	bool is_out_of_memory; /* the bytes are incomplete */
};
void gp_protobuf_release(struct gp_protobuf *p);
/* Writes all bytes to `out` and empties the buffer. Errors are in ferror(out). */
void gp_protobuf_flush(struct gp_protobuf *p, FILE *out);

/* A field that is a number. Writes 0 as well: a reader takes a missing field as 0. */
void gp_protobuf_number(struct gp_protobuf *p, unsigned field, uint64_t number);
void gp_protobuf_bytes(struct gp_protobuf *p, unsigned field, const void *bytes, size_t count);
/* Begins a message, or a list of packed numbers, as a field. Returns its place for the end. */
size_t gp_protobuf_begin(struct gp_protobuf *p, unsigned field);
void gp_protobuf_end(struct gp_protobuf *p, size_t begin);
/* A number of a packed list. */
void gp_protobuf_packed(struct gp_protobuf *p, uint64_t number);

#endif
