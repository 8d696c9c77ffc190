/*
 * How much memory the recorder may take, GPUPROF_MEMORY, and whether more of it fits. Rings and the
 * table of stacks grow while three quarters suffice. Memos of stacks only save time, so they get a
 * quarter at most, and none that rings and the table have taken. What keeps the state exact (live
 * allocations, definitions, ranges, a thread's first ring) is counted and not refused.
 *
 * Not counted: code and static data, the drain thread's stack, libunwind with the 68 KiB on which
 * it walks and the 256 KiB that answer its reads, the index of definitions (256 KiB), the tables of
 * interpose/ (handles at most 5.3 MiB each), and for GPUPROF_TRACK_ACCESS a map of 16 MiB of
 * addresses and 8.5 MiB for layouts.
 *
 * The recorder begins only where its tables take at most half of what RLIMIT_AS and RLIMIT_DATA
 * left: 17.1 MiB of addresses, 25.2 MiB with stacks (victim leak_two, gdb 13.1, 2026-11-23). A
 * thread with stacks takes 60 KiB, 12 KiB without Python, and memos of 4.6 MiB at most.
 *
 * Without a ring a thread loses all its memory events, and it takes as much for its own stack. So
 * 2,000 threads take 70 MiB where the budget is 8 MiB, with stacks some 187 MiB (sums of sizes).
 * The job's limits still end this: a ring is refused where it is more than they leave, or where the
 * recorder is over its budget and has more than they leave. Rejected: rings that threads share,
 * which need a lock that a jump or a signal can leave held.
 */
#include "../../state/live_table.h"
#include "../native/native_rule.h"
#include "../ranges/range_name.h"
#include "../recorder.h"
#include "../stacks/module_watch.h"
#include "../stacks/stack_table.h"
#include "headroom.h"
#include "thread_memory.h"

#define BUDGET_MOST (256u << 20)
#define SHARE 4u
#define LOOK_NS 10000000u
#define STALE_NS 1000000000u /* so long, at most, memos grow by one look at the limits */
#define INDEX_BYTES 8u	     /* of the table of stacks, an entry */

/* `taken`: by the recorder. The limits left as much more before it began. */
static void look_at_limits(struct gp_recorder *r, uint64_t taken)
{
	r->headroom_ns = gp_now_ns();
	r->headroom = gp_headroom("");
	r->budget = gp_settings.memory_bytes ?
			    gp_settings.memory_bytes :
			    gp_least(taken / SHARE + r->headroom / SHARE, BUDGET_MOST);
}

void gp_budget_open(struct gp_recorder *r)
{
	if (r->generation > 1)
		gp_thread_memory_begin();
	look_at_limits(r, 0);
	r->mappings = gp_headroom_mappings();
	r->mapped_before = atomic_load(&gp_pages_mapped);
}

bool gp_budget_leaves_half(const struct gp_recorder *r)
{
	return atomic_load(&gp_pages_mapped) - r->mapped_before <= r->mappings / 2;
}

/* Beside the chunks that are in the rings' places. */
static uint64_t of_stacks(const struct gp_recorder *r)
{
	return (uint64_t)gp_stack_table_used() * INDEX_BYTES + gp_stack_table_own() +
	       (gp_native_rules ? sizeof *gp_native_rules : 0) + gp_module_watch_memory(r);
}

/* `threads`: what gp_thread_memory counted. It moves, so each figure is made of one look at it. */
static uint64_t taken(const struct gp_recorder *r, uint64_t threads)
{
	const uint64_t records = 2u * GP_BLOCK_RECORDS * sizeof(struct gp_record);
	return r->ring_bytes + GP_CONTROL_BYTES + r->block_capacity + gp_block_scratch_bytes() +
	       records + r->definitions.used + gp_live_memory(r->live) +
	       gp_open_ranges_memory(r->ranges) + threads + gp_range_names_memory() +
	       (r->define.entry ? of_stacks(r) : 0);
}

/* By now the job may have taken what its limits left, and limits may be others. */
static uint64_t headroom_now(struct gp_recorder *r)
{
	if (gp_now_ns() - r->headroom_ns >= LOOK_NS)
		look_at_limits(r, taken(r, gp_thread_memory()));
	return r->headroom;
}

static void count_until_next_look(struct gp_recorder *r, uint64_t more)
{
	r->headroom -= r->headroom == GP_NO_LIMIT ? 0 : more;
}

bool gp_budget_may_begin(struct gp_recorder *r, uint64_t more)
{
	const uint64_t left = headroom_now(r);
	const uint64_t then = taken(r, gp_thread_memory()) + more;
	if (more > left || (then > r->budget && then > left))
		return false;
	count_until_next_look(r, more);
	return true;
}

/* Of what rings and the table of stacks may grow to; what threads have in their share is beside. */
static uint64_t left_to_grow(const struct gp_recorder *r)
{
	const uint64_t share = r->budget / SHARE;
	const uint64_t threads = gp_thread_memory();
	const uint64_t used = taken(r, threads) - gp_least(threads, share);
	return r->budget - share - gp_least(used, r->budget - share);
}

bool gp_budget_may_grow(struct gp_recorder *r, uint64_t more)
{
	const uint64_t left = headroom_now(r);
	if (more > left / SHARE || more > left_to_grow(r))
		return false;
	count_until_next_look(r, more);
	return true;
}

void gp_budget_tend(struct gp_recorder *r)
{
	const uint64_t threads = gp_thread_memory();
	const uint64_t now = gp_now_ns();
	const bool is_due = threads != r->threads_bytes || now - r->headroom_ns >= STALE_NS;
	const uint64_t left = is_due ? headroom_now(r) : r->headroom;
	r->threads_bytes = threads;
	gp_thread_memory_bound(gp_least(gp_least(left_to_grow(r), r->budget / SHARE),
					threads + gp_least(left / SHARE, r->budget)));
}
