/*
 * Joins rows whose stacks read alike on one line. So the table has one line for each place in the
 * source, not for each call path.
 */
#include "idle_fold.h"

#include <stdlib.h>
#include <string.h>

/* 0: the rows are joined. */
static int idle_compare_places(const struct gp_idle_row *a, const struct gp_idle_row *b)
{
	const int key = strcmp(a->key, b->key);
	if (key != 0)
		return key;
	if (a->kind != b->kind)
		return a->kind < b->kind ? -1 : 1;
	if (a->device != b->device)
		return a->device < b->device ? -1 : 1;
	if (a->space != b->space)
		return a->space < b->space ? -1 : 1;
	if (a->holder.owner != b->holder.owner)
		return a->holder.owner < b->holder.owner ? -1 : 1;
	return strcmp(a->holder.library, b->holder.library);
}

static int idle_compare_weights(const struct gp_idle_row *a, const struct gp_idle_row *b)
{
	return (a->weight < b->weight) - (a->weight > b->weight);
}

/* Joined rows show the one with the most weight. */
static int idle_by_place(const void *left, const void *right)
{
	const struct gp_idle_row *a = left, *b = right;
	int order = idle_compare_places(a, b);
	order = order != 0 ? order : idle_compare_weights(a, b);
	return order != 0 ? order : (a->stack > b->stack) - (a->stack < b->stack);
}

static int by_weight(const void *left, const void *right)
{
	const int order = idle_compare_weights(left, right);
	return order != 0 ? order : idle_by_place(left, right);
}

static int by_kind(const void *left, const void *right)
{
	const struct gp_idle_row *a = left, *b = right;
	if (a->kind != b->kind)
		return a->kind < b->kind ? -1 : 1;
	if (a->device != b->device)
		return a->device < b->device ? -1 : 1;
	return by_weight(a, b);
}

void gp_idle_sort(struct gp_idle *idle)
{
	for (size_t d = 0; d < idle->devices; d++)
		if (idle->device[d].rows > 1)
			qsort(idle->device[d].row, idle->device[d].rows,
			      sizeof *idle->device[d].row, by_weight);
	if (idle->wastes > 1)
		qsort(idle->waste, idle->wastes, sizeof *idle->waste, by_kind);
}

static size_t fold_rows(struct gp_idle_row *row, size_t rows)
{
	size_t kept = 0;
	if (rows > 1)
		qsort(row, rows, sizeof *row, idle_by_place);
	for (size_t k = 0; k < rows; k++) {
		struct gp_idle_row *to = kept ? &row[kept - 1] : NULL, *from = &row[k];
		if (to == NULL || idle_compare_places(to, from) != 0) {
			row[kept++] = *from;
			continue;
		}
		to->bytes += from->bytes;
		to->count += from->count;
		to->stacks += from->stacks;
		to->weight += from->weight;
		free(from->key);
	}
	return kept;
}

void gp_idle_fold(struct gp_idle *idle)
{
	for (size_t d = 0; d < idle->devices; d++)
		idle->device[d].rows = fold_rows(idle->device[d].row, idle->device[d].rows);
	idle->wastes = fold_rows(idle->waste, idle->wastes);
	gp_idle_sort(idle);
}
