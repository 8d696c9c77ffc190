/* Rows in an array, their numbers in an open-addressing index. */
#include "touch_rows.h"

#include <stdlib.h>
#include <string.h>

#include "live_uses.h"

void gp_touch_rows_release(struct gp_touch_rows *t)
{
	free(t->row);
	free(t->place);
	*t = (struct gp_touch_rows){ 0 };
}

static uint32_t *find(const struct gp_touch_rows *t, const struct gp_touch_part *part)
{
	uint64_t key = (uint64_t)part->stack << 8 | part->space;
	for (uint64_t at = key * 0x9e3779b97f4a7c15u >> 20;; at++) {
		uint32_t *place = &t->place[at & (t->places - 1)];
		const struct gp_touch_part *there = *place ? &t->row[*place - 1].largest : NULL;
		if (there == NULL || (there->stack == part->stack && there->space == part->space))
			return place;
	}
}

static bool grow(struct gp_touch_rows *t)
{
	size_t places = t->places ? t->places * 2 : 64;
	struct gp_touch_row *row = realloc(t->row, places / 2 * sizeof *row);
	if (row == NULL)
		return false;
	t->row = row;
	uint32_t *place = calloc(places, sizeof *place);
	if (place == NULL)
		return false;
	free(t->place);
	t->place = place;
	t->places = places;
	for (size_t k = 0; k < t->rows; k++)
		*find(t, &t->row[k].largest) = (uint32_t)k + 1;
	return true;
}

bool gp_touch_rows_add(struct gp_touch_rows *t, const struct gp_touch_part *part)
{
	if (t->rows * 2 >= t->places && !grow(t))
		return false;
	uint32_t *place = find(t, part);
	if (*place == 0) {
		t->row[t->rows] = (struct gp_touch_row){ .largest = *part };
		*place = (uint32_t)++t->rows;
	}
	struct gp_touch_row *row = &t->row[*place - 1];
	row->bytes += part->bytes;
	row->count++;
	row->weight += part->weight;
	if (part->weight > row->largest.weight)
		row->largest = *part;
	return true;
}

static int compare(const void *left, const void *right)
{
	const struct gp_touch_row *a = left, *b = right;
	if (a->weight != b->weight)
		return a->weight < b->weight ? 1 : -1;
	if (a->bytes != b->bytes)
		return a->bytes < b->bytes ? 1 : -1;
	if (a->largest.stack != b->largest.stack)
		return a->largest.stack < b->largest.stack ? -1 : 1;
	return (a->largest.space > b->largest.space) - (a->largest.space < b->largest.space);
}

void gp_touch_rows_sort(struct gp_touch_rows *t)
{
	if (t->rows > 1)
		qsort(t->row, t->rows, sizeof *t->row, compare);
	free(t->place);
	t->place = NULL;
	t->places = 0;
}

char *gp_touch_key(struct gp_recording *recording, uint32_t stack, int64_t at_ns,
		   const char **without)
{
	const struct gp_grouping by_stack = { .by = GP_BY_STACK };
	struct gp_use use = gp_use_like(recording, stack, GP_SPACE_NONE, at_ns);
	struct gp_groups groups;
	char *key = NULL;
	use.bytes = use.count = 1;
	if (without != NULL)
		*without = use.without;
	if (gp_groups_build(recording, &use, 1, &by_stack, &groups) != GP_OK)
		return NULL;
	if (groups.groups > 0)
		key = strdup(groups.group[0].key);
	gp_groups_free(&groups);
	return key ? key : strdup("");
}
