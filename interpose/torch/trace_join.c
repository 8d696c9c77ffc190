/*
 * Takes the two snapshots and records the first (trace_join.h).
 */
#include "trace_join.h"

#include <string.h>

#include "../../libgpuprof/record/process/fork_gate.h"
#include "../hooks/deferred_call.h"
#include "../lookup/mapped_symbol.h"
#include "arena_table.h"
#include "hook_torch.h"
#include "hook_trace.h"
#include "torch_snapshot.h"

/* Number of attempts at quiet moments. The allocator may change during each of them. */
#define MOMENTS 16u
#define SNAPSHOTS_EACH 4u
/* All items are recorded at once, under a lock: half of a thread's ring. */
#define ITEMS_MAX (GP_RING_SLOTS / 2)

#define UNKNOWN "not of what was there before: "
#define NEVER_STILL UNKNOWN "its allocator was never still"

_Atomic uint32_t gp_join_state GP_HOT_DATA = GP_JOIN_NONE;

/* Used by one thread at a time: the one that set GP_JOIN_RUNS. */
static struct {
	struct gp_torch_allocator allocator;
	/*
	 * In turn, one is read while the allocator writes the other. Memory that cannot be freed
	 * stays reachable here, so that a leak checker of the job does not report it.
	 */
	struct gp_torch_snapshot list[2];
	const struct gp_torch_snapshot *read; /* NULL: nothing yet */
	unsigned device;		      /* the next device of the current snapshot */
	uint64_t done, seen;		      /* devices, as bits */
	uint64_t at[GP_DEVICES];	      /* `changes` when the list was made */
	unsigned moments;
	const char *why; /* why the last attempt failed */
} join;

/* Each is counted under the lock of the device's allocator. */
static _Atomic uint64_t changes[GP_DEVICES];

void gp_join_changed(unsigned device)
{
	uint64_t so_far = atomic_load_explicit(&changes[device], memory_order_relaxed);
	atomic_store_explicit(&changes[device], so_far + 1, memory_order_relaxed);
}

/* ---- under the lock of the device's allocator ---- */

/* SEGMENT_ALLOC and SEGMENT_MAP have the same fields. */
static void record_segment(const struct gp_torch_segment *s, uint32_t arena)
{
	gp_put((struct gp_record){ .kind = s->is_expandable ? GP_SEGMENT_MAP : GP_SEGMENT_ALLOC,
				   .device = (uint8_t)s->device,
				   .code = (uint16_t)arena,
				   .aux = 1,
				   .segment_alloc.address = s->address,
				   .segment_alloc.bytes = s->bytes });
}

static void record_block(const struct gp_torch_segment *s, const struct gp_torch_block *b,
			 uint64_t address, uint32_t arena)
{
	uint64_t spare = b->bytes - b->requested, allocated = 0, reserved = 0;
	if (!b->is_active || spare >= GP_FOUND_PENDING - 1)
		return;
	gp_torch_totals((unsigned)s->device, &allocated, &reserved);
	gp_put((struct gp_record){ .kind = GP_BLOCK_EXISTING,
				   .device = (uint8_t)s->device,
				   .code = (uint16_t)arena,
				   .aux = ((uint32_t)spare + 1) |
					  (b->is_allocated ? 0 : GP_FOUND_PENDING),
				   .block_existing = { .address = address,
						       .bytes = b->bytes,
						       .allocated = allocated,
						       .reserved = reserved } });
}

static void record_device(unsigned device)
{
	const struct gp_torch_segment *s;
	for (size_t left = gp_torch_segments(join.read, &s); left > 0; left--, s++) {
		const struct gp_torch_block *b;
		const struct gp_arena_key key = {
			.stream = s->stream,
			.device = (uint8_t)device,
			.pool = join.allocator.pool_offset ? s->pool[0] : 0,
			.user_pool = join.allocator.pool_offset ? s->pool[1] : 0,
			.has_pool = join.allocator.pool_offset != 0,
		};
		if ((unsigned)s->device != device)
			continue;
		/* defines the number, so it must be outside gp_enter */
		uint32_t arena = gp_arena_number(&key);
		if (!gp_enter())
			return;
		record_segment(s, arena);
		uint64_t address = s->address;
		for (size_t blocks = gp_torch_blocks(s, &b); blocks > 0; blocks--, b++) {
			record_block(s, b, address, arena);
			address += b->bytes;
		}
		gp_leave();
	}
}

static const char *objection(unsigned device, uint64_t active_bytes)
{
	uint64_t allocated = 0, reserved = 0;
	const struct gp_torch_sums sums = gp_torch_snapshot_sums(join.read, device);
	bool is_known = gp_torch_totals(device, &allocated, &reserved);
	if (sums.items == 0 && !is_known)
		return NULL;
	if (sums.allocated != allocated || sums.reserved != reserved || sums.active != active_bytes)
		return UNKNOWN "what its allocator lists is not what it reported";
	return NULL;
}

unsigned gp_join_snapshot(uint64_t active_bytes)
{
	unsigned device = join.device++;
	if (device >= GP_DEVICES)
		return GP_DEVICE_UNKNOWN;
	uint64_t now = atomic_load_explicit(&changes[device], memory_order_relaxed);
	uint64_t bit = 1ull << device;
	if (join.read && join.seen & bit && !(join.done & bit)) {
		join.why = now != join.at[device] ? NEVER_STILL : objection(device, active_bytes);
		if (!join.why) {
			record_device(device);
			join.done |= bit;
		}
	}
	join.seen |= bit;
	join.at[device] = now;
	return device;
}

/* ---- at a quiet moment ---- */

void gp_join_request(const struct gp_torch_allocator *allocator)
{
	if (!allocator->snapshot)
		return;
	join.allocator = *allocator;
	atomic_store_explicit(&gp_join_state, GP_JOIN_REQUESTED, memory_order_release);
	gp_is_due(GP_DUE_JOIN);
}

/*
 * The job's operator delete if it is libstdc++'s and not replaced. NULL: the owner of the memory is
 * unknown, so the memory is leaked.
 */
static void (*give_back(void))(void *)
{
	void (*found)(void *) = NULL;
	uint64_t signals;
	if (!gp_walks_begin(&signals))
		return NULL;
	void *first = gp_mapped_symbol(NULL, "_ZdlPv", NULL, 0);
	if (first && first == gp_mapped_symbol("libstdc++.so", "_ZdlPv", NULL, 0))
		*(void **)&found = first;
	gp_walks_end(&signals);
	return found;
}

static uint64_t items_of(const struct gp_torch_snapshot *list)
{
	uint64_t sum = 0;
	for (unsigned d = 0; d < GP_DEVICES; d++)
		sum += gp_torch_snapshot_sums(list, d).items;
	return sum;
}

/* Makes the allocator write `list`, while the previous list is recorded. NULL: it can be read. */
static const char *request_snapshot(struct gp_torch_snapshot *list)
{
	join.device = 0;
	memset(list, 0, sizeof *list);
	gp_block_details.what = GP_DETAILS_OWN_SNAPSHOT;
	join.allocator.snapshot(list, join.allocator.object, (struct gp_torch_pool_id){ 0, 0 },
				false);
	gp_block_details.what = GP_DETAILS_NONE;
	join.read = NULL;
	if (!gp_torch_snapshot_is_sound(list, GP_DEVICES))
		return UNKNOWN "what its allocator lists is not what is known of it";
	join.read = list;
	if (items_of(list) > ITEMS_MAX)
		return UNKNOWN "its allocator lists too much to be recorded at once";
	return NULL;
}

/* True: finished; `why` is the reason of a failure, or NULL. */
static bool trace_join_attempt(void (*give)(void *), const char **why)
{
	join.seen = 0;
	join.read = NULL;
	join.why = NEVER_STILL;
	*why = NULL;
	/* two lists are the most that may be leaked if memory cannot be freed */
	unsigned most = give ? SNAPSHOTS_EACH : 2;
	for (unsigned k = 0; k < most; k++) {
		struct gp_torch_snapshot *list = &join.list[k % 2];
		if (k > 1)
			gp_torch_snapshot_free(list, give);
		*why = request_snapshot(list);
		if (*why)
			return true;
		if (k > 0 && join.done == join.seen) {
			gp_torch_snapshot_free(&join.list[0], give);
			gp_torch_snapshot_free(&join.list[1], give);
			return true;
		}
	}
	gp_torch_snapshot_free(&join.list[0], give);
	gp_torch_snapshot_free(&join.list[1], give);
	*why = join.why;
	return !give || ++join.moments >= MOMENTS;
}

void gp_join_try(void)
{
	uint32_t requested = GP_JOIN_REQUESTED;
	const char *why;
	if (!atomic_compare_exchange_strong(&gp_join_state, &requested, GP_JOIN_RUNS))
		return;
	/* record the allocator's reports meanwhile as if we had not called it */
	uint64_t inside = gp_thread.inside;
	gp_leave();
	bool is_over = trace_join_attempt(give_back(), &why);
	gp_thread.inside = inside;
	atomic_signal_fence(memory_order_seq_cst);
	if (is_over && why) /* the tracker stays attached */
		gp_define_fact(GP_FACT_ALLOCATOR_DETAILS, true, why);
	/* partner: the exchange above */
	atomic_store_explicit(&gp_join_state, is_over ? GP_JOIN_NONE : GP_JOIN_REQUESTED,
			      memory_order_release);
	if (!is_over)
		gp_is_due(GP_DUE_JOIN);
}
