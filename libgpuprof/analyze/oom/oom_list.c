/*
 * Lists every out-of-memory in one replay: those that the framework reported, and calls of others
 * that the driver refused. The device's free memory comes from the nearest count.
 */
#include <stdlib.h>
#include <string.h>

#include "../../read/tables/array.h"
#include "../../read/tables/row_rank.h"
#include "../frag/frag_rule.h"
#include "../memory/memory_view.h"
#include "../settle.h"

#define CUDA_ERROR_OUT_OF_MEMORY 2u
#define THREADS 256u /* remembered last refusals; a thread uses slot number % THREADS */
/*
 * PyTorch repeats its request after each release of memory, from another place of its code. This
 * many places in a row are kept apart.
 */
#define PLACES 4u
/* Out-of-memories are alike if their states differ by at most this part of the device. */
#define ALIKE_PART 256u
#define STATES 256u /* remembered different states */

/* Refusals of one thread, size and device, whose requester is not known yet. */
struct refusal {
	uint32_t thread;
	size_t places; /* 0: none is open */
	struct gp_oom oom[PLACES];
};

/* Memory that others used on the device at the last count. */
struct beside {
	bool is_known;
	uint64_t bytes, total_bytes, limit_bytes;
};

struct device {
	struct beside beside, at_peak;
	uint64_t peak_bytes, outside_bytes; /* of the job outside of the framework, at the peak */
	int64_t peak_at_ns;
	/* 1 + the framework's last out-of-memory, after which it may count the device's memory */
	size_t uncounted;
};

struct search {
	struct gp_recording *recording;
	const struct gp_allocator_settings *settings;
	struct gp_ooms *out;
	uint64_t number;
	struct refusal refusal[THREADS];
	struct device device[GP_DEVICES];
};

static uint64_t curve(const struct search *s, unsigned device, enum gp_curve which)
{
	return gp_live_device(s->recording->live, device)->curve[which].now_bytes;
}

static uint64_t outside(const struct search *s, unsigned device)
{
	const uint64_t all = curve(s, device, GP_CURVE_DRIVER);
	const uint64_t own = gp_live_mapped(gp_live_device(s->recording->live, device));
	return all > own ? all - own : 0;
}

/* ---- memory of others ---- */

static void set_free(struct search *s, struct gp_oom *o, uint64_t free_bytes)
{
	uint64_t used = o->total_bytes > free_bytes ? o->total_bytes - free_bytes : 0;
	struct beside *b = &s->device[o->device].beside;
	o->free_bytes = free_bytes;
	o->other_bytes = used > o->used_by_job_bytes ? used - o->used_by_job_bytes : 0;
	if (!b->is_known)
		b->limit_bytes = GP_BYTES_UNKNOWN;
	b->is_known = true;
	b->bytes = o->other_bytes;
	b->total_bytes = o->total_bytes;
}

/* Free bytes at the time of `o`, from the known memory of others. */
static void set_free_by_beside(struct search *s, struct gp_oom *o, const struct beside *b)
{
	uint64_t used = b->bytes + o->used_by_job_bytes;
	o->total_bytes = b->total_bytes;
	set_free(s, o, b->total_bytes > used ? b->total_bytes - used : 0);
}

/* Without a report: uses the memory of others at the last count. */
static void guess_free(const struct search *s, struct gp_oom *o)
{
	const struct beside *b = &s->device[o->device].beside;
	uint64_t used = b->bytes + o->used_by_job_bytes;
	if (b->is_known)
		o->free_bytes = b->total_bytes > used ? b->total_bytes - used : 0;
}

static void see_count(struct search *s, const struct gp_record *r)
{
	if (r->device >= GP_DEVICES || r->device_memory.total_bytes == 0)
		return;
	struct device *d = &s->device[r->device];
	uint64_t used = r->device_memory.total_bytes - r->device_memory.free_bytes,
		 ours = curve(s, r->device, GP_CURVE_DRIVER);
	d->beside = (struct beside){ true, used > ours ? used - ours : 0,
				     r->device_memory.total_bytes, GP_BYTES_UNKNOWN };
	if (r->aux != 0)
		d->beside.limit_bytes = r->device_memory.limit_bytes;
	/* the first count after the peak, if there was none before */
	if (d->peak_bytes != 0 && !d->at_peak.is_known && d->uncounted == 0)
		d->at_peak = d->beside;
	if (d->uncounted == 0)
		return;
	/* the framework counts right after its report */
	struct gp_oom *o = &s->out->oom[d->uncounted - 1];
	struct beside b = d->beside;
	d->uncounted = 0;
	/* a limit set since the last count is the one that the request met */
	if (b.limit_bytes != GP_BYTES_UNKNOWN)
		o->limit_bytes = b.limit_bytes;
	if (o->other_bytes == GP_BYTES_UNKNOWN)
		set_free_by_beside(s, o, &b);
}

static void see_peak(struct search *s, unsigned device, int64_t at_ns)
{
	struct device *d = &s->device[device];
	uint64_t allocated = curve(s, device, GP_CURVE_ALLOCATED);
	if (allocated < d->peak_bytes || allocated == 0)
		return;
	d->peak_bytes = allocated;
	d->peak_at_ns = at_ns;
	d->outside_bytes = outside(s, device);
	d->at_peak = d->beside;
}

/* ---- one out-of-memory ---- */

static struct gp_oom oom_list_begin(const struct search *s, const struct gp_record *r)
{
	const struct device *d = &s->device[r->device];
	return (struct gp_oom){
		.number = s->number,
		.order = r->order,
		.device = r->device,
		.at_ns = gp_tick_ns(&s->recording->tick, r->time),
		.stack = r->stack,
		.space = r->space,
		.allocated_bytes = curve(s, r->device, GP_CURVE_ALLOCATED),
		.reserved_bytes = curve(s, r->device, GP_CURVE_RESERVED),
		.used_by_job_bytes = curve(s, r->device, GP_CURVE_DRIVER),
		.free_bytes = GP_BYTES_UNKNOWN,
		.total_bytes = d->beside.is_known ? d->beside.total_bytes : 0,
		.limit_bytes = d->beside.is_known ? d->beside.limit_bytes : GP_BYTES_UNKNOWN,
		.other_bytes = GP_BYTES_UNKNOWN,
		.other_before_bytes = d->at_peak.is_known ? d->at_peak.bytes : GP_BYTES_UNKNOWN,
		.outside_bytes = outside(s, r->device),
		.outside_before_bytes = d->peak_bytes != 0 ? d->outside_bytes : GP_BYTES_UNKNOWN,
		.before_at_ns = d->peak_at_ns,
		.before_allocated_bytes = d->peak_bytes,
	};
}

static enum gp_status oom_list_add(struct search *s, const struct gp_oom *oom)
{
	struct gp_ooms *out = s->out;
	struct gp_oom *added = gp_array_append(&out->oom, &out->ooms, sizeof *added);
	if (added == NULL)
		return GP_E_MEMORY;
	*added = *oom;
	return GP_OK;
}

/* ---- the requester of a refusal ---- */

/* The framework requests a segment of its size, or pages of an expandable one. */
static bool is_requested_by(const struct search *s, const struct gp_oom *refused, uint64_t block)
{
	return refused->space == GP_SPACE_PHYSICAL || refused->bytes == block ||
	       refused->bytes == gp_rule_segment(s->settings, block);
}

static enum gp_status add_all(struct search *s, struct refusal *f)
{
	enum gp_status status = GP_OK;
	for (size_t k = 0; k < f->places && status == GP_OK; k++)
		status = oom_list_add(s, &f->oom[k]);
	f->places = 0;
	return status;
}

static enum gp_status see_refusal(struct search *s, const struct gp_record *r, uint32_t thread)
{
	s->out->failed_calls++;
	struct refusal *f = &s->refusal[thread % THREADS];
	struct gp_oom *last = f->places != 0 ? &f->oom[f->places - 1] : NULL;
	bool is_again = last != NULL && f->thread == thread && last->device == r->device &&
			last->bytes == r->alloc_failed.bytes;
	enum gp_status status = is_again ? GP_OK : add_all(s, f);
	struct gp_oom oom = oom_list_begin(s, r);
	oom.bytes = oom.driver_bytes = r->alloc_failed.bytes;
	oom.refusals = 1;
	if (r->alloc_failed.total_bytes != 0) {
		oom.total_bytes = r->alloc_failed.total_bytes;
		set_free(s, &oom, r->alloc_failed.free_bytes);
	} else {
		guess_free(s, &oom);
	}
	f->thread = thread;
	if (is_again && last->stack == oom.stack &&
	    last->used_by_job_bytes == oom.used_by_job_bytes) {
		oom.refusals += last->refusals;
		*last = oom;
		return status;
	}
	if (f->places == PLACES) {
		status = oom_list_add(s, &f->oom[0]);
		memmove(&f->oom[0], &f->oom[1], (PLACES - 1) * sizeof f->oom[0]);
		f->places--;
	}
	f->oom[f->places++] = oom;
	return status;
}

/*
 * A block, or the framework's own report, shows that the earlier refusals of its thread were the
 * framework's.
 */
static enum gp_status close_refusal(struct search *s, const struct gp_record *r, uint32_t thread,
				    uint64_t block, struct gp_oom *oom)
{
	struct refusal *f = &s->refusal[thread % THREADS];
	const struct gp_oom *last = f->places != 0 ? &f->oom[f->places - 1] : NULL;
	uint64_t count = 0;
	if (last == NULL || f->thread != thread || last->device != r->device)
		return GP_OK;
	if (!is_requested_by(s, last, block))
		return add_all(s, f);
	for (size_t k = 0; k < f->places; k++)
		count += f->oom[k].refusals;
	f->places = 0;
	if (oom == NULL) {
		s->out->retries += count;
		return GP_OK;
	}
	oom->refusals = count;
	oom->driver_bytes = last->driver_bytes;
	if (last->other_bytes != GP_BYTES_UNKNOWN) {
		struct beside b = s->device[r->device].beside;
		set_free_by_beside(s, oom, &b);
	}
	return GP_OK;
}

static enum gp_status see_oom(struct search *s, const struct gp_record *r, uint32_t thread)
{
	struct gp_oom oom = oom_list_begin(s, r);
	oom.is_framework = true;
	oom.bytes = r->oom.bytes;
	oom.arena = gp_memory_arena(s->recording, r->code);
	enum gp_status status = close_refusal(s, r, thread, oom.bytes, &oom);
	if (r->aux != 0 && oom.total_bytes == 0) {
		const struct gp_record *gpu =
			gp_defined_record(s->recording->definitions, GP_GPU, r->device);
		oom.total_bytes = gpu != NULL ? gpu->gpu.total_bytes : 0;
	}
	if (r->aux != 0)
		set_free(s, &oom, r->oom.device_free);
	else if (oom.other_bytes == GP_BYTES_UNKNOWN)
		guess_free(s, &oom);
	/* the setting applies from the start; a reported limit wins */
	if (oom.limit_bytes == GP_BYTES_UNKNOWN && s->settings->memory_fraction > 0)
		oom.limit_bytes =
			(uint64_t)(s->settings->memory_fraction * (double)oom.total_bytes);
	if (oom.limit_bytes == 0)
		oom.limit_bytes = GP_BYTES_UNKNOWN;
	if (status == GP_OK)
		status = oom_list_add(s, &oom);
	s->device[r->device].uncounted = status == GP_OK ? s->out->ooms : 0;
	return status;
}

static bool is_counted(const struct gp_record *r)
{
	return r->kind == GP_OOM ||
	       (r->kind == GP_ALLOC_FAILED && r->code == CUDA_ERROR_OUT_OF_MEMORY);
}

/* Call it before the event is applied: GP_WHEN_OOM means the state just before. */
static enum gp_status oom_list_see(struct search *s, const struct gp_record *r, uint32_t thread)
{
	enum gp_status status = GP_OK;
	if (is_counted(r) && r->device < GP_DEVICES)
		status = r->kind == GP_OOM ? see_oom(s, r, thread) : see_refusal(s, r, thread);
	s->number += is_counted(r);
	if (r->device >= GP_DEVICES)
		return status;
	if (r->kind == GP_BLOCK_ALLOC)
		status = close_refusal(s, r, thread, r->block_alloc.bytes, NULL);
	else if (r->kind == GP_DEVICE_MEMORY)
		see_count(s, r);
	/* a later count belongs to another state */
	else if (r->kind == GP_FREE || r->kind == GP_BLOCK_FREE)
		s->device[r->device].uncounted = 0;
	return status;
}

/* ---- the whole ---- */

static bool is_near(uint64_t a, uint64_t b, uint64_t most)
{
	return a == b ||
	       (a != GP_BYTES_UNKNOWN && b != GP_BYTES_UNKNOWN && (a > b ? a - b : b - a) <= most);
}

/* True: the same request in the same state, so a result for one holds for the other. */
static bool is_alike(const struct gp_oom *a, const struct gp_oom *b)
{
	uint64_t most = a->total_bytes / ALIKE_PART;
	return a->stack == b->stack && a->bytes == b->bytes && a->device == b->device &&
	       a->is_framework == b->is_framework && a->limit_bytes == b->limit_bytes &&
	       is_near(a->allocated_bytes, b->allocated_bytes, most) &&
	       is_near(a->reserved_bytes, b->reserved_bytes, most) &&
	       is_near(a->used_by_job_bytes, b->used_by_job_bytes, most) &&
	       is_near(a->free_bytes, b->free_bytes, most);
}

/* Compares each with the last STATES different ones: a job repeats few requests. */
static void find_like(struct gp_ooms *out)
{
	size_t state[STATES], states = 0;
	for (size_t k = 0; k < out->ooms; k++) {
		struct gp_oom *o = &out->oom[k];
		size_t i = states > STATES ? states - STATES : 0;
		while (i < states && !is_alike(&out->oom[state[i % STATES]], o))
			i++;
		o->like = i < states ? state[i % STATES] : k;
		if (o->like == k)
			state[states++ % STATES] = k;
	}
}

static enum gp_status finish(struct search *s)
{
	enum gp_status status = GP_OK;
	for (size_t k = 0; k < THREADS && status == GP_OK; k++)
		status = add_all(s, &s->refusal[k]);
	if (s->out->ooms > 1)
		qsort(s->out->oom, s->out->ooms, sizeof *s->out->oom, gp_row_order);
	find_like(s->out);
	return status;
}

/* Without a failure only the definitions are needed, which a report may name. */
static enum gp_status ooms_begin(struct gp_recording *r)
{
	return gp_recording_keeps(r, GP_OOM) || gp_recording_keeps(r, GP_ALLOC_FAILED) ?
		       gp_recording_rewind(r) :
		       gp_recording_end(r);
}

static enum gp_status read_settings(struct gp_recording *r, struct gp_allocator_settings *out)
{
	const struct gp_info *info;
	enum gp_status status = gp_recording_info(r, &info);
	if (status == GP_OK)
		gp_allocator_settings_read(info->alloc_conf, out);
	return status;
}

enum gp_status gp_ooms_build(struct gp_recording *r, const struct gp_allocator_settings *settings,
			     struct gp_ooms *out)
{
	struct gp_allocator_settings own;
	*out = (struct gp_ooms){ 0 };
	struct search *s = calloc(1, sizeof *s);
	if (s == NULL)
		return GP_E_MEMORY;
	s->recording = r;
	s->settings = settings != NULL ? settings : &own;
	s->out = out;
	enum gp_status status = settings != NULL ? GP_OK : read_settings(r, &own);
	if (status == GP_OK)
		status = ooms_begin(r);
	while (status == GP_OK) {
		uint32_t thread;
		const struct gp_record *e = gp_recording_fetch(r, &thread, &status);
		if (e == NULL)
			break;
		struct gp_record record = *e;
		status = oom_list_see(s, &record, thread);
		if (status == GP_OK)
			status = gp_recording_apply(r, e);
		if (status == GP_OK && record.kind == GP_BLOCK_ALLOC && record.device < GP_DEVICES)
			see_peak(s, record.device, gp_tick_ns(&r->tick, record.time));
	}
	status = status == GP_END ? finish(s) : status;
	free(s);
	if (status != GP_OK)
		gp_ooms_free(out);
	return status;
}

void gp_ooms_free(struct gp_ooms *ooms)
{
	free(ooms->oom);
	*ooms = (struct gp_ooms){ 0 };
}
