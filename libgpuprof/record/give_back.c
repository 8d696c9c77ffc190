/*
 * A recording has ended and its job goes on: the memory that the recorder took goes back. A thread
 * that was inside a call all the time still believes in its ring, so what a thread of the job may
 * hold stays good to write to. Runs on the drain thread, as its last.
 */
#include <sys/mman.h>

#include "recorder.h"

static void drop(void *pages, size_t bytes)
{
	if (pages)
		munmap(pages, bytes);
}

void gp_give_back_memory(struct gp_recorder *r)
{
	const size_t records = GP_BLOCK_RECORDS * sizeof(struct gp_record);
	gp_live_close(r->live);
	gp_open_ranges_close(r->ranges);
	gp_definitions_close(&r->definitions);
	drop(r->block, r->block_capacity);
	drop(r->scratch, gp_block_scratch_bytes());
	drop(r->checkpoint.record, records);
	drop(r->definition.record, records);
}

void gp_give_back(struct gp_recorder *r)
{
	atomic_store(&gp_uses_wanted, 0);
	gp_ring_place_empty(r);
	gp_give_back_memory(r);
}
