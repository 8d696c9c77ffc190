/* Launches of graphs, and the operations that CUPTI reports for each. */
#include "graph_times.h"

#include <stdlib.h>

#include "../../read/tables/array.h"

struct time_span {
	uint64_t first_ns, last_ns;
	bool is_known;
};

bool gp_graph_times_add(struct gp_graph_times *times, uint64_t event, uint32_t row)
{
	if (!gp_array_reserve(&times->launch, &times->room, times->launches, 1,
			      sizeof *times->launch))
		return false;
	times->launch[times->launches++] = (struct gp_graph_launch){ event, row };
	return true;
}

void gp_graph_times_release(struct gp_graph_times *times)
{
	free(times->launch);
	*times = (struct gp_graph_times){ 0 };
}

static uint32_t times_row(const struct gp_graph_times *times, uint64_t event)
{
	size_t low = 0, high = times->launches;
	while (low < high) {
		const size_t middle = low + (high - low) / 2;
		if (times->launch[middle].event < event)
			low = middle + 1;
		else
			high = middle;
	}
	return low < times->launches && times->launch[low].event == event ? times->launch[low].row :
									    GP_GRAPH_NO_ROW;
}

static void times_see(const struct gp_gpu *gpu, struct time_span *spans)
{
	for (size_t k = 0; k < gpu->operations; k++) {
		const struct gp_gpu_operation *op = &gpu->operation[k];
		if (op->launch == GP_GPU_NO_LAUNCH || gpu->launch[op->launch].by != GP_GPU_BY_GRAPH)
			continue;
		struct time_span *span = &spans[op->launch];
		const uint64_t end_ns = op->began_ns + op->took_ns;
		if (!span->is_known)
			*span = (struct time_span){ op->began_ns, end_ns, true };
		span->first_ns = op->began_ns < span->first_ns ? op->began_ns : span->first_ns;
		span->last_ns = end_ns > span->last_ns ? end_ns : span->last_ns;
	}
}

static void times_add(const struct gp_graph_times *times, const struct gp_gpu *gpu,
		      const struct time_span *spans, struct gp_graph_rows *rows)
{
	for (size_t k = 0; k < gpu->launches; k++) {
		const uint32_t row = spans[k].is_known ? times_row(times, gpu->launch[k].event) :
							 GP_GRAPH_NO_ROW;
		if (row == GP_GRAPH_NO_ROW)
			continue;
		struct gp_graph *g = &rows->row[row].graph;
		g->gpu_launches++;
		if (__builtin_add_overflow(g->gpu_ns, spans[k].last_ns - spans[k].first_ns,
					   &g->gpu_ns))
			g->gpu_ns = UINT64_MAX;
	}
}

enum gp_status gp_graph_times_sum(const struct gp_graph_times *times, struct gp_graph_rows *rows)
{
	struct gp_gpu gpu = { 0 };
	if (times->launches == 0)
		return GP_OK;
	enum gp_status status = gp_gpu_build(rows->recording, false, &gpu);
	struct time_span *spans = status == GP_OK ? calloc(gpu.launches + 1, sizeof *spans) : NULL;
	if (status == GP_OK && spans == NULL)
		status = GP_E_MEMORY;
	if (status == GP_OK) {
		times_see(&gpu, spans);
		times_add(times, &gpu, spans, rows);
	}
	free(spans);
	gp_gpu_free(&gpu);
	return status;
}
