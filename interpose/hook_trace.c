/*
 * The tracker (hook_trace.h). Its callback runs under the lock of a device's allocator: no lock, no
 * malloc, no loader, no call of the driver or of PyTorch.
 */
#include "hook_trace.h"

#include <string.h>

#include "../libgpuprof/record/stack_take.h"
#include "arena_table.h"
#include "device_memory.h"
#include "hook_torch.h"
#include "quiet_moment.h"
#include "torch_allocator.h"

/* pools are counted from 1: greater numbers were never ids, so the entry is not what we think */
#define POOL_ID_MOST UINT32_MAX

_Thread_local struct gp_told gp_told __attribute__((tls_model("initial-exec")));

static struct gp_torch_allocator allocator;
/* NULL: not tried; "" attached; else why not. Stored with release, after `allocator`. */
static const char *_Atomic outcome;
static const void *_Atomic told_by[GP_DEVICES]; /* each device's copy of our tracker */

/* ---- the callback ---- */

/* The stream stays out of it. */
static struct gp_arena_key pool_of(const struct gp_trace_entry *e)
{
	struct gp_arena_key key = { .device = (uint8_t)e->device };
	uint64_t id[2];
	if (!allocator.pool_offset)
		return key;
	memcpy(id, (const char *)e + allocator.pool_offset, sizeof id);
	key.has_pool = id[0] <= POOL_ID_MOST && id[1] <= POOL_ID_MOST;
	key.pool = key.has_pool ? id[0] : 0;
	key.user_pool = key.has_pool ? id[1] : 0;
	return key;
}

static uint32_t arena_of(const struct gp_trace_entry *e)
{
	struct gp_arena_key key = pool_of(e);
	key.stream = e->stream;
	uint32_t number = gp_arena_number(&key, gp_told.last_arena);
	gp_told.last_arena = (uint16_t)number;
	return number;
}

GP_HOT void keep(const struct gp_trace_entry *e, enum gp_told_what what)
{
	gp_told.address = e->address;
	gp_told.bytes = e->bytes;
	gp_told.arena = (uint16_t)arena_of(e);
	gp_told.what = what;
}

/* BLOCK_COMPLETED, SEGMENT_* and SNAPSHOT: `value` and `bytes` are their first two. */
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
	struct gp_record *r = gp_reserve(kind);
	if (r) {
		r->device = (uint8_t)device;
		r->code = (uint16_t)arena;
		r->stack = stack;
		r->v[0] = value;
		r->v[1] = bytes;
		gp_commit_memory(r);
	}
	gp_leave();
}

static void completed(const struct gp_trace_entry *e)
{
	if (gp_told.what == GP_TOLD_FREE && gp_told.address == e->address)
		gp_told.what = GP_TOLD_COMPLETED;
	else
		record(GP_BLOCK_COMPLETED, (unsigned)e->device, arena_of(e), e->address, 0);
}

/*
 * A snapshot's entry names device 0 whatever device it is of: whose copy of us is called does. One
 * of a single pool says nothing about a device.
 */
static unsigned device_of_snapshot(const void *tracker, const struct gp_trace_entry *e)
{
	struct gp_arena_key pool = pool_of(e);
	if (pool.pool || pool.user_pool)
		return GP_DEVICE_UNKNOWN;
	for (unsigned d = 0; d < GP_DEVICES; d++)
		if (atomic_load_explicit(&told_by[d], memory_order_relaxed) == tracker)
			return d;
	return GP_DEVICE_UNKNOWN;
}

static void told(const void *tracker, const struct gp_trace_entry *e)
{
	unsigned device = (unsigned)(uint8_t)e->device;
	if (device >= GP_DEVICES)
		return;
	if (e->action == GP_TRACE_SNAPSHOT) {
		record(GP_SNAPSHOT, device_of_snapshot(tracker, e), 0, e->bytes, 0);
		return;
	}
	if (gp_unlikely(atomic_load_explicit(&told_by[device], memory_order_relaxed) != tracker))
		atomic_store_explicit(&told_by[device], tracker, memory_order_relaxed);
	switch (e->action) {
	case GP_TRACE_ALLOC:
		keep(e, GP_TOLD_ALLOC);
		break;
	case GP_TRACE_FREE_REQUESTED:
		keep(e, GP_TOLD_FREE);
		break;
	case GP_TRACE_FREE_COMPLETED:
		completed(e);
		break;
	case GP_TRACE_SEGMENT_ALLOC:
		record(GP_SEGMENT_ALLOC, device, arena_of(e), e->address, e->bytes);
		break;
	case GP_TRACE_SEGMENT_FREE:
		record(GP_SEGMENT_FREE, device, arena_of(e), e->address, e->bytes);
		break;
	case GP_TRACE_SEGMENT_MAP:
		record(GP_SEGMENT_MAP, device, arena_of(e), e->address, e->bytes);
		break;
	case GP_TRACE_SEGMENT_UNMAP:
		record(GP_SEGMENT_UNMAP, device, arena_of(e), e->address, e->bytes);
		break;
	case GP_TRACE_OOM:
		keep(e, GP_TOLD_OOM);
		break;
	default: /* newer actions say nothing about memory that we would know */
		break;
	}
}

/* ---- attaching ---- */

static void say(const char *why)
{
	struct gp_record fact = { .kind = GP_FACT, .device = GP_DEVICE_UNKNOWN };
	fact.aux = GP_FACT_TIER_B;
	fact.fact.value = !*why;
	gp_define(&fact, why, strlen(why));
}

void gp_trace_wanted(void)
{
	/* partner: the store in gp_trace_attach */
	const char *before = atomic_load_explicit(&outcome, memory_order_acquire);
	if (!gp_settings.has_tier_b)
		say("switched off");
	else if (before)
		say(before);
	else
		gp_is_due(GP_DUE_ATTACH);
}

void gp_trace_attach(void)
{
	char version[64];
	if (atomic_load_explicit(&outcome, memory_order_relaxed))
		return;
	if (!gp_torch_version(version, sizeof version))
		version[0] = '\0';
	const char *why = gp_torch_allocator_find(version, &allocator);
	/* the fact stands before what it explains */
	say(why ? why : "");
	if (!why)
		gp_torch_allocator_attach(&allocator, told);
	/* partner: the loads in gp_trace_wanted and gp_trace_fraction */
	atomic_store_explicit(&outcome, why ? why : "", memory_order_release);
	if (!why)
		gp_device_memory_changed(gp_device_current());
}

double gp_trace_fraction(unsigned device)
{
	const char *how = atomic_load_explicit(&outcome, memory_order_acquire);
	if (!how || *how || !allocator.fraction || device >= GP_DEVICES)
		return -1;
	return allocator.fraction(allocator.object, (int8_t)device);
}

void gp_trace_restart(bool is_child)
{
	if (!is_child)
		return;
	gp_arenas_forget();
	gp_told = (struct gp_told){ .what = GP_TOLD_NOTHING };
}
