/*
 * Writes a recording of an invented job whose memory has all kinds that `gpuprof frag`
 * distinguishes: two streams, a private pool, an expandable segment, pending blocks, memory of
 * others, and a request that fails at the end.
 *	made_memory FILE [SETTINGS]
 */
#include "made_job.h"

#define RESERVATION UINT64_C(0x302000000)

static void job(void)
{
	uint64_t s = SEGMENTS;
	segment(1, s, 20 * MIB);
	take(1, s, 4 * MIB, 100);
	take(1, s + 4 * MIB, 6 * MIB, 0);
	take(1, s + 10 * MIB, 9 * MIB, 0);
	segment(1, s + 32 * MIB, 24 * MIB);
	take(1, s + 32 * MIB, 24 * MIB, 0);
	segment(1, s + 64 * MIB, 2 * MIB);
	take(1, s + 64 * MIB, 512, 12);
	take(1, s + 64 * MIB + 512, MIB, 0);
	segment(2, s + 96 * MIB, 30 * MIB);
	take(2, s + 96 * MIB, 10 * MIB, 0);
	take(2, s + 106 * MIB, 20 * MIB, 0);
	segment(3, s + 128 * MIB, 20 * MIB);
	take(3, s + 128 * MIB, 2 * MIB, 0);
	put(&w, 0, at(GP_ALLOC, GP_SPACE_RESERVATION, 0, RESERVATION, 90000 * MIB));
	map(1, RESERVATION, 3, 20 * MIB);
	take(1, RESERVATION, 5 * MIB, 0);
	take(1, RESERVATION + 5 * MIB, 40 * MIB, 0);
	take(1, RESERVATION + 45 * MIB, 10 * MIB, 0);
	/* memory of others */
	put(&w, 0, at(GP_ALLOC, GP_SPACE_DEVICE, 0, s + 512 * MIB, 32 * MIB));
	put(&w, 0, at(GP_ALLOC, GP_SPACE_ASYNC, 0, s + 600 * MIB, 16 * MIB));
	put(&w, 0, at(GP_ALLOC, GP_SPACE_IPC, 0, s + 700 * MIB, 8 * MIB));
	/* blocks to be freed */
	block(GP_BLOCK_FREE, 1, s + 4 * MIB, 6 * MIB, 0);
	block(GP_BLOCK_FREE, 1, s + 32 * MIB, 24 * MIB, 0);
	block(GP_BLOCK_FREE, 1, s + 64 * MIB + 512, MIB, 0);
	block(GP_BLOCK_FREE, 2, s + 106 * MIB, 20 * MIB, 1);
	block(GP_BLOCK_FREE, 1, RESERVATION + 5 * MIB, 40 * MIB, 0);
}

static void end(void)
{
	struct gp_record r = { .kind = GP_DEVICE_MEMORY };
	r.device_memory.total_bytes = 1024 * MIB;
	r.device_memory.free_bytes = 1024 * MIB -
				     gp_live_device(w.live, 0)->curve[GP_CURVE_DRIVER].now_bytes -
				     500 * MIB;
	put(&w, 0, r);
	r = (struct gp_record){ .kind = GP_SNAPSHOT };
	r.snapshot.active_bytes = gp_live_device(w.live, 0)->curve[GP_CURVE_ALLOCATED].now_bytes +
				  gp_live_device(w.live, 0)->pending_bytes;
	put(&w, 0, r);
	r = (struct gp_record){ .kind = GP_OOM, .code = 1 };
	r.oom.bytes = 400 * MIB;
	r.oom.allocated = gp_live_device(w.live, 0)->curve[GP_CURVE_ALLOCATED].now_bytes;
	r.oom.reserved = gp_live_device(w.live, 0)->curve[GP_CURVE_RESERVED].now_bytes;
	put(&w, 0, r);
}

int main(int argc, char **argv)
{
	char *slash = argc > 1 ? strrchr(argv[1], '/') : NULL;
	snprintf(directory, sizeof directory, "%.*s", slash ? (int)(slash - argv[1]) : 1,
		 slash ? argv[1] : ".");
	writer_open(&w, slash ? slash + 1 : argc > 1 ? argv[1] : "made.gpr", 0, 0);
	struct gp_record gpu = { .kind = GP_GPU };
	gpu.gpu.total_bytes = 1024 * MIB;
	define(gpu, "Made-up GPU");
	define((struct gp_record){ .kind = GP_FACT,
				   .aux = GP_FACT_ALLOCATOR_DETAILS,
				   .fact = { .value = 1 } },
	       "told");
	define((struct gp_record){ .kind = GP_FACT, .aux = GP_FACT_ALLOC_CONF },
	       argc > 2 ? argv[2] : "expandable_segments:True");
	define_arena(1, 0, 0);
	define_arena(2, 0x7e00, 0);
	define_arena(3, 0, 1);
	job();
	end();
	writer_close(&w, true);
	return 0;
}
