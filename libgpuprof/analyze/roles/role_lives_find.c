/*
 * Finds the life of an allocation by its order: the run of orders that it lies in, then the bit of
 * its event, whose rank among the set bits is the index of the life.
 */
#include <stdlib.h>

#include "../../read/tables/row_rank.h"
#include "role_lives.h"

void gp_role_lives_release(struct gp_role_lives *l)
{
	free(l->life);
	free(l->made);
	free(l->run);
	free(l->backward_end);
	free(l->reuse);
	gp_row_table_release(&l->gradient_sizes);
	gp_row_table_release(&l->early_sizes);
	*l = (struct gp_role_lives){ 0 };
}

uint64_t gp_role_backward_end(const struct gp_role_lives *l, uint64_t order)
{
	const size_t at =
		gp_row_rank(l->backward_end, l->backward_ends, sizeof *l->backward_end, order + 1);
	return at < l->backward_ends ? l->backward_end[at] : UINT64_MAX;
}

struct gp_life gp_role_life(const struct gp_role_lives *l, uint64_t order)
{
	const size_t behind = gp_row_rank(l->run, l->runs, sizeof *l->run, order);
	const struct gp_life_run *run = behind > 0 ? &l->run[behind - 1] : NULL;
	if (run == NULL || order - run->order >= run->count)
		return (struct gp_life){ 0 };
	const size_t event = run->first + (size_t)(order - run->order);
	const struct gp_life_made *made = &l->made[event / GP_LIFE_MADE_EVENTS];
	const uint64_t bit = UINT64_C(1) << event % GP_LIFE_MADE_EVENTS;
	if ((made->events & bit) == 0)
		return (struct gp_life){ 0 };
	return l->life[made->first + (size_t)__builtin_popcountll(made->events & (bit - 1))];
}
