/* The operations of each call, in the order of the calls. */
#include "gpu_groups.h"

#include <stdlib.h>

#define KINDS_MOST 65536u    /* operations of others have no launch */
#define ANY_SHAPE UINT64_MAX /* the shape is a hash */

int gp_gpu_by_call(const void *left, const void *right)
{
	const struct gp_gpu_operation *a = left, *b = right;
	if (a->correlation != b->correlation)
		return a->correlation < b->correlation ? -1 : 1;
	if (a->began_ns != b->began_ns)
		return a->began_ns < b->began_ns ? -1 : 1;
	return (a->function > b->function) - (a->function < b->function);
}

static uint64_t kind_key(uint8_t by, const char *name, uint64_t shape)
{
	return gp_hash_pair(gp_hash_pair(by, (uint64_t)(uintptr_t)name), shape);
}

bool gp_gpu_kinds_add(struct gp_row_table *kinds, const struct gp_gpu_launch *l)
{
	if (kinds->rows >= KINDS_MOST)
		return true;
	return gp_row_get_key(kinds, sizeof(uint64_t), kind_key(l->by, l->name, l->shape)) &&
	       gp_row_get_key(kinds, sizeof(uint64_t), kind_key(l->by, l->name, ANY_SHAPE));
}

bool gp_gpu_kinds_have(const struct gp_row_table *kinds, const struct gp_gpu_group *g)
{
	const uint64_t shape = g->is_shapeless ? ANY_SHAPE : g->shape;
	return gp_row_of_key(kinds, sizeof(uint64_t), kind_key(g->by, g->name, shape)) != NULL ||
	       (!g->is_shapeless &&
		gp_row_of_key(kinds, sizeof(uint64_t), kind_key(g->by, NULL, shape)) != NULL);
}

static uint32_t stream_of(struct gp_row_table *streams, const struct gp_gpu_operation *op)
{
	const uint64_t key = gp_hash_pair((uint64_t)op->context << 8 | op->device, op->stream);
	struct gp_gpu_stream *s = gp_row_of_key(streams, sizeof *s, key);
	if (s != NULL)
		return s->number;
	s = gp_row_get_key(streams, sizeof *s, key);
	if (s == NULL)
		return GP_GPU_NO_LAUNCH;
	s->number = streams->rows - 1;
	s->stream = GP_GPU_NO_LAUNCH;
	return s->number;
}

static bool group_add(const struct gp_gpu *gpu, const struct gp_gpu_clock *clock,
		      struct gp_row_table *streams, size_t first, size_t end,
		      struct gp_gpu_group *g)
{
	const struct gp_gpu_operation *op = &gpu->operation[first], *kernel = NULL;
	uint64_t bytes = 0;
	bool is_graph = false;
	*g = (struct gp_gpu_group){ .first = (uint32_t)first,
				    .count = (uint32_t)(end - first),
				    .stream = stream_of(streams, op),
				    .at_ns = gp_gpu_has_time(op) ? op->at_ns : INT64_MIN,
				    .end_ns = INT64_MIN,
				    .device = op->device };
	for (size_t k = first; k < end; k++) {
		const struct gp_gpu_operation *o = &gpu->operation[k];
		const int64_t end_ns = gp_gpu_clock_ns(clock, o->began_ns + o->took_ns);
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
		const struct gp_gpu_function *f = &gpu->function[kernel->function];
		g->by = GP_GPU_BY_KERNEL;
		g->name = f->name;
		g->shape = gp_gpu_kernel_shape(f->grid, f->block);
		g->is_shapeless = f->name != NULL && !gp_gpu_has_shape(f);
	} else {
		g->by = GP_GPU_BY_COPY;
		g->shape = gp_gpu_copy_shape(bytes, op->kind == GP_GPU_IS_SET);
	}
	return g->stream != GP_GPU_NO_LAUNCH;
}

enum gp_status gp_gpu_groups_find(struct gp_gpu *gpu, const struct gp_gpu_clock *clock,
				  struct gp_row_table *streams, struct gp_gpu_group **group,
				  size_t *groups)
{
	for (size_t k = 0; k < gpu->operations; k++)
		gpu->operation[k].at_ns = gp_gpu_clock_ns(clock, gpu->operation[k].began_ns);
	if (gpu->operations != 0)
		qsort(gpu->operation, gpu->operations, sizeof *gpu->operation, gp_gpu_by_call);
	size_t count = 0;
	for (size_t k = 0; k < gpu->operations; k++)
		count += k == 0 ||
			 gpu->operation[k].correlation != gpu->operation[k - 1].correlation;
	*group = malloc((count + 1) * sizeof **group);
	if (*group == NULL)
		return GP_E_MEMORY;
	for (size_t k = 0, end; k < gpu->operations; k = end) {
		for (end = k + 1; end < gpu->operations &&
				  gpu->operation[end].correlation == gpu->operation[k].correlation;
		     end++)
			;
		if (!group_add(gpu, clock, streams, k, end, &(*group)[(*groups)++]))
			return GP_E_MEMORY;
	}
	return GP_OK;
}
