/*
 * Kernels, copies and sets with their times on the recording's clock, the calls that launched
 * them, and ranges. The end of a launch's call is not recorded, so it is NULL.
 */
#include <stdlib.h>
#include <string.h>

#include "../../io/message.h"
#include "../../report/report.h"
#include "nsys_rows.h"

#define NAME_ROOM 16384u
enum { NVTX_MARK = 34, NVTX_PUSHED = 59, NVTX_STARTED = 60, NVTX_DOMAIN = 75 };

struct nsys_gpu {
	struct gp_nsys *n;
	struct gp_gpu gpu;
	bool *is_written; /* the call of each launch */
	char text[NAME_ROOM];
};

static const char *launch_name(const struct gp_gpu_launch *launch)
{
	if (launch->by == GP_GPU_BY_GRAPH)
		return "cuGraphLaunch";
	if (launch->by == GP_GPU_BY_COPY)
		return "cuMemcpyAsync";
	return launch->variant == GP_LAUNCH_EX		? "cuLaunchKernelEx" :
	       launch->variant == GP_LAUNCH_COOPERATIVE ? "cuLaunchCooperativeKernel" :
							  "cuLaunchKernel";
}

static void call_write(struct nsys_gpu *g, const struct gp_gpu_operation *op)
{
	struct gp_rows *row = &g->n->row;
	if (op->launch == GP_GPU_NO_LAUNCH || g->is_written[op->launch])
		return;
	const struct gp_gpu_launch *launch = &g->gpu.launch[op->launch];
	g->is_written[op->launch] = true;
	gp_row_signed(row, launch->at_ns);
	gp_row_null(row);
	gp_row_null(row);
	gp_row_signed(row, gp_nsys_tid(g->n, launch->thread));
	gp_row_number(row, op->correlation);
	gp_row_number(row, gp_nsys_text(g->n, launch_name(launch)));
	gp_row_number(row, 0);
	gp_row_null(row);
	gp_nsys_add(g->n, NSYS_CUPTI_ACTIVITY_KIND_RUNTIME);
}

/* The columns that all operations begin with. */
static void put_operation(struct nsys_gpu *g, const struct gp_gpu_operation *op)
{
	struct gp_rows *row = &g->n->row;
	gp_row_signed(row, op->at_ns);
	gp_row_signed(row, op->at_ns + (int64_t)op->took_ns);
	gp_row_number(row, op->device);
	gp_row_number(row, op->context);
	gp_row_number(row, op->stream);
	gp_row_number(row, op->correlation);
	gp_row_signed(row, gp_nsys_pid(g->n));
}

/* Without parameters, templates and name spaces. */
static void name_shorten(char *name)
{
	const size_t end = strcspn(name, "<(");
	if (end == 0) /* "(anonymous namespace)::..." stays whole */
		return;
	name[end] = '\0';
	const char *last = strrchr(name, ':'), *type = strrchr(last ? last : name, ' ');
	const char *from = type ? type + 1 : last ? last + 1 : name;
	memmove(name, from, strlen(from) + 1);
}

static void kernel_write(struct nsys_gpu *g, const struct gp_gpu_operation *op)
{
	const struct gp_gpu_function *f = &g->gpu.function[op->function];
	struct gp_rows *row = &g->n->row;
	const bool has_shape = gp_gpu_has_shape(f);
	const uint64_t shape[] = { f->registers,
				   f->grid & 0xffffffff,
				   f->grid >> 32 & 0xffff,
				   f->grid >> 48,
				   f->block & 0xffff,
				   f->block >> 16 & 0xffff,
				   f->block >> 32 & 0xffff,
				   f->static_shared,
				   f->dynamic_shared,
				   f->local_bytes };
	put_operation(g, op);
	gp_gpu_function_name(f, g->text, sizeof g->text);
	gp_row_number(row, gp_nsys_text(g->n, g->text));
	name_shorten(g->text);
	gp_row_number(row, gp_nsys_text(g->n, g->text));
	if (f->name)
		gp_row_number(row, gp_nsys_text(g->n, f->name));
	else
		gp_row_null(row);
	for (size_t k = 0; k < sizeof shape / sizeof *shape; k++)
		gp_row_number_if(row, has_shape, shape[k]);
	for (unsigned k = 0; k < 3; k++)
		gp_row_null(row);
	gp_nsys_add(g->n, NSYS_CUPTI_ACTIVITY_KIND_KERNEL);
}

/* CUPTI's kinds of memory are one more than those of nsys; 0: unknown. */
static void put_memory_kind(struct gp_rows *row, unsigned kind)
{
	gp_row_number_if(row, kind != 0, kind - 1);
}

static void copy_write(struct nsys_gpu *g, const struct gp_gpu_operation *op)
{
	struct gp_rows *row = &g->n->row;
	put_operation(g, op);
	if (op->kind == GP_GPU_IS_SET) {
		gp_row_null(row);
		gp_row_number(row, op->bytes);
		put_memory_kind(row, GP_GPU_COPY_TO(op->function));
		gp_row_null(row);
		gp_nsys_add(g->n, NSYS_CUPTI_ACTIVITY_KIND_MEMSET);
		return;
	}
	gp_row_number(row, op->bytes);
	gp_row_number(row, GP_GPU_COPY_KIND(op->function));
	put_memory_kind(row, GP_GPU_COPY_FROM(op->function));
	put_memory_kind(row, GP_GPU_COPY_TO(op->function));
	gp_row_null(row);
	gp_nsys_add(g->n, NSYS_CUPTI_ACTIVITY_KIND_MEMCPY);
}

static void operations_write(struct nsys_gpu *g)
{
	const struct gp_export *e = g->n->e;
	uint64_t untimed = 0;
	for (size_t k = 0; k < g->gpu.operations && !g->n->file.status; k++) {
		const struct gp_gpu_operation *op = &g->gpu.operation[k];
		if (!gp_gpu_is_chosen(op, e->from_ns, e->to_ns, e->device))
			continue;
		untimed += op->at_ns == INT64_MIN;
		if (op->at_ns == INT64_MIN)
			continue;
		if (op->kind == GP_GPU_IS_KERNEL)
			kernel_write(g, op);
		else
			copy_write(g, op);
		call_write(g, op);
	}
	if (untimed)
		gp_error("%s without a time on the job's clock: left out",
			 gp_plural(untimed, "operation").s);
}

/* 0: the default domain. A new one is an event of its own. */
static uint32_t domain_id(struct nsys_gpu *g, const char *name)
{
	if (!name)
		return 0;
	const uint32_t before = g->n->text_count, id = gp_nsys_text(g->n, name) + 1;
	struct gp_rows *row = &g->n->row;
	if (g->n->text_count == before)
		return id;
	gp_row_number(row, 0);
	gp_row_null(row);
	gp_row_number(row, NVTX_DOMAIN);
	for (unsigned k = 0; k < 3; k++)
		gp_row_null(row);
	gp_row_text(row, name);
	gp_row_signed(row, gp_nsys_pid(g->n));
	gp_row_null(row);
	gp_row_null(row);
	gp_row_number(row, id);
	gp_nsys_add(g->n, NSYS_NVTX_EVENTS);
	return id;
}

static void range_write(struct nsys_gpu *g, const struct gp_gpu_call *c, size_t number)
{
	struct gp_rows *row = &g->n->row;
	const bool is_known = c->path && c->path->known == GP_RANGE_IN && c->path->name;
	const uint32_t domain = domain_id(g, is_known ? c->path->domain : NULL);
	gp_row_signed(row, c->call->begin_ns);
	gp_row_signed(row, c->call->end_ns);
	gp_row_number(row, c->call->is_started ? NVTX_STARTED : NVTX_PUSHED);
	gp_row_number(row, number);
	gp_row_null(row);
	gp_row_null(row);
	gp_row_text(row, is_known ? c->path->name : NULL);
	gp_row_signed(row, gp_nsys_tid(g->n, c->call->thread));
	gp_row_signed_if(row, c->call->is_started, gp_nsys_tid(g->n, c->call->end_thread));
	gp_row_null(row);
	gp_row_number(row, domain);
	gp_nsys_add(g->n, NSYS_NVTX_EVENTS);
}

static enum gp_status ranges_write(struct nsys_gpu *g)
{
	struct gp_gpu_calls calls = { 0 };
	const struct gp_export *e = g->n->e;
	const enum gp_status status =
		gp_gpu_calls_build(&g->gpu, INT64_MIN, INT64_MAX, GP_DEVICE_UNKNOWN, &calls);
	for (size_t k = 1; k <= calls.calls && !status && !g->n->file.status; k++) {
		const struct gp_range_call *call = calls.call[k].call;
		if (call->end_ns >= e->from_ns && call->begin_ns <= e->to_ns)
			range_write(g, &calls.call[k], k);
	}
	gp_gpu_calls_free(&calls);
	return status;
}

void gp_nsys_gpu_write(struct gp_nsys *n)
{
	const bool has_ranges = n->e->info->has_ranges;
	struct nsys_gpu *g = calloc(1, sizeof *g);
	enum gp_status status =
		g ? gp_gpu_build(n->e->recording, has_ranges, &g->gpu) : GP_E_MEMORY;
	if (g) {
		g->n = n;
		g->is_written = calloc(g->gpu.launches + 1, sizeof *g->is_written);
	}
	if (!status)
		status = g->is_written ? GP_OK : GP_E_MEMORY;
	if (!status)
		operations_write(g);
	if (!status && has_ranges)
		status = ranges_write(g);
	if (!n->file.status)
		n->file.status = status;
	if (!g)
		return;
	free(g->is_written);
	gp_gpu_free(&g->gpu);
	free(g);
}
