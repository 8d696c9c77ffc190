/* A row is a stack and a kind of memory. */
#include "touch_rows.h"

#include <stdlib.h>
#include <string.h>

#include "../groups/live_uses.h"

static struct gp_touch_row *row_of(struct gp_row_table *t, const struct gp_touch_part *part)
{
	const uint32_t hash = gp_row_hash((uint64_t)part->stack << 8 | part->space);
	struct gp_touch_row *row = t->row;
	for (uint32_t step = 0, at; (at = gp_row_next(t, hash, &step)) != 0;) {
		const struct gp_touch_part *there = &row[at - 1].largest;
		if (there->stack == part->stack && there->space == part->space)
			return &row[at - 1];
	}
	row = gp_row_add(t, sizeof *row, hash);
	if (row != NULL)
		row->largest = *part;
	return row;
}

bool gp_touch_rows_add(struct gp_row_table *t, const struct gp_touch_part *part)
{
	struct gp_touch_row *row = row_of(t, part);
	if (row == NULL)
		return false;
	row->bytes += part->bytes;
	row->count++;
	row->of_last_half += part->is_of_last_half;
	row->weight += part->weight;
	if (part->weight > row->largest.weight)
		row->largest = *part;
	return true;
}

static int touch_rows_compare(const void *left, const void *right)
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

void gp_touch_rows_sort(struct gp_row_table *t)
{
	gp_row_sort(t, sizeof(struct gp_touch_row), touch_rows_compare);
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
