/* Growing: the places are made anew from their hashes. */
#include "row_table.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define PLACES_MIN 128u
#define PLACES_MAX 0x80000000u

static void put(struct gp_row_table *t, struct gp_row_place place)
{
	uint32_t at = place.hash & (t->places - 1);
	while (t->place[at].row != 0)
		at = (at + 1) & (t->places - 1);
	t->place[at] = place;
}

static bool grow(struct gp_row_table *t, size_t bytes)
{
	if (t->places == PLACES_MAX)
		return false;
	const uint32_t before = t->places, places = before != 0 ? before * 2 : PLACES_MIN;
	void *row = realloc(t->row, places / 2 * bytes);
	if (row == NULL)
		return false;
	t->row = row;
	struct gp_row_place *old = t->place, *place = calloc(places, sizeof *place);
	if (place == NULL)
		return false;
	t->place = place;
	t->places = places;
	t->room = places / 2;
	for (uint32_t k = 0; k < before; k++)
		if (old[k].row != 0)
			put(t, old[k]);
	free(old);
	return true;
}

void *gp_row_add(struct gp_row_table *t, size_t bytes, uint32_t hash)
{
	if (t->rows == t->room && !grow(t, bytes))
		return NULL;
	void *row = (char *)t->row + t->rows * bytes;
	memset(row, 0, bytes);
	put(t, (struct gp_row_place){ hash, ++t->rows });
	return row;
}

void gp_row_sort(struct gp_row_table *t, size_t bytes,
		 int (*compare)(const void *left, const void *right))
{
	if (t->rows > 1)
		qsort(t->row, t->rows, bytes, compare);
	free(t->place);
	t->place = NULL;
	t->places = 0;
	t->room = t->rows;
}

void gp_row_table_release(struct gp_row_table *t)
{
	free(t->row);
	free(t->place);
	*t = (struct gp_row_table){ 0 };
}
