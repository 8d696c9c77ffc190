/* Growing rebuilds the places from their hashes. Removing moves displaced places up. */
#include "row_table.h"

#include <stdlib.h>
#include <string.h>

#define PLACES_MIN 128u
#define PLACES_MAX 0x80000000u
#define ROWS_MIN 64u

/* ---- the index ---- */

static void index_put(struct gp_row_index *x, struct gp_row_place place)
{
	uint32_t at = place.hash & (x->places - 1);
	while (x->place[at].row != 0)
		at = (at + 1) & (x->places - 1);
	x->place[at] = place;
}

bool gp_row_index_reserve(struct gp_row_index *x, uint32_t more)
{
	uint32_t places = x->places != 0 ? x->places : PLACES_MIN;
	while (places < PLACES_MAX && (uint64_t)x->used + more > places / 2)
		places *= 2;
	if ((uint64_t)x->used + more > places / 2)
		return false;
	if (places == x->places)
		return true;
	struct gp_row_index grown = { calloc(places, sizeof *grown.place), places, x->used };
	if (grown.place == NULL)
		return false;
	for (uint32_t k = 0; k < x->places; k++)
		if (x->place[k].row != 0)
			index_put(&grown, x->place[k]);
	free(x->place);
	*x = grown;
	return true;
}

bool gp_row_index_add(struct gp_row_index *x, uint32_t hash, uint32_t row)
{
	if (!gp_row_index_reserve(x, 1))
		return false;
	index_put(x, (struct gp_row_place){ hash, row });
	x->used++;
	return true;
}

static struct gp_row_place *index_place(const struct gp_row_index *x, uint32_t hash, uint32_t row)
{
	uint32_t at = hash & (x->places - 1);
	while (x->place[at].row != row)
		at = (at + 1) & (x->places - 1);
	return &x->place[at];
}

/* Knuth, TAOCP 3, 6.4, algorithm R. */
void gp_row_index_drop(struct gp_row_index *x, uint32_t hash, uint32_t row)
{
	const uint32_t mask = x->places - 1;
	uint32_t hole = (uint32_t)(index_place(x, hash, row) - x->place);
	for (uint32_t at = (hole + 1) & mask; x->place[at].row != 0; at = (at + 1) & mask) {
		/* it may move to the hole unless its home lies behind the hole */
		if (((at - x->place[at].hash) & mask) < ((at - hole) & mask))
			continue;
		x->place[hole] = x->place[at];
		hole = at;
	}
	x->place[hole].row = 0;
	x->used--;
}

void gp_row_index_release(struct gp_row_index *x)
{
	free(x->place);
	*x = (struct gp_row_index){ 0 };
}

/* ---- rows ---- */

bool gp_row_reserve(struct gp_row_table *t, size_t bytes, uint32_t more)
{
	if (t->room - t->rows < more) {
		const uint32_t room = t->room + (t->room > more ? t->room : more + ROWS_MIN);
		void *row = room > t->room ? realloc(t->row, room * bytes) : NULL;
		if (row == NULL)
			return false;
		t->row = row;
		t->room = room;
	}
	return gp_row_index_reserve(&t->index, more);
}

void *gp_row_add(struct gp_row_table *t, size_t bytes, uint32_t hash)
{
	if (!gp_row_reserve(t, bytes, 1))
		return NULL;
	void *row = (char *)t->row + t->rows * bytes;
	gp_row_index_add(&t->index, hash, ++t->rows);
	return memset(row, 0, bytes);
}

void gp_row_sort(struct gp_row_table *t, size_t bytes,
		 int (*compare)(const void *left, const void *right))
{
	if (t->rows > 1)
		qsort(t->row, t->rows, bytes, compare);
	gp_row_index_release(&t->index);
}

void gp_row_table_clear(struct gp_row_table *t)
{
	if (t->index.places != 0)
		memset(t->index.place, 0, t->index.places * sizeof *t->index.place);
	t->index.used = t->rows = 0;
}

void gp_row_table_release(struct gp_row_table *t)
{
	free(t->row);
	gp_row_index_release(&t->index);
	*t = (struct gp_row_table){ 0 };
}

void *gp_row_get_key(struct gp_row_table *t, size_t bytes, uint64_t key)
{
	void *row = gp_row_of_key(t, bytes, key);
	if (row != NULL)
		return row;
	row = gp_row_add(t, bytes, gp_row_hash(key));
	if (row != NULL)
		*(uint64_t *)row = key;
	return row;
}

void gp_row_drop_key(struct gp_row_table *t, size_t bytes, void *row)
{
	const uint32_t number = (uint32_t)(((char *)row - (char *)t->row) / (ptrdiff_t)bytes) + 1;
	const void *last = (char *)t->row + (t->rows - 1) * bytes;
	gp_row_index_drop(&t->index, gp_row_hash(*(uint64_t *)row), number);
	if (number != t->rows) {
		index_place(&t->index, gp_row_hash(*(const uint64_t *)last), t->rows)->row = number;
		memcpy(row, last, bytes);
	}
	t->rows--;
}
