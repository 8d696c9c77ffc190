/*
 * Writes the recording of an invented job that ran out of memory for one given reason.
 *	made_oom REASON FILE [SETTINGS]
 */
#include "made_driver.h"

/* ---- reasons ---- */

static void capacity(void)
{
	fill(1, 0, 12 * GIB);
	count(0);
	/* the framework's first attempt, after which it releases a free segment */
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

/* 32 segments of 400 MiB, each with 100 MiB in use in the middle. */
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
	exceed(1, 2 * GIB);
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
	exceed(1, 12 * GIB);
}

static void stream(void)
{
	fill(1, 0, 8 * GIB);
	segment(2, SEGMENTS + 16 * GIB, 7 * GIB);
	take(2, SEGMENTS + 16 * GIB, 6 * GIB, 0);
	take(2, SEGMENTS + 22 * GIB, GIB, 0);
	block(GP_BLOCK_FREE, 2, SEGMENTS + 16 * GIB, 6 * GIB, 0);
	exceed(1, 3 * GIB);
}

/* Blocks of the request's size hold half of what is allocated, or 2 MiB less than half. */
static void alike(void)
{
	fill(1, 0, 3 * GIB);
	fill(1, 8 * GIB, 3 * GIB);
	fill(1, 16 * GIB, 6 * GIB);
	count(2 * GIB);
	refuse(GP_SPACE_DEVICE, 3 * GIB, 2 * GIB);
	run_out(1, 3 * GIB);
}
static void unlike(void)
{
	fill(1, 32 * GIB, 4 * MIB);
	alike();
}

/* Two other streams have gaps, one of which is large enough for the request. */
static void streams(void)
{
	fill(1, 0, 6 * GIB);
	define_arena(3, 0x7f00, 0);
	segment(2, SEGMENTS + 16 * GIB, 5 * GIB);
	take(2, SEGMENTS + 16 * GIB, 4 * GIB, 0);
	take(2, SEGMENTS + 20 * GIB, GIB, 0);
	block(GP_BLOCK_FREE, 2, SEGMENTS + 16 * GIB, 4 * GIB, 0);
	segment(3, SEGMENTS + 32 * GIB, 4 * GIB);
	take(3, SEGMENTS + 32 * GIB, 2 * GIB, 0);
	take(3, SEGMENTS + 34 * GIB, 2 * GIB, 0);
	block(GP_BLOCK_FREE, 3, SEGMENTS + 32 * GIB, 2 * GIB, 0);
	exceed(1, 3 * GIB);
}

/* A library's request fails for memory that the framework keeps in free segments. */
static void cache(void)
{
	fill(1, 0, 8 * GIB);
	fill(1, 16 * GIB, 6 * GIB);
	block(GP_BLOCK_FREE, 1, SEGMENTS + 16 * GIB, 6 * GIB, 0);
	count(0);
	refuse(GP_SPACE_DEVICE, 3 * GIB, 0);
	fill(1, 40 * GIB, 100 * MIB);
}

static void push(uint32_t name, unsigned source)
{
	put(&w, 0,
	    (struct gp_record){ .kind = GP_RANGE_PUSH,
				.device = GP_DEVICE_UNKNOWN,
				.aux = name,
				.range_push = { source, 0, 0, 0 } });
}
static void pop(unsigned source)
{
	put(&w, 0,
	    (struct gp_record){ .kind = GP_RANGE_POP,
				.device = GP_DEVICE_UNKNOWN,
				.range_pop = { source, 0, 0, 0 } });
}
/*
 * Weights and gradients of 3 GiB each; 6 GiB of activations in the first step. In the second one
 * the batch is larger: a further request of a forward fails.
 */
static void training(void)
{
	enum { FORWARD = 1 };
	define((struct gp_record){ .kind = GP_RANGE_NAME, .aux = FORWARD }, "forward");
	fill(1, 0, 3 * GIB);
	segment(1, SEGMENTS + 8 * GIB, 6 * GIB);
	push(FORWARD, GP_RANGE_NVTX);
	take(1, SEGMENTS + 8 * GIB, 6 * GIB, 0);
	pop(GP_RANGE_NVTX);
	push(0, GP_RANGE_ENGINE);
	fill(1, 16 * GIB, 3 * GIB);
	block(GP_BLOCK_FREE, 1, SEGMENTS + 8 * GIB, 6 * GIB, 0);
	pop(GP_RANGE_ENGINE);
	count(0);
	push(FORWARD, GP_RANGE_NVTX);
	take(1, SEGMENTS + 8 * GIB, 6 * GIB, 0);
	refuse(GP_SPACE_DEVICE, 4 * GIB, 0);
	run_out(1, 4 * GIB);
	pop(GP_RANGE_NVTX);
	count(0);
}

static void unknown(void)
{
	fill(1, 0, 8 * GIB);
	run_out(1, 3 * GIB);
}

static void count_without_limit(void)
{
	struct gp_record r = { .kind = GP_DEVICE_MEMORY, .aux = 0 };
	r.device_memory.total_bytes = TOTAL;
	r.device_memory.free_bytes = TOTAL - used();
	put(&w, 0, r);
}
/* A limit that is not recorded: the framework fails without a call of the driver. */
static void unreported(void)
{
	fill(1, 0, 7 * GIB);
	count_without_limit();
	run_out(1, 2 * GIB);
	count_without_limit();
}
static void fraction(void)
{
	limit = 8 * GIB;
	fill(1, 0, 7 * GIB);
	count(0);
	run_out(1, 2 * GIB + MIB + 512 * 1024);
	count(0);
}
static void both(void)
{
	fill(1, 0, 6 * GIB);
	count(0);
	outside(40 * GIB, 4 * GIB);
	refuse(GP_SPACE_DEVICE, 8 * GIB, 5 * GIB);
	run_out(1, 8 * GIB);
	count(5 * GIB);
}
static void split(void)
{
	fill(1, 0, 15 * GIB);
	for (unsigned k = 0; k < 4; k++) {
		uint64_t s = SEGMENTS + 32 * GIB + k * 64 * MIB;
		segment(1, s, 40 * MIB);
		take(1, s, 19 * MIB, 0);
		take(1, s + 19 * MIB, 2 * MIB, 0);
		take(1, s + 21 * MIB, 19 * MIB, 0);
	}
	for (unsigned k = 0; k < 4; k++) {
		uint64_t s = SEGMENTS + 32 * GIB + k * 64 * MIB;
		block(GP_BLOCK_FREE, 1, s, 19 * MIB, 0);
		block(GP_BLOCK_FREE, 1, s + 21 * MIB, 19 * MIB, 0);
	}
	uint64_t others = TOTAL - used() - 10 * MIB;
	count(others);
	refuse(GP_SPACE_DEVICE, 22 * MIB, others);
	run_out(1, 20 * MIB + 512 * 1024);
	count(others);
}
/* Freeing the segments with most bytes a block first frees one block too many. */
static void greedy(void)
{
	static const unsigned gain[] = { 9, 6, 4 }, held[] = { 2, 1, 1 };
	fill(1, 0, GIB / 2);
	for (unsigned k = 0; k < 3; k++) {
		uint64_t s = SEGMENTS + (8 + 16 * k) * GIB, bytes = gain[k] * (GIB / 2);
		segment(1, s, bytes);
		for (unsigned i = 0; i <= held[k]; i++) {
			uint64_t part = bytes / (held[k] + 1);
			take(1, s + i * part, part - (i < held[k] ? 2 * MIB : 0), 0);
			if (i < held[k])
				take(1, s + (i + 1) * part - 2 * MIB, 2 * MIB, 0);
		}
		for (unsigned i = 0; i <= held[k]; i++) {
			uint64_t part = bytes / (held[k] + 1);
			block(GP_BLOCK_FREE, 1, s + i * part, part - (i < held[k] ? 2 * MIB : 0),
			      0);
		}
	}
	uint64_t others = TOTAL - used() - 4 * MIB;
	count(others);
	refuse(GP_SPACE_DEVICE, 5 * GIB, others);
	run_out(1, 5 * GIB);
	count(others);
}

/* A gap is 1 MiB smaller than the request. */
static void nearly(void)
{
	fill(1, 0, 15 * GIB);
	segment(1, SEGMENTS + 32 * GIB, 160 * MIB);
	take(1, SEGMENTS + 32 * GIB, 79 * MIB, 0);
	take(1, SEGMENTS + 32 * GIB + 79 * MIB, 81 * MIB, 0);
	block(GP_BLOCK_FREE, 1, SEGMENTS + 32 * GIB, 79 * MIB, 0);
	uint64_t others = TOTAL - used() - 10 * MIB;
	count(others);
	refuse(GP_SPACE_DEVICE, 80 * MIB, others);
	run_out(1, 80 * MIB);
	count(others);
}
/*
 * Blocks of 1280 MiB for requests of 1152 MiB, as rounding to quarters of a power of two makes
 * them.
 */
static void rounded(void)
{
	for (uint64_t k = 0; k < 11; k++) {
		segment(1, SEGMENTS + k * 2 * GIB, 1280 * MIB);
		take(1, SEGMENTS + k * 2 * GIB, 1280 * MIB, 128 * MIB);
	}
	exceed(1, 2560 * MIB);
	count(0);
}

/* 61,440 blocks, of which every second one is free. */
static void wide(void)
{
	for (unsigned k = 0; k < 10; k++) {
		uint64_t s = SEGMENTS + k * 16 * GIB;
		segment(1, s, 6144 * (MIB + MIB / 2));
		for (unsigned i = 0; i < 6144; i++)
			take(1, s + i * (MIB + MIB / 2), MIB + MIB / 2, 0);
	}
	for (unsigned k = 0; k < 10; k++) {
		uint64_t s = SEGMENTS + k * 16 * GIB;
		for (unsigned i = 0; i < 6144; i += 2)
			block(GP_BLOCK_FREE, 1, s + i * (MIB + MIB / 2), MIB + MIB / 2, 0);
	}
	run_out(1, 20 * MIB);
}

/* 60,000 allocations, each of another size. */
static void often(void)
{
	fill(1, 0, 12 * GIB);
	count(0);
	for (unsigned k = 0; k < 60000; k++) {
		refuse(GP_SPACE_DEVICE, 5 * GIB + k * 2 * MIB, 0);
		run_out(1, 5 * GIB + k * 2 * MIB);
	}
}

/* The limit leaves 25 MiB, the request is 30 MiB (40 in pages), and the device has enough. */
static void pages(void)
{
	limit = 100 * MIB + 25 * MIB;
	fill(1, 0, 100 * MIB);
	count(0);
	run_out(1, 30 * MIB);
	count(0);
}
/* Another process's memory, opened here. */
static void ipc(void)
{
	fill(1, 0, 4 * GIB);
	struct gp_record r = at(GP_ALLOC, GP_SPACE_IPC, 0, SEGMENTS + 64 * GIB, 2 * GIB);
	put(&w, 0, r);
	count(2 * GIB);
	refuse(GP_SPACE_DEVICE, 12 * GIB, 2 * GIB);
	run_out(1, 12 * GIB);
	count(2 * GIB);
}
/* The count before reports no limit; then the job sets one, which the next count reports. */
static void late_limit(void)
{
	fill(1, 0, 7 * GIB);
	count(0);
	limit = 8 * GIB;
	run_out(1, 2 * GIB);
	count(0);
}
/* The first count comes after the failure. */
static void first_limit(void)
{
	fill(1, 0, 7 * GIB);
	limit = 8 * GIB;
	run_out(1, 2 * GIB);
	count(0);
}
/* A stream's first request; another stream has a gap of 2 GiB in its segment. */
static void newcomer(void)
{
	segment(1, SEGMENTS, 14 * GIB);
	take(1, SEGMENTS, 6 * GIB, 0);
	take(1, SEGMENTS + 6 * GIB, 2 * GIB, 0);
	take(1, SEGMENTS + 8 * GIB, 6 * GIB, 0);
	block(GP_BLOCK_FREE, 1, SEGMENTS + 6 * GIB, 2 * GIB, 0);
	exceed(2, 3 * GIB);
	count(0);
}
static void two(void)
{
	fill(1, 0, 12 * GIB);
	exceed(1, 5 * GIB);
	count(0);
	fill(1, 16 * GIB, 2 * GIB);
	refuse(GP_SPACE_DEVICE, 3 * GIB, 0);
	run_out(1, 3 * GIB);
	count(0);
}
static void capture(enum gp_kind kind)
{
	put(&w, 0, (struct gp_record){ .kind = kind, .capture_begin = { .graph = 0x5500 } });
}

/* All free memory belongs to a private pool without a block: its graph may be gone. */
static void graph(void)
{
	fill(1, 0, 8 * GIB);
	define_arena(3, 0, 1);
	capture(GP_CAPTURE_BEGIN);
	segment(3, SEGMENTS + 16 * GIB, 7 * GIB);
	capture(GP_CAPTURE_END);
	take(3, SEGMENTS + 16 * GIB, 7 * GIB, 0);
	block(GP_BLOCK_FREE, 3, SEGMENTS + 16 * GIB, 7 * GIB, 0);
	exceed(1, 3 * GIB);
	count(0);
}

/* Pool 0.1 is of a graph, with a segment of its warm-up. Pool 0.2 is of a graph or a MemPool. */
static void pools(bool has_two_graphs)
{
	fill(1, 0, 8 * GIB);
	define_arena(3, 0, 1);
	define_arena(4, 0, 2);
	segment(3, SEGMENTS + 16 * GIB, GIB);
	capture(GP_CAPTURE_BEGIN);
	take(3, SEGMENTS + 16 * GIB, GIB, 0);
	capture(GP_CAPTURE_END);
	if (has_two_graphs)
		capture(GP_CAPTURE_BEGIN);
	fill(4, 24 * GIB, 6 * GIB);
	if (has_two_graphs)
		capture(GP_CAPTURE_END);
	block(GP_BLOCK_FREE, 3, SEGMENTS + 16 * GIB, GIB, 0);
	block(GP_BLOCK_FREE, 4, SEGMENTS + 24 * GIB, 6 * GIB, 0);
	exceed(1, 3 * GIB);
}
static void mempool(void)
{
	pools(false);
}
static void graphs(void)
{
	pools(true);
}

static void step(void)
{
	for (uint64_t k = 0; k < 24; k++) {
		struct gp_record r = { .kind = GP_LAUNCH };
		r.launch.kernel = 0x5000 + k * 64;
		put(&w, 0, r);
		fill(1, (8 + k) * GIB, (k + 1) * MIB);
	}
	for (uint64_t k = 0; k < 24; k++) {
		uint64_t s = SEGMENTS + (8 + k) * GIB;
		block(GP_BLOCK_FREE, 1, s, (k + 1) * MIB, 0);
		put(&w, 0, at(GP_SEGMENT_FREE, 0, 1, s, (k + 1) * MIB));
		put(&w, 0, at(GP_FREE, GP_SPACE_DEVICE, 0, s, 0));
	}
}
/* Before the first step of a loop, and outside of all steps. */
static void early(void)
{
	fill(1, 0, 4 * GIB);
	exceed(1, 14 * GIB);
	for (unsigned k = 0; k < 16; k++)
		step();
}
/* More than the total memory of the device. */
static void huge(void)
{
	fill(1, 0, GIB);
	exceed(1, 20 * GIB);
	count(0);
}
/* Each step leaks 256 MiB. */
static void leaking(void)
{
	fill(1, 0, 4 * GIB);
	count(0);
	for (uint64_t k = 0; k < 40; k++) {
		fill(1, 64 * GIB + k * GIB, 256 * MIB);
		step();
	}
	refuse(GP_SPACE_DEVICE, 4 * GIB, 0);
	run_out(1, 4 * GIB);
	count(0);
}

/* The job also sees a second device. */
static void beside(void)
{
	struct gp_record gpu = { .kind = GP_GPU, .device = 1 };
	gpu.gpu.total_bytes = TOTAL;
	define(gpu, "Made-up GPU");
	other();
}

/* A server whose memory, but for 1 GiB, is not mapped while it sleeps. */
static void sleeping(void)
{
	fill(1, 0, GIB);
	put(&w, 0, at(GP_ALLOC, GP_SPACE_RESERVATION, 0, SEGMENTS + 8 * GIB, 6 * GIB));
	map_page(SEGMENTS + 8 * GIB, 6 * GIB);
	put(&w, 0, at(GP_SEGMENT_ALLOC, 0, 1, SEGMENTS + 8 * GIB, 6 * GIB));
	take(1, SEGMENTS + 8 * GIB, 5 * GIB, 0);
	count(0);
	unmap_page(SEGMENTS + 8 * GIB, 6 * GIB);
	count(0);
	fill(1, 4 * GIB, MIB);
	map_page(SEGMENTS + 8 * GIB, 6 * GIB);
	count(0);
}

static const struct {
	const char *name;
	void (*job)(void);
} reasons[] = {
	{ "training", training },
	{ "capacity", capacity },
	{ "leaking", leaking },
	{ "huge", huge },
	{ "fragmentation", fragmentation },
	{ "limit", limited },
	{ "other", other },
	{ "growth", growth },
	{ "alike", alike },
	{ "unlike", unlike },
	{ "stream", stream },
	{ "streams", streams },
	{ "cache", cache },
	{ "untold", unreported },
	{ "fraction", fraction },
	{ "both", both },
	{ "split", split },
	{ "greedy", greedy },
	{ "nearly", nearly },
	{ "rounded", rounded },
	{ "wide", wide },
	{ "often", often },
	{ "pages", pages },
	{ "ipc", ipc },
	{ "late_limit", late_limit },
	{ "first_limit", first_limit },
	{ "newcomer", newcomer },
	{ "two", two },
	{ "graph", graph },
	{ "graphs", graphs },
	{ "mempool", mempool },
	{ "early", early },
	{ "beside", beside },
	{ "unknown", unknown },
	{ "sleeping", sleeping },
};

int main(int argc, char **argv)
{
	char *slash = argc > 2 ? strrchr(argv[2], '/') : NULL;
	if (argc < 3)
		return 2;
	snprintf(directory, sizeof directory, "%.*s", slash ? (int)(slash - argv[2]) : 1,
		 slash ? argv[2] : ".");
	writer_open(&w, slash ? slash + 1 : argv[2], 0, 0);
	struct gp_record gpu = { .kind = GP_GPU };
	gpu.gpu.total_bytes = TOTAL;
	define(gpu, "Made-up GPU");
	define((struct gp_record){ .kind = GP_FACT,
				   .aux = GP_FACT_ALLOCATOR_DETAILS,
				   .fact = { .value = 1 } },
	       "told");
	if (argc > 3)
		define((struct gp_record){ .kind = GP_FACT, .aux = GP_FACT_ALLOC_CONF }, argv[3]);
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
