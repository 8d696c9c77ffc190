/*
 * The hash table of the reader and the analyses. An index maps hashes to row numbers: open
 * addressing, at most half full. A place also stores bits of the hash. So a search compares few
 * rows, and growing and removing compare none. On top of it is a table: an array of rows that
 * grows, with its index. The caller defines equality of rows and their hash. Rows that begin with a
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

/* Starts as zeros: empty. */
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
 * 1 + number of the next row with this hash, which the caller compares; 0: none. `*step` is 0 at
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

/* Makes room for `more`; false: out of memory, or more than 2^30. */
bool gp_row_index_reserve(struct gp_row_index *index, uint32_t more);
/* `row`: 1 + its number. False: as above; never after gp_row_index_reserve. */
bool gp_row_index_add(struct gp_row_index *index, uint32_t hash, uint32_t row);
/* Removes a row that was added with this hash. */
void gp_row_index_drop(struct gp_row_index *index, uint32_t hash, uint32_t row);
void gp_row_index_release(struct gp_row_index *index);

/* Makes room for `more` rows. False: out of memory; the rows may have moved. */
bool gp_row_reserve(struct gp_row_table *table, size_t bytes, uint32_t more);
/*
 * Adds a row of zeros at the end, under this hash. `bytes`: size of a row, always the same. NULL:
 * out of memory, never after gp_row_reserve.
 */
void *gp_row_add(struct gp_row_table *table, size_t bytes, uint32_t hash);
/* Sorts the rows. After that, rows can neither be found nor added. */
void gp_row_sort(struct gp_row_table *table, size_t bytes,
		 int (*compare)(const void *left, const void *right));
/* Removes all rows, keeps the memory. */
void gp_row_table_clear(struct gp_row_table *table);
/* Resets the table to zeros. */
void gp_row_table_release(struct gp_row_table *table);

/* ---- rows that begin with a uint64_t key, added with gp_row_hash of it ---- */

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
/* The row with this key; adds one of zeros at the end if there is none. NULL: out of memory. */
void *gp_row_get_key(struct gp_row_table *table, size_t bytes, uint64_t key);
/* Removes a row. The last row takes its place. */
void gp_row_drop_key(struct gp_row_table *table, size_t bytes, void *row);

#endif
