/*
 * Operations of the GPU with the launch that each is joined to, and calls of ranges. Without GPU
 * time there are no operations, and so no times of them.
 */
#include <stdlib.h>
#include <string.h>

#include "../../io/message.h"
#include "../../report/report.h"
#include "table_rest.h"

#define NAME_ROOM 16384u
#define NAMES_KEPT (1u << 20) /* 64 MB of names are kept at least */

struct gpu_rows {
	struct gp_export *e;
	struct gp_rows *rows;
	struct gp_table_stacks *stacks;
	struct gp_gpu gpu;
	char **name; /* of each function, made when needed */
	char text[NAME_ROOM], range[NAME_ROOM];
};

static const char *const kinds[] = {
	[GP_GPU_IS_KERNEL] = "kernel", [GP_GPU_IS_COPY] = "copy", [GP_GPU_IS_SET] = "set"
};
static const char *const joins[GP_GPU_JOINS] = {
	[GP_GPU_JOINED] = "joined", [GP_GPU_UNCERTAIN] = "uncertain", [GP_GPU_UNJOINED] = "unjoined"
};

/* "host_to_device" */
static const char *copy_name(uint32_t what)
{
	switch (GP_GPU_COPY_KIND(what)) {
	case GP_GPU_TO_DEVICE:
		return "host_to_device";
	case GP_GPU_TO_HOST:
		return "device_to_host";
	case GP_GPU_ON_DEVICE:
		return "device_to_device";
	case GP_GPU_ON_HOST:
		return "host_to_host";
	case GP_GPU_PEER:
		return "peer_to_peer";
	default:
		return "other";
	}
}

static const char *function_name(struct gpu_rows *g, uint32_t function)
{
	if (!g->name[function]) {
		gp_gpu_function_name(&g->gpu.function[function], g->text, sizeof g->text);
		g->name[function] = strdup(g->text);
		if (!g->name[function])
			g->rows->status = GP_E_MEMORY;
	}
	return g->name[function];
}

static const char *shape_text(char out[48], uint64_t x, uint64_t y, uint64_t z)
{
	snprintf(out, 48, "%u,%u,%u", (unsigned)x, (unsigned)y, (unsigned)z);
	return out;
}

/* Grid, block, registers, memory: six columns. */
static void put_shape(struct gp_rows *rows, const struct gp_gpu_function *f, char text[2][48])
{
	if (!f || !gp_gpu_has_shape(f)) {
		for (unsigned k = 0; k < 6; k++)
			gp_row_null(rows);
		return;
	}
	gp_row_text(rows, shape_text(text[0], f->grid & 0xffffffff, f->grid >> 32 & 0xffff,
				     f->grid >> 48));
	gp_row_text(rows, shape_text(text[1], f->block & 0xffff, f->block >> 16 & 0xffff,
				     f->block >> 32 & 0xffff));
	gp_row_number(rows, f->registers);
	gp_row_number(rows, f->static_shared);
	gp_row_number(rows, f->dynamic_shared);
	gp_row_number(rows, f->local_bytes);
}

static void operation_write(struct gpu_rows *g, const struct gp_gpu_operation *op)
{
	struct gp_rows *rows = g->rows;
	const struct gp_gpu_launch *launch =
		op->launch != GP_GPU_NO_LAUNCH ? &g->gpu.launch[op->launch] : NULL;
	const bool is_kernel = op->kind == GP_GPU_IS_KERNEL;
	const uint32_t stack =
		launch ? gp_table_stacks_find(g->stacks, launch->stack, launch->at_ns) : 0;
	const bool has_range = launch && launch->range && launch->range->known == GP_RANGE_IN;
	char shape[2][48];
	if (has_range)
		gp_range_path_text(launch->range, g->range, sizeof g->range);
	gp_row_begin(rows, GP_TABLE_kernels);
	gp_row_text(rows, kinds[op->kind]);
	gp_row_text(rows, is_kernel		     ? function_name(g, op->function) :
			  op->kind == GP_GPU_IS_COPY ? copy_name(op->function) :
						       "set");
	gp_row_number(rows, op->device);
	gp_row_number(rows, op->context);
	gp_row_number(rows, op->stream);
	gp_row_number(rows, op->correlation);
	gp_row_signed_if(rows, op->at_ns != INT64_MIN, op->at_ns);
	gp_row_number(rows, op->took_ns);
	gp_row_number(rows, op->began_ns);
	gp_row_number_if(rows, !is_kernel, op->bytes);
	put_shape(rows, is_kernel ? &g->gpu.function[op->function] : NULL, shape);
	gp_row_number(rows, op->is_in_graph);
	gp_row_text(rows, joins[op->join]);
	gp_row_signed_if(rows, launch != NULL, launch ? launch->at_ns : 0);
	gp_row_number_if(rows, launch != NULL, launch ? launch->thread : 0);
	gp_row_number_if(rows, stack != 0, stack);
	gp_row_text(rows, has_range ? g->range : NULL);
	gp_row_end(rows);
}

static void call_write(struct gp_rows *rows, const struct gp_gpu_call *c)
{
	const bool is_known = c->path && c->path->known == GP_RANGE_IN;
	gp_row_begin(rows, GP_TABLE_ranges);
	gp_row_text(rows, is_known ? gp_range_source_name(c->path->source) : NULL);
	gp_row_text(rows, is_known ? c->path->domain : NULL);
	gp_row_text(rows, is_known ? c->path->name : NULL);
	gp_row_text(rows, c->call->is_started ? "started" : "pushed");
	gp_row_number(rows, c->call->thread);
	gp_row_number(rows, c->call->end_thread);
	gp_row_number(rows, c->depth);
	gp_row_signed(rows, c->call->begin_ns);
	gp_row_signed(rows, c->call->end_ns);
	gp_row_end(rows);
}

static void calls_write(struct gpu_rows *g)
{
	struct gp_gpu_calls calls = { 0 };
	const struct gp_export *e = g->e;
	if (!gp_rows_want(g->rows, GP_TABLE_ranges) || !e->info->has_ranges)
		return;
	g->rows->status =
		gp_gpu_calls_build(&g->gpu, INT64_MIN, INT64_MAX, GP_DEVICE_UNKNOWN, &calls);
	for (size_t k = 1; k <= calls.calls && !g->rows->status; k++) {
		const struct gp_range_call *call = calls.call[k].call;
		if (call->end_ns >= e->from_ns && call->begin_ns <= e->to_ns)
			call_write(g->rows, &calls.call[k]);
	}
	gp_gpu_calls_free(&calls);
}

static void loss_write(struct gp_rows *rows, const char *kind, uint64_t count)
{
	if (!count)
		return;
	gp_row_begin(rows, GP_TABLE_losses);
	gp_row_text(rows, kind);
	gp_row_null(rows);
	gp_row_null(rows);
	gp_row_number(rows, count);
	gp_row_null(rows);
	gp_row_end(rows);
}

static void operations_write(struct gpu_rows *g)
{
	const struct gp_export *e = g->e;
	g->name = calloc(g->gpu.functions + 1, sizeof *g->name);
	if (!g->name)
		g->rows->status = GP_E_MEMORY;
	for (size_t k = 0; k < g->gpu.operations && !g->rows->status; k++)
		if (gp_gpu_is_chosen(&g->gpu.operation[k], e->from_ns, e->to_ns, e->device))
			operation_write(g, &g->gpu.operation[k]);
	for (size_t k = 0; k < g->gpu.functions && g->name; k++)
		free(g->name[k]);
	free(g->name);
}

void gp_table_gpu_write(struct gp_export *e, struct gp_rows *rows, struct gp_table_stacks *stacks)
{
	const bool has_ranges = e->info->has_ranges;
	const bool has_operations = e->info->kept[GP_GPU_KERNEL] + e->info->kept[GP_GPU_COPY] != 0;
	if (!(has_operations && gp_rows_want(rows, GP_TABLE_kernels)) &&
	    !(has_ranges && gp_rows_want(rows, GP_TABLE_ranges)))
		return;
	struct gpu_rows *g = calloc(1, sizeof *g);
	rows->status = g ? GP_OK : GP_E_MEMORY;
	if (!g)
		return;
	g->e = e;
	g->rows = rows;
	g->stacks = stacks;
	rows->status = gp_gpu_build(e->recording, has_ranges, &g->gpu);
	if (!rows->status)
		operations_write(g);
	loss_write(rows, "lost operations of the GPU",
		   g->gpu.dropped + g->gpu.lost + g->gpu.beyond);
	if (!rows->status)
		calls_write(g);
	gp_gpu_free(&g->gpu);
	free(g);
}
