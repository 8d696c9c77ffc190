/* Times are between two begins. The last step may be cut, so it is left out of the statistics. */
#include "steps.h"

#include <stdlib.h>

#include "../../read/tables/row_rank.h"

#define LONGER(usual) ((usual) + (usual) / 2) /* a step that takes longer is unlike the others */
#define OFF_PERCENT 50u			      /* likewise, for the number of launches */

uint64_t gp_step_median(uint64_t *value, size_t values)
{
	if (values == 0)
		return 0;
	qsort(value, values, sizeof *value, gp_row_order);
	return value[(values - 1) / 2];
}

static uint64_t time_of(const struct gp_step *step)
{
	return step->end_ns > step->begin_ns ? (uint64_t)(step->end_ns - step->begin_ns) : 0;
}

static bool is_like(const struct gp_step *step, uint64_t usual_ns, uint64_t usual_launches)
{
	return time_of(step) <= LONGER(usual_ns) &&
	       gp_distance(step->launches, usual_launches) * 100 <= usual_launches * OFF_PERCENT;
}

/* The steps of the second half define the usual values. */
static void find_warmup(struct gp_steps *s, uint64_t *value)
{
	size_t whole = s->steps - 1, half = whole / 2;
	for (size_t k = half; k < whole; k++)
		value[k - half] = time_of(&s->step[k]);
	uint64_t usual_ns = gp_step_median(value, whole - half);
	for (size_t k = half; k < whole; k++)
		value[k - half] = s->step[k].launches;
	uint64_t usual_launches = gp_step_median(value, whole - half);
	while (s->warmup < half && !is_like(&s->step[s->warmup], usual_ns, usual_launches))
		s->warmup++;
}

enum gp_status gp_step_stat(struct gp_steps *s)
{
	if (s->steps < 2)
		return GP_OK;
	uint64_t *value = calloc(s->steps, sizeof *value), sum = 0;
	if (value == NULL)
		return GP_E_MEMORY;
	find_warmup(s, value);
	size_t n = 0;
	for (size_t k = s->warmup; k + 1 < s->steps; k++)
		sum += value[n++] = time_of(&s->step[k]);
	s->p50_ns = (int64_t)gp_step_median(value, n);
	/* the smallest value that at most 1% exceed (nearest rank) */
	s->p99_ns = (int64_t)value[(n * 99 + 99) / 100 - 1];
	s->per_second = sum > 0 ? (double)n * 1e9 / (double)sum : 0;
	free(value);
	return GP_OK;
}
