/*
 * PyTorch, allocator details: the reports of its native allocator to a trace tracker, under its
 * lock and just before it reports a block (hook_torch.c). They add the requested size, the stream
 * and pool, and whether other streams still use a freed block. They also report segments, completed
 * frees and snapshots, which have no other report. The tracker is attached in the report of the
 * process's first block. The lock of that device's allocator is recursive, and PyTorch takes no
 * device's lock with another's held. One thread attaches it, once. If there were blocks before, it
 * waits for a quiet moment. It stays attached and records no events while recording is off.
 *
 * Rejected: attaching from two threads at once. They waited for each other: one held a device's
 * lock in its report and waited for the others' (victim blocks_storm). A MemPool's own allocator
 * may launch under the lock. That lock is recursive then, and no thread holds one device's lock
 * while it waits for another's.
 */
#ifndef GP_HOOK_TRACE_H
#define GP_HOOK_TRACE_H

#include "../../libgpuprof/record/record.h"

enum gp_details_of {
	GP_DETAILS_NONE,
	GP_DETAILS_ALLOC,
	GP_DETAILS_FREE,      /* requested */
	GP_DETAILS_COMPLETED, /* requested and completed */
	GP_DETAILS_OOM,
	GP_DETAILS_OWN_SNAPSHOT, /* we requested one: it is the next entry */
};

/* Details of this thread's next report: both come from one call of the allocator. */
struct gp_block_details {
	uint64_t address; /* OOM: bytes that were free on the device */
	uint64_t bytes;	  /* ALLOC: as requested */
	uint16_t arena, last_arena;
	uint32_t what; /* enum gp_details_of */
};
extern _Thread_local struct gp_block_details gp_block_details
	__attribute__((tls_model("initial-exec"), visibility("hidden")));

/* Adds the details to a report's BLOCK_ALLOC, BLOCK_FREE or OOM. */
GP_HOT void gp_details_join(struct gp_record *r)
{
	struct gp_block_details *details = &gp_block_details;
	uint32_t what = details->what;
	if (gp_likely(what == GP_DETAILS_NONE))
		return;
	details->what = GP_DETAILS_NONE;
	if (r->kind == GP_OOM) {
		if (what != GP_DETAILS_OOM || details->bytes != r->oom.bytes)
			return;
		r->aux = 1;
		r->oom.device_free = details->address;
	} else if (details->address != r->block_alloc.address) {
		return;
	} else if (r->kind == GP_BLOCK_ALLOC) {
		uint64_t spare = r->block_alloc.bytes - details->bytes;
		if (what != GP_DETAILS_ALLOC)
			return;
		r->aux = spare < UINT32_MAX ? (uint32_t)spare + 1 : 0;
	} else if (r->kind == GP_BLOCK_FREE) {
		if (what != GP_DETAILS_FREE && what != GP_DETAILS_COMPLETED)
			return;
		r->aux = what == GP_DETAILS_FREE;
	} else {
		return;
	}
	r->code = details->arena;
}

/*
 * A process records its first report. Attaches the tracker and returns true, or schedules that if
 * it is not the process's first block. After an earlier attempt, records its outcome again.
 */
bool gp_trace_is_needed(bool is_first_block);
/*
 * Reads the allocator's data of the process's first block, after the record of that block. Only for
 * the thread that attached the tracker with a device's lock held. Any other thread could hold
 * another device's lock.
 */
void gp_trace_first_block(void);
/* At a quiet moment, or in the report of the process's first block. */
void gp_trace_attach(void);

/* A process begins to record. */
void gp_trace_restart(bool is_child);

#endif
