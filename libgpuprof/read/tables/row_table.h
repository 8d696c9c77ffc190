/*
 * The hash table of the reader and the analyses. An index of row numbers by hash, open addressing,
 * at most half full; a place has bits of the hash too, so that a search looks at few rows, and
 * growing and removing look at none. Above it a table: an array of rows that grows, with its index.
 * What makes two rows the same, and how that is hashed, is their owner's; rows that begin with a
 * key of 64 bits are compared by it. Rows move when one is added or removed.
 */
#ifndef GP_ROW_TABLE_H
#define GP_ROW_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../../format/seeded_hash.h"

struct gp_row_place {
	uint32_t hash;
	uint32_t row; /* 1 + its number; 0: empty */
};

/* Zeroed: empty. */
struct gp_row_index {
	struct gp_row_place *place;
	uint32_t places, used; /* places: a power of two */
};

struct gp_row_table {
	void *row;
	uint32_t rows, room;
	struct gp_row_index index;
};

static inline uint32_t gp_row_hash(uint64_t key)
{
	return (uint32_t)gp_hash_number(key);
}

/*
 * 1 + number of a row that has this hash and may be the one, 0: there is no more. `*step` is 0 at
 * first.
 */
static inline uint32_t gp_row_index_next(const struct gp_row_index *x, uint32_t hash,
					 uint32_t *step)
{
	if (__builtin_expect(x->places == 0, 0))
		return 0;
	for (;;) {
		const struct gp_row_place *p = &x->place[(hash + (*step)++) & (x->places - 1)];
		if (p->row == 0 || p->hash == hash)
			return p->row;
	}
}
static inline uint32_t gp_row_next(const struct gp_row_table *t, uint32_t hash, uint32_t *step)
{
	return gp_row_index_next(&t->index, hash, step);
}

/* Room for so many more; false: no memory, or more than 2^30. */
bool gp_row_index_reserve(struct gp_row_index *index, uint32_t more);
/* `row`: 1 + its number. False: as above; never after gp_row_index_reserve. */
bool gp_row_index_add(struct gp_row_index *index, uint32_t hash, uint32_t row);
/* A row that was added with this hash. */
void gp_row_index_drop(struct gp_row_index *index, uint32_t hash, uint32_t row);
void gp_row_index_release(struct gp_row_index *index);

/* Room for so many more. False: no memory; the rows may have moved. */
bool gp_row_reserve(struct gp_row_table *table, size_t bytes, uint32_t more);
/*
 * A row of zeros behind the others, found by this hash from now on; `bytes` of one, always the
 * same. NULL: no memory, never after gp_row_reserve.
 */
void *gp_row_add(struct gp_row_table *table, size_t bytes, uint32_t hash);
/* In that order. They are not found any more, and none can be added. */
void gp_row_sort(struct gp_row_table *table, size_t bytes,
		 int (*compare)(const void *left, const void *right));
/* Keeps its room. */
void gp_row_table_clear(struct gp_row_table *table);
/* It is as at first. */
void gp_row_table_release(struct gp_row_table *table);

/* ---- rows that begin with a uint64_t, their key, and are added with gp_row_hash of it ---- */

/* NULL: there is none. */
static inline void *gp_row_of_key(const struct gp_row_table *t, size_t bytes, uint64_t key)
{
	const uint32_t hash = gp_row_hash(key);
	for (uint32_t step = 0, at; (at = gp_row_next(t, hash, &step)) != 0;) {
		void *row = (char *)t->row + (at - 1) * bytes;
		if (*(const uint64_t *)row == key)
			return row;
	}
	return NULL;
}
/* The row of this key, made of zeros behind it when there is none. NULL: no memory. */
void *gp_row_get_key(struct gp_row_table *table, size_t bytes, uint64_t key);
/* The last row takes its place. */
void gp_row_drop_key(struct gp_row_table *table, size_t bytes, void *row);

#endif
