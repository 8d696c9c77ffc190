/*
 * Integers as bytes: little-endian fixed widths, LEB128 varints, zigzag signs, and a form for byte
 * counts, which are mostly multiples of 512. Writers return the next place and need room for
 * GP_VARINT_MAX bytes. Readers never pass `end`; they return NULL for bytes that a writer cannot
 * have written.
 */
#ifndef GP_VARINT_H
#define GP_VARINT_H

#include <stddef.h>
#include <stdint.h>

#define GP_VARINT_MAX 10u

static inline unsigned char *gp_fixed_put(unsigned char *out, uint64_t value, unsigned bytes)
{
	for (unsigned i = 0; i < bytes; i++)
		out[i] = (unsigned char)(value >> 8 * i);
	return out + bytes;
}

static inline uint64_t gp_fixed_get(const unsigned char *in, unsigned bytes)
{
	uint64_t value = 0;
	for (unsigned i = 0; i < bytes; i++)
		value |= (uint64_t)in[i] << 8 * i;
	return value;
}

static inline uint64_t gp_zigzag(uint64_t delta)
{
	return delta << 1 ^ (delta >> 63 ? UINT64_MAX : 0);
}

static inline uint64_t gp_unzigzag(uint64_t value)
{
	return value >> 1 ^ (value & 1 ? UINT64_MAX : 0);
}

static inline unsigned char *gp_varint_put(unsigned char *out, uint64_t value)
{
	while (value >= 0x80) {
		*out++ = (unsigned char)(value | 0x80);
		value >>= 7;
	}
	*out++ = (unsigned char)value;
	return out;
}

/* Ten bytes at most, no bits beyond the 64th, no redundant zero byte at the end. */
static inline const unsigned char *gp_varint_get_long(const unsigned char *in,
						      const unsigned char *end, uint64_t *value)
{
	uint64_t sum = 0;
	for (unsigned shift = 0; in < end && shift < 64; shift += 7) {
		uint64_t bits = *in & 0x7f;
		if (shift == 63 && bits > 1)
			return NULL;
		sum |= bits << shift;
		if (*in++ < 0x80) {
			*value = sum;
			return bits || !shift ? in : NULL;
		}
	}
	return NULL;
}

static inline const unsigned char *gp_varint_get(const unsigned char *in, const unsigned char *end,
						 uint64_t *value)
{
	if (in < end && *in < 0x80) {
		*value = *in;
		return in + 1;
	}
	return gp_varint_get_long(in, end, value);
}

/*
 * A signed difference of byte counts or addresses. The lowest bit of the first byte is 1 if the
 * value is not a multiple of 512; else the value is divided by 512. Six bits of the zigzag value
 * follow in that byte. If its top bit is set, a varint has the rest.
 */
static inline unsigned char *gp_bytes_put(unsigned char *out, uint64_t delta)
{
	unsigned is_odd = (delta & 511) != 0;
	/* arithmetic shift by hand: >> of a negative number is implementation-defined */
	uint64_t value =
		gp_zigzag(is_odd ? delta : delta >> 9 | (delta >> 63 ? ~(UINT64_MAX >> 9) : 0));
	*out = (unsigned char)((value & 63) << 1 | is_odd | (value >> 6 ? 0x80 : 0));
	return value >> 6 ? gp_varint_put(out + 1, value >> 6) : out + 1;
}

static inline const unsigned char *gp_bytes_get(const unsigned char *in, const unsigned char *end,
						uint64_t *delta)
{
	if (in >= end)
		return NULL;
	unsigned first = *in++;
	uint64_t value = 0;
	if (first & 0x80) {
		in = gp_varint_get(in, end, &value);
		if (!in || value == 0 || value >> 58)
			return NULL;
	}
	uint64_t whole = gp_unzigzag(value << 6 | (first >> 1 & 63));
	*delta = first & 1 ? whole : whole << 9;
	return in;
}

#endif
