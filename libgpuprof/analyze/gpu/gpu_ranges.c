/* Projects operations onto the ranges and steps in which they were launched. */
#include <stdlib.h>
#include <string.h>

#include "../../read/file/recording.h"
#include "../../read/tables/row_table.h"
#include "../../state/looks.h"
#include "../phases/range_path.h"

static void ns_sum(uint64_t *sum, uint64_t ns)
{
	if (__builtin_add_overflow(*sum, ns, sum))
		*sum = UINT64_MAX;
}

/* Adds an operation to a sum, without its envelope. They come in the order of their begin. */
static void spread_add(struct gp_gpu_sum *sum, uint64_t *first_ns, uint64_t *last_ns,
		       const struct gp_gpu_operation *op)
{
	const uint64_t end_ns = op->began_ns + op->took_ns;
	if (sum->operations++ == 0)
		*first_ns = *last_ns = op->began_ns;
	ns_sum(&sum->sum_ns, op->took_ns);
	if (end_ns > *last_ns) {
		sum->busy_ns += end_ns - (op->began_ns > *last_ns ? op->began_ns : *last_ns);
		*last_ns = end_ns;
	}
}

static void sum_add(struct gp_gpu_sum *to, const struct gp_gpu_sum *sum, uint64_t envelope_ns)
{
	to->operations += sum->operations;
	ns_sum(&to->envelope_ns, envelope_ns);
	ns_sum(&to->busy_ns, sum->busy_ns);
	ns_sum(&to->sum_ns, sum->sum_ns);
}

/* ---- calls of ranges ---- */

static void call_add(struct gp_gpu_call *c, const struct gp_gpu_operation *op)
{
	if (c->sum.operations == 0)
		c->at_ns = op->at_ns;
	spread_add(&c->sum, &c->first_ns, &c->last_ns, op);
}

/* An operation belongs to its range and to all around it. */
static void operation_project(struct gp_gpu_calls *out, const struct gp_gpu_operation *op,
			      const struct gp_gpu_launch *l)
{
	for (uint32_t at = l->call; at != 0; at = out->call[at].call->up)
		call_add(&out->call[at], op);
	if (l->call != 0 || l->range->known == GP_RANGE_IN)
		return;
	struct gp_gpu_call *c = &out->outside[l->range->known != GP_RANGE_OUTSIDE];
	call_add(c, op);
	c->path = l->range;
}

/* ---- started ranges ---- */

/* The operations of each launch, in any order. */
static void launch_add(struct gp_gpu_call *c, const struct gp_gpu_call *launched)
{
	if (c->sum.operations == 0 || launched->first_ns < c->first_ns) {
		c->first_ns = launched->first_ns;
		c->at_ns = launched->at_ns;
	}
	if (launched->last_ns > c->last_ns)
		c->last_ns = launched->last_ns;
	c->sum.operations += launched->sum.operations;
	ns_sum(&c->sum.sum_ns, launched->sum.sum_ns);
}

static int by_begin(const void *left, const void *right, void *context)
{
	const struct gp_gpu_call *call = context;
	const int64_t a = call[*(const uint32_t *)left].call->begin_ns;
	const int64_t b = call[*(const uint32_t *)right].call->begin_ns;
	return (a > b) - (a < b);
}

/* The launch belongs to those of the open ranges that have not ended. Returns their number. */
static size_t launch_project(struct gp_gpu_calls *out, uint32_t *open, size_t opens,
			     const struct gp_gpu_launch *l, const struct gp_gpu_call *launched)
{
	for (size_t k = 0; k < opens;) {
		struct gp_gpu_call *c = &out->call[open[k]];
		if (c->call->end_ns < l->at_ns) {
			open[k] = open[--opens];
			continue;
		}
		if (c->call->end_thread != c->call->thread || c->call->thread == l->thread)
			launch_add(c, launched);
		k++;
	}
	return opens;
}

/* `launched`: the operations of each launch. */
static bool started_project(struct gp_gpu_calls *out, const struct gp_gpu *gpu, size_t started,
			    const struct gp_gpu_call *launched)
{
	uint32_t *range = malloc(2 * (started + 1) * sizeof *range), *open = range + started;
	size_t ranges = 0, opens = 0, next = 0;
	struct gp_looks looks;
	gp_looks_open(&looks);
	if (range == NULL)
		return false;
	for (size_t k = 1; k <= out->calls; k++)
		if (out->call[k].call->is_started)
			range[ranges++] = (uint32_t)k;
	qsort_r(range, ranges, sizeof *range, by_begin, out->call);
	for (size_t k = 0; k < gpu->launches; k++) {
		const struct gp_gpu_launch *l = &gpu->launch[k];
		for (; next < ranges && out->call[range[next]].call->begin_ns <= l->at_ns; next++)
			open[opens++] = range[next];
		gp_looks_add(&looks);
		if (launched[k].sum.operations != 0 && gp_looks_take(&looks, opens))
			opens = launch_project(out, open, opens, l, &launched[k]);
	}
	out->unread = looks.refused;
	free(range);
	return true;
}

enum gp_status gp_gpu_calls_build(struct gp_gpu *gpu, int64_t from_ns, int64_t to_ns,
				  unsigned device, struct gp_gpu_calls *out)
{
	*out = (struct gp_gpu_calls){ 0 };
	const struct gp_range_call *call = gp_range_paths_calls(gpu->ranges, &out->calls);
	struct gp_gpu_call *launched = NULL;
	size_t started = 0;
	out->call = calloc(out->calls + 1, sizeof *out->call);
	for (size_t k = 1; k <= out->calls; k++)
		started += call[k].is_started;
	if (started != 0)
		launched = calloc(gpu->launches + 1, sizeof *launched);
	if (out->call == NULL || (started != 0 && launched == NULL)) {
		free(launched);
		return GP_E_MEMORY;
	}
	for (size_t k = 1; k <= out->calls; k++) {
		struct gp_gpu_call *c = &out->call[k];
		c->call = &call[k];
		c->path = gp_range_paths_called(gpu->ranges, &call[k]);
		if (call[k].up == 0)
			continue;
		c->depth = out->call[call[k].up].depth + 1;
		out->call[call[k].up].children++;
	}
	for (size_t k = 0; k < gpu->operations; k++) {
		const struct gp_gpu_operation *op = &gpu->operation[k];
		if (device != GP_DEVICE_UNKNOWN && op->device != device)
			continue;
		if (op->launch == GP_GPU_NO_LAUNCH) {
			out->unjoined++;
			continue;
		}
		const struct gp_gpu_launch *l = &gpu->launch[op->launch];
		if (l->at_ns < from_ns || l->at_ns > to_ns)
			continue;
		operation_project(out, op, l);
		if (launched != NULL)
			call_add(&launched[op->launch], op);
	}
	const bool is_fine = started == 0 || started_project(out, gpu, started, launched);
	free(launched);
	return is_fine ? gp_range_paths_status(gpu->ranges) : GP_E_MEMORY;
}

void gp_gpu_calls_free(struct gp_gpu_calls *calls)
{
	free(calls->call);
	*calls = (struct gp_gpu_calls){ 0 };
}

/* ---- ranges ---- */

struct by_path {
	uint64_t key; /* address of its path */
	size_t range; /* 1 + index; 0: new */
};

struct projecting {
	struct gp_gpu_ranges *out;
	struct gp_row_table paths; /* struct by_path */
	size_t room;
};

static bool range_add(struct projecting *p, const struct gp_gpu_call *call)
{
	struct gp_gpu_ranges *out = p->out;
	if (call->sum.operations == 0 || (call->call != NULL && call->call->is_started))
		return true;
	struct by_path *by = gp_row_get_key(&p->paths, sizeof *by, (uint64_t)(uintptr_t)call->path);
	if (by == NULL)
		return false;
	if (by->range == 0) {
		if (out->ranges == p->room) {
			const size_t room = p->room + p->room / 4 + 64;
			void *grown = realloc(out->range, room * sizeof *out->range);
			if (grown == NULL)
				return false;
			out->range = grown;
			p->room = room;
		}
		out->range[out->ranges] = (struct gp_gpu_range){ .path = call->path };
		by->range = ++out->ranges;
	}
	out->range[by->range - 1].calls++;
	sum_add(&out->range[by->range - 1].sum, &call->sum, call->last_ns - call->first_ns);
	return true;
}

enum gp_status gp_gpu_ranges_build(struct gp_recording *recording, int64_t from_ns, int64_t to_ns,
				   unsigned device, struct gp_gpu_ranges *out)
{
	struct projecting p = { .out = out };
	struct gp_gpu_calls calls = { 0 };
	*out = (struct gp_gpu_ranges){ 0 };
	enum gp_status status = gp_gpu_build(recording, true, &out->gpu);
	if (status == GP_OK)
		status = gp_gpu_calls_build(&out->gpu, from_ns, to_ns, device, &calls);
	for (size_t k = 1; k <= calls.calls && status == GP_OK; k++)
		status = range_add(&p, &calls.call[k]) ? GP_OK : GP_E_MEMORY;
	for (unsigned k = 0; k < 2 && status == GP_OK; k++)
		status = range_add(&p, &calls.outside[k]) ? GP_OK : GP_E_MEMORY;
	out->unjoined = calls.unjoined;
	gp_gpu_calls_free(&calls);
	gp_row_table_release(&p.paths);
	if (status != GP_OK)
		gp_gpu_ranges_free(out);
	return status;
}

void gp_gpu_ranges_free(struct gp_gpu_ranges *ranges)
{
	free(ranges->range);
	gp_gpu_free(&ranges->gpu);
	*ranges = (struct gp_gpu_ranges){ 0 };
}

/* ---- steps ---- */

enum gp_status gp_gpu_steps_build(struct gp_recording *recording, const struct gp_steps *steps,
				  struct gp_gpu_sum **out)
{
	struct gp_gpu gpu;
	*out = NULL;
	enum gp_status status = gp_gpu_build(recording, false, &gpu);
	if (status != GP_OK)
		return status;
	uint64_t(*ends_ns)[2] = calloc(steps->steps + 1, sizeof *ends_ns);
	if (gpu.has_operations && ends_ns != NULL)
		*out = calloc(steps->steps + 1, sizeof **out);
	for (size_t k = 0; k < gpu.operations && *out != NULL; k++) {
		if (gpu.operation[k].launch == GP_GPU_NO_LAUNCH)
			continue;
		const size_t at = gp_step_at(steps, gpu.launch[gpu.operation[k].launch].at_ns);
		spread_add(&(*out)[at], &ends_ns[at][0], &ends_ns[at][1], &gpu.operation[k]);
	}
	for (size_t k = 0; k < steps->steps && *out != NULL; k++)
		(*out)[k].envelope_ns = ends_ns[k][1] - ends_ns[k][0];
	if (ends_ns == NULL || (gpu.has_operations && *out == NULL))
		status = GP_E_MEMORY;
	free(ends_ns);
	gp_gpu_free(&gpu);
	return status;
}
