/*
 * A step begins where the least is live: what the one before needed is gone, and what this one
 * needs is not there yet. Where that is so for a while, it is where the job waits longest, for data
 * or for the device. Each turn has its own such place; what most turns agree on is believed, and
 * holds for the others, too: in the first one optimizers make their state, and all is otherwise.
 */
#include "step_begin.h"

#include <stdlib.h>

#include "step_stat.h"

#define FIXED_PERCENT 80u /* of turns that begin as far before the first marker: so do all */

struct places {
	uint64_t *place; /* by turn: the token before which a step begins */
	size_t turns;
};

static bool is_at(const struct gp_step_sequence *in, size_t at, uint32_t number)
{
	return in->one[at] == number || in->three[at] == number;
}

/* Of those with as little live the one that comes after the longest wait. */
static size_t find_place(const struct gp_step_sequence *in, const float *wait, size_t from,
			 size_t to)
{
	float least = in->live[to], longest = -1;
	size_t place = to;
	for (size_t k = from + 1; k < to; k++)
		least = in->live[k] < least ? in->live[k] : least;
	for (size_t k = from + 1; k <= to; k++) {
		if (in->live[k] > least || wait[k] <= longest)
			continue;
		longest = wait[k];
		place = k;
	}
	return place;
}

/* Not of the first turn, in which a job makes what it keeps. */
static enum gp_status find_places(const struct gp_step_sequence *in, const float *wait,
				  uint32_t leader, struct places *out)
{
	size_t turns = 0, seen = 0, from = SIZE_MAX;
	for (size_t k = 0; k < in->tokens; k++)
		turns += is_at(in, k, leader);
	out->place = calloc(turns + 1, sizeof *out->place);
	if (out->place == NULL)
		return GP_E_MEMORY;
	for (size_t k = 0; k < in->tokens; k++) {
		if (!is_at(in, k, leader))
			continue;
		if (seen++ > 1)
			out->place[out->turns++] = find_place(in, wait, from, k);
		from = k;
	}
	return GP_OK;
}

/*
 * One that comes in every step. A symbol of three holds what came before the step, too, and that
 * is other in the first step and behind an evaluation.
 */
static uint32_t first_behind(const struct gp_step_sequence *in, const bool *is_marker, size_t place)
{
	for (size_t k = place; k < in->tokens; k++) {
		if (is_marker[in->one[k]])
			return in->one[k];
		if (k >= place + 2 && is_marker[in->three[k]])
			return in->three[k];
	}
	return 0;
}

/* What comes most often, and how often. */
static uint64_t find_mode(uint64_t *value, size_t values, size_t *often)
{
	uint64_t mode = 0;
	gp_step_sort(value, values);
	*often = 0;
	for (size_t k = 0, from = 0; k < values; k++) {
		from = value[k] == value[from] ? from : k;
		if (k - from < *often)
			continue;
		*often = k - from + 1;
		mode = value[k];
	}
	return mode;
}

/* Unless the first marker is so near that the step hardly has an opening. */
static void see_opening(const struct gp_step_sequence *in, uint64_t place,
			struct gp_step_begin *out)
{
	uint64_t first = place + out->nearest;
	if (first < place + GP_STEP_OPENING || first >= in->tokens || !is_at(in, first, out->first))
		return;
	for (size_t k = 0; k < GP_STEP_OPENING; k++)
		out->opening[k] = in->one[place + k];
}

static void choose_distance(uint64_t *distance, size_t turns, struct gp_step_begin *out)
{
	size_t often;
	out->nearest = out->farthest = find_mode(distance, turns, &often);
	if (turns == 0 || often * 100 >= turns * FIXED_PERCENT)
		return;
	out->nearest = distance[0]; /* they are sorted now */
	out->farthest = distance[turns - 1];
}

/*
 * What came last in the step before, and first in this. What came last may differ (behind an
 * evaluation): then one later.
 */
static void choose_edge(const struct gp_step_sequence *in, const bool *is_marker,
			const struct places *p, uint64_t *value, struct gp_step_begin *out)
{
	for (uint64_t distance = 0; distance < 2; distance++) {
		size_t often;
		for (size_t k = 0; k < p->turns; k++) {
			const uint64_t at = p->place[k] + distance;
			const uint32_t three = at < in->tokens ? in->three[at] : 0;
			value[k] = is_marker[three] ? three : 0;
		}
		const uint64_t mode = find_mode(value, p->turns, &often);
		if (mode == 0 || often * 100 < p->turns * FIXED_PERCENT)
			continue;
		out->edge = (uint32_t)mode;
		out->edge_distance = distance;
		return;
	}
}

static enum gp_status choose(const struct gp_step_sequence *in, const bool *is_marker,
			     const struct places *p, struct gp_step_begin *out)
{
	size_t often, turns = 0;
	uint64_t *value = calloc(p->turns + 1, sizeof *value);
	if (value == NULL)
		return GP_E_MEMORY;
	for (size_t k = 0; k < p->turns; k++)
		value[k] = first_behind(in, is_marker, p->place[k]);
	out->first = (uint32_t)find_mode(value, p->turns, &often);
	for (size_t k = 0; k < p->turns; k++) {
		uint64_t at = p->place[k];
		while (at < in->tokens && !is_at(in, at, out->first))
			at++;
		if (at < in->tokens)
			value[turns++] = at - p->place[k];
	}
	choose_distance(value, turns, out);
	for (size_t k = 0; k < p->turns; k++)
		see_opening(in, p->place[k], out);
	if (out->nearest < out->farthest)
		choose_edge(in, is_marker, p, value, out);
	free(value);
	return GP_OK;
}

enum gp_status gp_step_begin_find(const struct gp_step_sequence *sequence, const float *wait,
				  const struct gp_step_markers *markers, struct gp_step_begin *out)
{
	struct places places = { 0 };
	*out = (struct gp_step_begin){ 0 };
	enum gp_status status = find_places(sequence, wait, markers->leader, &places);
	if (status == GP_OK)
		status = choose(sequence, markers->is_marker, &places, out);
	free(places.place);
	return status;
}
