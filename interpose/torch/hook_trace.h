/*
 * PyTorch, allocator details: what its native allocator reports to a trace tracker, under its lock
 * and just before it reports a block (hook_torch.c): the requested size, the stream and pool,
 * whether other streams still use a freed block; and what it does not report at all: segments,
 * completed frees, snapshots. The tracker is attached in the report of the process's first block:
 * the lock of that device's allocator is recursive, and PyTorch takes no device's lock with
 * another's held. One thread does so, once. Where blocks were there before, it waits for a quiet
 * moment. It stays for ever: it records nothing where nothing is recorded.
 *
 * Two threads that attached at once waited for each other: one held a device's lock in its report
 * and waited for the others' (victim blocks_storm). A MemPool's own allocator may launch under the
 * lock; that lock is recursive then, and no thread holds one device's lock while it waits for
 * another's.
 */
#ifndef GP_HOOK_TRACE_H
#define GP_HOOK_TRACE_H

#include "../../libgpuprof/record/record.h"

enum gp_known_what {
	GP_TOLD_NOTHING,
	GP_TOLD_ALLOC,
	GP_TOLD_FREE,	   /* requested */
	GP_TOLD_COMPLETED, /* requested and completed */
	GP_TOLD_OOM,
	GP_TOLD_ASKED, /* by ourselves: what follows is our own snapshot */
};

/* What this thread's next report will be about: both come from one call of the allocator. */
struct gp_known_block {
	uint64_t address; /* OOM: bytes that were free on the device */
	uint64_t bytes;	  /* ALLOC: as requested */
	uint16_t arena, last_arena;
	uint32_t what; /* enum gp_known_what */
};
extern _Thread_local struct gp_known_block gp_known_block
	__attribute__((tls_model("initial-exec"), visibility("hidden")));

/* Adds what was reported to a report's BLOCK_ALLOC, BLOCK_FREE or OOM. */
GP_HOT void gp_known_join(struct gp_record *r)
{
	struct gp_known_block *told = &gp_known_block;
	uint32_t what = told->what;
	if (gp_likely(what == GP_TOLD_NOTHING))
		return;
	told->what = GP_TOLD_NOTHING;
	if (r->kind == GP_OOM) {
		if (what != GP_TOLD_OOM || told->bytes != r->oom.bytes)
			return;
		r->aux = 1;
		r->oom.device_free = told->address;
	} else if (told->address != r->block_alloc.address) {
		return;
	} else if (r->kind == GP_BLOCK_ALLOC) {
		uint64_t spare = r->block_alloc.bytes - told->bytes;
		if (what != GP_TOLD_ALLOC)
			return;
		r->aux = spare < UINT32_MAX ? (uint32_t)spare + 1 : 0;
	} else if (r->kind == GP_BLOCK_FREE) {
		if (what != GP_TOLD_FREE && what != GP_TOLD_COMPLETED)
			return;
		r->aux = what == GP_TOLD_FREE;
	} else {
		return;
	}
	r->code = told->arena;
}

/*
 * A process records its first report: attaches the tracker and returns true; or has it attached
 * later, where the report is not of the process's first block; or records again how that ended.
 */
bool gp_trace_wanted(bool is_first_block);
/*
 * The thread that attached the tracker with a device's lock held, after the record of that first
 * block: takes over the allocator's data of it. For no other thread, which could hold another
 * device's lock.
 */
void gp_trace_first_block(void);
/* At a quiet moment, or in the report of the process's first block. */
void gp_trace_attach(void);

/* A process begins to record. */
void gp_trace_restart(bool is_child);

#endif
