/* Rows in an array, their numbers in an open-addressing index. */
#include "use_table.h"

#include <stdlib.h>
#include <string.h>

void gp_use_table_release(struct gp_use_table *t)
{
	free(t->use);
	free(t->place);
	*t = (struct gp_use_table){ .epochs = t->epochs };
}

static size_t epoch_of(const struct gp_use_table *t, const struct gp_use *use)
{
	return use->stack != 0 ? gp_module_epoch(t->epochs, use->at_ns) : 0;
}

static bool is_like(const struct gp_use_table *t, const struct gp_use *a, const struct gp_use *b)
{
	return a->stack == b->stack && a->space == b->space && a->is_segment == b->is_segment &&
	       a->without == b->without && epoch_of(t, a) == epoch_of(t, b);
}

static uint32_t *find(const struct gp_use_table *t, const struct gp_use *like)
{
	uint64_t key = (uint64_t)like->stack << 16 | (uint64_t)like->space << 1 | like->is_segment;
	key ^= (uint64_t)(uintptr_t)like->without << 8 ^ (uint64_t)epoch_of(t, like) << 48;
	for (uint64_t at = key * 0x9e3779b97f4a7c15u >> 20;; at++) {
		uint32_t *place = &t->place[at & (t->places - 1)];
		if (*place == 0 || is_like(t, &t->use[*place - 1], like))
			return place;
	}
}

static bool grow(struct gp_use_table *t)
{
	size_t places = t->places ? t->places * 2 : 128;
	struct gp_use *use = realloc(t->use, places / 2 * sizeof *use);
	if (use == NULL)
		return false;
	t->use = use;
	uint32_t *place = calloc(places, sizeof *place);
	if (place == NULL)
		return false;
	free(t->place);
	t->place = place;
	t->places = places;
	for (size_t k = 0; k < t->uses; k++)
		*find(t, &t->use[k]) = (uint32_t)k + 1;
	return true;
}

struct gp_use *gp_use_table_get(struct gp_use_table *t, const struct gp_use *like)
{
	if (t->uses * 2 >= t->places && !grow(t))
		return NULL;
	uint32_t *place = find(t, like);
	if (*place == 0) {
		t->use[t->uses] = (struct gp_use){ .stack = like->stack,
						   .at_ns = like->at_ns,
						   .without = like->without,
						   .space = like->space,
						   .is_segment = like->is_segment };
		*place = (uint32_t)++t->uses;
	}
	return &t->use[*place - 1];
}

static int compare(const void *left, const void *right)
{
	const struct gp_use *a = left, *b = right;
	if (a->bytes != b->bytes)
		return a->bytes < b->bytes ? 1 : -1;
	if (a->stack != b->stack)
		return a->stack < b->stack ? -1 : 1;
	return (a->space > b->space) - (a->space < b->space);
}

void gp_use_table_sort(struct gp_use_table *t)
{
	if (t->uses > 1)
		qsort(t->use, t->uses, sizeof *t->use, compare);
	free(t->place);
	t->place = NULL;
	t->places = 0;
}
