/* Projects operations onto the ranges and steps in which they were launched. */
#include <stdlib.h>
#include <string.h>

#include "../../read/file/recording.h"
#include "../../read/tables/row_table.h"
#include "../phases/range_path.h"

/* Operations so far, in the order of their begin. */
struct spread {
	struct gp_gpu_sum sum; /* without the envelope */
	uint64_t first_ns, last_ns;
};

static void ns_sum(uint64_t *sum, uint64_t ns)
{
	if (__builtin_add_overflow(*sum, ns, sum))
		*sum = UINT64_MAX;
}

static void spread_add(struct spread *s, const struct gp_gpu_operation *op)
{
	const uint64_t end_ns = op->began_ns + op->took_ns;
	if (s->sum.operations++ == 0)
		s->first_ns = s->last_ns = op->began_ns;
	ns_sum(&s->sum.sum_ns, op->took_ns);
	if (end_ns > s->last_ns) {
		s->sum.busy_ns += end_ns - (op->began_ns > s->last_ns ? op->began_ns : s->last_ns);
		s->last_ns = end_ns;
	}
}

static void sum_add(struct gp_gpu_sum *to, const struct spread *s)
{
	to->operations += s->sum.operations;
	ns_sum(&to->envelope_ns, s->last_ns - s->first_ns);
	ns_sum(&to->busy_ns, s->sum.busy_ns);
	ns_sum(&to->sum_ns, s->sum.sum_ns);
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
	struct spread *call;	  /* by number */
	struct spread outside[2]; /* in no range; unclear in which */
	const struct gp_range_path *outside_path[2];
};

static bool range_add(struct projecting *p, const struct gp_range_path *path,
		      const struct spread *s)
{
	struct gp_gpu_ranges *out = p->out;
	struct by_path *by = gp_row_get_key(&p->paths, sizeof *by, (uint64_t)(uintptr_t)path);
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
		out->range[out->ranges] = (struct gp_gpu_range){ .path = path };
		by->range = ++out->ranges;
	}
	out->range[by->range - 1].calls++;
	sum_add(&out->range[by->range - 1].sum, s);
	return true;
}

/* An operation belongs to its range and to all around it. */
static void operation_project(struct projecting *p, const struct gp_range_call *call,
			      const struct gp_gpu_operation *op, const struct gp_gpu_launch *l)
{
	for (uint32_t at = l->call; at != 0; at = call[at].up)
		spread_add(&p->call[at], op);
	if (l->call != 0 || l->range->known == GP_RANGE_IN)
		return;
	const bool is_unclear = l->range->known != GP_RANGE_OUTSIDE;
	spread_add(&p->outside[is_unclear], op);
	p->outside_path[is_unclear] = l->range;
}

static enum gp_status project(struct projecting *p, int64_t from_ns, int64_t to_ns, unsigned device)
{
	struct gp_gpu *gpu = &p->out->gpu;
	size_t calls;
	const struct gp_range_call *call = gp_range_paths_calls(gpu->ranges, &calls);
	p->call = calloc(calls + 1, sizeof *p->call);
	if (p->call == NULL)
		return GP_E_MEMORY;
	for (size_t k = 0; k < gpu->operations; k++) {
		const struct gp_gpu_operation *op = &gpu->operation[k];
		if (device != GP_DEVICE_UNKNOWN && op->device != device)
			continue;
		if (op->launch == GP_GPU_NO_LAUNCH) {
			p->out->unjoined++;
			continue;
		}
		const struct gp_gpu_launch *l = &gpu->launch[op->launch];
		if (l->at_ns >= from_ns && l->at_ns <= to_ns)
			operation_project(p, call, op, l);
	}
	for (size_t k = 1; k <= calls; k++)
		if (p->call[k].sum.operations != 0 &&
		    !range_add(p, gp_range_paths_node(gpu->ranges, call[k].node), &p->call[k]))
			return GP_E_MEMORY;
	for (unsigned k = 0; k < 2; k++)
		if (p->outside[k].sum.operations != 0 &&
		    !range_add(p, p->outside_path[k], &p->outside[k]))
			return GP_E_MEMORY;
	return gp_range_paths_status(gpu->ranges);
}

enum gp_status gp_gpu_ranges_build(struct gp_recording *recording, int64_t from_ns, int64_t to_ns,
				   unsigned device, struct gp_gpu_ranges *out)
{
	struct projecting p = { .out = out };
	*out = (struct gp_gpu_ranges){ 0 };
	enum gp_status status = gp_gpu_build(recording, true, &out->gpu);
	if (status == GP_OK)
		status = project(&p, from_ns, to_ns, device);
	gp_row_table_release(&p.paths);
	free(p.call);
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
	struct spread *spread = calloc(steps->steps + 1, sizeof *spread);
	if (gpu.has_operations && spread != NULL)
		*out = calloc(steps->steps + 1, sizeof **out);
	for (size_t k = 0; k < gpu.operations && *out != NULL; k++)
		if (gpu.operation[k].launch != GP_GPU_NO_LAUNCH)
			spread_add(&spread[gp_step_at(steps,
						      gpu.launch[gpu.operation[k].launch].at_ns)],
				   &gpu.operation[k]);
	for (size_t k = 0; k < steps->steps && *out != NULL; k++)
		sum_add(&(*out)[k], &spread[k]);
	if (spread == NULL || (gpu.has_operations && *out == NULL))
		status = GP_E_MEMORY;
	free(spread);
	gp_gpu_free(&gpu);
	return status;
}
