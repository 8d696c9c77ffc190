/*
 * Families for made_hostile.c: values that an unkeyed hash function puts into one bucket. The
 * functions are those that tables of the reading library have used, or might use again.
 */
#ifndef HOSTILE_HASHES_H
#define HOSTILE_HASHES_H

#include "hostile_writer.h"

#define GOLDEN_RATIO UINT64_C(0x9e3779b97f4a7c15)

/* x with x * odd = 1: undoes the spread of a multiplication. */
static uint64_t inverse(uint64_t odd)
{
	uint64_t x = odd;
	for (unsigned k = 0; k < 6; k++)
		x *= 2 - odd * x;
	return x;
}

/* x with x ^ x >> shift = value */
static uint64_t unshift(uint64_t value, unsigned shift)
{
	uint64_t x = value;
	for (unsigned k = 0; k < 64 / shift; k++)
		x = value ^ x >> shift;
	return x;
}

static void same_hash_entries(uint64_t count)
{
	const uint64_t family = UINT64_C(2) << 56;
	for (uint64_t k = 1; k <= count; k++)
		add(memory(GP_ALLOC, GP_SPACE_ARRAY, (k << 8) * inverse(GOLDEN_RATIO) - family,
			   512));
}

static void same_hash_definitions(uint64_t count)
{
	const uint64_t family = (uint64_t)GP_STREAM << 56;
	for (uint64_t k = 1; k <= count; k++) {
		struct gp_record r = { .kind = GP_STREAM };
		r.stream.handle = (k << 44) * inverse(GOLDEN_RATIO) - family;
		define(r, NULL);
	}
	flush(GP_BLOCK_DEFINE);
}

/* A multiplication of which the upper 18 bits are used. */
static void same_hash_stacks(uint64_t count)
{
	add(memory(GP_SEGMENT_ALLOC, 0, HEAP, count * 512));
	for (uint64_t k = 1, made = 0; made < count && k < UINT32_MAX; k++) {
		if ((k * GOLDEN_RATIO >> 24 & 0x3ffff) > 8)
			continue;
		struct gp_record r = memory(GP_BLOCK_ALLOC, 0, HEAP + made++ * 512, 512);
		r.stack = (uint32_t)k;
		add(r);
	}
}

/* The finalizer of splitmix64: each of its steps has an inverse. The last kernel comes often. */
static void same_hash_kernels(uint64_t count)
{
	struct gp_record r = { .kind = GP_LAUNCH };
	add(memory(GP_ALLOC, GP_SPACE_DEVICE, HEAP, 512));
	for (uint64_t k = 1; k < 50000; k++) {
		uint64_t hash = unshift(k << 44 | 1, 31) * inverse(0x94d049bb133111ebu);
		hash = unshift(hash, 27) * inverse(0xbf58476d1ce4e5b9u);
		r.launch.kernel = unshift(hash, 30) - 1 - GP_LAUNCH * GOLDEN_RATIO;
		add(r);
	}
	for (uint64_t k = 0; k < count; k++)
		add(r);
}

/* Threads whose numbers have the same low bits, a block each. */
static void same_hash_threads(uint64_t count)
{
	for (uint32_t k = 1; k <= count; k++) {
		for (unsigned i = 0; i < 100; i++)
			add(memory(GP_FREE, GP_SPACE_DEVICE, HEAP, 0));
		write_block(GP_BLOCK_EVENTS, k << 16 | k >> 16, 0);
	}
}

/* This number of events of each of 4096 threads, which all have an open range. */
static void same_hash_ranges(uint64_t count)
{
	struct gp_record push = { .kind = GP_RANGE_PUSH }, again = { .kind = GP_RANGE_RESUMED };
	push.range_push.source = again.range_resumed.source = GP_RANGE_NVTX;
	for (uint32_t k = 0; k < 4096; k++) {
		push.time = again.range_resumed.since = next_time += 64;
		add(push);
		for (uint64_t i = 0; i < count; i++)
			add(again);
		write_block(GP_BLOCK_EVENTS, (uint32_t)inverse(0x9e3779b1u) * (k << 20), 0);
	}
}

/* Stacks of one frame without a name, whose addresses hash to one bucket of the stack table. */
static void same_hash_frames(uint64_t count)
{
	const uint64_t times = UINT64_C(0xbf58476d1ce4e5b9), parts[] = { 257, 257, 257, 0 };
	uint64_t before = UINT64_C(0x94d049bb133111eb);
	for (unsigned k = 0; k < 4; k++)
		before = (before ^ parts[k] ^ before >> 29) * times;
	for (uint32_t k = 1; k <= count; k++) {
		struct gp_record frame = { .kind = GP_NATIVE_FRAME, .aux = 2 * k };
		struct gp_record stack = { .kind = GP_CALL_STACK, .aux = 2 * k + 1 };
		const uint64_t behind = unshift((uint64_t)k << 24, 29);
		frame.native_frame.pc = behind * inverse(times) ^ before ^ before >> 29;
		stack.call_stack.native = 2 * k;
		define(frame, NULL);
		define(stack, NULL);
	}
	flush(GP_BLOCK_DEFINE);
	for (uint32_t k = 1; k <= count; k++) {
		struct gp_record r = memory(GP_ALLOC, GP_SPACE_DEVICE, HEAP + k * 512, 512);
		r.stack = 2 * k + 1;
		add(r);
	}
}

/* Ranges in ranges, `count` times 4096; the hashes of parent, name and domain cancel each other. */
static void same_hash_phases(uint64_t count)
{
	struct gp_record push = { .kind = GP_RANGE_PUSH }, pop = { .kind = GP_RANGE_POP };
	push.range_push.source = pop.range_pop.source = GP_RANGE_NVTX;
	add(memory(GP_ALLOC, GP_SPACE_DEVICE, HEAP, 512));
	for (uint32_t parent = 0; parent < count; parent++) {
		push.range_push.depth = 0;
		push.range_push.domain = parent;
		push.aux = parent << 20;
		add(push);
		for (uint32_t k = 0; k < 4096; k++) {
			push.range_push.depth = 1;
			push.range_push.domain = (parent * 4097 + 1) << 12 | k;
			push.aux = k << 20;
			add(push);
			pop.range_pop.depth = 1;
			pop.range_pop.domain = push.range_push.domain;
			add(pop);
		}
		pop.range_pop.depth = 0;
		pop.range_pop.domain = parent;
		add(pop);
	}
}

#endif
