/* A device of 16 GiB for a made-up job: what the driver counts and refuses, and memory on it. */
#ifndef MADE_DRIVER_H
#define MADE_DRIVER_H

#include "made_job.h"

#define GIB (UINT64_C(1) << 30)
#define TOTAL (16 * GIB)
#define CONTEXT (256 * MIB) /* the driver's own memory */

static uint64_t limit; /* 0: none */

static uint64_t used(void)
{
	return gp_live_device(w.live, 0)->curve[GP_CURVE_DRIVER].now_bytes + CONTEXT;
}

/* The driver's count; other processes use `others`. */
static void count(uint64_t others)
{
	struct gp_record r = { .kind = GP_DEVICE_MEMORY, .aux = 1 };
	r.device_memory.total_bytes = TOTAL;
	r.device_memory.free_bytes = TOTAL - used() - others;
	r.device_memory.limit_bytes = limit ? limit : TOTAL;
	put(&w, 0, r);
}

static void refuse(enum gp_space space, uint64_t bytes, uint64_t others)
{
	struct gp_record r = { .kind = GP_ALLOC_FAILED, .space = (uint8_t)space, .code = 2 };
	r.alloc_failed.bytes = bytes;
	r.alloc_failed.total_bytes = TOTAL;
	r.alloc_failed.free_bytes = TOTAL - used() - others;
	put(&w, 0, r);
}

static void run_out(unsigned arena, uint64_t bytes)
{
	struct gp_record r = { .kind = GP_OOM, .code = (uint16_t)arena };
	r.oom.bytes = bytes;
	r.oom.allocated = gp_live_device(w.live, 0)->curve[GP_CURVE_ALLOCATED].now_bytes;
	r.oom.reserved = gp_live_device(w.live, 0)->curve[GP_CURVE_RESERVED].now_bytes;
	put(&w, 0, r);
}

/* The driver refuses a request of the framework, which reports it. */
static void exceed(unsigned arena, uint64_t bytes)
{
	count(0);
	refuse(GP_SPACE_DEVICE, bytes, 0);
	run_out(arena, bytes);
}

static void fill(unsigned arena, uint64_t from, uint64_t bytes)
{
	segment(arena, SEGMENTS + from, bytes);
	take(arena, SEGMENTS + from, bytes, 0);
}

static void outside(uint64_t from, uint64_t bytes)
{
	put(&w, 0, at(GP_ALLOC, GP_SPACE_DEVICE, 0, SEGMENTS + from, bytes));
}

#endif
