/*
 * Rows that are found by what they are about: an array that grows, and an index of their numbers.
 * What makes two of them the same, and how that is hashed, is their owner's. Open addressing, at
 * most half full; a place has bits of the hash too, so that a search looks at few rows and growing
 * looks at none. Rows move when one is added.
 */
#ifndef GP_ROW_TABLE_H
#define GP_ROW_TABLE_H

#include <stddef.h>
#include <stdint.h>

#include "../format/seeded_hash.h"

struct gp_row_place {
	uint32_t hash;
	uint32_t row; /* 1 + its number; 0: empty */
};

struct gp_row_table {
	void *row;
	uint32_t rows, room;
	struct gp_row_place *place;
	uint32_t places; /* a power of two */
};

static inline uint32_t gp_row_hash(uint64_t key)
{
	return (uint32_t)gp_hash_number(key);
}

/*
 * 1 + number of a row that has this hash and may be the one, 0: there is no more. `*step` is 0 at
 * first.
 */
static inline uint32_t gp_row_next(const struct gp_row_table *t, uint32_t hash, uint32_t *step)
{
	if (__builtin_expect(t->places == 0, 0))
		return 0;
	for (;;) {
		const struct gp_row_place *p = &t->place[(hash + (*step)++) & (t->places - 1)];
		if (p->row == 0 || p->hash == hash)
			return p->row;
	}
}

/*
 * A row of zeros behind the others, found by this hash from now on; `bytes` of one, always the
 * same. NULL: no memory.
 */
void *gp_row_add(struct gp_row_table *table, size_t bytes, uint32_t hash);
/* In that order. They are not found any more, and none can be added. */
void gp_row_sort(struct gp_row_table *table, size_t bytes,
		 int (*compare)(const void *left, const void *right));
/* It is as at first. */
void gp_row_table_release(struct gp_row_table *table);

#endif
