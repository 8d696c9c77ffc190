/*
 * Hashes of a recording's content. The writer of a recording must not be able to choose values that
 * collide. Each process of the reading library therefore draws a secret. For look-ups alone: no
 * visible order may depend on a hash.
 */
#ifndef GP_SEEDED_HASH_H
#define GP_SEEDED_HASH_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/*
 * An odd multiplier: the upper bits of its products are universal hashes (M. Dietzfelbinger and
 * others, J. Algorithms 25, 1997). In the job no secret is needed. There the multiplier is the
 * golden ratio (Knuth, TAOCP 3, 6.4), a constant for the compiler.
 */
#if defined(GP_PRELOAD)
#define GP_HASH_MULTIPLIER 0x9e3779b97f4a7c15u
#else
extern const uint64_t gp_hash_secret[2]; /* read/tables/hash_secret.c; both odd */
#define GP_HASH_MULTIPLIER gp_hash_secret[0]

/* All its bits are good: both halves of a product of 128 bits, folded. */
static inline uint64_t gp_hash_number(uint64_t number)
{
	unsigned __int128 product =
		(unsigned __int128)(number ^ gp_hash_secret[1]) * gp_hash_secret[0];
	return (uint64_t)(product >> 64) ^ (uint64_t)product;
}

static inline uint64_t gp_hash_bytes(const char *bytes, size_t n)
{
	uint64_t hash = gp_hash_number(n);
	for (size_t at = 0; at < n; at += 8) {
		uint64_t part = 0;
		memcpy(&part, bytes + at, n - at < 8 ? n - at : 8);
		hash = gp_hash_number(hash ^ part);
	}
	return hash;
}
#endif

#endif
