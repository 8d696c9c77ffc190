/*
 * The alignment of two sequences: first one to one, with swaps of racing threads; then as a
 * subsequence, if only operations are missing; then by the shortest edit script (E. Myers, An O(ND)
 * Difference Algorithm, Algorithmica 1986), and beyond its bound by runs. An assignment is sure if
 * the leftmost and the rightmost one are equal, since all others lie between them.
 */
#include "gpu_align.h"

#include <stdlib.h>
#include <string.h>

#define SWAPS_MOST 16u	/* launches that an operation may overtake */
#define EDITS_MOST 1024 /* of the shortest edit script: 4 MiB of its steps */
#define RUN 4u		/* equal neighbours that end the search for the next match */
#define RUN_SEARCH 4096u
#define NONE GP_GPU_NO_LAUNCH

static struct gp_gpu_launch *launch_at(const struct gp_gpu_align *a, size_t i)
{
	return &a->launch[a->of[i]];
}

static bool is_alike(const struct gp_gpu_align *a, size_t i, size_t j)
{
	const struct gp_gpu_launch *l = launch_at(a, i);
	const struct gp_gpu_group *g = &a->group[a->with[j]];
	const bool is_unnamed = (l->name == NULL || g->name == NULL) && !g->is_shapeless;
	if (l->by != g->by || (l->shape != g->shape && !g->is_shapeless) ||
	    (l->name != g->name && !is_unnamed))
		return false;
	return l->device == g->device || l->device == GP_DEVICE_UNKNOWN ||
	       g->device == GP_DEVICE_UNKNOWN;
}

/* The operation began before the call. */
static bool is_early(const struct gp_gpu_align *a, size_t i, size_t j)
{
	const struct gp_gpu_group *g = &a->group[a->with[j]];
	return g->at_ns != INT64_MIN && g->at_ns < launch_at(a, i)->before_ns - a->slack_ns;
}

/* They are alike, and the operation began after the call and ended before its synchronization. */
static bool fits(const struct gp_gpu_align *a, size_t i, size_t j)
{
	const struct gp_gpu_launch *l = launch_at(a, i);
	const struct gp_gpu_group *g = &a->group[a->with[j]];
	if (!is_alike(a, i, j))
		return false;
	return g->at_ns == INT64_MIN ||
	       (!is_early(a, i, j) &&
		(l->done_ns == INT64_MAX || g->end_ns <= l->done_ns + a->slack_ns));
}

/* ---- one to one ---- */

/* True: both threads' calls may have reached the stream in either order. */
static bool is_race(const struct gp_gpu_align *a, size_t i, size_t k)
{
	const struct gp_gpu_launch *l = launch_at(a, i < k ? i : k);
	const struct gp_gpu_launch *m = launch_at(a, i < k ? k : i);
	return l->thread != m->thread && m->before_ns - l->at_ns <= GP_GPU_RACE_NS &&
	       l->returned_ns > m->before_ns;
}

/* A later launch of another thread that operation j may be of; NONE. */
static size_t overtaking(const struct gp_gpu_align *a, const uint8_t *is_taken, size_t i, size_t j)
{
	for (size_t k = i + 1; k < a->launches && k <= i + SWAPS_MOST; k++) {
		bool is_first = true;
		for (size_t before = i; before < k && is_first; before++)
			is_first = is_taken[before] ||
				   launch_at(a, before)->thread != launch_at(a, k)->thread;
		if (!is_race(a, i, k) && launch_at(a, k)->thread != launch_at(a, i)->thread)
			return NONE;
		if (is_first && !is_taken[k] && is_race(a, i, k) && fits(a, k, j))
			return k;
	}
	return NONE;
}

/* Another thread's launch nearby is alike: which of both the operation is of is unknown. */
static bool has_rival(const struct gp_gpu_align *a, size_t i, size_t j)
{
	const size_t from = i > SWAPS_MOST ? i - SWAPS_MOST : 0;
	for (size_t k = from; k < a->launches && k <= i + SWAPS_MOST; k++)
		if (is_race(a, i, k) && is_alike(a, k, j))
			return true;
	return false;
}

/* Where operations are missing as well, a race leaves its neighbours uncertain. */
static void find_races(struct gp_gpu_align *a)
{
	size_t end = 0; /* of the marked launches */
	for (size_t i = 0; i < a->launches; i++) {
		bool is_raced = false;
		for (size_t k = i + 1; k < a->launches && k <= i + SWAPS_MOST && !is_raced; k++)
			is_raced = is_race(a, i, k);
		size_t at = i > SWAPS_MOST ? i - SWAPS_MOST : 0;
		for (at = at > end ? at : end;
		     is_raced && at < a->launches && at <= i + 2 * SWAPS_MOST; at++)
			a->is_near_race[at] = 1;
		end = is_raced ? at : end;
	}
}

/* All launches before `i` and groups before `j` are paired. False: that is not enough. */
static bool pairs_end(struct gp_gpu_align *a, const uint8_t *is_taken, size_t i, size_t j)
{
	if (!a->has_outside)
		return j == a->groups;
	a->groups = j;
	/* launches further on are not taken */
	for (size_t end = i + SWAPS_MOST; i < a->required && i < end; i++)
		if (!is_taken[i] && !launch_at(a, i)->is_optional)
			return false;
	return j != 0 && i >= a->required;
}

/* True: each operation has a launch. *left: launches without one that prove it uncertain. */
static bool find_pairs(struct gp_gpu_align *a, uint8_t *is_taken, size_t *left)
{
	size_t i = 0, j = 0, end = 0; /* behind the last launch with an operation */
	*left = 0;
	a->pairs_swapped = 0;
	while (j < a->groups) {
		size_t k = NONE;
		for (; i < a->launches && is_taken[i]; i++)
			;
		if (i == a->launches)
			break;
		if (fits(a, i, j))
			k = i;
		else if (gp_looks_take(a->looks, SWAPS_MOST))
			k = overtaking(a, is_taken, i, j);
		if (k == NONE && launch_at(a, i)->is_optional) {
			is_taken[i++] = 1;
			++*left;
			continue;
		}
		if (k == NONE)
			break;
		a->pairs_swapped += k != i;
		is_taken[k] = 1;
		a->match[j] = (uint32_t)k;
		end = k + 1 > end ? k + 1 : end;
		j++;
	}
	a->visited = i > end ? i : end;
	if (!pairs_end(a, is_taken, i, j))
		return false;
	for (; i < (a->is_whole ? end : a->launches); i++)
		*left += !is_taken[i];
	return true;
}

/* The same, and finds which are sure. */
static bool align_pairs(struct gp_gpu_align *a, uint8_t *is_taken, size_t *left)
{
	bool is_raced = false;
	if (!find_pairs(a, is_taken, left))
		return false;
	for (size_t j = 0; j < a->groups; j++) {
		const bool is_rivalled = has_rival(a, a->match[j], j);
		a->is_sure[j] = !is_rivalled;
		is_raced |= is_rivalled;
	}
	/* with launches left and an order that is unknown, the other tests prove nothing */
	if (*left != 0 && (is_raced || a->pairs_swapped != 0))
		memset(a->is_sure, 0, a->groups);
	a->swapped = a->pairs_swapped;
	return true;
}

/* Adds the groups from `at` on that were paired, but those that another place has. */
static size_t place_add(const struct gp_gpu_align *a, uint32_t *match, size_t end, size_t at)
{
	for (; end < at; end++)
		match[end] = NONE;
	for (; end < at + a->groups; end++)
		match[end] = a->match[end - at];
	return end;
}

/* Finds the groups of the launches for `has_outside`. True: they fit at this place alone. */
static bool align_within(struct gp_gpu_align *a, uint8_t *is_taken, uint32_t *place_match)
{
	const uint32_t *with = a->with, *found = NULL;
	uint32_t *match = a->match;
	const size_t groups = a->groups;
	const uint64_t refused = a->looks->refused;
	size_t alone = 0, least = 0, end = 0, places = 0;
	a->required = 0;
	for (size_t i = 0; i < a->launches; i++) {
		least += !launch_at(a, i)->is_optional;
		a->required = launch_at(a, i)->is_optional ? a->required : i + 1;
	}
	a->match = place_match;
	for (size_t k = 0; k < groups && k + least <= groups; k++) {
		a->with = with + k;
		a->groups = groups - k;
		if (!gp_looks_take(a->looks, 1))
			break;
		if (is_early(a, 0, 0))
			continue;
		if (find_pairs(a, is_taken, &alone)) {
			if (places++ == 0) {
				found = a->with;
				a->passed = a->groups;
			}
			end = place_add(a, match, end, (size_t)(a->with - found));
		}
		memset(is_taken, 0, a->visited);
		if (!gp_looks_take(a->looks, a->visited))
			break;
	}
	a->match = match;
	a->with = a->looks->refused == refused ? found : NULL;
	a->groups = a->with == NULL ? 0 : places > 1 ? end : groups - (size_t)(found - with);
	return places == 1;
}

/* ---- as a subsequence ---- */

/*
 * Places items into the other sequence, as far left or right as possible: operations among the
 * launches, or with `is_launch` the reverse. `match` has the items to place, NULL: all operations.
 * False: one does not fit.
 */
static bool align_embed(const struct gp_gpu_align *a, const uint32_t *match, bool is_launch,
			bool is_right, uint32_t *out)
{
	const size_t items = is_launch ? a->launches : a->groups;
	const size_t places = is_launch ? a->groups : a->launches;
	size_t used = 0;
	for (size_t k = 0; k < items; k++) {
		const size_t item = is_right ? items - 1 - k : k;
		out[item] = NONE;
		if (match != NULL && match[item] == NONE)
			continue;
		for (; used < places; used++) {
			const size_t place = is_right ? places - 1 - used : used;
			if (is_launch ? fits(a, item, place) : fits(a, place, item)) {
				out[item] = (uint32_t)place;
				break;
			}
		}
		if (used++ == places)
			return false;
	}
	return true;
}

/* Sure where every assignment in order gives the same launch. `match` NULL: of all operations. */
static bool align_between(struct gp_gpu_align *a, const uint32_t *match, uint32_t *left,
			  uint32_t *right)
{
	if (!align_embed(a, match, false, false, left) ||
	    !align_embed(a, match, false, true, right))
		return false;
	for (size_t j = 0; j < a->groups; j++)
		a->is_sure[j] = left[j] != NONE && left[j] == right[j] && !a->is_near_race[left[j]];
	memcpy(a->match, left, a->groups * sizeof *left);
	return true;
}

/* Operations without a launch are left: is another operation possible for the same launch? */
static bool align_between_launches(struct gp_gpu_align *a)
{
	uint32_t *of = malloc((a->launches + 1) * 3 * sizeof *of);
	uint32_t *left = of + a->launches, *right = left + a->launches;
	if (of == NULL)
		return false;
	for (size_t i = 0; i < a->launches; i++)
		of[i] = NONE;
	for (size_t j = 0; j < a->groups; j++)
		if (a->match[j] != NONE)
			of[a->match[j]] = (uint32_t)j;
	const bool has_both =
		align_embed(a, of, true, false, left) && align_embed(a, of, true, true, right);
	for (size_t i = 0; i < a->launches; i++)
		if (of[i] != NONE && (!has_both || left[i] != right[i]))
			a->is_sure[of[i]] = 0;
	free(of);
	return true;
}

/* ---- by the shortest edit script ---- */

static size_t edit_snake(const struct gp_gpu_align *a, size_t i, size_t j)
{
	size_t length = 0;
	while (i + length < a->launches && j + length < a->groups &&
	       fits(a, i + length, j + length))
		length++;
	return length;
}

/*
 * The furthest launch that d edits reach on diagonal k (launches - groups), from d - 1 edits:
 * by a launch without an operation, or by an operation without a launch. -1: none.
 */
static int64_t edit_right(const int32_t *before, int d, int k)
{
	return k - 1 >= 1 - d && before[d + k - 2] >= 0 ? before[d + k - 2] + 1 : -1;
}
static int64_t edit_down(const int32_t *before, int d, int k)
{
	return k + 1 <= d - 1 ? before[d + k] : -1;
}
static int64_t edit_from(const int32_t *before, int d, int k)
{
	if (d == 0)
		return 0;
	const int64_t right = edit_right(before, d, k), down = edit_down(before, d, k);
	return right > down ? right : down;
}

static void edit_trace(struct gp_gpu_align *a, int32_t *const *step, int d, int k)
{
	int64_t x = step[d][d + k];
	for (;; d--) {
		const int32_t *before = d > 0 ? step[d - 1] : NULL;
		const int64_t from = edit_from(before, d, k);
		for (; x > from; x--)
			a->match[x - 1 - k] = (uint32_t)(x - 1);
		if (d == 0)
			return;
		const bool is_right = edit_right(before, d, k) == from;
		k += is_right ? -1 : 1;
		x = is_right ? from - 1 : from;
	}
}

/* False: it takes more edits or looks than allowed. */
static bool align_edits(struct gp_gpu_align *a, int32_t **step, bool *is_out_of_memory)
{
	const int64_t n = (int64_t)a->launches, m = (int64_t)a->groups;
	for (int d = 0; d < EDITS_MOST; d++) {
		step[d] = malloc((2u * (unsigned)d + 1) * sizeof **step);
		if (step[d] == NULL) {
			*is_out_of_memory = true;
			return false;
		}
		if (!gp_looks_take(a->looks, 2u * (unsigned)d + 1))
			return false;
		for (int k = -d; k <= d; k++)
			step[d][d + k] = -1;
		for (int k = -d; k <= d; k += 2) {
			int64_t x = edit_from(d > 0 ? step[d - 1] : NULL, d, k);
			if (x < 0 || x > n || x - k < 0 || x - k > m)
				continue;
			const size_t length = edit_snake(a, (size_t)x, (size_t)(x - k));
			if (!gp_looks_take(a->looks, length))
				return false;
			step[d][d + k] = (int32_t)(x + (int64_t)length);
			if (step[d][d + k] == n && n - k == m) {
				edit_trace(a, step, d, k);
				return true;
			}
		}
	}
	return false;
}

/* ---- by runs ---- */

static bool is_run(const struct gp_gpu_align *a, size_t i, size_t j)
{
	for (unsigned k = 0; k < RUN; k++) {
		if (i + k >= a->launches || j + k >= a->groups)
			return k > 0;
		if (!fits(a, i + k, j + k))
			return false;
	}
	return true;
}

/* The next launch that operation j may be of: one nearby, else the begin of a run; NONE. */
static size_t next_fitting(const struct gp_gpu_align *a, size_t i, size_t j)
{
	for (size_t k = i; k < a->launches && k < i + RUN_SEARCH; k++) {
		if (!gp_looks_take(a->looks, 1))
			return NONE;
		if (k < i + SWAPS_MOST ? fits(a, k, j) : is_run(a, k, j))
			return k;
		if (is_early(a, k, j))
			return NONE;
	}
	return NONE;
}

static void align_runs(struct gp_gpu_align *a)
{
	size_t i = 0;
	for (size_t j = 0; j < a->groups; j++) {
		const size_t k = next_fitting(a, i, j);
		if (k == NONE)
			continue;
		a->match[j] = (uint32_t)k;
		i = k + 1;
	}
}

/* Operations and launches that are left between the same neighbours, and alike, were swapped. */
static void align_left_overs(struct gp_gpu_align *a)
{
	size_t after = 0; /* behind the last match */
	for (size_t j = 0; j < a->groups; j++) {
		if (a->match[j] != NONE) {
			after = a->match[j] + 1u;
			continue;
		}
		size_t end = j;
		while (end < a->groups && a->match[end] == NONE)
			end++;
		/* the launch that was moved may lie on either side of its neighbour */
		const size_t from = after > SWAPS_MOST ? after - SWAPS_MOST : 0;
		for (size_t i = from; i < a->launches && i < after + SWAPS_MOST; i++) {
			if (!gp_looks_take(a->looks, 1))
				return;
			if (launch_at(a, i)->has_operation || !fits(a, i, j) || i < 1)
				continue;
			if (!is_race(a, i, i - 1) &&
			    (i + 1 == a->launches || !is_race(a, i, i + 1)))
				continue;
			launch_at(a, i)->has_operation = true;
			a->match[j] = (uint32_t)i;
			a->swapped++;
			break;
		}
	}
}

static bool has_threads(const struct gp_gpu_align *a)
{
	for (size_t i = 1; i < a->launches; i++)
		if (launch_at(a, i)->thread != launch_at(a, 0)->thread && is_race(a, i, i - 1))
			return true;
	return false;
}

static enum gp_status align_rest(struct gp_gpu_align *a, uint32_t *left, uint32_t *right)
{
	int32_t **step = calloc(EDITS_MOST, sizeof *step);
	bool is_out_of_memory = step == NULL;
	const bool is_raced = has_threads(a);
	for (size_t j = 0; j < a->groups; j++)
		a->match[j] = NONE;
	memset(a->is_sure, 0, a->groups);
	if (!is_out_of_memory && align_edits(a, step, &is_out_of_memory)) {
		uint32_t *kept = malloc((a->groups + 1) * sizeof *kept);
		if (kept != NULL)
			memcpy(kept, a->match, a->groups * sizeof *kept);
		is_out_of_memory |= kept == NULL;
		if (kept != NULL && !align_between(a, kept, left, right))
			memcpy(a->match, kept, a->groups * sizeof *kept);
		is_out_of_memory |= !align_between_launches(a);
		free(kept);
	} else if (!is_out_of_memory) {
		align_runs(a);
	}
	for (int d = 0; step != NULL && d < EDITS_MOST; d++)
		free(step[d]);
	free(step);
	if (is_out_of_memory)
		return GP_E_MEMORY;
	if (is_raced) {
		for (size_t i = 0; i < a->launches; i++)
			launch_at(a, i)->has_operation = false;
		for (size_t j = 0; j < a->groups; j++)
			if (a->match[j] != NONE)
				launch_at(a, a->match[j])->has_operation = true;
		align_left_overs(a);
		memset(a->is_sure, 0, a->groups);
	}
	return GP_OK;
}

enum gp_status gp_gpu_align(struct gp_gpu_align *a)
{
	a->swapped = 0;
	if (a->groups == 0)
		return GP_OK;
	uint8_t *is_taken = calloc(a->launches + 1, 1);
	uint32_t *left = malloc(a->groups * sizeof *left);
	uint32_t *right = malloc(a->groups * sizeof *right);
	a->is_near_race = calloc(a->launches + 1, 1);
	enum gp_status status = is_taken && left && right && a->is_near_race ? GP_OK : GP_E_MEMORY;
	size_t alone = 0;
	bool is_only = status != GP_OK || !a->has_outside || align_within(a, is_taken, left);
	if (status == GP_OK && is_only && a->groups != 0) {
		const bool is_paired = align_pairs(a, is_taken, &alone);
		is_only &= is_paired || !a->has_outside;
		/* some launches have no operation: is there another assignment? */
		const bool has_swaps = a->swapped != 0;
		if (!is_paired || (alone != 0 && !has_swaps)) {
			a->swapped = 0;
			find_races(a);
			if (!align_between(a, NULL, left, right))
				status = align_rest(a, left, right);
		}
	}
	if (!is_only)
		memset(a->is_sure, 0, a->groups);
	free(is_taken);
	free(a->is_near_race);
	free(left);
	free(right);
	return status;
}
