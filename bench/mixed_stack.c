/*
 * Measures an allocation that is recorded with a stack of Python and native frames. mixed_stack.py
 * calls it through ctypes at the end of a chain of Python functions; below them it goes deeper in
 * C. Bursts go through the wrapper and directly to the driver in turns; the figure is the
 * difference. Frees are not timed and have no stack.
 */
#include "burst.h"

#include "../tests/unit/native_paths.h"
#include "stopwatch.h"

#define BITS 9u
#define EVENTS (1u << BITS) /* in a burst */
#define LEVELS_MOST 32u
#define KNOWN 64u

static struct bench bench;
static CUdeviceptr address[EVENTS];
static uint64_t ticks[EVENTS];
static unsigned allocated;
static double ns_per_tick;

static void free_all(const struct calls *calls)
{
	while (allocated)
		must(calls->free(address[--allocated]) == CUDA_SUCCESS);
}

/* ---- leaves ---- */

struct loop {
	const struct calls *calls;
	double ns; /* for each event */
};

static __attribute__((noinline)) void allocate(void *context)
{
	const struct loop *loop = context;
	must(loop->calls->alloc(&address[allocated++], 512) == CUDA_SUCCESS);
	__asm__ volatile("" ::: "memory"); /* no tail call */
}

static __attribute__((noinline)) void allocate_timed(void *context)
{
	const struct loop *loop = context;
	const unsigned i = allocated++;
	uint64_t start = tick_begin();
	must(loop->calls->alloc(&address[i], 512) == CUDA_SUCCESS);
	ticks[i] = tick_end() - start;
}

static __attribute__((noinline)) void allocate_many(void *context)
{
	struct loop *loop = context;
	uint64_t start = now_ns(CLOCK_MONOTONIC);
	while (allocated < EVENTS)
		allocate(loop);
	loop->ns = (double)(now_ns(CLOCK_MONOTONIC) - start) / EVENTS;
}

/* ---- bursts ---- */

enum arm {
	ONE,	       /* one stack, in a loop */
	KNOWN_IN_TURN, /* one of KNOWN, each met many times */
	NEW,	       /* never seen; paths separate at the outermost function in C */
	NEW_INNER,     /* never seen; paths separate as far inside as possible */
	ARMS
};
static const char *const arm_name[ARMS] = { "", "_of_64", "_new", "_new_inner" };

/*
 * Chooses the functions of path `number`: at BITS levels one of two twins. Two bursts never have
 * the same functions.
 */
static void choose(uint8_t *path, unsigned levels, enum arm arm, unsigned burst, unsigned number)
{
	const unsigned one = arm == NEW ? 2 * burst : arm == NEW_INNER ? burst : 0;
	const unsigned twin = arm == NEW ? one + 1 : one + PATH_FUNCTIONS / 2;
	memset(path, (int)one, levels);
	for (unsigned bit = 0; bit < BITS; bit++)
		if (number >> bit & 1)
			path[arm == NEW ? bit : levels - 1 - bit] = (uint8_t)twin;
}

static int by_ticks(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
	return (x > y) - (x < y);
}

/* The mean without the highest twentieth, which excludes events that a preemption interrupted. */
static double mean_of_most(void)
{
	const unsigned most = EVENTS - EVENTS / 20;
	double sum = 0;
	qsort(ticks, EVENTS, sizeof *ticks, by_ticks);
	for (unsigned i = 0; i < most; i++)
		sum += (double)ticks[i];
	return sum / most;
}

/* ns for each event. */
static double burst_ns(const struct calls *calls, unsigned levels, enum arm arm, unsigned burst)
{
	uint8_t path[EVENTS][LEVELS_MOST];
	struct loop loop = { calls, 0 };
	for (unsigned i = 0; i < EVENTS; i++)
		choose(path[i], levels, arm, burst, arm == KNOWN_IN_TURN ? i % KNOWN : i);
	wait_for_quiet(&bench);
	if (arm == ONE) {
		path_run(path[0], levels, allocate_many, &loop);
	} else {
		for (unsigned i = 0; i < EVENTS; i++)
			path_run(path[i], levels, allocate_timed, &loop);
		loop.ns = mean_of_most() * ns_per_tick;
	}
	free_all(calls);
	return loop.ns;
}

/* Touches the ring's memory and learns all unwind rules, with stacks that the bursts do not use. */
static void warm_up(unsigned levels)
{
	struct loop loop = { &bench.wrapped, 0 };
	uint8_t path[LEVELS_MOST];
	for (unsigned i = 0; i < GP_RING_SLOTS / EVENTS; i++) {
		for (unsigned k = 0; k < levels; k++)
			path[k] = (uint8_t)((i + k * k) % PATH_FUNCTIONS);
		path_run(path, levels, allocate_many, &loop);
		free_all(loop.calls);
		wait_for_room(&bench);
	}
}

/* Prints NAME[_of_64, _new...]_ns for each burst, and the lost events. `levels`: functions in C. */
void mixed_stack_time(const char *name, unsigned levels)
{
	must(levels >= BITS && levels <= LEVELS_MOST);
	bench_open(&bench);
	ns_per_tick = tick_calibrate();
	warm_up(levels);
	for (enum arm arm = 0; arm < ARMS; arm++) {
		for (unsigned burst = 0; burst <= BLOCKS; burst++) {
			double bare = burst_ns(&bench.bare, levels, arm, burst);
			double wrapped = burst_ns(&bench.wrapped, levels, arm, burst);
			bare = (bare + burst_ns(&bench.bare, levels, arm, burst)) / 2;
			if (burst)
				printf("%s%s_ns %.1f\n", name, arm_name[arm], wrapped - bare);
		}
	}
	printf("%s_lost %llu\n", name, (unsigned long long)lost_events(&bench));
	fflush(stdout);
}
