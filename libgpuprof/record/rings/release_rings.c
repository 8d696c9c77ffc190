/*
 * A recording has ended and its job goes on: the memory that the recorder took goes back. A thread
 * that was inside a call all the time still believes in its ring, so what a thread of the job may
 * hold stays good to write to. Runs on the drain thread, as its last.
 */
#include "../../state/live_table.h"
#include "../recorder.h"

void gp_release_memory(struct gp_recorder *r)
{
	gp_live_close(r->live);
	gp_open_ranges_close(r->ranges);
	gp_definitions_close(&r->definitions);
	gp_segment_close(r);
	gp_pages_close(r->block, r->block_capacity);
	gp_pages_close(r->scratch, gp_block_scratch_bytes());
}

void gp_release_rings(struct gp_recorder *r)
{
	atomic_store(&gp_uses_wanted, 0);
	gp_ring_place_empty(r);
	gp_release_memory(r);
}
