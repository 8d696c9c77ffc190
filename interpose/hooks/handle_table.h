/*
 * A lock-free map from a driver handle (or an address) to one byte. Most look-ups are a few loads
 * in one cache line. If a line is full, the table grows by a level from mmap that is four times as
 * large, and its entries are copied. Without memory, or in the last level, a new entry may evict
 * another one. An entry never changes into another one, so a handle that is not found must be
 * looked up again in the driver. A fork at any moment leaves the table usable. No CUDA, no
 * recorder. Rejected: a fixed table. With 16,384 streams a table for 8,192 evicted entries. Each
 * launch then called the driver again and defined the stream without its flags.
 */
#ifndef GP_HANDLE_TABLE_H
#define GP_HANDLE_TABLE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* One word for each entry: the handle's low 56 bits above the byte. Handle 0 is never stored. */
#define GP_HANDLE_WAYS 4u
struct gp_handle_bucket {
	_Alignas(32) _Atomic uint64_t words[GP_HANDLE_WAYS];
};

/* Of 11 bits: 8,192, 40,960, 172,032, 696,320 entries. */
#define GP_HANDLE_LEVELS 4u
#define GP_HANDLE_LEVEL_BITS 2u

struct gp_handle_table {
	unsigned bits;		 /* level 0 has 1 << bits buckets */
	unsigned levels;	 /* at most, 1 to GP_HANDLE_LEVELS */
	_Atomic unsigned newest; /* the newest level; older ones were full */
	struct gp_handle_bucket *_Atomic level[GP_HANDLE_LEVELS];
};

/* Defines a table with its first level. */
#define GP_HANDLE_TABLE(name, bits, levels)                        \
	static struct gp_handle_bucket name##_level[1u << (bits)]; \
	static struct gp_handle_table name = { bits, levels, 0, { name##_level } }

/* Number of levels, at least 1. */
static inline unsigned gp_handle_levels(const struct gp_handle_table *table)
{
	/* partner: the release in table_grow; levels are added in order and never removed */
	return atomic_load_explicit(&table->newest, memory_order_acquire) + 1;
}

/* The handle's bucket in an existing level. */
static inline struct gp_handle_bucket *gp_handle_bucket(const struct gp_handle_table *table,
							unsigned k, uint64_t handle)
{
	const unsigned bits = table->bits + GP_HANDLE_LEVEL_BITS * k;
	return &table->level[k][(handle << 8) * 0x9e3779b97f4a7c15u >> (64 - bits)];
}

/* The preferred place of a handle in its bucket. */
static inline unsigned gp_handle_way(uint64_t handle)
{
	return (unsigned)((handle << 8) * 0x9e3779b97f4a7c15u >> 32) % GP_HANDLE_WAYS;
}

/* The handle's word in its newest level, 0: none. */
static inline uint64_t gp_handle_word(const struct gp_handle_table *table, uint64_t handle)
{
	const uint64_t key = handle << 8;
	uint64_t found = 0;
	for (unsigned k = gp_handle_levels(table); key && !found && k-- > 0;) {
		struct gp_handle_bucket *bucket = gp_handle_bucket(table, k, handle);
		const unsigned first = gp_handle_way(handle);
		uint64_t word = atomic_load_explicit(&bucket->words[first], memory_order_relaxed);
		if (__builtin_expect((word ^ key) < 256, 1))
			return word;
		/* compare all others: a branch on the right one would be unpredictable */
		for (unsigned i = 1; i < GP_HANDLE_WAYS; i++) {
			word = atomic_load_explicit(&bucket->words[first ^ i],
						    memory_order_relaxed);
			found |= (word ^ key) < 256 ? word : 0;
		}
	}
	return found;
}

/* The byte stored for `handle`, or -1. */
static inline int gp_handle_find(const struct gp_handle_table *table, uint64_t handle)
{
	const uint64_t word = gp_handle_word(table, handle);
	return word ? (int)(word & 0xff) : -1;
}

/* Whether `handle` is stored with exactly this byte. */
static inline bool gp_handle_has(const struct gp_handle_table *table, uint64_t handle, uint8_t byte)
{
	return gp_handle_find(table, handle) == byte;
}

/* Removes the handle and returns its byte, -1 if there was none. */
int gp_handle_take(const struct gp_handle_table *table, uint64_t handle);
/* Replaces the byte of `handle`, or adds an entry. May map memory. */
void gp_handle_put(struct gp_handle_table *table, uint64_t handle, uint8_t byte);
/*
 * Adds `change` to the byte of an entry. Returns the new byte, or -1: no entry, or outside 0..255.
 * Only for tables of one level, since a copy would keep the old byte.
 */
int gp_handle_add(const struct gp_handle_table *table, uint64_t handle, int change);
/* Keeps the bits of `mask` in the byte of each entry. */
void gp_handle_mask(const struct gp_handle_table *table, uint8_t mask);
void gp_handle_clear(const struct gp_handle_table *table);

#endif
