/*
 * Allocator details beside PyTorch's reports, by hand: pending frees, segments and their ranges,
 * snapshots, the driver's counts. Each counter is exactly 1.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "state/live.h"

#define MIB (1ull << 20)

static struct gp_live *live;
static uint64_t order;

static int begin(void **state)
{
	(void)state;
	live = gp_live_open();
	order = 0;
	return live == NULL;
}

static int end(void **state)
{
	(void)state;
	gp_live_close(live);
	return 0;
}

static uint64_t put_at(uint64_t at, struct gp_record r)
{
	r.order = at;
	r.time = 100 + at;
	assert_int_equal(gp_live_apply(live, &r), GP_OK);
	return at;
}

static uint64_t put(struct gp_record r)
{
	return put_at(order++, r);
}

static uint64_t alloc(unsigned space, uint64_t address, uint64_t bytes)
{
	return put((struct gp_record){
		.kind = GP_ALLOC, .space = (uint8_t)space, .alloc = { address, bytes, 0, 42 } });
}

static void map(uint64_t address, uint64_t bytes)
{
	alloc(GP_SPACE_PHYSICAL, address + 1, bytes);
	put((struct gp_record){ .kind = GP_MAP,
				.space = GP_SPACE_MAPPED,
				.map = { address, bytes, address + 1, 0 } });
}

static struct gp_record block(enum gp_kind kind, uint64_t address, uint64_t bytes,
			      uint64_t allocated, uint64_t reserved)
{
	return (struct gp_record){ .kind = (uint16_t)kind,
				   .block_alloc = { address, bytes, allocated, reserved } };
}

static struct gp_record pending(uint64_t address, uint64_t bytes, uint64_t allocated,
				uint64_t reserved)
{
	struct gp_record r = block(GP_BLOCK_FREE, address, bytes, allocated, reserved);
	r.aux = 1;
	return r;
}

static struct gp_record in_arena(unsigned arena, struct gp_record r)
{
	r.code = (uint16_t)arena;
	return r;
}

static struct gp_record completed(uint64_t address)
{
	return (struct gp_record){ .kind = GP_BLOCK_COMPLETED, .block_completed.address = address };
}

static uint64_t segment(enum gp_kind kind, uint64_t address, uint64_t bytes)
{
	return put((struct gp_record){
		.kind = (uint16_t)kind, .code = 3, .segment_alloc = { address, bytes, 0, 0 } });
}

static void snapshot(uint64_t active_bytes)
{
	put((struct gp_record){ .kind = GP_SNAPSHOT, .snapshot.active_bytes = active_bytes });
}

static void assert_verdict(uint64_t mismatches, uint64_t anomalies)
{
	assert_int_equal(gp_live_count(live, GP_COUNT_MISMATCHES), mismatches);
	assert_int_equal(gp_live_count(live, GP_COUNT_ANOMALIES), anomalies);
}

static uint64_t now(enum gp_curve curve)
{
	return gp_live_device(live, 0)->curve[curve].now_bytes;
}

static uint64_t pending_bytes(void)
{
	return gp_live_device(live, 0)->pending_bytes;
}

static const struct gp_live_entry *segment_at(uint64_t address)
{
	return gp_live_find(live, GP_SPACE_SEGMENT, address);
}

#define BASE 0x7100000000u

static void begin_blocks(void)
{
	alloc(GP_SPACE_DEVICE, BASE, 20 * MIB);
	put(block(GP_BLOCK_ALLOC, BASE, MIB, MIB, 20 * MIB));
	put(block(GP_BLOCK_ALLOC, BASE + MIB, MIB, 2 * MIB, 20 * MIB));
}

static void pending_block_is_active_until_its_completion(void **state)
{
	(void)state;
	struct gp_record reported_block =
		in_arena(3, block(GP_BLOCK_ALLOC, BASE, 1024, 1024, 20 * MIB));
	reported_block.aux = 1 + 100;
	alloc(GP_SPACE_DEVICE, BASE, 20 * MIB);
	put(reported_block);
	put(pending(BASE, 1024, 0, 20 * MIB));
	const struct gp_live_entry *e = gp_live_find(live, GP_SPACE_BLOCK, BASE);
	assert_int_equal(e->flags & GP_LIVE_PENDING, GP_LIVE_PENDING);
	assert_int_equal(e->stream, 3);
	assert_int_equal(e->owner, 101);
	assert_int_equal(e->order, 1);
	assert_int_equal(now(GP_CURVE_ALLOCATED), 0);
	assert_int_equal(pending_bytes(), 1024);
	/* already freed: a later free does not end it */
	const struct gp_record again = { .kind = GP_BLOCK_FREE,
					 .order = order,
					 .block_free.address = BASE };
	assert_null(gp_live_ended_by(live, &again));
	put(completed(BASE));
	assert_null(gp_live_find(live, GP_SPACE_BLOCK, BASE));
	assert_int_equal(pending_bytes(), 0);
	assert_verdict(0, 0);
}

static void lost_completion_is_one_anomaly(void **state)
{
	(void)state;
	begin_blocks();
	put(pending(BASE, MIB, MIB, 20 * MIB));
	put(block(GP_BLOCK_ALLOC, BASE, MIB, 2 * MIB, 20 * MIB));
	assert_verdict(0, 1);
	assert_int_equal(pending_bytes(), 0);
	put(block(GP_BLOCK_FREE, BASE, MIB, MIB, 20 * MIB));
	put(block(GP_BLOCK_ALLOC, BASE, MIB, 2 * MIB, 20 * MIB));
	assert_verdict(0, 1);
}

/* Each event of a block's life in turn comes after all others: the final state is the same. */
static void whatever_comes_late_ends_the_same(void **state)
{
	(void)state;
	for (unsigned late = 0; late < 7; late++) {
		begin(state);
		alloc(GP_SPACE_DEVICE, BASE, 20 * MIB);
		const struct gp_record event[] = {
			block(GP_BLOCK_ALLOC, BASE, MIB, MIB, 20 * MIB),
			pending(BASE, MIB, 0, 20 * MIB),
			completed(BASE),
			block(GP_BLOCK_ALLOC, BASE, 2 * MIB, 2 * MIB, 20 * MIB),
			block(GP_BLOCK_FREE, BASE, 2 * MIB, 0, 20 * MIB),
			block(GP_BLOCK_ALLOC, BASE, 3 * MIB, 3 * MIB, 20 * MIB),
			pending(BASE, 3 * MIB, 0, 20 * MIB),
		};
		for (unsigned i = 0; i < 7; i++)
			if (i != late)
				put_at(1 + i, event[i]);
		put_at(1 + late, event[late]);
		assert_int_equal(now(GP_CURVE_ALLOCATED), 0);
		assert_int_equal(pending_bytes(), 3 * MIB);
		assert_int_equal(gp_live_count(live, GP_COUNT_ANOMALIES), 0);
		assert_int_equal(gp_live_entries(live), 2);
		order = 8;
		put(completed(BASE));
		assert_int_equal(gp_live_entries(live), 1);
		assert_int_equal(gp_live_count(live, GP_COUNT_ANOMALIES), 0);
		end(state);
	}
	begin(state);
}

static void completion_of_a_lost_free_ends_the_block(void **state)
{
	(void)state;
	begin_blocks();
	put(completed(BASE)); /* its free was lost */
	assert_verdict(0, 1);
	put(block(GP_BLOCK_ALLOC, BASE, MIB, 2 * MIB, 20 * MIB));
	assert_verdict(0, 1);
	/* a block whose free came before the report of its other streams */
	put(completed(BASE + 5 * MIB));
	assert_verdict(0, 1);
}

static void one_wrong_snapshot_is_one_mismatch(void **state)
{
	(void)state;
	begin_blocks();
	snapshot(2 * MIB);
	put(pending(BASE, MIB, MIB, 20 * MIB));
	snapshot(2 * MIB);
	assert_verdict(0, 0);
	snapshot(3 * MIB); /* the wrong total */
	assert_verdict(1, 0);
	snapshot(3 * MIB); /* wrong for good */
	put(completed(BASE));
	snapshot(2 * MIB);
	assert_verdict(1, 0);
	snapshot(MIB);
	assert_verdict(1, 0);
	/* a lost block event is one mismatch, and not another one at the next snapshot */
	put(block(GP_BLOCK_ALLOC, BASE + 4 * MIB, MIB, 3 * MIB, 20 * MIB));
	assert_verdict(2, 0);
	snapshot(3 * MIB);
	assert_verdict(2, 0);
}

static void a_gap_excuses_later_events(void **state)
{
	(void)state;
	begin_blocks();
	put(pending(BASE, MIB, MIB, 20 * MIB));
	put((struct gp_record){ .kind = GP_GAP, .aux = GP_WHY_STOPPED });
	put(block(GP_BLOCK_ALLOC, BASE, 2 * MIB, 5 * MIB, 20 * MIB));
	snapshot(9 * MIB);
	assert_verdict(0, 0);
}

static void segments_move_no_curve(void **state)
{
	(void)state;
	alloc(GP_SPACE_DEVICE, BASE, 20 * MIB);
	uint64_t at = segment(GP_SEGMENT_ALLOC, BASE, 20 * MIB);
	assert_int_equal(segment_at(BASE + 5 * MIB)->order, at);
	assert_int_equal(segment_at(BASE)->stream, 3);
	assert_int_equal(now(GP_CURVE_DRIVER), 20 * MIB);
	assert_int_equal(now(GP_CURVE_RESERVED), 0);
	put(in_arena(3, block(GP_BLOCK_ALLOC, BASE, MIB, MIB, 20 * MIB)));
	assert_int_equal(now(GP_CURVE_RESERVED), 20 * MIB);
	put(block(GP_BLOCK_FREE, BASE, MIB, 0, 20 * MIB));
	assert_int_equal(segment_at(BASE)->order,
			 at); /* the order of its own event, not of its block */
	segment(GP_SEGMENT_FREE, BASE, 20 * MIB);
	assert_null(segment_at(BASE));
	put((struct gp_record){ .kind = GP_FREE, .space = GP_SPACE_DEVICE, .free.address = BASE });
	assert_int_equal(gp_live_entries(live), 0);
	/* a segment without an allocation event, and one with two */
	segment(GP_SEGMENT_FREE, BASE, 20 * MIB);
	assert_verdict(0, 0);
	segment(GP_SEGMENT_ALLOC, BASE, 20 * MIB);
	segment(GP_SEGMENT_ALLOC, BASE, 20 * MIB);
	assert_verdict(0, 1);
}

static void first_block_makes_an_older_segment(void **state)
{
	(void)state;
	uint64_t at = alloc(GP_SPACE_DEVICE, BASE, 20 * MIB);
	put(block(GP_BLOCK_ALLOC, BASE, MIB, MIB, 20 * MIB)); /* without an event of its own yet */
	assert_null(segment_at(BASE));
	put(in_arena(2, block(GP_BLOCK_ALLOC, BASE + MIB, MIB, 2 * MIB, 20 * MIB)));
	const struct gp_live_entry *e = segment_at(BASE);
	assert_int_equal(e->order, at);
	assert_int_equal(e->bytes, 20 * MIB);
	assert_int_equal(e->stream, 2);
	assert_int_equal(e->flags, 0);
	/* only once: a segment that ended stays ended */
	segment(GP_SEGMENT_FREE, BASE, 20 * MIB);
	put(in_arena(2, block(GP_BLOCK_ALLOC, BASE + 2 * MIB, MIB, 3 * MIB, 20 * MIB)));
	assert_null(segment_at(BASE));
	assert_int_equal(now(GP_CURVE_RESERVED), 20 * MIB);
	/* without driver memory at its address no segment is made */
	put(in_arena(2, block(GP_BLOCK_ALLOC, 0x9000000000, MIB, 4 * MIB, 20 * MIB)));
	assert_null(segment_at(0x9000000000));
	assert_verdict(0, 0);
}

static void first_block_makes_older_ranges(void **state)
{
	(void)state;
	alloc(GP_SPACE_RESERVATION, BASE, 200 * MIB);
	map(BASE, 2 * MIB);
	map(BASE + 2 * MIB, 2 * MIB);
	map(BASE + 40 * MIB, 2 * MIB);
	put(block(GP_BLOCK_ALLOC, BASE, MIB, MIB, 6 * MIB));
	map(BASE + 20 * MIB, 2 * MIB);
	segment(GP_SEGMENT_MAP, BASE + 20 * MIB, 2 * MIB);
	put(in_arena(3, block(GP_BLOCK_ALLOC, BASE + 20 * MIB, MIB, 2 * MIB, 8 * MIB)));
	for (unsigned i = 0; i < 4; i++) {
		const uint64_t at = BASE + (uint64_t[]){ 0, 2, 20, 40 }[i] * MIB;
		assert_int_equal(segment_at(at)->address, at);
		assert_int_equal(segment_at(at)->bytes, 2 * MIB);
		assert_int_equal(segment_at(at)->stream, 3);
		assert_int_equal(segment_at(at)->flags, GP_LIVE_MAPPED);
	}
	assert_null(segment_at(BASE + 10 * MIB));
	assert_verdict(0, 0);
}

/* ---- blocks from before the allocator's first report ---- */

static struct gp_record found(uint64_t address, uint64_t bytes, uint64_t spare, uint64_t allocated)
{
	struct gp_record r =
		in_arena(5, block(GP_BLOCK_EXISTING, address, bytes, allocated, 20 * MIB));
	r.aux = (uint32_t)spare + 1;
	return r;
}

static struct gp_record found_segment(enum gp_kind kind, uint64_t address, uint64_t bytes)
{
	return (struct gp_record){ .kind = (uint16_t)kind,
				   .code = 5,
				   .aux = 1,
				   .segment_alloc = { address, bytes, 0, 0 } };
}

static const struct gp_live_entry *block_at(uint64_t address)
{
	return gp_live_find(live, GP_SPACE_BLOCK, address);
}

static void found_block_completes_its_entry(void **state)
{
	(void)state;
	begin_blocks();
	/* a block without an allocation event */
	put(in_arena(3, found(BASE + 2 * MIB, MIB, 7, 3 * MIB)));
	assert_verdict(1, 0); /* its bytes were missing before */
	put(found(BASE, MIB, 100, 3 * MIB));
	const struct gp_live_entry *e = block_at(BASE);
	assert_int_equal(e->owner, 101);
	assert_int_equal(e->stream, 5);
	assert_int_equal(e->order, 1);
	assert_int_equal(segment_at(BASE)->stream, 3); /* the stream of its first block */
	/* once, and only if it is that block */
	put(found(BASE, MIB, 200, 3 * MIB));
	put(found(BASE + MIB, MIB / 2, 200, 3 * MIB));
	assert_int_equal(block_at(BASE)->owner, 101);
	assert_int_equal(block_at(BASE + MIB)->owner, 0);
	/* another report of the framework itself is not a finding */
	put(in_arena(4, block(GP_BLOCK_EXISTING, BASE + MIB, MIB, 3 * MIB, 20 * MIB)));
	assert_int_equal(block_at(BASE + MIB)->stream, 0);
	assert_verdict(1, 0);
}

static void late_found_block_leaves_younger_blocks(void **state)
{
	(void)state;
	begin_blocks();
	put_at(10, block(GP_BLOCK_FREE, BASE, MIB, MIB, 20 * MIB));
	put_at(11, block(GP_BLOCK_ALLOC, BASE, MIB, 2 * MIB, 20 * MIB));
	put_at(12, block(GP_BLOCK_FREE, BASE + MIB, MIB, MIB, 20 * MIB));
	put_at(5, found(BASE, MIB, 100, 2 * MIB));
	put_at(6, found(BASE + MIB, MIB, 100, 2 * MIB));
	assert_int_equal(block_at(BASE)->owner, 0);
	assert_null(block_at(BASE + MIB));
	assert_int_equal(now(GP_CURVE_ALLOCATED), MIB);
	assert_verdict(0, 0);
}

/* Recording began late: the first totals are taken as they are; blocks and segments are found. */
static void found_blocks_of_a_late_start_enter(void **state)
{
	(void)state;
	put((struct gp_record){ .kind = GP_GAP, .aux = GP_WHY_STOPPED });
	put(block(GP_BLOCK_ALLOC, BASE + 4 * MIB, MIB, 4 * MIB, 20 * MIB));
	uint64_t at = put(found_segment(GP_SEGMENT_ALLOC, BASE, 20 * MIB));
	put(found(BASE, 3 * MIB, 512, 4 * MIB));
	struct gp_record waits = found(BASE + 3 * MIB, MIB, 9, 4 * MIB);
	waits.aux |= GP_FOUND_PENDING;
	put(waits);
	put(found(BASE + 4 * MIB, MIB, 1, 4 * MIB));
	assert_int_equal(segment_at(BASE + 19 * MIB)->order, at);
	assert_int_equal(segment_at(BASE)->stream, 5);
	assert_int_equal(block_at(BASE)->owner, 513);
	assert_int_equal(block_at(BASE + 3 * MIB)->flags, GP_LIVE_PENDING);
	assert_int_equal(block_at(BASE + 3 * MIB)->owner, 10);
	assert_int_equal(block_at(BASE + 4 * MIB)->owner, 2);
	assert_int_equal(pending_bytes(), MIB);
	assert_int_equal(now(GP_CURVE_ALLOCATED), 4 * MIB);
	snapshot(5 * MIB);
	put(completed(BASE + 3 * MIB));
	put(block(GP_BLOCK_FREE, BASE, 3 * MIB, MIB, 20 * MIB));
	put(block(GP_BLOCK_FREE, BASE + 4 * MIB, MIB, 0, 20 * MIB));
	assert_int_equal(now(GP_CURVE_ALLOCATED), 0);
	assert_int_equal(pending_bytes(), 0);
	segment(GP_SEGMENT_FREE, BASE, 20 * MIB);
	assert_int_equal(gp_live_entries(live), 0);
	assert_verdict(0, 0);
}

static void found_segment_is_as_old_as_its_memory(void **state)
{
	(void)state;
	uint64_t at = alloc(GP_SPACE_DEVICE, BASE, 20 * MIB);
	put(block(GP_BLOCK_ALLOC, BASE, MIB, MIB, 20 * MIB));
	put(block(GP_BLOCK_FREE, BASE, MIB, 0, 20 * MIB));
	put(found_segment(GP_SEGMENT_ALLOC, BASE, 20 * MIB)); /* cached, without blocks */
	assert_int_equal(segment_at(BASE)->order, at);
	assert_int_equal(segment_at(BASE)->stream, 5);
	put(found_segment(GP_SEGMENT_ALLOC, BASE, 20 * MIB));
	assert_int_equal(segment_at(BASE)->order, at);
	uint64_t reserved = alloc(GP_SPACE_RESERVATION, BASE + 40 * MIB, 200 * MIB);
	map(BASE + 40 * MIB, 2 * MIB);
	map(BASE + 42 * MIB, 2 * MIB);
	put(found_segment(GP_SEGMENT_MAP, BASE + 40 * MIB, 4 * MIB));
	assert_int_equal(segment_at(BASE + 40 * MIB)->flags, GP_LIVE_MAPPED);
	assert_true(segment_at(BASE + 43 * MIB)->order > reserved);
	put((struct gp_record){ .kind = GP_FREE, .space = GP_SPACE_DEVICE, .free.address = BASE });
	assert_null(segment_at(BASE));
	assert_verdict(0, 0);
}

static void unmapping_cuts_ranges(void **state)
{
	(void)state;
	alloc(GP_SPACE_RESERVATION, BASE, 200 * MIB);
	uint64_t first = segment(GP_SEGMENT_MAP, BASE, 60 * MIB);
	uint64_t second = segment(GP_SEGMENT_MAP, BASE + 60 * MIB, 20 * MIB);
	segment(GP_SEGMENT_UNMAP, BASE + 20 * MIB, 20 * MIB);
	assert_int_equal(segment_at(BASE + 19 * MIB)->bytes, 20 * MIB);
	assert_null(segment_at(BASE + 20 * MIB));
	assert_null(segment_at(BASE + 39 * MIB));
	assert_int_equal(segment_at(BASE + 40 * MIB)->bytes, 20 * MIB);
	assert_int_equal(segment_at(BASE + 40 * MIB)->order, first);
	segment(GP_SEGMENT_UNMAP, BASE + 50 * MIB, 20 * MIB); /* of both */
	assert_int_equal(segment_at(BASE + 40 * MIB)->bytes, 10 * MIB);
	assert_int_equal(segment_at(BASE + 70 * MIB)->bytes, 10 * MIB);
	assert_int_equal(segment_at(BASE + 70 * MIB)->order, second);
	/* a lost unmap is one anomaly */
	assert_verdict(0, 0);
	segment(GP_SEGMENT_MAP, BASE + 40 * MIB, 40 * MIB);
	assert_verdict(0, 1);
	assert_int_equal(segment_at(BASE + 79 * MIB)->bytes, 40 * MIB);
	assert_int_equal(gp_live_entries(live), 3);
}

static void late_ranges_leave_younger_ranges(void **state)
{
	(void)state;
	alloc(GP_SPACE_RESERVATION, BASE, 200 * MIB);
	/* 1: map of 40, 2: unmap of 10 to 30, 3: map of 14 to 18 */
	const struct gp_record event[] = {
		{ .kind = GP_SEGMENT_MAP, .segment_map = { BASE, 40 * MIB, 0, 0 } },
		{ .kind = GP_SEGMENT_UNMAP, .segment_unmap = { BASE + 10 * MIB, 20 * MIB, 0, 0 } },
		{ .kind = GP_SEGMENT_MAP, .segment_map = { BASE + 14 * MIB, 4 * MIB, 0, 0 } },
	};
	for (unsigned late = 0; late < 3; late++) {
		end(state);
		begin(state);
		for (unsigned i = 0; i < 3; i++)
			if (i != late)
				put_at(1 + i, event[i]);
		put_at(1 + late, event[late]);
		assert_int_equal(segment_at(BASE)->bytes, 10 * MIB);
		assert_null(segment_at(BASE + 12 * MIB));
		assert_int_equal(segment_at(BASE + 14 * MIB)->order, 3);
		assert_null(segment_at(BASE + 18 * MIB));
		assert_int_equal(segment_at(BASE + 30 * MIB)->order, 1);
		assert_int_equal(segment_at(BASE + 30 * MIB)->bytes, 10 * MIB);
		assert_int_equal(gp_live_entries(live), 3);
		assert_verdict(0, 0);
	}
}

static void segments_end_with_their_memory(void **state)
{
	(void)state;
	alloc(GP_SPACE_DEVICE, BASE, 20 * MIB);
	segment(GP_SEGMENT_ALLOC, BASE, 20 * MIB);
	uint64_t undoes = put((struct gp_record){
		.kind = GP_FREE, .space = GP_SPACE_DEVICE, .free.address = BASE });
	assert_null(segment_at(BASE));
	put((struct gp_record){ .kind = GP_FREE_FAILED, .free_failed = { BASE, undoes, 0, 0 } });
	assert_int_equal(segment_at(BASE)->bytes, 20 * MIB);
	put((struct gp_record){
		.kind = GP_OWNER_GONE, .aux = GP_HOW_PRIMARY_RESET, .owner_gone.owner = 42 });
	assert_int_equal(gp_live_entries(live), 0);
	assert_verdict(0, 0);
}

/* ---- checkpoints ---- */

struct saved {
	struct gp_record record[400];
	unsigned records;
};

static void save(void *context, const struct gp_record *record)
{
	struct saved *s = context;
	s->record[s->records++] = *record;
}

static void save_entry(void *context, const struct gp_live_entry *entry)
{
	struct gp_record record;
	gp_live_to_record(entry, &record);
	save(context, &record);
}

/* Continues with a state that is loaded from a checkpoint. */
static void reload(void)
{
	struct saved *s = calloc(1, sizeof *s);
	gp_live_totals(live, save, s);
	gp_live_walk_begin(live, save_entry, s);
	assert_true(gp_live_walk_more(live, 1000));
	gp_live_close(live);
	live = gp_live_open();
	for (unsigned i = 0; i < s->records; i++)
		assert_int_equal(gp_live_apply(live, &s->record[i]), GP_OK);
	free(s);
}

static void checkpoint_carries_all_of_it(void **state)
{
	(void)state;
	begin_blocks();
	segment(GP_SEGMENT_MAP, BASE + 100 * MIB, 20 * MIB);
	put(pending(BASE, MIB, MIB, 20 * MIB));
	snapshot(3 * MIB);
	put((struct gp_record){ .kind = GP_DEVICE_MEMORY,
				.aux = 1,
				.device_memory = { 70 * MIB, 100 * MIB, 50 * MIB, 0 } });
	const struct gp_live_used before = gp_live_device(live, 0)->used;
	alloc(GP_SPACE_DEVICE, BASE + 200 * MIB, MIB);
	/* completions and pending frees with their counterparts after the checkpoint */
	uint64_t late = order;
	order += 3;
	put(completed(BASE + 4 * MIB));
	put(pending(BASE + 5 * MIB, MIB, 0, 20 * MIB));
	uint64_t anomalies = gp_live_count(live, GP_COUNT_ANOMALIES);
	reload();
	assert_int_equal(pending_bytes(), MIB);
	assert_int_equal(segment_at(BASE + 100 * MIB)->flags, GP_LIVE_MAPPED);
	const struct gp_live_used *used = &gp_live_device(live, 0)->used;
	assert_int_equal(used->time, before.time);
	assert_int_equal(used->free_bytes, 70 * MIB);
	assert_int_equal(used->total_bytes, 100 * MIB);
	assert_int_equal(used->limit_bytes, 50 * MIB);
	assert_int_equal(used->driver_bytes, 20 * MIB);
	assert_true(used->has_limit);
	assert_int_equal(gp_live_count(live, GP_COUNT_MISMATCHES), 1);
	put_at(late, block(GP_BLOCK_ALLOC, BASE + 4 * MIB, MIB, 2 * MIB, 20 * MIB));
	put_at(late + 1, pending(BASE + 4 * MIB, MIB, MIB, 20 * MIB));
	assert_null(gp_live_find(live, GP_SPACE_BLOCK, BASE + 4 * MIB));
	put_at(late + 2, block(GP_BLOCK_ALLOC, BASE + 5 * MIB, MIB, 2 * MIB, 20 * MIB));
	assert_int_equal(gp_live_find(live, GP_SPACE_BLOCK, BASE + 5 * MIB)->flags,
			 GP_LIVE_PENDING);
	assert_int_equal(pending_bytes(), 2 * MIB);
	assert_int_equal(gp_live_count(live, GP_COUNT_ANOMALIES), anomalies - 1);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
	const struct CMUnitTest tests[] = {
		TEST(pending_block_is_active_until_its_completion),
		TEST(lost_completion_is_one_anomaly),
		TEST(whatever_comes_late_ends_the_same),
		TEST(completion_of_a_lost_free_ends_the_block),
		TEST(one_wrong_snapshot_is_one_mismatch),
		TEST(a_gap_excuses_later_events),
		TEST(segments_move_no_curve),
		TEST(first_block_makes_an_older_segment),
		TEST(first_block_makes_older_ranges),
		TEST(found_block_completes_its_entry),
		TEST(late_found_block_leaves_younger_blocks),
		TEST(found_blocks_of_a_late_start_enter),
		TEST(found_segment_is_as_old_as_its_memory),
		TEST(unmapping_cuts_ranges),
		TEST(late_ranges_leave_younger_ranges),
		TEST(segments_end_with_their_memory),
		TEST(checkpoint_carries_all_of_it),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
