/* `gpuprof kernels` for a program. */
#include <math.h>

#include "../report/stack_print.h"
#include "../report/use_report.h"
#include "kernels_report.h"

static void kernel_write_shape(struct gp_json *json, const struct gp_gpu_function *f)
{
	const bool is_known = gp_gpu_has_shape(f);
	gp_json_array(json, "grid");
	if (is_known) {
		gp_json_number(json, NULL, f->grid & 0xffffffffu);
		gp_json_number(json, NULL, f->grid >> 32 & 0xffff);
		gp_json_number(json, NULL, f->grid >> 48);
	}
	gp_json_end(json);
	gp_json_array(json, "block");
	for (unsigned k = 0; k < 48 && is_known; k += 16)
		gp_json_number(json, NULL, f->block >> k & 0xffff);
	gp_json_end(json);
	gp_json_number_if(json, "registers", is_known, f->registers);
	gp_json_number_if(json, "static_shared_bytes", is_known, f->static_shared);
	gp_json_number_if(json, "dynamic_shared_bytes", is_known, f->dynamic_shared);
	gp_json_number_if(json, "local_bytes", is_known, f->local_bytes);
}

static void kernel_write(const struct gp_kernels_report *r, const struct gp_kernel_row *row)
{
	struct gp_json *json = r->json;
	gp_json_object(json, NULL);
	gp_json_text(json, "name", row->key);
	gp_json_bool(json, "rest", row->is_rest);
	gp_json_text(json, "symbol", row->name);
	gp_json_text(json, "library", *row->library ? row->library : NULL);
	gp_json_number(json, "count", row->count);
	gp_json_number(json, "total_ns", row->total_ns);
	gp_json_real(json, "share", gp_kernel_share(&r->kernels, row));
	gp_json_real(json, "mean_ns", (double)row->total_ns / (double)row->count);
	gp_json_number(json, "median_ns", row->median_ns);
	gp_json_number(json, "p99_ns", row->p99_ns);
	gp_json_number(json, "longest_ns", row->longest_ns);
	gp_json_signed_if(json, "delay_ns", row->delay_ns >= 0, row->delay_ns);
	gp_json_real(json, "occupancy", row->occupancy >= 0 ? row->occupancy : NAN);
	gp_json_number_if(json, "argument_bytes", row->argument_bytes != UINT64_MAX,
			  row->argument_bytes);
	kernel_write_shape(json, &r->kernels.gpu.function[row->function]);
	gp_json_number(json, "joined", row->joined);
	gp_json_number(json, "in_graphs", row->in_graphs);
	gp_json_text(json, "why", row->without);
	gp_stack_write(json, r->recording, row->stack, row->at_ns, GP_STACK_FOLDED);
	gp_json_end(json);
}

static void kernels_write_sum(struct gp_json *json, const char *key, uint64_t count,
			      uint64_t total_ns)
{
	gp_json_object(json, key);
	gp_json_number(json, "count", count);
	gp_json_number(json, "total_ns", total_ns);
	gp_json_end(json);
}

void gp_kernels_write(const struct gp_kernels_report *r)
{
	const struct gp_kernels *k = &r->kernels;
	const struct gp_gpu *g = &k->gpu;
	struct gp_json *json = r->json;
	gp_json_object(json, NULL);
	gp_use_head_write(json, r->path, r->info);
	gp_json_bool(json, "has_gpu_time", g->has_operations);
	gp_json_text(json, "no_gpu_time", g->why);
	gp_json_text(json, "by", r->by_word);
	gp_json_number(json, "total_count", k->count[GP_GPU_IS_KERNEL]);
	gp_json_number(json, "total_ns", k->total_ns[GP_GPU_IS_KERNEL]);
	kernels_write_sum(json, "copies", k->count[GP_GPU_IS_COPY], k->total_ns[GP_GPU_IS_COPY]);
	kernels_write_sum(json, "sets", k->count[GP_GPU_IS_SET], k->total_ns[GP_GPU_IS_SET]);
	gp_json_number(json, "busy_ns", k->busy_ns);
	gp_json_number(json, "envelope_ns", k->envelope_ns);
	gp_json_object(json, "join");
	gp_json_number(json, "joined", g->joined[GP_GPU_JOINED]);
	gp_json_number(json, "uncertain", g->joined[GP_GPU_UNCERTAIN]);
	gp_json_number(json, "unjoined", g->joined[GP_GPU_UNJOINED]);
	gp_json_number(json, "outside", g->outside);
	gp_json_number(json, "launches_alone", g->launches_alone);
	gp_json_number(json, "swapped", g->swapped);
	gp_json_number(json, "dropped", g->dropped);
	gp_json_number(json, "lost", g->lost);
	gp_json_number(json, "beyond", g->beyond);
	gp_json_number(json, "windows", g->windows);
	gp_json_signed_if(json, "clock_within_ns", g->clock_within_ns >= 0, g->clock_within_ns);
	gp_json_end(json);
	gp_json_array(json, "kernels");
	for (size_t n = 0; n < k->rows && (r->top == 0 || n < r->top); n++)
		kernel_write(r, &k->row[n]);
	gp_json_end(json);
	gp_json_end(json);
}
