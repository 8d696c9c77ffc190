/* The sums of a row stay when it shows a larger part. */
#include "touch_rows.h"

#include <string.h>

#include "../groups/live_uses.h"

static struct gp_touch_row *row_of(struct gp_row_table *t, const struct gp_idle_row *part)
{
	const uint64_t kind = (uint64_t)part->kind << 40 | (uint64_t)part->device << 8;
	const uint32_t hash = gp_row_hash(gp_hash_pair(part->stack, kind | part->space));
	struct gp_touch_row *row = t->row;
	for (uint32_t step = 0, at; (at = gp_row_next(t, hash, &step)) != 0;) {
		const struct gp_idle_row *there = &row[at - 1].row;
		if (there->stack == part->stack && there->space == part->space &&
		    there->device == part->device && there->kind == part->kind)
			return &row[at - 1];
	}
	row = gp_row_add(t, sizeof *row, hash);
	if (row != NULL)
		*row = (struct gp_touch_row){ .largest = -1 };
	return row;
}

bool gp_touch_rows_add(struct gp_row_table *t, const struct gp_idle_row *part, bool is_of_last_half)
{
	struct gp_touch_row *row = row_of(t, part);
	if (row == NULL)
		return false;
	const struct gp_idle_row sums = row->row;
	if (part->weight > row->largest) {
		row->row = *part;
		row->largest = part->weight;
		row->row.largest_bytes = part->bytes;
	}
	row->row.stacks = 1;
	row->row.bytes = sums.bytes + part->bytes;
	row->row.count = sums.count + 1;
	row->row.weight = sums.weight + part->weight;
	row->of_last_half += is_of_last_half;
	return true;
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
