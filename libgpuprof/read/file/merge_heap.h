/*
 * A heap of streams, the one with the earliest event first. A stream has the blocks of one thread.
 */
#ifndef GP_MERGE_HEAP_H
#define GP_MERGE_HEAP_H

#include "recording.h"

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

#endif
