/*
 * A bounded, lock-free map from a driver handle (or an address) to one byte. Lookups are a few
 * loads in one cache line; an entry may be evicted by another one, never changed into it, so what
 * is not found has to be asked for again. A fork at any moment leaves it usable. No CUDA, no
 * recorder.
 */
#ifndef GP_HANDLE_TABLE_H
#define GP_HANDLE_TABLE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* One word an entry: the handle's low 56 bits above the byte. Handle 0 is never kept. */
#define GP_HANDLE_WAYS 4u
struct gp_handle_bucket {
	_Alignas(32) _Atomic uint64_t words[GP_HANDLE_WAYS];
};

static inline struct gp_handle_bucket *gp_handle_bucket(struct gp_handle_bucket *table,
							unsigned bits, uint64_t handle)
{
	return &table[handle * 0x9e3779b97f4a7c15u >> (64 - bits)];
}

/* `table` has 1 << bits buckets. The byte that was put for `handle`, or -1. */
static inline int gp_handle_find(struct gp_handle_bucket *table, unsigned bits, uint64_t handle)
{
	struct gp_handle_bucket *bucket = gp_handle_bucket(table, bits, handle);
	for (unsigned k = 0; k < GP_HANDLE_WAYS; k++) {
		uint64_t word = atomic_load_explicit(&bucket->words[k], memory_order_relaxed);
		if (word >> 8 == (handle & UINT64_MAX >> 8) && handle)
			return (int)(word & 0xff);
	}
	return -1;
}

/* Whether `handle` is there with exactly this byte. */
static inline bool gp_handle_has(struct gp_handle_bucket *table, unsigned bits, uint64_t handle,
				 uint8_t byte)
{
	struct gp_handle_bucket *bucket = gp_handle_bucket(table, bits, handle);
	for (unsigned k = 0; k < GP_HANDLE_WAYS; k++)
		if (atomic_load_explicit(&bucket->words[k], memory_order_relaxed) ==
		    (handle << 8 | byte))
			return true;
	return false;
}

/*
 * Forgets the handle and returns its byte, -1 if there was none. The store may evict an entry that
 * another thread puts there at this moment: cheaper than an exchange, and allowed.
 */
static inline int gp_handle_take(struct gp_handle_bucket *table, unsigned bits, uint64_t handle)
{
	struct gp_handle_bucket *bucket = gp_handle_bucket(table, bits, handle);
	for (unsigned k = 0; k < GP_HANDLE_WAYS; k++) {
		uint64_t word = atomic_load_explicit(&bucket->words[k], memory_order_relaxed);
		if (word >> 8 != (handle & UINT64_MAX >> 8) || !handle)
			continue;
		atomic_store_explicit(&bucket->words[k], 0, memory_order_relaxed);
		return (int)(word & 0xff);
	}
	return -1;
}

/* Forgets every entry of the handle: two threads may have put it at once. */
static inline void gp_handle_drop(struct gp_handle_bucket *table, unsigned bits, uint64_t handle)
{
	while (gp_handle_take(table, bits, handle) >= 0)
		;
}

/*
 * Replaces what was there for `handle`; else takes a free place, else one that it chooses by the
 * handle.
 */
static inline void gp_handle_put(struct gp_handle_bucket *table, unsigned bits, uint64_t handle,
				 uint8_t byte)
{
	struct gp_handle_bucket *bucket = gp_handle_bucket(table, bits, handle);
	unsigned place = (unsigned)(handle >> 9) % GP_HANDLE_WAYS;
	if (!handle)
		return;
	for (unsigned k = GP_HANDLE_WAYS; k-- > 0;) {
		uint64_t word = atomic_load_explicit(&bucket->words[k], memory_order_relaxed);
		if (word >> 8 == (handle & UINT64_MAX >> 8)) {
			place = k;
			break;
		}
		if (!word)
			place = k;
	}
	atomic_store_explicit(&bucket->words[place], handle << 8 | byte, memory_order_relaxed);
}

/*
 * Adds to the byte of an entry: -1 when there is none or it would leave 0..255, else the new byte.
 */
static inline int gp_handle_add(struct gp_handle_bucket *table, unsigned bits, uint64_t handle,
				int change)
{
	struct gp_handle_bucket *bucket = gp_handle_bucket(table, bits, handle);
	for (unsigned k = 0; k < GP_HANDLE_WAYS; k++) {
		uint64_t word = atomic_load_explicit(&bucket->words[k], memory_order_relaxed);
		while (word >> 8 == (handle & UINT64_MAX >> 8) && handle) {
			int byte = (int)(word & 0xff) + change;
			if (byte < 0 || byte > 255)
				return -1;
			if (atomic_compare_exchange_weak_explicit(
				    &bucket->words[k], &word, handle << 8 | (uint64_t)byte,
				    memory_order_relaxed, memory_order_relaxed))
				return byte;
		}
	}
	return -1;
}

/* Keeps the bits of `mask` in each entry's byte. */
static inline void gp_handle_mask(struct gp_handle_bucket *table, unsigned bits, uint8_t mask)
{
	for (unsigned b = 0; b < 1u << bits; b++)
		for (unsigned k = 0; k < GP_HANDLE_WAYS; k++) {
			uint64_t word =
				atomic_load_explicit(&table[b].words[k], memory_order_relaxed);
			if (word)
				atomic_compare_exchange_strong_explicit(
					&table[b].words[k], &word, word & (~(uint64_t)0xff | mask),
					memory_order_relaxed, memory_order_relaxed);
		}
}

static inline void gp_handle_clear(struct gp_handle_bucket *table, unsigned bits)
{
	for (unsigned b = 0; b < 1u << bits; b++)
		for (unsigned k = 0; k < GP_HANDLE_WAYS; k++)
			if (atomic_load_explicit(&table[b].words[k], memory_order_relaxed))
				atomic_store_explicit(&table[b].words[k], 0, memory_order_relaxed);
}

#endif
