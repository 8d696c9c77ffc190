/*
 * Measures what the recorder adds to a call. The same calls go through the wrapper and directly to
 * the driver, in turns, in one process.
 *	call_cost		prints launch_ns, launch_contended_ns, alloc_ns, object_ns,
 *				copy_ns, wait_ns, replay_ns, clock_ring_ns
 *	call_cost launches|pairs|copies|waits|queries|replays|large_replays N wrapped|bare
 *				only launches N kernels, allocates and frees, copies, waits,
 *				queries an idle stream or launches a graph of 10 or 10,000 nodes
 *				N times: for counting instructions
 */
#include <pthread.h>

#include "burst.h"

struct burst {
	struct bench *bench;
	void (*run)(struct bench *, const struct calls *);
	double calls; /* how many events one run makes */
};

static void launches(struct bench *b, const struct calls *calls)
{
	burst_launch(calls, b->kernel, BURST);
}

static void allocations(struct bench *b, const struct calls *calls)
{
	(void)b;
	burst_alloc(calls, BURST / 4); /* a free is recorded twice: FREE and WAIT */
}

static void objects(struct bench *b, const struct calls *calls)
{
	(void)b;
	burst_events(calls, BURST / 2);
}

static void burst_copy(struct bench *b, const struct calls *calls, unsigned number)
{
	static const char from[64];
	for (unsigned i = 0; i < number; i++)
		must(calls->copy(b->memory, from, sizeof from, NULL) == CUDA_SUCCESS);
}

static void burst_wait(const struct calls *calls, unsigned number)
{
	for (unsigned i = 0; i < number; i++)
		must(calls->wait() == CUDA_SUCCESS);
}

static void burst_query(const struct calls *calls, unsigned number)
{
	for (unsigned i = 0; i < number; i++)
		must(calls->query(NULL) == CUDA_SUCCESS);
}

static void copies(struct bench *b, const struct calls *calls)
{
	burst_copy(b, calls, BURST);
}

static void waits(struct bench *b, const struct calls *calls)
{
	(void)b;
	burst_wait(calls, BURST);
}

static CUgraphExec replay_small, replay_large; /* of 10 and of 10,000 nodes */

static CUgraphExec replay_capture(struct bench *b, unsigned nodes)
{
	CUstream stream;
	CUgraph graph;
	CUgraphExec exec;
	must(b->driver.cuStreamCreate(&stream, 1) == CUDA_SUCCESS);
	must(b->driver.cuStreamBeginCapture_v2(stream, 0) == CUDA_SUCCESS);
	for (unsigned k = 0; k < nodes; k++)
		must(b->bare.launch(b->kernel, 1, 1, 1, 32, 1, 1, 0, stream, NULL, NULL) ==
		     CUDA_SUCCESS);
	must(b->driver.cuStreamEndCapture(stream, &graph) == CUDA_SUCCESS);
	must(b->driver.cuGraphInstantiateWithFlags(&exec, graph, 0) == CUDA_SUCCESS);
	return exec;
}

static void burst_replay(const struct calls *calls, CUgraphExec exec, unsigned number)
{
	for (unsigned i = 0; i < number; i++)
		must(calls->replay(exec, NULL) == CUDA_SUCCESS);
}

static void replays(struct bench *b, const struct calls *calls)
{
	(void)b;
	burst_replay(calls, replay_small, BURST);
}

static double time_burst(const struct burst *burst, const struct calls *calls)
{
	uint64_t start = now_ns(CLOCK_MONOTONIC_RAW);
	burst->run(burst->bench, calls);
	double ns = (double)(now_ns(CLOCK_MONOTONIC_RAW) - start);
	wait_for_quiet(burst->bench);
	return ns / burst->calls;
}

/* Prints the time of the bare call, and what the wrapper adds to it. */
static void compare(const struct burst *burst, const char *name)
{
	for (unsigned i = 0; i < BLOCKS; i++) {
		double pair[2][4];
		for (unsigned j = 0; j < 4; j++) {
			pair[0][j] = time_burst(burst, &burst->bench->bare);
			pair[1][j] = time_burst(burst, &burst->bench->wrapped);
		}
		double bare = median(pair[0], 4);
		printf("%s %.2f\n%s_bare %.2f\n", name, median(pair[1], 4) - bare, name, bare);
	}
}

/* ---- another thread that takes order numbers at the same time ---- */

#define RIVAL_CALLS \
	(4 * BURST) /* more than the launches beside them need, fewer than a ring holds */

struct rival {
	struct bench *bench;
	_Atomic int wanted, is_running, is_over;
};

/* Records from when `wanted` is set until it is cleared, but never more than its ring holds. */
static void *compete(void *context)
{
	struct rival *r = context;
	driver_use(&r->bench->driver, 0);
	while (!r->is_over) {
		if (!r->wanted) {
			sched_yield();
			continue;
		}
		r->is_running = 1;
		for (unsigned i = 0; i < RIVAL_CALLS / 192 && r->wanted; i++)
			burst_alloc(&r->bench->wrapped, 64);
		r->is_running = 0;
		r->wanted = 0;
	}
	return NULL;
}

/*
 * Returns nanoseconds per launch while the rival runs; repeats when the rival did not run all the
 * time.
 */
static double time_contended(struct rival *r, const struct calls *calls)
{
	for (;;) {
		r->wanted = 1;
		while (!r->is_running && r->wanted)
			;
		uint64_t start = now_ns(CLOCK_MONOTONIC_RAW);
		burst_launch(calls, r->bench->kernel, BURST / 4);
		double ns = (double)(now_ns(CLOCK_MONOTONIC_RAW) - start);
		bool was_beside = r->is_running;
		r->wanted = 0;
		while (r->is_running)
			sched_yield();
		wait_for_quiet(r->bench);
		if (was_beside)
			return ns / (BURST / 4);
	}
}

static void compare_contended(struct bench *b)
{
	struct rival r = { .bench = b };
	pthread_t thread;
	must(pthread_create(&thread, NULL, compete, &r) == 0);
	for (unsigned i = 0; i < BLOCKS; i++) {
		double pair[2][4];
		for (unsigned j = 0; j < 4; j++) {
			pair[0][j] = time_contended(&r, &b->bare);
			pair[1][j] = time_contended(&r, &b->wrapped);
		}
		printf("launch_contended_ns %.2f\n", median(pair[1], 4) - median(pair[0], 4));
	}
	r.is_over = 1;
	pthread_join(thread, NULL);
}

/* ---- the anchor: a clock and a store, the least work that any recorder does ---- */

static struct gp_record plain_ring[GP_RING_SLOTS];
static _Atomic uint64_t plain_head;

static __attribute__((noinline)) void put(CUfunction kernel, unsigned grid)
{
	uint64_t head = atomic_load_explicit(&plain_head, memory_order_relaxed);
	struct gp_record *r = &plain_ring[head & (GP_RING_SLOTS - 1)];
	*r = (struct gp_record){ .time = now_ns(CLOCK_MONOTONIC), .kind = GP_LAUNCH };
	r->launch.kernel = (uint64_t)(uintptr_t)kernel;
	r->launch.grid = grid;
	r->launch.block = 256;
	atomic_store_explicit(&plain_head, head + 1, memory_order_release);
}

static void time_clock_ring(struct bench *b)
{
	for (unsigned i = 0; i < BLOCKS; i++) {
		uint64_t start = now_ns(CLOCK_MONOTONIC_RAW);
		for (unsigned j = 0; j < BURST; j++)
			put(b->kernel, j);
		printf("clock_ring_ns %.2f\n",
		       (double)(now_ns(CLOCK_MONOTONIC_RAW) - start) / BURST);
	}
}

/*
 * Makes the calls whose instructions are counted. A function of its own, because valgrind counts by
 * name: at its end the process writes the remaining events, whose number varies.
 */
static __attribute__((noinline)) void counted_calls(struct bench *b, const struct calls *calls,
						    const char *kind, unsigned number)
{
	if (strcmp(kind, "pairs") == 0)
		burst_alloc(calls, number);
	else if (strcmp(kind, "copies") == 0)
		burst_copy(b, calls, number);
	else if (strcmp(kind, "waits") == 0)
		burst_wait(calls, number);
	else if (strcmp(kind, "queries") == 0)
		burst_query(calls, number);
	else if (strcmp(kind, "replays") == 0)
		burst_replay(calls, replay_small, number);
	else if (strcmp(kind, "large_replays") == 0)
		burst_replay(calls, replay_large, number);
	else
		burst_launch(calls, b->kernel, number);
}

int main(int argc, char **argv)
{
	static struct bench b;
	bench_open(&b);
	replay_small = replay_capture(&b, 10);
	replay_large = replay_capture(&b, 10000);
	if (argc == 4) {
		counted_calls(&b, strcmp(argv[3], "bare") ? &b.wrapped : &b.bare, argv[1],
			      (unsigned)atoi(argv[2]));
		return 0;
	}
	compare(&(struct burst){ &b, launches, BURST }, "launch_ns");
	compare(&(struct burst){ &b, allocations, BURST / 2 }, "alloc_ns");
	compare(&(struct burst){ &b, objects, BURST }, "object_ns");
	compare(&(struct burst){ &b, copies, BURST }, "copy_ns");
	compare(&(struct burst){ &b, waits, BURST }, "wait_ns");
	compare(&(struct burst){ &b, replays, BURST }, "replay_ns");
	compare_contended(&b);
	time_clock_ring(&b);
	wait_for_quiet(&b);
	printf("call_cost_lost %llu\n", (unsigned long long)lost_events(&b));
	return 0;
}
