/*
 * The join of operations and launches. First launches and operations of kernels are aligned, each
 * in the order of the calls. Each pair is a vote for a stream of the job to be one of CUPTI's. Then
 * the operations of each stream are aligned with its launches alone.
 */
#include <stdlib.h>
#include <string.h>

#include "../../read/tables/row_table.h"
#include "../phases/range_path.h"
#include "gpu_align.h"
#include "gpu_collect.h"

#define NONE GP_GPU_NO_LAUNCH
#define VOTES_SHARE(votes) ((votes) - (votes) / 3) /* two thirds name a stream */

struct cupti_stream {
	uint64_t key;
	uint32_t number, stream; /* of the job; NONE: unknown */
	uint64_t votes, best;
	bool is_settled; /* by an earlier vote */
};
struct vote {
	uint64_t key; /* number of cupti_stream << 32 | stream */
	uint64_t votes;
};

struct joining {
	struct gp_gpu *out;
	struct gp_gpu_collected collected;
	struct gp_gpu_group *group;
	size_t groups;
	struct gp_row_table streams; /* struct cupti_stream */
	struct gp_looks looks;
	int64_t slack_ns;
	bool is_damaged;
	/* launches and groups by stream; starts: where those of a stream begin */
	uint32_t *of, *with, *of_start, *with_start;
	uint32_t *some_of, *some_with; /* a part of them */
	uint32_t *match, *joined;      /* launches by group */
	uint8_t *is_sure, *is_joined_sure;
};

/* ---- groups ---- */

static int by_call(const void *left, const void *right)
{
	const struct gp_gpu_operation *a = left, *b = right;
	if (a->correlation != b->correlation)
		return a->correlation < b->correlation ? -1 : 1;
	if (a->began_ns != b->began_ns)
		return a->began_ns < b->began_ns ? -1 : 1;
	return (a->function > b->function) - (a->function < b->function);
}

static uint32_t cupti_stream_of(struct joining *j, const struct gp_gpu_operation *op)
{
	const uint64_t key = gp_hash_pair((uint64_t)op->context << 8 | op->device, op->stream);
	struct cupti_stream *s = gp_row_of_key(&j->streams, sizeof *s, key);
	if (s != NULL)
		return s->number;
	s = gp_row_get_key(&j->streams, sizeof *s, key);
	if (s == NULL)
		return NONE;
	s->number = j->streams.rows - 1;
	s->stream = NONE;
	return s->number;
}

static bool group_add(struct joining *j, size_t first, size_t end)
{
	const struct gp_gpu *out = j->out;
	const struct gp_gpu_operation *op = &out->operation[first], *kernel = NULL;
	struct gp_gpu_group *g = &j->group[j->groups++];
	uint64_t bytes = 0;
	bool is_graph = false;
	*g = (struct gp_gpu_group){ .first = (uint32_t)first,
				    .count = (uint32_t)(end - first),
				    .stream = cupti_stream_of(j, op),
				    .at_ns = op->at_ns,
				    .end_ns = INT64_MIN,
				    .device = op->device };
	for (size_t k = first; k < end; k++) {
		const struct gp_gpu_operation *o = &out->operation[k];
		const int64_t end_ns =
			gp_gpu_clock_ns(&j->collected.clock, o->began_ns + o->took_ns);
		is_graph |= o->is_in_graph;
		bytes += o->bytes;
		if (end_ns > g->end_ns)
			g->end_ns = end_ns;
		if (kernel == NULL && o->kind == GP_GPU_IS_KERNEL)
			kernel = o;
	}
	if (is_graph) {
		g->by = GP_GPU_BY_GRAPH;
	} else if (kernel != NULL) {
		const struct gp_gpu_function *f = &out->function[kernel->function];
		g->by = GP_GPU_BY_KERNEL;
		g->name = f->name;
		g->shape = gp_gpu_kernel_shape(f->grid, f->block);
		g->is_shapeless = f->name != NULL && !gp_gpu_has_shape(f);
	} else {
		g->by = GP_GPU_BY_COPY;
		g->shape = gp_gpu_copy_shape(bytes, op->kind == GP_GPU_IS_SET);
	}
	return g->stream != NONE;
}

static enum gp_status find_groups(struct joining *j)
{
	struct gp_gpu *out = j->out;
	for (size_t k = 0; k < out->operations; k++)
		out->operation[k].at_ns =
			gp_gpu_clock_ns(&j->collected.clock, out->operation[k].began_ns);
	if (out->operations != 0)
		qsort(out->operation, out->operations, sizeof *out->operation, by_call);
	size_t count = 0;
	for (size_t k = 0; k < out->operations; k++)
		count += k == 0 ||
			 out->operation[k].correlation != out->operation[k - 1].correlation;
	j->group = malloc((count + 1) * sizeof *j->group);
	if (j->group == NULL)
		return GP_E_MEMORY;
	for (size_t k = 0, end; k < out->operations; k = end) {
		for (end = k + 1; end < out->operations &&
				  out->operation[end].correlation == out->operation[k].correlation;
		     end++)
			;
		if (!group_add(j, k, end))
			return GP_E_MEMORY;
	}
	return GP_OK;
}

/* ---- the launches in the order of their begin ---- */

struct begun {
	int64_t at_ns;
	uint32_t launch;
};

static int by_begin(const void *left, const void *right)
{
	const struct begun *a = left, *b = right;
	if (a->at_ns != b->at_ns)
		return a->at_ns < b->at_ns ? -1 : 1;
	return (a->launch > b->launch) - (a->launch < b->launch);
}

/* A copy is recorded at its end, and may have begun before another thread's launch. */
static enum gp_status sort_launches(struct gp_gpu *out)
{
	size_t k = 1;
	while (k < out->launches && out->launch[k - 1].at_ns <= out->launch[k].at_ns)
		k++;
	if (k >= out->launches)
		return GP_OK;
	struct begun *begun = malloc(out->launches * sizeof *begun);
	struct gp_gpu_launch *sorted = malloc(out->launches * sizeof *sorted);
	if (begun != NULL && sorted != NULL) {
		for (k = 0; k < out->launches; k++)
			begun[k] = (struct begun){ out->launch[k].at_ns, (uint32_t)k };
		qsort(begun, out->launches, sizeof *begun, by_begin);
		for (k = 0; k < out->launches; k++)
			sorted[k] = out->launch[begun[k].launch];
		free(out->launch);
		out->launch = sorted;
	} else {
		free(sorted);
	}
	free(begun);
	return begun != NULL && sorted != NULL ? GP_OK : GP_E_MEMORY;
}

/* ---- alignments ---- */

static enum gp_status align(struct joining *j, const uint32_t *of, size_t launches,
			    const uint32_t *with, size_t groups, struct gp_gpu_align *a)
{
	*a = (struct gp_gpu_align){ .launch = j->out->launch,
				    .group = j->group,
				    .of = of,
				    .with = with,
				    .launches = launches,
				    .groups = groups,
				    .slack_ns = j->slack_ns,
				    .is_whole = (j->out->dropped | j->out->lost) == 0 &&
						!j->is_damaged && j->out->beyond == 0,
				    .looks = &j->looks,
				    .match = j->match,
				    .is_sure = j->is_sure };
	for (size_t k = 0; k < groups; k++)
		j->match[k] = NONE;
	return gp_gpu_align(a);
}

/* Aligns those with, or those without GP_GPU_BY_COPY alone. */
static enum gp_status align_part(struct joining *j, const uint32_t *of, size_t launches,
				 const uint32_t *with, size_t groups, bool is_copies,
				 struct gp_gpu_align *a)
{
	size_t some_launches = 0, some_groups = 0;
	for (size_t k = 0; k < launches; k++)
		if ((j->out->launch[of[k]].by == GP_GPU_BY_COPY) == is_copies)
			j->some_of[some_launches++] = of[k];
	for (size_t k = 0; k < groups; k++)
		if ((j->group[with[k]].by == GP_GPU_BY_COPY) == is_copies)
			j->some_with[some_groups++] = with[k];
	return align(j, j->some_of, some_launches, j->some_with, some_groups, a);
}

static enum gp_status vote(struct joining *j, const struct gp_gpu_align *a)
{
	struct gp_row_table votes = { 0 };
	struct cupti_stream *streams = j->streams.row;
	for (size_t k = 0; k < a->groups; k++) {
		const struct gp_gpu_group *g = &j->group[a->with[k]];
		if (a->match[k] == NONE || g->by == GP_GPU_BY_GRAPH)
			continue;
		const uint32_t stream = a->launch[a->of[a->match[k]]].stream;
		struct vote *v =
			gp_row_get_key(&votes, sizeof *v, (uint64_t)g->stream << 32 | stream);
		if (v == NULL) {
			gp_row_table_release(&votes);
			return GP_E_MEMORY;
		}
		struct cupti_stream *s = &streams[g->stream];
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
static void vote_graphs(struct joining *j, const struct gp_gpu_align *a)
{
	struct cupti_stream *streams = j->streams.row;
	for (size_t k = 0; k < a->groups; k++) {
		const struct gp_gpu_group *g = &j->group[a->with[k]];
		if (a->match[k] != NONE && g->by == GP_GPU_BY_GRAPH &&
		    streams[g->stream].votes == 0)
			streams[g->stream].stream = a->launch[a->of[a->match[k]]].stream;
	}
}

/*
 * Copies vote only for streams without kernels: kernels have names. A copy may have no operation,
 * or several.
 */
static enum gp_status vote_all(struct joining *j, const uint32_t *of, const uint32_t *with)
{
	struct gp_gpu_align a;
	bool is_settled = true;
	enum gp_status status = align_part(j, of, j->out->launches, with, j->groups, false, &a);
	if (status == GP_OK)
		status = vote(j, &a);
	if (status != GP_OK)
		return status;
	vote_graphs(j, &a);
	for (uint32_t k = 0; k < j->streams.rows; k++)
		is_settled &= ((struct cupti_stream *)j->streams.row)[k].is_settled;
	if (is_settled)
		return GP_OK;
	status = align(j, of, j->out->launches, with, j->groups, &a);
	return status == GP_OK ? vote(j, &a) : status;
}

static uint32_t stream_of_group(const struct joining *j, size_t k)
{
	return ((const struct cupti_stream *)j->streams.row)[j->group[k].stream].stream;
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

/* True: a copy or set has no partner on the other side, though it should. */
static bool has_odd_copies(const struct gp_gpu_align *a)
{
	for (size_t k = 0; k < a->groups; k++)
		if (a->match[k] == NONE && a->group[a->with[k]].by == GP_GPU_BY_COPY)
			return true;
	for (size_t k = 0; k < a->launches; k++) {
		const struct gp_gpu_launch *l = &a->launch[a->of[k]];
		if (l->by == GP_GPU_BY_COPY && !l->has_operation && !l->is_optional)
			return true;
	}
	return false;
}

/* Copies that do not fit leave the alignment of kernels as it would be without copies. */
static enum gp_status join_stream(struct joining *j, const uint32_t *of, size_t launches,
				  const uint32_t *with, size_t groups)
{
	struct gp_gpu_align a;
	enum gp_status status = align(j, of, launches, with, groups, &a);
	for (size_t k = 0; status == GP_OK && k < launches; k++)
		j->out->launch[of[k]].has_operation = false;
	for (size_t k = 0; status == GP_OK && k < groups; k++)
		if (a.match[k] != NONE)
			j->out->launch[of[a.match[k]]].has_operation = true;
	if (status != GP_OK || !has_odd_copies(&a)) {
		if (status == GP_OK)
			keep(j, &a, true);
		return status;
	}
	for (size_t k = 0; k < launches; k++)
		j->out->launch[of[k]].has_operation = false;
	for (unsigned is_copies = 0; is_copies < 2 && status == GP_OK; is_copies++) {
		status = align_part(j, of, launches, with, groups, is_copies != 0, &a);
		if (status == GP_OK)
			keep(j, &a, true);
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
	enum gp_status status = align(j, j->of, launches, j->with, groups, &a);
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
	return by_call(left, right);
}

static void finish(struct joining *j, bool is_doubtful)
{
	struct gp_gpu *out = j->out;
	for (size_t k = 0; k < j->groups; k++) {
		const struct gp_gpu_group *g = &j->group[k];
		const enum gp_gpu_join how = j->joined[k] == NONE ? GP_GPU_UNJOINED :
					     is_doubtful || !j->is_joined_sure[k] ?
								    GP_GPU_UNCERTAIN :
								    GP_GPU_JOINED;
		out->joined[how] += g->count;
		for (uint32_t n = 0; n < g->count; n++) {
			out->operation[g->first + n].launch = j->joined[k];
			out->operation[g->first + n].join = (uint8_t)how;
		}
	}
	for (size_t k = 0; k < out->launches; k++)
		out->launches_alone += !out->launch[k].has_operation && !out->launch[k].is_optional;
	if (out->operations != 0)
		qsort(out->operation, out->operations, sizeof *out->operation, by_time);
}

enum gp_status gp_gpu_build(struct gp_recording *recording, bool has_ranges, struct gp_gpu *out)
{
	struct joining j = { .out = out };
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
		status = gp_gpu_collect(recording, out, &j.collected);
	if (status == GP_OK && has_ranges)
		status = gp_range_paths_status(out->ranges);
	j.is_damaged = status == GP_OK && info->is_damaged;
	gp_looks_open_bytes(&j.looks, recording->file.bytes);
	out->clock_within_ns = j.collected.clock.within_ns;
	j.slack_ns = GP_GPU_SLACK_NS + (out->clock_within_ns > 0 ? out->clock_within_ns : 0);
	if (status == GP_OK)
		status = sort_launches(out);
	if (status == GP_OK)
		status = find_groups(&j);
	if (status == GP_OK)
		status = join(&j);
	/* events of both sides are missing: equal keys prove nothing then */
	const bool has_lost_launches = out->lost_launches != 0 || info->is_damaged;
	const bool has_lost_operations = (out->dropped | out->lost) != 0 || info->is_damaged;
	if (status == GP_OK)
		finish(&j, (has_lost_launches && has_lost_operations) || out->beyond != 0);
	gp_gpu_clock_release(&j.collected.clock);
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
	out->has_operations = out->operations != 0;
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
