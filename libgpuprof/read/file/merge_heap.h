/*
 * A heap of streams, the one with the earliest event first. A stream has the blocks of one thread.
 */
#ifndef GP_MERGE_HEAP_H
#define GP_MERGE_HEAP_H

#include "recording.h"

/*
 * This many threads have their block decoded as a whole, in 128 MiB. Each further thread has a
 * window that moves along its block. The block is decoded again for each window.
 *
 * The bound is needed: a block of 8192 records can take only 150 bytes of a file, and all blocks
 * can cover one moment. The windows share 64 MiB, so blocks of a thousand threads are decoded at
 * most six times. A window has at least 64 slots.
 */
#define WHOLES_MAX 256u
#define WINDOWS_SLOTS (1u << 20)
#define WINDOW_SLOTS_MIN 64u
#define WINDOW_SLOTS_MAX (GP_BLOCK_RECORDS / 2)

/* Records of a block, decoded. */
struct plain {
	struct plain *next; /* next in the pool, which has buffers of whole blocks only */
	size_t room;
	struct gp_record record[];
};

struct stream {
	uint64_t key, time;
	uint32_t thread;
	size_t block, blocks; /* of the segment's blocks: the current one and one past the last */
	size_t ahead;	      /* the first one that was not queued; may be behind `block` */
	struct plain *plain;  /* NULL: not decoded yet */
	uint64_t at, slots;   /* in `plain` */
	uint64_t behind;      /* number of slots of the block before `plain` */
	bool has_more;	      /* the block continues behind `plain` */
};

static inline bool is_before(const struct stream *a, const struct stream *b)
{
	if (a->key != b->key)
		return a->key < b->key;
	return a->time != b->time ? a->time < b->time : a->thread < b->thread;
}

static inline void sift_down(struct stream *heap, size_t streams, size_t at)
{
	struct stream moved = heap[at];
	for (;;) {
		size_t child = 2 * at + 1;
		if (child >= streams)
			break;
		if (child + 1 < streams && is_before(&heap[child + 1], &heap[child]))
			child++;
		if (!is_before(&heap[child], &moved))
			break;
		heap[at] = heap[child];
		at = child;
	}
	heap[at] = moved;
}

static inline void heapify(struct stream *heap, size_t streams)
{
	for (size_t i = streams / 2; i-- > 0;)
		sift_down(heap, streams, i);
}

static inline uint64_t window_of(size_t streams)
{
	uint64_t most = streams > WHOLES_MAX ? WINDOWS_SLOTS / (streams - WHOLES_MAX) : UINT64_MAX;
	if (most < WINDOW_SLOTS_MIN)
		return WINDOW_SLOTS_MIN;
	return most < WINDOW_SLOTS_MAX ? most : WINDOW_SLOTS_MAX;
}

#endif
