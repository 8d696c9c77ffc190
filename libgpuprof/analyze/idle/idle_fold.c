/*
 * Rows whose stacks read alike on one line become one, so that a table for a person has a line a
 * place in the source, not one for each way there.
 */
#include <stdlib.h>
#include <string.h>

#include "../../gpuprof.h"

static int compare_owners(const struct gp_idle_whose *a, const struct gp_idle_whose *b)
{
	if (a->owner != b->owner)
		return a->owner < b->owner ? -1 : 1;
	return strcmp(a->library, b->library);
}

/* ---- at the peak ---- */

static int by_key(const void *left, const void *right)
{
	const struct gp_idle_row *a = left, *b = right;
	int key = strcmp(a->key, b->key);
	if (key != 0)
		return key;
	if (a->state != b->state)
		return a->state < b->state ? -1 : 1;
	if (a->space != b->space)
		return a->space < b->space ? -1 : 1;
	int owner = compare_owners(&a->whose, &b->whose);
	if (owner != 0)
		return owner;
	/* the one with the most weight is the one that is shown */
	if (a->byte_launches != b->byte_launches)
		return a->byte_launches < b->byte_launches ? 1 : -1;
	return (a->stack > b->stack) - (a->stack < b->stack);
}

static int by_weight(const void *left, const void *right)
{
	const struct gp_idle_row *a = left, *b = right;
	if (a->byte_launches != b->byte_launches)
		return a->byte_launches < b->byte_launches ? 1 : -1;
	return by_key(left, right);
}

static void fold_rows(struct gp_idle_device *d)
{
	size_t kept = 0;
	if (d->rows < 2)
		return;
	qsort(d->row, d->rows, sizeof *d->row, by_key);
	for (size_t k = 0; k < d->rows; k++) {
		struct gp_idle_row *to = kept ? &d->row[kept - 1] : NULL, *from = &d->row[k];
		if (to == NULL || to->state != from->state || to->space != from->space ||
		    compare_owners(&to->whose, &from->whose) != 0 ||
		    strcmp(to->key, from->key) != 0) {
			d->row[kept++] = *from;
			continue;
		}
		to->bytes += from->bytes;
		to->count += from->count;
		to->stacks += from->stacks;
		to->byte_launches += from->byte_launches;
		free(from->key);
	}
	d->rows = kept;
	qsort(d->row, d->rows, sizeof *d->row, by_weight);
}

/* ---- over the run ---- */

static int by_waste_key(const void *left, const void *right)
{
	const struct gp_waste_row *a = left, *b = right;
	if (a->waste != b->waste)
		return a->waste < b->waste ? -1 : 1;
	if (a->device != b->device)
		return a->device < b->device ? -1 : 1;
	int key = strcmp(a->key, b->key);
	if (key != 0)
		return key;
	if (a->space != b->space)
		return a->space < b->space ? -1 : 1;
	int owner = compare_owners(&a->whose, &b->whose);
	if (owner != 0)
		return owner;
	if (a->weight != b->weight)
		return a->weight < b->weight ? 1 : -1;
	return (a->stack > b->stack) - (a->stack < b->stack);
}

static int by_waste(const void *left, const void *right)
{
	const struct gp_waste_row *a = left, *b = right;
	if (a->waste != b->waste)
		return a->waste < b->waste ? -1 : 1;
	if (a->device != b->device)
		return a->device < b->device ? -1 : 1;
	if (a->weight != b->weight)
		return a->weight < b->weight ? 1 : -1;
	return by_waste_key(left, right);
}

static void fold_wastes(struct gp_idle *idle)
{
	size_t kept = 0;
	if (idle->wastes < 2)
		return;
	qsort(idle->waste, idle->wastes, sizeof *idle->waste, by_waste_key);
	for (size_t k = 0; k < idle->wastes; k++) {
		struct gp_waste_row *to = kept ? &idle->waste[kept - 1] : NULL,
				    *from = &idle->waste[k];
		if (to == NULL || to->waste != from->waste || to->device != from->device ||
		    to->space != from->space || compare_owners(&to->whose, &from->whose) != 0 ||
		    strcmp(to->key, from->key) != 0) {
			idle->waste[kept++] = *from;
			continue;
		}
		to->bytes += from->bytes;
		to->count += from->count;
		to->stacks += from->stacks;
		to->weight += from->weight;
		free(from->key);
	}
	idle->wastes = kept;
	qsort(idle->waste, idle->wastes, sizeof *idle->waste, by_waste);
}

void gp_idle_fold(struct gp_idle *idle)
{
	for (size_t d = 0; d < idle->devices; d++)
		fold_rows(&idle->device[d]);
	fold_wastes(idle);
}
