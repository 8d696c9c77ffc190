/* Walks each ring once. Writes a stack once, even if several records refer to it. */
#include "orphan_stacks.h"

#include <stdlib.h>
#include <string.h>

#include "../../state/stack_define.h"

#define IDS_MAX (GP_STACK_CHUNK * GP_STACK_CHUNKS_MAX)

struct left {
	const struct gp_ring *chunk[GP_STACK_CHUNKS_MAX]; /* of the table of stacks */
	struct gp_record *slots;			  /* output, GP_BLOCK_RECORDS slots */
	uint64_t used;
	enum gp_status (*put)(void *context, const struct gp_record *slots, uint64_t count);
	void *context;
	enum gp_status status;
};

static const struct gp_stack_entry *stack_entry(void *context, uint32_t id)
{
	const struct left *left = context;
	const struct gp_ring *chunk = left->chunk[id / GP_STACK_CHUNK];
	return chunk != NULL ? &((const struct gp_stack_entry *)gp_region_slots(
				       chunk, GP_RING_REGIONS - 1))[id % GP_STACK_CHUNK] :
			       NULL;
}

static void flush(struct left *left)
{
	if (left->used > 0 && left->status == GP_OK)
		left->status = left->put(left->context, left->slots, left->used);
	left->used = 0;
}

static void put_definition(void *context, const struct gp_record *slots)
{
	struct left *left = context;
	if (left->used + 1u + slots->extra > GP_BLOCK_RECORDS)
		flush(left);
	memcpy(left->slots + left->used, slots, (1u + slots->extra) * sizeof *slots);
	left->used += 1u + slots->extra;
}

static void find_chunks(struct left *left, const struct gp_ring_file *rings)
{
	for (uint32_t i = 0; i < rings->rings; i++) {
		const struct gp_ring *ring = gp_ring_file_ring(rings, i);
		/* read it once: another process may change it */
		uint32_t chunk = *(const volatile uint32_t *)&ring->thread;
		if (atomic_load(&ring->state) == GP_RING_STACKS && chunk < GP_STACK_CHUNKS_MAX)
			left->chunk[chunk] = ring;
	}
}

static void define_all(const struct gp_ring_file *rings, const struct gp_stack_define *define)
{
	for (uint32_t i = 0; i < rings->rings; i++) {
		const struct gp_ring *ring = gp_ring_file_ring(rings, i);
		uint64_t tail = atomic_load(&ring->tail), head = atomic_load(&ring->head);
		if (atomic_load(&ring->state) == GP_RING_STACKS ||
		    !gp_ring_is_possible(ring, tail, head))
			continue;
		while (tail < head) {
			struct gp_record record = *gp_ring_slot(ring, tail);
			if (record.stack != 0)
				gp_stack_define(define, record.stack);
			tail += 1u + record.extra;
		}
	}
}

enum gp_status gp_orphan_stacks_visit(const struct gp_ring_file *rings,
				      enum gp_status (*put)(void *context,
							    const struct gp_record *slots,
							    uint64_t count),
				      void *context)
{
	struct left left = { .put = put, .context = context, .status = GP_E_MEMORY };
	unsigned char *is_defined = calloc(IDS_MAX / 8, 1);
	left.slots = malloc(GP_BLOCK_RECORDS * sizeof *left.slots);
	if (is_defined != NULL && left.slots != NULL) {
		left.status = GP_OK;
		find_chunks(&left, rings);
		define_all(rings, &(struct gp_stack_define){ stack_entry, put_definition, &left,
							     is_defined, IDS_MAX });
		flush(&left);
	}
	free(left.slots);
	free(is_defined);
	return left.status;
}
