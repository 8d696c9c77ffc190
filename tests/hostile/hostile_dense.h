/* Families for made_hostile.c: as many events as the given bytes can hold. */
#ifndef HOSTILE_DENSE_H
#define HOSTILE_DENSE_H

#include <inttypes.h>

#include "hostile_writer.h"

#define DEEP 60u

/* One stack of DEEP frames, number 1000. */
static void define_deep_stack(void)
{
	struct gp_record frame = { .kind = GP_NATIVE_FRAME };
	struct gp_record stack = { .kind = GP_CALL_STACK, .aux = 1000 };
	for (uint32_t k = 1; k <= DEEP; k++) {
		frame.aux = k;
		frame.native_frame.pc = HEAP + 16 * k;
		frame.native_frame.parent = k - 1;
		define(frame, NULL);
	}
	stack.call_stack.native = DEEP;
	define(stack, NULL);
	flush(GP_BLOCK_DEFINE);
}

static struct gp_record block_event(enum gp_kind kind, uint64_t address, uint64_t allocated)
{
	struct gp_record r = memory(kind, 0, address, 512);
	r.block_alloc.allocated = allocated;
	r.block_alloc.reserved = UINT64_C(1) << 36;
	r.stack = 1000;
	return r;
}

static void dense_blocks(uint64_t count)
{
	define_deep_stack();
	add(memory(GP_ALLOC, GP_SPACE_DEVICE, HEAP, UINT64_C(1) << 36));
	for (uint64_t k = 0; k < count; k++) {
		add(block_event(GP_BLOCK_ALLOC, HEAP, 512));
		add(block_event(GP_BLOCK_FREE, HEAP, 0));
	}
}

/* All allocations are live at the end. */
static void dense_live(uint64_t count)
{
	define_deep_stack();
	add(memory(GP_ALLOC, GP_SPACE_DEVICE, HEAP, UINT64_C(1) << 36));
	for (uint64_t k = 0; k < count; k++)
		add(block_event(GP_BLOCK_ALLOC, HEAP + 512 * k, 512 * (k + 1)));
}

/* Expandable segments of the framework, each of one block. */
static void dense_reservations(uint64_t count)
{
	const uint64_t page = 2 << 20;
	for (uint64_t k = 0; k < count; k++) {
		const uint64_t at = HEAP + k * page;
		struct gp_record map = memory(GP_MAP, GP_SPACE_MAPPED, at, page);
		map.map.handle = k + 1;
		add(memory(GP_ALLOC, GP_SPACE_RESERVATION, at, page));
		add(memory(GP_ALLOC, GP_SPACE_PHYSICAL, k + 1, page));
		add(map);
		add(memory(GP_BLOCK_ALLOC, 0, at, 512));
	}
}

/* All curves of all devices rise in turn. */
static void peaks_up(uint64_t count)
{
	for (uint64_t k = 0; k < count; k++) {
		const uint64_t at = HEAP + 512 * k, bytes = 512 * (k / GP_DEVICES + 1);
		struct gp_record driver = memory(GP_ALLOC, GP_SPACE_DEVICE, at, 512);
		struct gp_record framework = memory(GP_BLOCK_ALLOC, 0, at, 512);
		driver.device = framework.device = (uint8_t)(k % GP_DEVICES);
		framework.block_alloc.allocated = bytes;
		framework.block_alloc.reserved = bytes;
		add(driver);
		add(framework);
	}
}

/* One range of addresses, and mappings in it that are live at the end. */
static void dense_maps(uint64_t count)
{
	struct gp_record map = memory(GP_MAP, GP_SPACE_MAPPED, 0, 512);
	map.map.handle = 7;
	add(memory(GP_ALLOC, GP_SPACE_RESERVATION, HEAP, count * 512));
	add(memory(GP_ALLOC, GP_SPACE_PHYSICAL, 7, 512));
	for (uint64_t k = 0; k < count; k++) {
		map.map.address = HEAP + k * 512;
		add(map);
	}
}

/* Each allocation has a stack of its own, all of the same frames. */
static void dense_callstacks(uint64_t count)
{
	struct gp_record stack = { .kind = GP_CALL_STACK };
	define_deep_stack();
	stack.call_stack.native = DEEP;
	for (uint32_t k = 1; k <= count; k++) {
		stack.aux = 2000 + k;
		stack.call_stack.why_native = k;
		define(stack, NULL);
	}
	flush(GP_BLOCK_DEFINE);
	for (uint32_t k = 1; k <= count; k++) {
		struct gp_record alloc = memory(GP_ALLOC, GP_SPACE_DEVICE, HEAP + 512 * k, 512);
		alloc.stack = 2000 + k;
		add(alloc);
	}
}

/* Waits at `count` lines. */
static void dense_waits(uint64_t count)
{
	struct gp_record code = { .kind = GP_PYTHON_CODE, .aux = 1, .python_code.address = 1 };
	define(code, "job.py");
	for (uint32_t k = 1; k <= count; k++) {
		struct gp_record frame = { .kind = GP_PYTHON_FRAME, .aux = 2 * k };
		struct gp_record stack = { .kind = GP_CALL_STACK, .aux = 2 * k + 1 };
		frame.python_frame.python_code = 1;
		frame.python_frame.line = k;
		stack.call_stack.python = 2 * k;
		define(frame, NULL);
		define(stack, NULL);
	}
	flush(GP_BLOCK_DEFINE);
	for (uint32_t k = 1; k <= count; k++)
		add((struct gp_record){ .kind = GP_WAIT, .stack = 2 * k + 1 });
}

/* Short calls of each part of the start, one after the other; each load has its own stack. */
static void dense_starts(uint64_t count)
{
	for (uint32_t k = 1; k <= count; k++) {
		const uint64_t at = START + 1024ull * k;
		add((struct gp_record){ .kind = GP_CONTEXT, .context = { k, at, 100 } });
		add((struct gp_record){ .kind = GP_MODULE_LOAD,
					.stack = k,
					.time = at + 200,
					.module_load = { k, k, 100 } });
		add((struct gp_record){ .kind = GP_COPY,
					.time = at + 400,
					.aux = gp_call_pack(GP_COPY_TO_DEVICE, 0, 100) });
		add((struct gp_record){ .kind = GP_CAPTURE_BEGIN, .time = at + 500 });
		add((struct gp_record){ .kind = GP_CAPTURE_END, .time = at + 600 });
		add((struct gp_record){ .kind = GP_GRAPH_INSTANTIATE,
					.time = at + 800,
					.graph_instantiate.took = 100 });
	}
}

static void dense_launches(uint64_t count)
{
	struct gp_record r = { .kind = GP_LAUNCH };
	add(memory(GP_ALLOC, GP_SPACE_DEVICE, HEAP, 1 << 20));
	for (uint64_t k = 0; k < count; k++) {
		r.launch.kernel = 100 + k % 2;
		add(r);
	}
}

static void dense_ranges(uint64_t count)
{
	struct gp_record name = { .kind = GP_RANGE_NAME, .aux = 1 };
	struct gp_record push = { .kind = GP_RANGE_PUSH }, pop = { .kind = GP_RANGE_POP };
	push.aux = 1;
	push.range_push.source = pop.range_pop.source = GP_RANGE_NVTX;
	define(name, "step");
	flush(GP_BLOCK_DEFINE);
	for (uint64_t k = 0; k < count; k++) {
		add(push);
		add(memory(GP_ALLOC, GP_SPACE_DEVICE, HEAP, 512));
		add(memory(GP_FREE, GP_SPACE_DEVICE, HEAP, 0));
		add(pop);
	}
}

/* Each event begins, or ends, 127 ranges whose own events are missing. */
static void dense_depths(uint64_t count)
{
	struct gp_record push = { .kind = GP_RANGE_PUSH, .aux = 1 };
	push.range_push.source = GP_RANGE_NVTX;
	add(memory(GP_ALLOC, GP_SPACE_DEVICE, HEAP, 512));
	for (uint64_t k = 0; k < count; k++) {
		push.range_push.depth = k % 2 != 0 ? GP_RANGES_DEEP - 1 : 0;
		add(push);
	}
}

/* As many started ranges as a reader keeps; then the oldest of them end again and again. */
static void dense_started(uint64_t count)
{
	struct gp_record start = { .kind = GP_RANGE_START, .aux = 1 },
			 end = { .kind = GP_RANGE_END };
	start.range_start.source = end.range_end.source = GP_RANGE_NVTX;
	add(memory(GP_ALLOC, GP_SPACE_DEVICE, HEAP, 512));
	for (uint64_t k = 1; k <= count; k++) {
		start.range_start.range = k;
		add(start);
		if (k < 4096)
			continue;
		end.range_end.range = k - 4095;
		add(end);
	}
}

/* Started ranges that are all open during many allocations, and end one by one. */
static void dense_born(uint64_t count)
{
	struct gp_record start = { .kind = GP_RANGE_START, .aux = 1 },
			 end = { .kind = GP_RANGE_END };
	start.range_start.source = end.range_end.source = GP_RANGE_NVTX;
	for (uint64_t k = 1; k <= 4096; k++) {
		start.range_start.range = k;
		add(start);
	}
	for (uint64_t k = 0; k < count; k++)
		add(memory(GP_ALLOC, GP_SPACE_DEVICE, HEAP + 512 * k, 512));
	for (uint64_t k = 1; k <= 4096; k++) {
		end.range_end.range = k;
		add(end);
	}
}

/*
 * Each event ends the list of ranges whose start was not recorded. 4096 ranges are open, and none
 * of them began before `since`.
 */
static void dense_list_ends(uint64_t count)
{
	struct gp_record start = { .kind = GP_RANGE_START, .aux = 1 };
	start.range_start.source = GP_RANGE_NVTX;
	add(memory(GP_ALLOC, GP_SPACE_DEVICE, HEAP, 512));
	for (uint64_t k = 1; k <= 4096; k++) {
		start.range_start.range = k;
		add(start);
	}
	for (uint64_t k = 0; k < count; k++)
		add((struct gp_record){ .kind = GP_RANGE_STARTED });
}

static void dense_streams(uint64_t count)
{
	struct gp_record r = { .kind = GP_STREAM };
	for (uint64_t k = 1; k <= count; k++) {
		r.stream.handle = k;
		define(r, NULL);
	}
	flush(GP_BLOCK_DEFINE);
}

/* Definitions of one byte each, of every kind that a reader keeps; then each with its own name. */
static void dense_definitions(uint64_t count)
{
	struct gp_record thread = { .kind = GP_THREAD }, name = { .kind = GP_RANGE_NAME };
	for (uint32_t k = 1; k <= count; k++) {
		thread.aux = k;
		define(thread, NULL);
	}
	for (uint32_t k = 1; k <= count; k++) {
		name.aux = k;
		define(name, NULL);
	}
	flush(GP_BLOCK_DEFINE);
	for (uint64_t k = 1; k <= count; k++) {
		struct gp_record kernel = { .kind = GP_KERNEL };
		char text[24];
		snprintf(text, sizeof text, "%" PRIx64, k);
		kernel.kernel.handle = k;
		define(kernel, text);
	}
	flush(GP_BLOCK_DEFINE);
}

/* Before format 1.7 there was no padding: a block of 8192 events may have 1024 bytes. */
static void be_old(void)
{
	header.minor = GP_FORMAT_PADDED - 1;
	write_header();
	is_unpadded = true;
}

static void old_launches(uint64_t count)
{
	be_old();
	dense_launches(count);
}

static void old_blocks(uint64_t count)
{
	be_old();
	dense_blocks(count);
}

static void old_live(uint64_t count)
{
	be_old();
	dense_live(count);
}

#endif
