/*
 * Growth of tables, and operations on all entries. Uses only memory from mmap, which forked
 * children keep.
 */
#include "handle_table.h"

#include <errno.h>
#include <sys/mman.h>

static bool handle_table_is_of(uint64_t word, uint64_t handle)
{
	return word >> 8 == (handle & UINT64_MAX >> 8);
}

/* The handle's entry in the newest level that has one, and its word; NULL: none. */
static _Atomic uint64_t *table_entry(const struct gp_handle_table *table, uint64_t handle,
				     uint64_t *word)
{
	for (unsigned k = gp_handle_levels(table); handle && k-- > 0;) {
		struct gp_handle_bucket *bucket = gp_handle_bucket(table, k, handle);
		for (unsigned way = 0; way < GP_HANDLE_WAYS; way++) {
			*word = atomic_load(&bucket->words[way]);
			if (handle_table_is_of(*word, handle))
				return &bucket->words[way];
		}
	}
	return NULL;
}

/* Returns the entry that now holds the word; NULL: the bucket is full. */
static _Atomic uint64_t *bucket_add(struct gp_handle_bucket *bucket, uint64_t word)
{
	const unsigned first = gp_handle_way(word >> 8);
	for (unsigned i = 0; i < GP_HANDLE_WAYS; i++) {
		uint64_t none = 0;
		if (atomic_compare_exchange_strong(&bucket->words[first ^ i], &none, word))
			return &bucket->words[first ^ i];
	}
	return NULL;
}

/* Copies a level to the new one, so that most look-ups succeed there. */
static void level_copy(struct gp_handle_table *table, unsigned k)
{
	struct gp_handle_bucket *from = gp_handle_bucket(table, k - 1, 0);
	const size_t entries = (size_t)GP_HANDLE_WAYS
			       << (table->bits + GP_HANDLE_LEVEL_BITS * (k - 1));
	for (size_t i = 0; i < entries; i++) {
		_Atomic uint64_t *old = &from[i / GP_HANDLE_WAYS].words[i % GP_HANDLE_WAYS];
		uint64_t word = atomic_load(old), seen;
		if (!word || table_entry(table, word >> 8, &seen) != old)
			continue;
		_Atomic uint64_t *copy = bucket_add(gp_handle_bucket(table, k, word >> 8), word);
		/* partners: gp_handle_put and _take, which look again after their stores */
		if (copy && atomic_load(old) != word)
			atomic_compare_exchange_strong(copy, &word, 0);
	}
}

/* Adds a level after level `k`, the newest one seen; false: out of memory. */
static bool table_grow(struct gp_handle_table *table, unsigned k)
{
	const int error = errno;
	const size_t bytes = sizeof(struct gp_handle_bucket)
			     << (table->bits + GP_HANDLE_LEVEL_BITS * (k + 1));
	void *pages = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct gp_handle_bucket *none = NULL;
	errno = error;
	if (pages == MAP_FAILED)
		return false;
	const bool is_mine = atomic_compare_exchange_strong(&table->level[k + 1], &none, pages);
	/* partner: the acquire in gp_handle_levels; the first thread may be missing after a fork */
	unsigned newest = k;
	atomic_compare_exchange_strong(&table->newest, &newest, k + 1);
	if (is_mine)
		level_copy(table, k + 1);
	else
		munmap(pages, bytes);
	return true;
}

/* Returns a new entry for a handle that has none. */
static _Atomic uint64_t *table_add(struct gp_handle_table *table, uint64_t word)
{
	for (;;) {
		const unsigned k = gp_handle_levels(table) - 1;
		struct gp_handle_bucket *bucket = gp_handle_bucket(table, k, word >> 8);
		_Atomic uint64_t *entry = bucket_add(bucket, word);
		if (entry)
			return entry;
		if (k + 1 == table->levels || !table_grow(table, k))
			return &bucket->words[gp_handle_way(word >> 8)];
	}
}

void gp_handle_put(struct gp_handle_table *table, uint64_t handle, uint8_t byte)
{
	const uint64_t word = handle << 8 | byte;
	uint64_t seen;
	if (!handle)
		return;
	_Atomic uint64_t *entry = table_entry(table, handle, &seen), *stored;
	if (!entry)
		entry = table_add(table, word);
	/* partner: level_copy, which may have copied the old word */
	do {
		stored = entry;
		atomic_store(stored, word);
		entry = table_entry(table, handle, &seen);
	} while (entry && entry != stored);
}

int gp_handle_take(const struct gp_handle_table *table, uint64_t handle)
{
	_Atomic uint64_t *entry;
	uint64_t word;
	int byte = -1;
	/* two threads may have put it at once, and older levels keep copies */
	while ((entry = table_entry(table, handle, &word))) {
		if (atomic_compare_exchange_strong(entry, &word, 0) && byte < 0)
			byte = (int)(word & 0xff);
	}
	return byte;
}

int gp_handle_add(const struct gp_handle_table *table, uint64_t handle, int change)
{
	uint64_t word = 0;
	_Atomic uint64_t *entry = table_entry(table, handle, &word);
	while (entry && handle_table_is_of(word, handle)) {
		int byte = (int)(word & 0xff) + change;
		if (byte < 0 || byte > 255)
			return -1;
		if (atomic_compare_exchange_weak(entry, &word, handle << 8 | (uint64_t)byte))
			return byte;
	}
	return -1;
}

static void mask_level(struct gp_handle_bucket *level, unsigned bits, uint64_t mask)
{
	for (unsigned b = 0; b < 1u << bits; b++)
		for (unsigned way = 0; way < GP_HANDLE_WAYS; way++) {
			_Atomic uint64_t *entry = &level[b].words[way];
			uint64_t word = atomic_load_explicit(entry, memory_order_relaxed);
			if (word & ~mask)
				atomic_compare_exchange_strong_explicit(entry, &word, word & mask,
									memory_order_relaxed,
									memory_order_relaxed);
		}
}

static void mask_all(const struct gp_handle_table *table, uint64_t mask)
{
	for (unsigned k = 0; k < gp_handle_levels(table); k++)
		mask_level(table->level[k], table->bits + GP_HANDLE_LEVEL_BITS * k, mask);
}

void gp_handle_mask(const struct gp_handle_table *table, uint8_t mask)
{
	mask_all(table, ~UINT64_C(0xff) | mask);
}

void gp_handle_clear(const struct gp_handle_table *table)
{
	mask_all(table, 0);
}
