/*
 * How much memory the recorder may take (GPUPROF_MEMORY), and whether more of it fits. Rings and
 * the table of stacks grow while three quarters suffice. Memos of stacks only save time, so they
 * get a quarter at most, and only what rings and the table left. Memory for exact state (live
 * allocations, definitions, ranges, a thread's first ring) is counted and never refused.
 *
 * Not counted: code and static data, and the drain thread's stack. libunwind with the 68 KiB of its
 * stack and the 256 KiB that answer its reads. The index of definitions (256 KiB). The tables of
 * interpose/ (handles at most 5.3 MiB each). For GPUPROF_TRACK_ACCESS a map of 16 MiB of addresses
 * and 8.5 MiB for layouts.
 *
 * The recorder begins only if its tables take at most half of the rest of RLIMIT_AS and
 * RLIMIT_DATA. They take 17.1 MiB of addresses, 25.2 MiB with stacks (victim leak_two, gdb 13.1,
 * 2026-11-23). A thread with stacks takes 60 KiB, 12 KiB without Python, and memos of 4.6 MiB at
 * most.
 *
 * Without a ring a thread loses all its memory events, and the thread's own stack takes as much. So
 * 2,000 threads take 70 MiB with a budget of 8 MiB, with stacks some 187 MiB (sums of sizes). The
 * job's limits still apply. A ring is refused if it exceeds them, or if the recorder exceeds both
 * its budget and their rest. Rejected: rings shared by threads, which need a lock that a jump or a
 * signal can leave held.
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
#define STALE_NS 1000000000u /* maximal time for which memos grow after one check of the limits */
#define INDEX_BYTES 8u	     /* bytes of the table of stacks, per entry */

/* `taken`: bytes that the recorder took. The limits had left that much more before. */
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

/* Excludes the chunks in the rings' places. */
static uint64_t of_stacks(const struct gp_recorder *r)
{
	return (uint64_t)gp_stack_table_used() * INDEX_BYTES + gp_stack_table_own() +
	       (gp_native_rules ? sizeof *gp_native_rules : 0) + gp_module_watch_memory(r);
}

/* `threads`: the result of gp_thread_memory. It changes, so each figure uses one reading of it. */
static uint64_t taken(const struct gp_recorder *r, uint64_t threads)
{
	const uint64_t records = 2u * GP_BLOCK_RECORDS * sizeof(struct gp_record);
	return r->ring_bytes + GP_CONTROL_BYTES + r->block_capacity + gp_block_scratch_bytes() +
	       records + r->definitions.used + gp_live_memory(r->live) +
	       gp_open_ranges_memory(r->ranges) + threads + gp_range_names_memory() +
	       (r->define.entry ? of_stacks(r) : 0);
}

/* By now the job may have used the rest of its limits, and the limits may have changed. */
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

/* For the growth of rings and the table of stacks; excludes the share of threads. */
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
