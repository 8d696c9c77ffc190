/*
 * Invents the records of a PyTorch job's threads. Steps repeat nearly exactly, each with launches
 * of recurring kernels and block events at recurring addresses. Forward runs on thread 0, backward
 * on thread 1.
 */
#ifndef TRAINING_RECORDS_H
#define TRAINING_RECORDS_H

#include <stdlib.h>
#include <string.h>

#include "format/event.h"

#define TRAINING_THREADS 2u
#define TRAINING_LAUNCHES 560u
#define TRAINING_BLOCKS 820u /* allocated and freed once a step */
#define TRAINING_KERNELS 150u

struct training {
	uint64_t random, time, order, allocated, reserved;
	struct gp_record *records[TRAINING_THREADS];
	size_t count[TRAINING_THREADS], capacity;
};

static uint64_t training_draw(uint64_t *random, uint64_t below)
{
	*random ^= *random << 13;
	*random ^= *random >> 7;
	*random ^= *random << 17;
	return (*random >> 11) % below;
}

static struct gp_record *training_next(struct training *t, unsigned thread, enum gp_kind kind)
{
	if (t->count[thread] == t->capacity)
		abort();
	struct gp_record *r = &t->records[thread][t->count[thread]++];
	/* 1 to 30 us at 2.1 GHz */
	t->time += 2100 + training_draw(&t->random, 60900);
	*r = (struct gp_record){ .time = t->time, .order = t->order, .kind = (uint16_t)kind };
	return r;
}

static void training_launch(struct training *t, unsigned thread, uint64_t *plan)
{
	struct gp_record *r = training_next(t, thread, GP_LAUNCH);
	uint64_t kernel = training_draw(plan, TRAINING_KERNELS);
	kernel = training_draw(plan, 3) ? kernel % 40 : kernel; /* some are frequent */
	r->launch.kernel = 0x55d0c8a00000 + kernel * 0x3e0 + kernel * kernel % 7 * 16;
	r->launch.stream = 0x55d0c4b01230;
	r->launch.grid = (1 + training_draw(plan, 4) * 768 + kernel) | 1ull << 32 | 1ull << 48;
	r->launch.block = (kernel % 3 ? 128 : 512) | 1ull << 16 | 1ull << 32 |
			  (uint64_t)GP_LAUNCH_KERNEL << 48;
	r->aux = kernel % 5 ? 0 : 49152;
}

static void training_block(struct training *t, unsigned thread, bool is_alloc, uint64_t address,
			   uint64_t bytes)
{
	struct gp_record *r = training_next(t, thread, is_alloc ? GP_BLOCK_ALLOC : GP_BLOCK_FREE);
	t->order++;
	t->allocated += is_alloc ? bytes : -bytes;
	r->space = GP_SPACE_BLOCK;
	r->block_alloc.address = address;
	r->block_alloc.bytes = bytes;
	r->block_alloc.allocated = t->allocated;
	r->block_alloc.reserved = t->reserved;
}

/* First fit over fixed-size cells: addresses recur, as with a caching allocator. */
struct training_heap {
	uint64_t bytes[TRAINING_BLOCKS]; /* by cell; 0 is free */
	unsigned live[TRAINING_BLOCKS], lives;
};

static uint64_t training_address(unsigned cell)
{
	return 0x7f2a40000000 + (uint64_t)cell * 0x1a600;
}

static void training_event(struct training *t, struct training_heap *heap, unsigned thread,
			   bool is_alloc, uint64_t *plan)
{
	uint64_t bytes = 512 * (1 + training_draw(plan, training_draw(plan, 2) ? 16 : 4000));
	if (is_alloc) {
		unsigned cell = 0;
		while (heap->bytes[cell])
			cell++;
		heap->bytes[cell] = bytes;
		heap->live[heap->lives++] = cell;
		training_block(t, thread, true, training_address(cell), bytes);
		return;
	}
	/* mostly young blocks: temporaries */
	uint64_t age = training_draw(plan, training_draw(plan, 3) ? 4 : heap->lives) % heap->lives;
	unsigned at = heap->lives - 1 - (unsigned)age;
	unsigned cell = heap->live[at];
	memmove(&heap->live[at], &heap->live[at + 1],
		(heap->lives - at - 1) * sizeof heap->live[0]);
	heap->lives--;
	training_block(t, thread, false, training_address(cell), heap->bytes[cell]);
	heap->bytes[cell] = 0;
}

/* One step: the plan is the same each time, but `noise` of 1000 events differ. */
static void training_step(struct training *t, unsigned noise)
{
	static struct training_heap heap;
	memset(&heap, 0, sizeof heap);
	uint64_t plan = 0x123456789abcdefull;
	unsigned launches = TRAINING_LAUNCHES, allocs = TRAINING_BLOCKS,
		 all = launches + 2 * allocs;
	for (unsigned i = 0; i < all; i++) {
		unsigned thread = i < all / 3 ? 0 : 1;
		uint64_t other = training_draw(&t->random, UINT64_MAX) | 1;
		uint64_t *source = training_draw(&t->random, 1000) < noise ? &other : &plan;
		uint64_t own = plan;
		if (training_draw(&plan, all - i) < launches && launches) {
			launches--;
			training_launch(t, thread, source);
		} else {
			/* more allocations than frees in the first half */
			bool is_alloc =
				!heap.lives ||
				(allocs && training_draw(&plan, 100) < (i < all / 2 ? 70u : 25u));
			allocs -= is_alloc;
			training_event(t, &heap, thread, is_alloc, source);
		}
		/* the plan continues alike in any case */
		plan = own * 6364136223846793005ull + 1442695040888963407ull;
		if (!plan)
			plan = 1;
	}
	while (heap.lives)
		training_event(t, &heap, 1, false, &plan);
}

static void training_open(struct training *t, size_t capacity)
{
	*t = (struct training){ .random = 88172645463325252ull,
				.time = 1ull << 52,
				.reserved = 3ull << 30 };
	t->capacity = capacity;
	for (unsigned thread = 0; thread < TRAINING_THREADS; thread++)
		t->records[thread] = calloc(capacity, sizeof(struct gp_record));
}

static void training_close(struct training *t)
{
	for (unsigned thread = 0; thread < TRAINING_THREADS; thread++)
		free(t->records[thread]);
}

#endif
