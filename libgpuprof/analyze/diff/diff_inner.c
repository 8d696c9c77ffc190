/*
 * One pass for each number of frames, highest first. Sorting puts items with that many equal frames
 * side by side.
 */
#include "diff_inner.h"

#include <stdlib.h>

#define TRIED_MOST 256u /* bound on items compared in one run: a line seldom has more callers */

struct place {
	struct gp_inner *item;
	size_t depth; /* number of frames in this pass */
};

static struct gp_identity place_identity(const struct place *place)
{
	return place->item->frame[place->depth - 1];
}

static int place_compare(const void *left, const void *right)
{
	const struct place *a = left, *b = right;
	const int order = gp_identity_order(place_identity(a), place_identity(b));
	if (order)
		return order;
	if (a->item->bytes != b->item->bytes)
		return a->item->bytes > b->item->bytes ? -1 : 1;
	return (a->item > b->item) - (a->item < b->item);
}

static uint64_t place_distance(const struct place *a, const struct place *b)
{
	const uint64_t x = a->item->bytes, y = b->item->bytes;
	return x > y ? x - y : y - x;
}

/* Joins the nearest two items: the second becomes part of the first. */
static bool run_join_nearest(struct place *run, size_t count, const struct gp_inner *first)
{
	size_t into = SIZE_MAX, from = SIZE_MAX;
	for (size_t k = 0; k < count; k++)
		for (size_t i = k + 1; i < count; i++) {
			const bool is_free = run[k].item->into == SIZE_MAX &&
					     run[i].item->into == SIZE_MAX &&
					     !(run[k].item->sides & run[i].item->sides);
			if (!is_free ||
			    (into != SIZE_MAX && place_distance(&run[k], &run[i]) >=
							 place_distance(&run[into], &run[from])))
				continue;
			into = k;
			from = i;
		}
	if (into == SIZE_MAX)
		return false;
	run[from].item->into = (size_t)(run[into].item - first);
	run[into].item->sides |= run[from].item->sides;
	return true;
}

static size_t list_deep(struct gp_inner *item, size_t items, size_t depth, struct place *out)
{
	size_t count = 0;
	for (size_t k = 0; k < items; k++)
		if (item[k].into == SIZE_MAX && item[k].least && item[k].least <= depth &&
		    item[k].frames >= depth)
			out[count++] = (struct place){ &item[k], depth };
	if (count > 1)
		qsort(out, count, sizeof *out, place_compare);
	return count;
}

bool gp_diff_inner_match(struct gp_inner *item, size_t items)
{
	struct place *place = calloc(items + 1, sizeof *place);
	size_t deepest = 0;
	if (place == NULL)
		return false;
	for (size_t k = 0; k < items; k++) {
		item[k].into = SIZE_MAX;
		deepest = item[k].least && item[k].frames > deepest ? item[k].frames : deepest;
	}
	for (size_t depth = deepest; depth > 0; depth--) {
		const size_t count = list_deep(item, items, depth, place);
		for (size_t k = 0, n; k < count; k += n) {
			for (n = 1; k + n < count && n < TRIED_MOST; n++)
				if (!gp_identity_is(place_identity(&place[k]),
						    place_identity(&place[k + n])))
					break;
			while (run_join_nearest(place + k, n, item))
				;
		}
	}
	free(place);
	return true;
}
