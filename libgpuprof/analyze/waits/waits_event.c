/*
 * Which calls block the host, and for how long the GPU has nothing to do after them. A device is
 * idle from the return of a call that leaves no stream of it with work until the next work is
 * submitted; launches, copies and waits show which streams have work (docs/ANALYSIS.md, Waits).
 */
#include "waits_event.h"

#include "../../state/live.h"
#include "../phases/phase_kind.h"

#define COPY_JOINS_NS 100000 /* a wait that begins so soon after a copy's return is one with it */

/* ---- places ---- */

size_t gp_wait_place_find(struct gp_waiting *b, enum gp_wait_reason reason, uint32_t stack)
{
	const uint64_t key = (uint64_t)reason << 32 | stack;
	struct gp_wait_place *p = gp_row_get_key(&b->places, sizeof *p, key);
	if (p == NULL) {
		b->is_out_of_memory = true;
		return SIZE_MAX;
	}
	p->sum.reason = reason;
	p->sum.stack = stack;
	return (size_t)(p - (struct gp_wait_place *)b->places.row);
}

struct gp_wait_row *gp_wait_row_at(const struct gp_waiting *b, size_t place)
{
	return &((struct gp_wait_place *)b->places.row)[place].sum;
}

static bool is_inside(const struct gp_waiting *b, int64_t at_ns)
{
	return at_ns >= b->out->from_ns && at_ns <= b->out->to_ns;
}

static void place_block(struct gp_waiting *b, struct gp_wait_row *sum, int64_t blocked_ns,
			int64_t at_ns)
{
	gp_ns_add(&sum->blocked_ns, blocked_ns);
	gp_ns_add(&b->out->blocked_ns, blocked_ns);
	if (b->observer != NULL && blocked_ns > 0)
		b->observer->wait(b->observer->context, sum, b->thread, at_ns, blocked_ns);
}

static void place_add(struct gp_waiting *b, size_t at, uint64_t count, uint64_t bytes,
		      int64_t blocked_ns, int64_t at_ns)
{
	if (at == SIZE_MAX || !is_inside(b, at_ns))
		return;
	struct gp_wait_row *sum = gp_wait_row_at(b, at);
	sum->count += count;
	sum->bytes += bytes;
	place_block(b, sum, blocked_ns, at_ns);
	if (blocked_ns >= sum->longest_ns) {
		sum->longest_ns = blocked_ns;
		sum->at_ns = at_ns;
	}
}

/* Something that a thread did, for the gaps of the GPU. */
static void activity_add(struct gp_waiting *b, enum gp_gpu_gap_doing doing, size_t place,
			 int64_t from_ns, int64_t to_ns, unsigned device, uint32_t thread)
{
	const struct gp_gpu_gap_activity activity = { .from_ns = from_ns,
						      .to_ns = to_ns,
						      .place = place,
						      .thread = thread,
						      .doing = (uint8_t)doing,
						      .device = (uint8_t)device };
	b->is_out_of_memory |= !gp_gpu_gaps_add(&b->gaps, activity);
}

/* ---- devices ---- */

static struct gp_wait_device *device_of(struct gp_waiting *b, unsigned device)
{
	return &b->device[device < GP_DEVICES ? device : GP_DEVICES];
}

/* The place that the idle time ending now is due to: what the host did in it, else the wait. */
static size_t blame(struct gp_waiting *b, const struct gp_wait_device *d, int64_t idle_ns)
{
	if (d->has_module)
		return gp_wait_place_find(b, GP_WAIT_ON_RECOMPILE, d->module_stack);
	if (d->data_ns > idle_ns / 2)
		return gp_wait_place_find(b, GP_WAIT_ON_DATA, d->data_stack);
	return d->blamed;
}

/* The part of the idle time so far in which the thread was in its data loader. */
static void device_add_data(struct gp_wait_device *d, const struct gp_wait_thread *t, int64_t at_ns)
{
	const int64_t from = t->data_ns > d->idle_ns ? t->data_ns : d->idle_ns;
	if (d->idle_ns < 0 || t->data_ns < 0 || at_ns <= from)
		return;
	gp_ns_add(&d->data_ns, at_ns - from);
	d->data_stack = t->data_stack;
}

static void device_end_idle(struct gp_waiting *b, struct gp_wait_device *d, int64_t at_ns)
{
	if (d->idle_ns < 0)
		return;
	const int64_t begin_ns = d->idle_ns > b->out->from_ns ? d->idle_ns : b->out->from_ns;
	if (at_ns > b->out->to_ns)
		at_ns = b->out->to_ns;
	const int64_t idle_ns = at_ns > begin_ns ? at_ns - begin_ns : 0;
	for (uint32_t k = 0; b->loading != 0 && k < b->threads.rows; k++)
		device_add_data(d, &((struct gp_wait_thread *)b->threads.row)[k], at_ns);
	const size_t at = blame(b, d, idle_ns);
	if (at != SIZE_MAX && idle_ns > 0) {
		struct gp_wait_place *p = &((struct gp_wait_place *)b->places.row)[at];
		gp_ns_add(&p->sum.lost_ns, idle_ns);
		gp_ns_add(&b->out->lost_ns, idle_ns);
		if (p->sum.reason == GP_WAIT_ON_DATA)
			p->sum.count++;
		if (at != d->blamed && idle_ns > p->most_ns) {
			p->most_ns = idle_ns;
			p->sum.at_ns = at_ns;
		}
	}
	d->idle_ns = -1;
}

static void device_work(struct gp_waiting *b, unsigned device, uint64_t stream, int64_t begin_ns)
{
	struct gp_wait_device *d = device_of(b, device);
	device_end_idle(b, d, begin_ns);
	for (unsigned k = 0; k < d->streams; k++)
		if (d->stream[k] == stream)
			return;
	if (d->streams == GP_WAIT_STREAMS_MOST)
		d->is_beyond = true;
	else
		d->stream[d->streams++] = stream;
}

/* `stream` has no work left, or with `is_all` no stream of the device has. */
static void device_drained(struct gp_waiting *b, unsigned device, uint64_t stream, bool is_all,
			   size_t place, int64_t at_ns)
{
	struct gp_wait_device *d = device_of(b, device);
	unsigned left = 0;
	for (unsigned k = 0; k < d->streams && !is_all; k++)
		if (d->stream[k] != stream)
			d->stream[left++] = d->stream[k];
	const bool had_work = d->streams != 0 || d->is_beyond;
	d->streams = left;
	d->is_beyond &= !is_all;
	/* with GPU time, the gaps show when it was idle */
	if (!had_work || left != 0 || d->is_beyond || b->gaps.is_known)
		return;
	d->idle_ns = at_ns;
	d->blamed = place;
	d->data_ns = 0;
	d->data_stack = d->module_stack = 0;
	d->has_module = false;
}

/* Work was submitted that is not recorded: any stream of any device may have some. */
static void devices_forget(struct gp_waiting *b)
{
	for (unsigned k = 0; k <= GP_DEVICES; k++) {
		b->device[k].idle_ns = -1;
		b->device[k].is_beyond = true;
	}
}

/* ---- events ---- */

/* Valid until the next call. */
static struct gp_wait_thread *thread_of(struct gp_waiting *b, uint32_t thread)
{
	struct gp_wait_thread *t = gp_row_of_key(&b->threads, sizeof *t, thread);
	if (t != NULL)
		return t;
	t = gp_row_get_key(&b->threads, sizeof *t, thread);
	if (t == NULL) {
		b->is_out_of_memory = true;
		t = &b->no_thread;
	}
	t->data_ns = -1;
	return t;
}

static bool is_pinned(const struct gp_waiting *b, uint64_t address)
{
	const struct gp_live *live = b->recording->live;
	return gp_live_find(live, GP_SPACE_HOST, address) != NULL ||
	       gp_live_find(live, GP_SPACE_HOST_REGISTER, address) != NULL;
}

/* The direction of a copy of which only addresses are known. */
static enum gp_call direction(const struct gp_waiting *b, const struct gp_record *r)
{
	const enum gp_call kind = gp_call_kind(r->aux);
	if (kind != GP_COPY_UNIFIED)
		return kind;
	/* an array has no address, and lies on a device */
	const struct gp_live *live = b->recording->live;
	const bool to = r->copy.to == 0 || gp_live_find_holder(live, r->copy.to) != NULL;
	const bool from = r->copy.from == 0 || gp_live_find_holder(live, r->copy.from) != NULL;
	if (to == from)
		return to ? GP_COPY_ON_DEVICE : GP_COPY_UNIFIED;
	return to ? GP_COPY_TO_DEVICE : GP_COPY_TO_HOST;
}

static void see_copy(struct gp_waiting *b, const struct gp_event *e, struct gp_wait_thread *t)
{
	const struct gp_record *r = &e->record;
	const int64_t took = gp_call_took_ns(b->recording, r);
	const enum gp_call kind = direction(b, r);
	const bool is_async = (r->aux & GP_CALL_ASYNC) != 0;
	const bool is_hosts = kind == GP_COPY_TO_DEVICE || kind == GP_COPY_TO_HOST;
	const bool is_pageable =
		is_hosts && !is_pinned(b, kind == GP_COPY_TO_HOST ? r->copy.to : r->copy.from);
	struct gp_wait_copies *sum = &b->out->copies[kind];
	if (is_inside(b, e->at_ns)) {
		sum->count++;
		sum->bytes += r->copy.bytes;
		gp_ns_add(&sum->took_ns, took);
		sum->pageable_count += is_pageable;
		sum->pageable_bytes += is_pageable ? r->copy.bytes : 0;
	}
	device_work(b, r->device, r->copy.stream, e->at_ns - took);
	t->copy_bytes = r->copy.bytes;
	t->copy_stream = r->copy.stream;
	t->copy_ns = e->at_ns - took;
	t->copy_joins_ns = e->at_ns;
	gp_ns_add(&t->copy_joins_ns, COPY_JOINS_NS);
	t->copy_place = SIZE_MAX;
	t->copy_reason = GP_WAIT_ON_SYNCHRONIZE;
	if (kind == GP_COPY_TO_HOST && r->copy.bytes != 0 && r->copy.bytes <= GP_WAIT_ITEM_BYTES)
		t->copy_reason = GP_WAIT_ON_ITEM;
	else if (is_pageable)
		t->copy_reason = GP_WAIT_ON_PAGEABLE;
	if (is_async && !is_pageable)
		return;
	if (t->copy_reason == GP_WAIT_ON_SYNCHRONIZE)
		t->copy_reason = GP_WAIT_ON_OTHER;
	if (kind == GP_COPY_FILL || kind == GP_COPY_ON_DEVICE)
		return; /* these are asynchronous to the host whatever their name */
	t->copy_place = gp_wait_place_find(b, t->copy_reason, r->stack);
	place_add(b, t->copy_place, 1, r->copy.bytes, took, e->at_ns);
	activity_add(b, GP_GPU_GAP_WAITED, t->copy_place, t->copy_ns, e->at_ns, r->device,
		     e->thread);
	if (kind == GP_COPY_TO_HOST) /* the bytes are there: all before it is done */
		device_drained(b, r->device, r->copy.stream, false, t->copy_place, e->at_ns);
}

static void see_wait(struct gp_waiting *b, const struct gp_event *e, struct gp_wait_thread *t)
{
	const struct gp_record *r = &e->record;
	const enum gp_call kind = gp_call_kind(r->aux);
	const int64_t took = gp_call_took_ns(b->recording, r), begin_ns = e->at_ns - took;
	const bool is_of_copy =
		t->copy_bytes != 0 && kind == GP_WAIT_STREAM && t->copy_stream == r->wait.handle;
	enum gp_wait_reason reason = kind == GP_WAIT_EVENT_QUERY  ? GP_WAIT_ON_EVENT_QUERY :
				     kind == GP_WAIT_STREAM_QUERY ? GP_WAIT_ON_STREAM_QUERY :
				     kind >= GP_WAIT_FREE	  ? GP_WAIT_ON_FREE :
				     is_of_copy			  ? t->copy_reason :
								    GP_WAIT_ON_SYNCHRONIZE;
	const bool is_counted = is_of_copy && t->copy_place != SIZE_MAX;
	const size_t place = is_counted ? t->copy_place : gp_wait_place_find(b, reason, r->stack);
	place_add(b, place, !is_counted, is_of_copy && !is_counted ? t->copy_bytes : 0, took,
		  e->at_ns);
	/* a copy may end before its wait begins; longer host work in between is not a wait */
	activity_add(b, GP_GPU_GAP_WAITED, place,
		     is_of_copy && begin_ns <= t->copy_joins_ns ? t->copy_ns : begin_ns, e->at_ns,
		     r->device, e->thread);
	if (reason == GP_WAIT_ON_FREE && t->freed != NULL)
		gp_again_returned(t->freed, place, b->gaps.activities - 1);
	const bool is_stream = kind == GP_WAIT_STREAM || kind == GP_WAIT_STREAM_QUERY;
	if (r->code == 0 && kind != GP_WAIT_EVENT && kind != GP_WAIT_EVENT_QUERY)
		device_drained(b, r->device, r->wait.handle, !is_stream, place, e->at_ns);
}

static void see_module(struct gp_waiting *b, const struct gp_event *e)
{
	const struct gp_record *r = &e->record;
	const int64_t took = gp_took_ns(b->recording, r, r->module_load.took);
	const size_t place = gp_wait_place_find(b, GP_WAIT_ON_RECOMPILE, r->stack);
	place_add(b, place, 1, r->module_load.bytes, took > 0 ? took : 0, e->at_ns);
	activity_add(b, GP_GPU_GAP_LOADED, place, e->at_ns - (took > 0 ? took : 0), e->at_ns,
		     GP_DEVICE_UNKNOWN, e->thread);
	for (unsigned k = 0; k <= GP_DEVICES; k++)
		if (b->device[k].idle_ns >= 0) {
			b->device[k].has_module = true;
			b->device[k].module_stack = r->stack;
		}
}

/* Of the data loader's range alone, at whatever depth it lies. */
static void see_range(struct gp_waiting *b, const struct gp_event *e, struct gp_wait_thread *t)
{
	const struct gp_record *r = &e->record;
	if (r->kind == GP_RANGE_PUSH && t->data_ns < 0) {
		const char *name = gp_recording_text(b->recording, GP_RANGE_NAME, r->aux);
		if (gp_phase_kind_of((unsigned)r->range_push.source, name) != GP_PHASE_DATA)
			return;
		t->data_ns = e->at_ns;
		b->loading++;
		t->data_depth = (uint32_t)r->range_push.depth;
		t->data_stack = r->stack;
	} else if (r->kind == GP_RANGE_POP && t->data_ns >= 0 &&
		   r->range_pop.depth <= t->data_depth) {
		for (unsigned k = 0; k <= GP_DEVICES; k++)
			device_add_data(&b->device[k], t, e->at_ns);
		if (b->gaps.is_known)
			activity_add(b, GP_GPU_GAP_WORKED,
				     gp_wait_place_find(b, GP_WAIT_ON_DATA, t->data_stack),
				     t->data_ns, e->at_ns, GP_DEVICE_UNKNOWN, e->thread);
		t->data_ns = -1;
		b->loading--;
	}
}

/* The account of the memory that the event is about, and the bytes of it that are given now. */
static struct gp_again *again_of(struct gp_waiting *b, const struct gp_record *r, uint64_t *bytes)
{
	const struct gp_live *live = b->recording->live;
	if (r->space == GP_SPACE_HOST || r->space == GP_SPACE_HOST_REGISTER) {
		*bytes = gp_live_host(live)->pinned.now_bytes;
		return &b->again[GP_DEVICES + 1];
	}
	unsigned device = r->kind == GP_FREE ? gp_live_ended_device(live, r) : r->device;
	device = device < GP_DEVICES ? device : GP_DEVICES;
	const struct gp_live_device *d =
		gp_live_device(live, device < GP_DEVICES ? device : GP_DEVICE_UNKNOWN);
	*bytes = d != NULL ? d->curve[GP_CURVE_DRIVER].now_bytes : 0;
	return &b->again[device];
}

static size_t step_of(struct gp_waiting *b, int64_t at_ns)
{
	while (b->step + 1 < b->steps.steps && b->steps.step[b->step + 1].begin_ns <= at_ns)
		b->step++;
	return b->step;
}

/* A free by a call that waits; frees of a stream or of a handle do not. */
static void see_free(struct gp_waiting *b, const struct gp_event *e, struct gp_wait_thread *t)
{
	const struct gp_record *r = &e->record;
	uint64_t bytes;
	struct gp_again *again = again_of(b, r, &bytes);
	if (r->space == GP_SPACE_DEVICE || r->space == GP_SPACE_HOST ||
	    r->space == GP_SPACE_HOST_REGISTER) {
		gp_again_freed(again, bytes, step_of(b, e->at_ns));
		t->freed = again;
	} else {
		gp_again_see(again, bytes);
	}
}

static void see_alloc(struct gp_waiting *b, const struct gp_event *e)
{
	const struct gp_record *r = &e->record;
	const int64_t took = gp_alloc_took_ns(b->recording, r);
	uint64_t bytes;
	struct gp_again *again = again_of(b, r, &bytes);
	const bool is_again = gp_again_allocated(again, bytes, step_of(b, e->at_ns));
	if (took < 0 || (r->kind == GP_ALLOC && (r->aux & GP_ALLOC_CAPTURED) != 0))
		return;
	const size_t place =
		is_again ? again->place : gp_wait_place_find(b, GP_WAIT_ON_ALLOC, r->stack);
	if (is_again)
		gp_gpu_gaps_again(&b->gaps, again->activity, e->at_ns);
	if (!is_again) {
		place_add(b, place, 1, r->v[1], took, e->at_ns);
	} else if (is_inside(b, e->at_ns)) {
		struct gp_wait_row *sum = gp_wait_row_at(b, place);
		const struct gp_wait_again one = {
			1, r->v[1], took, took, r->stack, e->at_ns, NULL
		};
		gp_wait_again_add(&sum->again, &one);
		place_block(b, sum, took, e->at_ns);
	}
	activity_add(b, GP_GPU_GAP_ALLOCATED, place, e->at_ns - took, e->at_ns, r->device,
		     e->thread);
}

/* An event that is not a launch, a copy or a wait. */
static void see_other(struct gp_waiting *b, const struct gp_event *e)
{
	const struct gp_record *r = &e->record;
	if (r->kind == GP_MODULE_LOAD && r->code == 0)
		see_module(b, e);
	else if (r->kind == GP_ALLOC || r->kind == GP_MAP)
		see_alloc(b, e);
	else if (r->kind == GP_FREE)
		see_free(b, e, thread_of(b, e->thread));
	else if (r->kind == GP_GPU_TIME)
		b->is_out_of_memory |= !gp_gpu_gaps_switch(&b->gaps, r, e->at_ns);
	else if (r->kind == GP_GAP || r->kind == GP_SCOPE ||
		 (r->kind == GP_LOST && (r->lost.launch | r->lost.other) != 0))
		devices_forget(b);
}

void gp_waits_see(struct gp_waiting *b, const struct gp_event *e)
{
	const struct gp_record *r = &e->record;
	b->thread = e->thread;
	const bool has_run =
		gp_launched_as(r) == GP_LAUNCHED_KERNEL || gp_launched_as(r) == GP_LAUNCHED_GRAPH;
	if (r->kind == GP_RANGE_PUSH || r->kind == GP_RANGE_POP) {
		see_range(b, e, thread_of(b, e->thread));
		return; /* a range may lie between a copy and its wait */
	}
	if (!has_run && r->kind != GP_COPY && r->kind != GP_WAIT) {
		see_other(b, e);
		return;
	}
	struct gp_wait_thread *t = thread_of(b, e->thread); /* not that of a LOST from a repair */
	if (b->first_ns < 0 && is_inside(b, e->at_ns)) {
		/* a copy or a wait has the time of its return */
		const bool is_call = r->kind == GP_WAIT || r->kind == GP_COPY;
		const int64_t took_ns = is_call ? gp_call_took_ns(b->recording, r) : 0;
		b->first_ns = took_ns < e->at_ns ? e->at_ns - took_ns : 0;
	}
	if (is_inside(b, e->at_ns))
		b->last_ns = e->at_ns;
	if (r->kind == GP_WAIT) {
		b->out->has_calls = true;
		see_wait(b, e, t);
		t->copy_bytes = 0;
	} else if (r->kind == GP_COPY) {
		b->out->has_calls = true;
		t->copy_bytes = 0;
		if ((r->aux & GP_CALL_CAPTURED) == 0 && r->code == 0) {
			gp_gpu_gaps_launched(&b->gaps, r->device, e->thread);
			see_copy(b, e, t);
		}
	} else {
		t->copy_bytes = 0;
		gp_gpu_gaps_launched(&b->gaps, r->device, e->thread);
		device_work(b, r->device,
			    r->kind == GP_LAUNCH ? r->launch.stream : r->graph_launch.stream,
			    e->at_ns);
	}
}
