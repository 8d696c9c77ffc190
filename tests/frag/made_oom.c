/*
 * Writes the recording of a job that never was and that ran out of memory, for one reason each.
 *	made_oom REASON FILE
 */
#include "made_job.h"

#define GIB (UINT64_C(1) << 30)
#define TOTAL (16 * GIB)
#define CONTEXT (256 * MIB) /* what the driver takes for itself */

static uint64_t limit; /* 0: none */

static uint64_t used(void)
{
	return gp_live_device(w.live, 0)->curve[GP_CURVE_DRIVER].now_bytes + CONTEXT;
}

/* The driver counts; `others` is taken by other processes. */
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

static void fill(unsigned arena, uint64_t from, uint64_t bytes)
{
	segment(arena, SEGMENTS + from, bytes);
	take(arena, SEGMENTS + from, bytes, 0);
}

static void outside(uint64_t from, uint64_t bytes)
{
	put(&w, 0, at(GP_ALLOC, GP_SPACE_DEVICE, 0, SEGMENTS + from, bytes));
}

/* ---- reasons ---- */

static void capacity(void)
{
	fill(1, 0, 12 * GIB);
	count(0);
	/* the first time the framework is served, for it gives a free segment back */
	segment(1, SEGMENTS + 20 * GIB, 2 * GIB);
	take(1, SEGMENTS + 20 * GIB, 2 * GIB, 0);
	block(GP_BLOCK_FREE, 1, SEGMENTS + 20 * GIB, 2 * GIB, 0);
	refuse(GP_SPACE_DEVICE, 3 * GIB, 0);
	put(&w, 0, at(GP_SEGMENT_FREE, 0, 1, SEGMENTS + 20 * GIB, 2 * GIB));
	put(&w, 0, at(GP_FREE, GP_SPACE_DEVICE, 0, SEGMENTS + 20 * GIB, 0));
	fill(1, 24 * GIB, 3 * GIB);
	for (unsigned k = 0; k < 3; k++) {
		refuse(GP_SPACE_DEVICE, 2 * GIB, 0);
		refuse(GP_SPACE_DEVICE, 2 * GIB, 0);
		run_out(1, 2 * GIB);
		count(0);
	}
}

/* 32 segments of 400 MiB, of each 100 MiB are in use in the middle. */
static void fragmentation(void)
{
	for (unsigned k = 0; k < 38; k++) {
		uint64_t s = SEGMENTS + k * 512 * MIB;
		segment(1, s, 400 * MIB);
		take(1, s, 150 * MIB, 0);
		take(1, s + 150 * MIB, 100 * MIB, 0);
		take(1, s + 250 * MIB, 150 * MIB, 0);
	}
	for (unsigned k = 0; k < 38; k++) {
		block(GP_BLOCK_FREE, 1, SEGMENTS + k * 512 * MIB, 150 * MIB, 0);
		block(GP_BLOCK_FREE, 1, SEGMENTS + k * 512 * MIB + 250 * MIB, 150 * MIB, 0);
	}
	count(0);
	refuse(GP_SPACE_DEVICE, 2 * GIB, 0);
	run_out(1, 2 * GIB);
}

static void limited(void)
{
	limit = 8 * GIB;
	fill(1, 0, 7 * GIB);
	count(0);
	run_out(1, 2 * GIB);
	count(0);
}

static void other(void)
{
	fill(1, 0, 6 * GIB);
	count(0);
	refuse(GP_SPACE_DEVICE, 4 * GIB, 8 * GIB);
	run_out(1, 4 * GIB);
}

static void growth(void)
{
	count(0);
	fill(1, 0, 12 * GIB);
	block(GP_BLOCK_FREE, 1, SEGMENTS, 12 * GIB, 0);
	put(&w, 0, at(GP_SEGMENT_FREE, 0, 1, SEGMENTS, 12 * GIB));
	put(&w, 0, at(GP_FREE, GP_SPACE_DEVICE, 0, SEGMENTS, 0));
	outside(40 * GIB, 6 * GIB);
	count(0);
	refuse(GP_SPACE_DEVICE, 12 * GIB, 0);
	run_out(1, 12 * GIB);
}

static void stream(void)
{
	fill(1, 0, 8 * GIB);
	segment(2, SEGMENTS + 16 * GIB, 7 * GIB);
	take(2, SEGMENTS + 16 * GIB, 6 * GIB, 0);
	take(2, SEGMENTS + 22 * GIB, GIB, 0);
	block(GP_BLOCK_FREE, 2, SEGMENTS + 16 * GIB, 6 * GIB, 0);
	count(0);
	refuse(GP_SPACE_DEVICE, 3 * GIB, 0);
	run_out(1, 3 * GIB);
}

/* A library is refused what the framework keeps in free segments. */
static void cache(void)
{
	fill(1, 0, 8 * GIB);
	fill(1, 16 * GIB, 6 * GIB);
	block(GP_BLOCK_FREE, 1, SEGMENTS + 16 * GIB, 6 * GIB, 0);
	count(0);
	refuse(GP_SPACE_DEVICE, 3 * GIB, 0);
	fill(1, 40 * GIB, 100 * MIB);
}

static void unknown(void)
{
	fill(1, 0, 8 * GIB);
	run_out(1, 3 * GIB);
}

static const struct {
	const char *name;
	void (*job)(void);
} reasons[] = {
	{ "capacity", capacity }, { "fragmentation", fragmentation },
	{ "limit", limited },	  { "other", other },
	{ "growth", growth },	  { "stream", stream },
	{ "cache", cache },	  { "unknown", unknown },
};

int main(int argc, char **argv)
{
	char *slash = argc > 2 ? strrchr(argv[2], '/') : NULL;
	if (argc != 3)
		return 2;
	snprintf(directory, sizeof directory, "%.*s", slash ? (int)(slash - argv[2]) : 1,
		 slash ? argv[2] : ".");
	writer_open(&w, slash ? slash + 1 : argv[2], 0, 0);
	struct gp_record gpu = { .kind = GP_GPU };
	gpu.gpu.total_bytes = TOTAL;
	define(gpu, "Made-up GPU");
	define((struct gp_record){ .kind = GP_FACT, .aux = GP_FACT_TIER_B, .fact = { .value = 1 } },
	       "told");
	define_arena(1, 0, 0);
	define_arena(2, 0x7e00, 0);
	for (size_t k = 0; k < sizeof reasons / sizeof *reasons; k++)
		if (strcmp(reasons[k].name, argv[1]) == 0) {
			reasons[k].job();
			writer_close(&w, true);
			return 0;
		}
	return 2;
}
