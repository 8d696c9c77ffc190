/* The first time that a request failed, as the framework told it, else the driver. */
#include "../read/recording.h"

#define CUDA_ERROR_OUT_OF_MEMORY 2u

static void note_arena(const struct gp_recording *r, unsigned number, struct gp_failed_request *out)
{
	const struct gp_record *a = gp_meanings_record(r->meanings, GP_ARENA, number);
	if (number == 0 || a == NULL)
		return;
	out->arena = (struct gp_arena){ .is_known = true,
					.has_pool = a->arena.has_pool != 0,
					.stream = a->arena.stream,
					.pool = a->arena.pool,
					.user_pool = a->arena.user_pool,
					.captured_at_ns = -1 };
}

/* What the driver says of itself when it refuses. */
static void note_refusal(const struct gp_recording *r, const struct gp_record *e,
			 struct gp_failed_request *out)
{
	if (e->alloc_failed.total_bytes == 0 || e->device >= GP_DEVICES)
		return;
	out->free_bytes = e->alloc_failed.free_bytes;
	out->total_bytes = e->alloc_failed.total_bytes;
	out->driver_bytes = gp_live_device(r->live, e->device)->curve[GP_CURVE_DRIVER].now_bytes;
	out->free_at_ns = gp_tick_ns(&r->tick, e->time);
	out->device = e->device;
}

static void copy_refusal(const struct gp_failed_request *from, struct gp_failed_request *out)
{
	bool is_same = from->device == out->device;
	out->free_bytes = is_same ? from->free_bytes : GP_BYTES_UNKNOWN;
	out->total_bytes = from->total_bytes;
	out->driver_bytes = from->driver_bytes;
	out->free_at_ns = from->free_at_ns;
}

enum gp_status gp_failed_request_find(struct gp_recording *r, struct gp_failed_request *out)
{
	uint64_t number = 0;
	uint32_t thread;
	bool is_found = false;
	struct gp_failed_request refused = { .free_bytes = GP_BYTES_UNKNOWN };
	enum gp_status status = gp_recording_rewind(r);
	*out = (struct gp_failed_request){ 0 };
	while (status == GP_OK) {
		const struct gp_record *e = gp_recording_step(r, &thread, &status);
		if (e == NULL)
			break;
		bool is_refused = e->kind == GP_ALLOC_FAILED && e->code == CUDA_ERROR_OUT_OF_MEMORY;
		bool is_first = e->kind == GP_OOM || (is_refused && !is_found);
		if (is_refused)
			note_refusal(r, e, &refused);
		if (is_first) {
			*out = (struct gp_failed_request){
				.number = number,
				.device = e->device,
				.at_ns = gp_tick_ns(&r->tick, e->time),
				.bytes = is_refused ? e->alloc_failed.bytes : e->oom.bytes,
				.is_framework = !is_refused,
			};
			copy_refusal(&refused, out);
			if (!is_refused)
				note_arena(r, e->code, out);
			is_found = true;
		}
		if (e->kind == GP_OOM)
			return GP_OK;
		number += is_refused;
	}
	return status == GP_END && is_found ? GP_OK : status;
}
