/*
 * The join of operations and launches. First launches and operations of kernels are aligned, each
 * in the order of the calls. Each pair is a vote for a stream of the job to be one of CUPTI's. Then
 * the operations of each stream are aligned with its launches alone.
 */
#include <stdlib.h>
#include <string.h>

#include "../phases/range_path.h"
#include "../settle.h"
#include "gpu_collect.h"
#include "gpu_groups.h"

#define NONE GP_GPU_NO_LAUNCH
#define OUTSIDE (NONE - 1)			   /* of a call outside of the windows */
#define VOTES_SHARE(votes) ((votes) - (votes) / 3) /* two thirds name a stream */

struct vote {
	uint64_t key; /* number of cupti_stream << 32 | stream */
	uint64_t votes;
};

struct joining {
	struct gp_gpu *out;
	struct gp_gpu_collected collected;
	struct gp_gpu_group *group;
	size_t groups;
	struct gp_row_table streams; /* struct gp_gpu_stream: CUPTI's */
	struct gp_row_table alone;   /* kinds of launches that have no operation */
	struct gp_looks looks;
	int64_t slack_ns;
	bool is_damaged, has_all_launches;
	/* launches and groups by stream; starts: where those of a stream begin */
	uint32_t *of, *with, *of_start, *with_start;
	uint32_t *some_of, *some_with; /* a part of them */
	uint32_t *match, *joined;      /* launches by group */
	uint8_t *is_sure, *is_joined_sure;
};

/* ---- alignments ---- */

static bool is_whole(const struct joining *j)
{
	return (j->out->dropped | j->out->lost | j->out->beyond) == 0 && !j->is_damaged;
}

static enum gp_status align(struct joining *j, const uint32_t *of, size_t launches,
			    const uint32_t *with, size_t groups, bool has_outside,
			    struct gp_gpu_align *a)
{
	*a = (struct gp_gpu_align){ .launch = j->out->launch,
				    .group = j->group,
				    .of = of,
				    .with = with,
				    .launches = launches,
				    .groups = groups,
				    .slack_ns = j->slack_ns,
				    .is_whole = is_whole(j),
				    .has_outside = has_outside,
				    .looks = &j->looks,
				    .match = j->match,
				    .is_sure = j->is_sure };
	for (size_t k = 0; k < groups && !has_outside; k++)
		j->match[k] = NONE;
	return gp_gpu_align(a);
}

/* Lists those with, or those without GP_GPU_BY_COPY alone: to `some_of` and `some_with`. */
static void list_part(struct joining *j, const uint32_t *of, size_t *launches, const uint32_t *with,
		      size_t *groups, bool is_copies)
{
	size_t some_launches = 0, some_groups = 0;
	for (size_t k = 0; k < *launches; k++)
		if ((j->out->launch[of[k]].by == GP_GPU_BY_COPY) == is_copies)
			j->some_of[some_launches++] = of[k];
	for (size_t k = 0; k < *groups; k++)
		if ((j->group[with[k]].by == GP_GPU_BY_COPY) == is_copies)
			j->some_with[some_groups++] = with[k];
	*launches = some_launches;
	*groups = some_groups;
}

static void keep(struct joining *j, const struct gp_gpu_align *a, bool is_sure)
{
	for (size_t k = 0; k < a->groups; k++) {
		if (a->match[k] == NONE)
			continue;
		j->joined[a->with[k]] = a->of[a->match[k]];
		j->is_joined_sure[a->with[k]] = is_sure && a->is_sure[k];
		j->out->launch[a->of[a->match[k]]].has_operation = true;
	}
	j->out->swapped += a->swapped;
}

static void forget(struct joining *j, const uint32_t *of, size_t launches, const uint32_t *with,
		   size_t groups)
{
	for (size_t k = 0; k < launches; k++)
		j->out->launch[of[k]].has_operation = false;
	for (size_t k = 0; k < groups; k++)
		j->joined[with[k]] = NONE;
}

/* Too late for the first launch of a window. */
static bool begins_late(const struct gp_gpu_group *g, const struct gp_gpu_window *w)
{
	return g->at_ns > w->close_ns && g->at_ns - w->close_ns > GP_GPU_QUEUE_NS;
}

/*
 * Finds the groups of each window's launches, at all places where they fit. *has_all false: those
 * of one do not fit.
 */
static enum gp_status join_windows(struct joining *j, const uint32_t *of, size_t launches,
				   const uint32_t *with, size_t groups, bool *has_all)
{
	struct gp_gpu_align a;
	enum gp_status status = GP_OK;
	const uint64_t refused = j->looks.refused;
	size_t in_time = 0;
	*has_all = true;
	for (size_t k = 0; k < groups; k++)
		j->joined[with[k]] = j->group[with[k]].may_be_outside ? OUTSIDE : NONE;
	for (size_t k = 0, end; k < launches && *has_all && status == GP_OK; k = end) {
		const int64_t at_ns = j->out->launch[of[k]].at_ns;
		bool is_optional = true;
		end = k + 1;
		if (!gp_gpu_is_in_window(&j->collected, at_ns))
			continue;
		const struct gp_gpu_window *w = gp_gpu_window_by(&j->collected, at_ns);
		for (end = k; end < launches && j->out->launch[of[end]].at_ns <= w->close_ns; end++)
			is_optional &= j->out->launch[of[end]].is_optional;
		for (; in_time < groups && !begins_late(&j->group[with[in_time]], w); in_time++)
			;
		const size_t some = groups - in_time < end - k ? groups : in_time + (end - k);
		status = align(j, of + k, end - k, with, some, true, &a);
		*has_all = a.with != NULL || (is_optional && j->looks.refused == refused);
		if (status != GP_OK || a.with == NULL)
			continue;
		keep(j, &a, true);
		const size_t passed = (size_t)(a.with - with) + a.passed;
		groups -= passed;
		in_time = in_time > passed ? in_time - passed : 0;
		with += passed;
	}
	return status;
}

static enum gp_status join_list(struct joining *j, const uint32_t *of, size_t launches,
				const uint32_t *with, size_t groups)
{
	struct gp_gpu_align a;
	const uint64_t swapped = j->out->swapped;
	bool has_all = false;
	enum gp_status status = align(j, of, launches, with, groups, false, &a);
	size_t left = 0;
	for (size_t k = 0; status == GP_OK && k < groups; k++)
		left += a.match[k] == NONE;
	if (left != 0 && j->collected.windows != 0 && is_whole(j) && j->has_all_launches) {
		status = join_windows(j, of, launches, with, groups, &has_all);
		if (status != GP_OK || has_all)
			return status;
		forget(j, of, launches, with, groups);
		j->out->swapped = swapped;
		status = align(j, of, launches, with, groups, false, &a);
	}
	if (status == GP_OK)
		keep(j, &a, true);
	return status;
}

/* ---- votes ---- */

static enum gp_status vote(struct joining *j, const uint32_t *with, size_t groups)
{
	struct gp_row_table votes = { 0 };
	struct gp_gpu_stream *streams = j->streams.row;
	for (size_t k = 0; k < groups; k++) {
		const struct gp_gpu_group *g = &j->group[with[k]];
		if (j->joined[with[k]] >= OUTSIDE || g->by == GP_GPU_BY_GRAPH)
			continue;
		const uint32_t stream = j->out->launch[j->joined[with[k]]].stream;
		struct vote *v =
			gp_row_get_key(&votes, sizeof *v, (uint64_t)g->stream << 32 | stream);
		if (v == NULL) {
			gp_row_table_release(&votes);
			return GP_E_MEMORY;
		}
		struct gp_gpu_stream *s = &streams[g->stream];
		if (s->is_settled)
			continue;
		s->votes++;
		if (++v->votes > s->best) {
			s->best = v->votes;
			s->stream = stream;
		}
	}
	gp_row_table_release(&votes);
	for (uint32_t k = 0; k < j->streams.rows; k++) {
		if (streams[k].best < VOTES_SHARE(streams[k].votes))
			streams[k].stream = NONE;
		streams[k].is_settled = streams[k].votes != 0;
	}
	return GP_OK;
}

/* The same from graph launches alone, for streams that have no other votes. */
static void vote_graphs(struct joining *j)
{
	struct gp_gpu_stream *streams = j->streams.row;
	for (size_t k = 0; k < j->groups; k++) {
		const struct gp_gpu_group *g = &j->group[k];
		if (j->joined[k] < OUTSIDE && g->by == GP_GPU_BY_GRAPH &&
		    streams[g->stream].votes == 0)
			streams[g->stream].stream = j->out->launch[j->joined[k]].stream;
	}
}

/*
 * Copies vote only for streams without kernels: kernels have names. A copy may have no operation,
 * or several.
 */
static enum gp_status vote_all(struct joining *j, const uint32_t *of, const uint32_t *with)
{
	bool is_settled = true;
	size_t launches = j->out->launches, groups = j->groups;
	list_part(j, of, &launches, with, &groups, false);
	enum gp_status status = join_list(j, j->some_of, launches, j->some_with, groups);
	if (status == GP_OK)
		status = vote(j, j->some_with, groups);
	if (status != GP_OK)
		return status;
	vote_graphs(j);
	for (uint32_t k = 0; k < j->streams.rows; k++)
		is_settled &= ((struct gp_gpu_stream *)j->streams.row)[k].is_settled;
	if (!is_settled)
		status = join_list(j, of, j->out->launches, with, j->groups);
	if (!is_settled && status == GP_OK)
		status = vote(j, with, j->groups);
	forget(j, of, j->out->launches, with, j->groups);
	j->out->swapped = 0;
	return status;
}

/* ---- streams ---- */

static uint32_t stream_of_group(const struct joining *j, size_t k)
{
	return ((const struct gp_gpu_stream *)j->streams.row)[j->group[k].stream].stream;
}

/* Lists launches and groups by stream, each in its order. */
static enum gp_status list_by_stream(struct joining *j)
{
	const uint32_t streams = j->collected.streams;
	j->of_start = calloc((size_t)streams + 2, sizeof *j->of_start);
	j->with_start = calloc((size_t)streams + 2, sizeof *j->with_start);
	if (j->of_start == NULL || j->with_start == NULL)
		return GP_E_MEMORY;
	for (size_t k = 0; k < j->out->launches; k++)
		j->of_start[j->out->launch[k].stream + 2]++;
	for (size_t k = 0; k < j->groups; k++)
		if (stream_of_group(j, k) != NONE)
			j->with_start[stream_of_group(j, k) + 2]++;
	for (uint32_t s = 2; s < streams + 2; s++) {
		j->of_start[s] += j->of_start[s - 1];
		j->with_start[s] += j->with_start[s - 1];
	}
	for (size_t k = 0; k < j->out->launches; k++)
		j->of[j->of_start[j->out->launch[k].stream + 1]++] = (uint32_t)k;
	for (size_t k = 0; k < j->groups; k++)
		if (stream_of_group(j, k) != NONE)
			j->with[j->with_start[stream_of_group(j, k) + 1]++] = (uint32_t)k;
	return GP_OK;
}

/*
 * By when the work of the first k + 1 launches of a stream had ended. A call that had returned is
 * before later ones in the stream. One that had not may reach it after another thread's wait.
 */
static int64_t *find_done(const struct joining *j, const uint32_t *of, size_t launches)
{
	int64_t *done = malloc((launches + 1) * 2 * sizeof *done);
	int64_t *before = done + launches + 1; /* of this launch and all later ones: the least */
	if (done == NULL)
		return NULL;
	done[launches] = before[launches] = INT64_MAX;
	for (size_t k = launches; k-- > 0;) {
		const struct gp_gpu_launch *l = &j->out->launch[of[k]];
		done[k] = l->done_ns < done[k + 1] ? l->done_ns : done[k + 1];
		before[k] = l->before_ns < before[k + 1] ? l->before_ns : before[k + 1];
	}
	for (size_t k = 0; k < launches; k++) {
		const struct gp_gpu_launch *l = &j->out->launch[of[k]];
		size_t low = k + 1, high = launches; /* the first launch after its return */
		while (low < high) {
			const size_t middle = low + (high - low) / 2;
			if (before[middle] < l->returned_ns)
				low = middle + 1;
			else
				high = middle;
		}
		done[k] = l->done_ns < done[low] ? l->done_ns : done[low];
	}
	for (size_t k = 1; k < launches; k++)
		done[k] = done[k] > done[k - 1] ? done[k] : done[k - 1];
	return done;
}

/* Leaves out groups of calls outside of windows, if the clock shows it. `groups`: what is left. */
static enum gp_status leave_outside(struct joining *j, const uint32_t *of, size_t launches,
				    uint32_t *with, size_t *groups)
{
	size_t kept = 0;
	if (j->collected.windows == 0 || !j->has_all_launches || *groups == 0)
		return GP_OK;
	int64_t *done = find_done(j, of, launches);
	if (done == NULL)
		return GP_E_MEMORY;
	for (size_t k = 0; k < *groups; k++) {
		const struct gp_gpu_group *g = &j->group[with[k]];
		const struct gp_gpu_window *w =
			gp_gpu_window_by(&j->collected, g->at_ns + j->slack_ns);
		size_t low = 0, high = w != NULL ? launches : 0; /* the launches by its end */
		while (low < high) {
			const size_t middle = low + (high - low) / 2;
			if (j->out->launch[of[middle]].at_ns <= w->close_ns)
				low = middle + 1;
			else
				high = middle;
		}
		const int64_t done_ns = low != 0 ? done[low - 1] : INT64_MIN;
		if (g->at_ns == INT64_MIN || done_ns == INT64_MAX ||
		    (w != NULL && !g->may_be_outside) ||
		    (low != 0 && g->end_ns <= done_ns + j->slack_ns))
			with[kept++] = with[k];
		else
			j->joined[with[k]] = OUTSIDE;
	}
	*groups = kept;
	free(done);
	return GP_OK;
}

/* True: a copy or set has no partner on the other side, though it should. */
static bool has_odd_copies(const struct joining *j, const uint32_t *of, size_t launches,
			   const uint32_t *with, size_t groups)
{
	for (size_t k = 0; k < groups; k++)
		if (j->joined[with[k]] == NONE && j->group[with[k]].by == GP_GPU_BY_COPY)
			return true;
	for (size_t k = 0; k < launches; k++) {
		const struct gp_gpu_launch *l = &j->out->launch[of[k]];
		if (l->by == GP_GPU_BY_COPY && !l->has_operation && !l->is_optional)
			return true;
	}
	return false;
}

/* Copies that do not fit leave the alignment of kernels as it would be without copies. */
static enum gp_status join_stream(struct joining *j, const uint32_t *of, size_t launches,
				  uint32_t *with, size_t groups)
{
	const uint64_t swapped = j->out->swapped;
	enum gp_status status = leave_outside(j, of, launches, with, &groups);
	if (status == GP_OK)
		status = join_list(j, of, launches, with, groups);
	if (status != GP_OK || !has_odd_copies(j, of, launches, with, groups))
		return status;
	forget(j, of, launches, with, groups);
	j->out->swapped = swapped;
	for (unsigned is_copies = 0; is_copies < 2 && status == GP_OK; is_copies++) {
		size_t some_launches = launches, some_groups = groups;
		list_part(j, of, &some_launches, with, &some_groups, is_copies != 0);
		status = join_list(j, j->some_of, some_launches, j->some_with, some_groups);
	}
	return status;
}

static enum gp_status join_streams(struct joining *j)
{
	enum gp_status status = list_by_stream(j);
	for (uint32_t s = 0; status == GP_OK && s < j->collected.streams; s++) {
		const uint32_t first = j->of_start[s], with = j->with_start[s];
		status = join_stream(j, j->of + first, j->of_start[s + 1] - first, j->with + with,
				     j->with_start[s + 1] - with);
	}
	return status;
}

/*
 * What is left of graph launches: a graph's first operation may be on a stream of the driver's own.
 * Sure only if each is left with one.
 */
static enum gp_status join_graphs(struct joining *j)
{
	struct gp_gpu_align a;
	size_t launches = 0, groups = 0;
	for (size_t k = 0; k < j->out->launches; k++)
		if (j->out->launch[k].by == GP_GPU_BY_GRAPH && !j->out->launch[k].has_operation)
			j->of[launches++] = (uint32_t)k;
	for (size_t k = 0; k < j->groups; k++)
		if (j->group[k].by == GP_GPU_BY_GRAPH && j->joined[k] == NONE)
			j->with[groups++] = (uint32_t)k;
	enum gp_status status = align(j, j->of, launches, j->with, groups, false, &a);
	if (status == GP_OK)
		keep(j, &a, launches == groups);
	return status;
}

static enum gp_status join(struct joining *j)
{
	const size_t launches = j->out->launches, groups = j->groups;
	j->some_of = malloc((launches + 1) * sizeof *j->some_of);
	j->some_with = malloc((groups + 1) * sizeof *j->some_with);
	j->of = malloc((launches + 1) * sizeof *j->of);
	j->with = malloc((groups + 1) * sizeof *j->with);
	j->match = malloc((groups + 1) * sizeof *j->match);
	j->joined = malloc((groups + 1) * sizeof *j->joined);
	j->is_sure = calloc(groups + 1, 1);
	j->is_joined_sure = calloc(groups + 1, 1);
	if (!j->some_of || !j->some_with || !j->of || !j->with || !j->match || !j->joined ||
	    !j->is_sure || !j->is_joined_sure)
		return GP_E_MEMORY;
	for (size_t k = 0; k < launches; k++)
		j->of[k] = (uint32_t)k;
	for (size_t k = 0; k < groups; k++) {
		j->with[k] = (uint32_t)k;
		j->joined[k] = NONE;
	}
	enum gp_status status = vote_all(j, j->of, j->with);
	if (status == GP_OK)
		status = join_streams(j);
	return status == GP_OK ? join_graphs(j) : status;
}

/* ---- results ---- */

static int by_time(const void *left, const void *right)
{
	const struct gp_gpu_operation *a = left, *b = right;
	if (a->began_ns != b->began_ns)
		return a->began_ns < b->began_ns ? -1 : 1;
	return gp_gpu_by_call(left, right);
}

/* The group is of a call outside of the windows. If its launch is uncertain, its time decides. */
static bool group_is_outside(const struct joining *j, size_t group, enum gp_gpu_join how)
{
	const struct gp_gpu_group *g = &j->group[group];
	if (j->joined[group] == OUTSIDE)
		return true;
	if (how != GP_GPU_UNJOINED &&
	    gp_gpu_is_in_window(&j->collected, j->out->launch[j->joined[group]].at_ns))
		return false;
	if (how == GP_GPU_JOINED)
		return true;
	return j->has_all_launches && g->at_ns != INT64_MIN &&
	       (how != GP_GPU_UNJOINED || g->may_be_outside) && !gp_gpu_kinds_have(&j->alone, g) &&
	       !gp_gpu_is_in_window(&j->collected, g->at_ns);
}

/* Operations that ran after a window may be of launches in it that have none. */
static enum gp_status find_alone(struct joining *j)
{
	for (size_t k = 0; k < j->out->launches && is_whole(j); k++) {
		const struct gp_gpu_launch *l = &j->out->launch[k];
		if (!l->has_operation && !l->is_optional && !gp_gpu_kinds_add(&j->alone, l))
			return GP_E_MEMORY;
	}
	return GP_OK;
}

/* The job's own profiler has collected, too. */
static bool is_shared(const struct joining *j)
{
	for (size_t k = 0; k < j->groups; k++)
		if ((j->joined[k] == NONE || j->joined[k] == OUTSIDE) &&
		    group_is_outside(j, k, GP_GPU_UNJOINED))
			return true;
	return false;
}

static void finish(struct joining *j, bool is_doubtful)
{
	struct gp_gpu *out = j->out;
	size_t kept = 0;
	for (size_t k = 0; k < j->groups; k++) {
		const struct gp_gpu_group *g = &j->group[k];
		const enum gp_gpu_join how = j->joined[k] == NONE ? GP_GPU_UNJOINED :
					     is_doubtful || !j->is_joined_sure[k] ?
								    GP_GPU_UNCERTAIN :
								    GP_GPU_JOINED;
		if (group_is_outside(j, k, how)) {
			out->outside += g->count;
			continue;
		}
		for (uint32_t n = 0; n < g->count; n++) {
			struct gp_gpu_operation op = out->operation[g->first + n];
			if (!gp_gpu_has_time(&op)) {
				out->dropped++;
				continue;
			}
			op.launch = j->joined[k];
			op.join = (uint8_t)how;
			out->joined[how]++;
			out->operation[kept++] = op;
		}
	}
	out->operations = kept;
	for (size_t k = 0; k < out->launches; k++)
		out->launches_alone += !out->launch[k].has_operation && !out->launch[k].is_optional;
	if (out->operations != 0)
		qsort(out->operation, out->operations, sizeof *out->operation, by_time);
}

enum gp_status gp_gpu_build(struct gp_recording *recording, bool has_ranges, struct gp_gpu *out)
{
	struct joining j = { .out = out, .collected.clock.within_ns = -1 };
	const struct gp_info *info;
	*out = (struct gp_gpu){ .clock_within_ns = -1 };
	enum gp_status status = gp_recording_info(recording, &info);
	if (status == GP_OK)
		status = gp_recording_rewind(recording);
	if (status == GP_OK && has_ranges)
		status = gp_range_paths_derive(recording, &out->ranges);
	if (out->ranges != NULL)
		gp_range_paths_keep_calls(out->ranges, gp_gpu_items_most(recording));
	if (status == GP_OK)
		status = has_ranges || gp_gpu_has_times(recording) ?
				 gp_gpu_collect(recording, out, &j.collected) :
				 gp_recording_end(recording);
	if (status == GP_OK && has_ranges)
		status = gp_range_paths_status(out->ranges);
	j.is_damaged = status == GP_OK && info->is_damaged;
	j.has_all_launches = !j.is_damaged && (out->lost_launches | out->beyond) == 0;
	gp_looks_open_bytes(&j.looks, recording->file.bytes);
	out->clock_within_ns = j.collected.clock.within_ns;
	j.slack_ns = GP_GPU_SLACK_NS + (out->clock_within_ns > 0 ? out->clock_within_ns : 0);
	if (status == GP_OK)
		status = gp_gpu_groups_find(out, &j.collected.clock, &j.streams, &j.group,
					    &j.groups);
	for (size_t k = 0; status == GP_OK && k < j.groups; k++)
		j.group[k].may_be_outside = gp_gpu_kinds_have(&j.collected.outside, &j.group[k]);
	if (status == GP_OK)
		status = join(&j);
	if (status == GP_OK)
		status = find_alone(&j);
	/* some of both sides have no counterpart: equal keys prove nothing then */
	if (status == GP_OK)
		finish(&j, !is_whole(&j) && (!j.has_all_launches || is_shared(&j)));
	gp_gpu_clock_release(&j.collected.clock);
	free(j.collected.window);
	gp_row_table_release(&j.collected.outside);
	gp_row_table_release(&j.alone);
	gp_row_table_release(&j.streams);
	free(j.group);
	free(j.some_of);
	free(j.some_with);
	free(j.of);
	free(j.with);
	free(j.of_start);
	free(j.with_start);
	free(j.match);
	free(j.joined);
	free(j.is_sure);
	free(j.is_joined_sure);
	out->has_operations = out->operations != 0 || out->outside != 0;
	const struct gp_record *fact =
		gp_defined_record(recording->definitions, GP_FACT, GP_FACT_GPU_TIME);
	if (fact != NULL)
		out->has_operations |= fact->fact.value != 0;
	if (fact != NULL && !out->has_operations)
		out->why = gp_recording_text(recording, GP_FACT, GP_FACT_GPU_TIME);
	if (status != GP_OK)
		gp_gpu_free(out);
	return status;
}

void gp_gpu_free(struct gp_gpu *gpu)
{
	free(gpu->operation);
	free(gpu->launch);
	free(gpu->function);
	gp_range_paths_close(gpu->ranges);
	*gpu = (struct gp_gpu){ 0 };
}
