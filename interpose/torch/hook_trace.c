/*
 * The tracker (hook_trace.h). Its callback runs under the lock of a device's allocator: no lock, no
 * malloc, no loader, no call of the driver or of PyTorch.
 */
#include "hook_trace.h"

#include <string.h>

#include "../../libgpuprof/record/stacks/stack_take.h"
#include "../hooks/capture.h"
#include "../hooks/deferred_call.h"
#include "../hooks/device_memory.h"
#include "arena_table.h"
#include "hook_torch.h"
#include "torch_allocator.h"
#include "trace_join.h"

/* pools are counted from 1: a greater number is not an id, so the entry has another layout */
#define POOL_ID_MOST UINT32_MAX

_Thread_local struct gp_block_details gp_block_details __attribute__((tls_model("initial-exec")));

static struct gp_torch_allocator allocator GP_HOT_DATA;
/* NULL: not tried; "": attached; else why not. Stored with release, after `allocator`. */
static const char *_Atomic outcome;
static const void *_Atomic reported_by[GP_DEVICES]; /* each device's copy of our tracker */

/* ---- the callback ---- */

/* Both halves of the pool's id, 0 if entries have none. */
GP_HOT void pool_of(const struct gp_trace_entry *e, uint64_t id[2])
{
	id[0] = id[1] = 0;
	if (gp_likely(allocator.pool_offset != 0))
		memcpy(id, (const char *)e + allocator.pool_offset, 2 * sizeof *id);
}

GP_COLD static uint32_t arena_of_slow(const void *tracker, const struct gp_trace_entry *e)
{
	uint64_t id[2];
	pool_of(e, id);
	bool has_pool = allocator.pool_offset && id[0] <= POOL_ID_MOST && id[1] <= POOL_ID_MOST;
	const struct gp_arena_key key = {
		.stream = e->stream,
		.pool = has_pool ? id[0] : 0,
		.user_pool = has_pool ? id[1] : 0,
		.device = (uint8_t)e->device,
		.has_pool = has_pool,
	};
	atomic_store_explicit(&reported_by[key.device], tracker, memory_order_relaxed);
	return gp_block_details.last_arena = (uint16_t)gp_arena_number(&key);
}

GP_HOT uint32_t arena_of(const void *tracker, const struct gp_trace_entry *e)
{
	uint64_t id[2];
	pool_of(e, id);
	if (gp_likely(gp_arena_is(gp_block_details.last_arena, (uint8_t)e->device, e->stream, id)))
		return gp_block_details.last_arena;
	return arena_of_slow(tracker, e);
}

GP_HOT void keep(const void *tracker, const struct gp_trace_entry *e, enum gp_details_of what)
{
	gp_join_note((uint8_t)e->device);
	gp_block_details.address = e->address;
	gp_block_details.bytes = e->bytes;
	gp_block_details.arena = (uint16_t)arena_of(tracker, e);
	gp_block_details.what = what;
}

/* BLOCK_COMPLETED, SEGMENT_* and SNAPSHOT: `value` and `bytes` are their first two fields. */
static void record(enum gp_kind kind, unsigned device, uint32_t arena, uint64_t value,
		   uint64_t bytes)
{
	uint32_t stack = 0;
	if (!gp_enter())
		return;
	if (kind == GP_SEGMENT_ALLOC || kind == GP_SEGMENT_MAP)
		stack = gp_stack_of_alloc();
	else if (kind == GP_SEGMENT_FREE || kind == GP_SEGMENT_UNMAP)
		stack = gp_stack_of_free();
	gp_put((struct gp_record){ .kind = (uint16_t)kind,
				   .device = (uint8_t)device,
				   .code = (uint16_t)arena,
				   .stack = stack,
				   .v = { value, bytes } });
	gp_leave();
}

GP_COLD static void completed_later(const void *tracker, const struct gp_trace_entry *e)
{
	gp_join_note((uint8_t)e->device);
	record(GP_BLOCK_COMPLETED, (unsigned)e->device, arena_of(tracker, e), e->address, 0);
}

GP_HOT void completed(const void *tracker, const struct gp_trace_entry *e)
{
	if (gp_likely(gp_block_details.what == GP_DETAILS_FREE &&
		      gp_block_details.address == e->address))
		gp_block_details.what = GP_DETAILS_COMPLETED;
	else
		completed_later(tracker, e);
}

/*
 * A snapshot's entry always names device 0. The device follows from the called copy of our tracker,
 * unless another device had that copy before another tracker was attached. A snapshot of a single
 * pool has no device.
 */
static unsigned device_of_snapshot(const void *tracker, const struct gp_trace_entry *e)
{
	uint64_t pool[2];
	pool_of(e, pool);
	if (pool[0] || pool[1])
		return GP_DEVICE_UNKNOWN;
	unsigned found = GP_DEVICE_UNKNOWN, count = 0;
	for (unsigned d = 0; d < GP_DEVICES; d++)
		if (atomic_load_explicit(&reported_by[d], memory_order_relaxed) == tracker) {
			found = d;
			count++;
		}
	return count == 1 ? found : GP_DEVICE_UNKNOWN;
}

/* Handles a snapshot that we requested. */
static void trace_own_snapshot(const void *tracker, const struct gp_trace_entry *e)
{
	unsigned device = gp_join_snapshot(e->bytes);
	if (device < GP_DEVICES)
		atomic_store_explicit(&reported_by[device], tracker, memory_order_relaxed);
}

/* Segments, snapshots, failures, and actions that newer versions add. */
GP_COLD static void trace_rare(const void *tracker, const struct gp_trace_entry *e)
{
	unsigned device = (unsigned)(uint8_t)e->device;
	if (e->action < GP_TRACE_SNAPSHOT) {
		gp_join_note(device);
		atomic_store_explicit(&reported_by[device], tracker, memory_order_relaxed);
	}
	switch (e->action) {
	case GP_TRACE_SEGMENT_ALLOC:
		record(GP_SEGMENT_ALLOC, device, arena_of(tracker, e), e->address, e->bytes);
		break;
	case GP_TRACE_SEGMENT_FREE:
		record(GP_SEGMENT_FREE, device, arena_of(tracker, e), e->address, e->bytes);
		break;
	case GP_TRACE_SEGMENT_MAP:
		record(GP_SEGMENT_MAP, device, arena_of(tracker, e), e->address, e->bytes);
		break;
	case GP_TRACE_SEGMENT_UNMAP:
		record(GP_SEGMENT_UNMAP, device, arena_of(tracker, e), e->address, e->bytes);
		break;
	case GP_TRACE_SNAPSHOT:
		if (gp_block_details.what == GP_DETAILS_OWN_SNAPSHOT)
			trace_own_snapshot(tracker, e);
		else
			record(GP_SNAPSHOT, device_of_snapshot(tracker, e), 0, e->bytes, 0);
		break;
	case GP_TRACE_OOM:
		keep(tracker, e, GP_DETAILS_OOM);
		break;
	default:
		break;
	}
}

static void reported(const void *tracker, const struct gp_trace_entry *e)
{
	if (gp_unlikely((uint8_t)e->device >= GP_DEVICES))
		return;
	if (gp_likely(e->action == GP_TRACE_ALLOC)) {
		gp_expect();
		keep(tracker, e, GP_DETAILS_ALLOC);
	} else if (e->action == GP_TRACE_FREE_REQUESTED)
		keep(tracker, e, GP_DETAILS_FREE);
	else if (e->action == GP_TRACE_FREE_COMPLETED)
		completed(tracker, e);
	else
		trace_rare(tracker, e);
}

/* ---- attaching ---- */

static void hook_trace_record(const char *why)
{
	gp_define_fact(GP_FACT_ALLOCATOR_DETAILS, !*why, why);
}

bool gp_trace_is_needed(bool is_first_block)
{
	/* partner: the store in gp_trace_attach */
	const char *before = atomic_load_explicit(&outcome, memory_order_acquire);
	if (!gp_settings.has_allocator_details) {
		hook_trace_record("switched off");
	} else if (before) {
		hook_trace_record(before);
	} else if (is_first_block && !gp_is_capturing()) {
		gp_trace_attach();
		return true;
	} else {
		gp_is_due(GP_DUE_ATTACH);
	}
	return false;
}

void gp_trace_first_block(void)
{
	if (atomic_load_explicit(&gp_join_state, memory_order_relaxed) == GP_JOIN_REQUESTED &&
	    !gp_is_capturing())
		gp_join_try();
}

static double fraction_of(unsigned device)
{
	return device < GP_DEVICES ? allocator.fraction(allocator.object, (int8_t)device) : -1;
}

void gp_trace_attach(void)
{
	char version[64];
	if (atomic_load_explicit(&outcome, memory_order_relaxed))
		return;
	if (!gp_torch_version(version, sizeof version))
		version[0] = '\0';
	const char *why =
		gp_torch_allocator_find(version, !gp_settings.has_untried_details, &allocator);
	/* record the fact before the events that it explains */
	hook_trace_record(why ? why : "");
	if (!why)
		gp_join_request(&allocator);
	if (!why)
		gp_torch_allocator_attach(&allocator, reported);
	/* partner: the load in gp_trace_is_needed */
	atomic_store_explicit(&outcome, why ? why : "", memory_order_release);
	if (!why && allocator.fraction)
		/* partner: the load in learn_limit */
		atomic_store_explicit(&gp_device_fraction, fraction_of, memory_order_release);
	if (!why)
		gp_device_memory_changed(gp_device_current());
}

void gp_trace_restart(bool is_child)
{
	if (!is_child)
		return;
	gp_arenas_forget();
	gp_block_details = (struct gp_block_details){ .what = GP_DETAILS_NONE };
}
