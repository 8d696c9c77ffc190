/* Equality of uses. An address that had several meanings gives a use for each of them. */
#include "use_table.h"

#include <stdlib.h>
#include <string.h>

void gp_use_table_release(struct gp_use_table *t)
{
	gp_row_table_release(&t->rows);
}

static size_t epoch_of(const struct gp_use_table *t, const struct gp_use *use)
{
	return use->stack != 0 ? gp_module_epoch(t->epochs, use->at_ns) : 0;
}

static bool is_like(const struct gp_use_table *t, const struct gp_use *a, const struct gp_use *b)
{
	return a->stack == b->stack && a->space == b->space && a->is_segment == b->is_segment &&
	       a->without == b->without && a->range == b->range && a->rule == b->rule &&
	       epoch_of(t, a) == epoch_of(t, b);
}

static uint32_t use_table_hash_of(const struct gp_use_table *t, const struct gp_use *like)
{
	uint64_t key = (uint64_t)like->stack << 16 | (uint64_t)like->space << 1 | like->is_segment;
	key = gp_hash_pair(key, (uintptr_t)like->without);
	key = gp_hash_pair(key, (uintptr_t)like->range);
	key = gp_hash_pair(key, like->rule);
	return gp_row_hash(gp_hash_pair(key, epoch_of(t, like)));
}

struct gp_use *gp_use_table_get(struct gp_use_table *t, const struct gp_use *like)
{
	const uint32_t hash = use_table_hash_of(t, like);
	struct gp_use *use = t->rows.row;
	for (uint32_t step = 0, at; (at = gp_row_next(&t->rows, hash, &step)) != 0;)
		if (is_like(t, &use[at - 1], like))
			return &use[at - 1];
	use = gp_row_add(&t->rows, sizeof *use, hash);
	if (use != NULL)
		*use = (struct gp_use){ .stack = like->stack,
					.at_ns = like->at_ns,
					.without = like->without,
					.space = like->space,
					.is_segment = like->is_segment,
					.range = like->range,
					.rule = like->rule };
	return use;
}

static int use_table_compare(const void *left, const void *right)
{
	const struct gp_use *a = left, *b = right;
	if (a->bytes != b->bytes)
		return a->bytes < b->bytes ? 1 : -1;
	if (a->stack != b->stack)
		return a->stack < b->stack ? -1 : 1;
	return (a->space > b->space) - (a->space < b->space);
}

struct gp_use *gp_use_table_take(struct gp_use_table *t, size_t *uses)
{
	gp_row_sort(&t->rows, sizeof(struct gp_use), use_table_compare);
	struct gp_use *use = t->rows.row;
	*uses = t->rows.rows;
	t->rows = (struct gp_row_table){ 0 };
	return use;
}

static int compare_stacks(const void *left, const void *right)
{
	const struct gp_use *a = left, *b = right;
	return a->stack != b->stack ? (a->stack > b->stack) - (a->stack < b->stack) :
				      use_table_compare(left, right);
}

struct gp_use *gp_uses_by_stack(const struct gp_use *use, size_t uses)
{
	struct gp_use *sorted = malloc((uses + 1) * sizeof *sorted);
	if (sorted == NULL)
		return NULL;
	if (uses > 0)
		memcpy(sorted, use, uses * sizeof *sorted);
	if (uses > 1)
		qsort(sorted, uses, sizeof *sorted, compare_stacks);
	return sorted;
}
