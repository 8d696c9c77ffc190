/* `gpuprof collectives` for a program. */
#include <math.h>

#include "../report/use_report.h"
#include "collectives_report.h"

static void rate_write(struct gp_json *json, const char *key, double rate)
{
	gp_json_real(json, key, rate >= 0 ? rate : NAN);
}

static void collective_write(const struct gp_collectives_report *r,
			     const struct gp_collective_row *row)
{
	struct gp_json *json = r->json;
	gp_json_object(json, NULL);
	gp_json_text(json, "operation", gp_collective_text(row).s);
	gp_json_number(json, "communicator", row->communicator + UINT64_C(1));
	gp_json_number_if(json, "step", r->by == GP_COLLECTIVES_BY_STEP && row->part != 0,
			  row->part);
	gp_json_number_if(json, "stream", r->by == GP_COLLECTIVES_BY_STREAM && row->part != 0,
			  row->part - 1);
	gp_json_number(json, "message_bytes", row->bytes);
	gp_json_number(json, "count", row->count);
	gp_json_real(json, "per_step",
		     r->collectives.steps ? (double)row->in_steps / (double)r->collectives.steps :
					    NAN);
	gp_json_bool(json, "exchanged", row->exchanged != 0);
	gp_json_bool(json, "shared", row->is_shared);
	gp_json_number(json, "timed", row->timed);
	gp_json_number_if(json, "total_ns", row->timed != 0, row->total_ns);
	gp_json_number_if(json, "median_ns", row->timed != 0 && !row->is_shared, row->median_ns);
	gp_json_real(json, "overlap",
		     row->kernel_ns != 0 ? gp_overlap_share(row->overlapped_ns, row->kernel_ns) :
					   NAN);
	gp_json_number(json, "streams", row->streams);
	rate_write(json, "algorithm_gb_s", row->algorithm_rate);
	rate_write(json, "bus_gb_s", row->bus_rate);
	gp_json_text(json, "why", row->without);
	gp_json_end(json);
}

static void communicator_write(struct gp_json *json, size_t number, const struct gp_communicator *c)
{
	char id[32];
	snprintf(id, sizeof id, "%#llx", (unsigned long long)c->id);
	gp_json_object(json, NULL);
	gp_json_number(json, "number", number);
	gp_json_text(json, "id", c->id != 0 ? id : NULL);
	gp_json_number_if(json, "ranks", c->ranks != 0, c->ranks);
	gp_json_number_if(json, "rank", c->rank != 0, c->rank - UINT64_C(1));
	gp_json_number_if(json, "device", c->device != GP_DEVICE_UNKNOWN, c->device);
	gp_json_end(json);
}

void gp_collectives_write(const struct gp_collectives_report *r)
{
	const struct gp_collectives *c = &r->collectives;
	struct gp_json *json = r->json;
	gp_json_object(json, NULL);
	gp_use_head_write(json, r->path, r->info);
	gp_json_bool(json, "has_gpu_time", c->gpu.has_operations);
	gp_json_text(json, "no_gpu_time", c->gpu.why);
	gp_json_text(json, "no_calls", c->why);
	gp_json_text(json, "by", r->by_word);
	gp_json_number(json, "calls", c->calls);
	gp_json_number(json, "bytes", c->bytes);
	gp_json_number(json, "unsized", c->unsized);
	gp_json_number(json, "beyond", c->beyond);
	gp_json_number(json, "steps", c->steps);
	gp_json_object(json, "kernels");
	gp_json_number(json, "count", c->kernels);
	gp_json_number(json, "total_ns", c->kernel_ns);
	gp_json_number(json, "overlapped_ns", c->overlapped_ns);
	gp_json_number(json, "alone", c->kernels_alone);
	gp_json_number(json, "alone_ns", c->alone_ns);
	gp_json_number(json, "in_graphs", c->kernels_in_graphs);
	gp_json_end(json);
	gp_json_array(json, "collectives");
	for (size_t k = 0; k < c->rows && (r->top == 0 || k < r->top); k++)
		collective_write(r, &c->row[k]);
	gp_json_end(json);
	gp_json_array(json, "communicators");
	for (size_t k = 0; k < c->communicators; k++)
		communicator_write(json, k + 1, &c->communicator[k]);
	gp_json_end(json);
	gp_json_end(json);
}
