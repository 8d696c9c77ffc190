/*
 * What an allocation costs that carries a stack of Python and native frames: called by
 * mixed_stack.py through ctypes at the end of a chain of Python functions, below which it goes
 * deeper in C. In turns through the wrapper and past it: the difference counts. Frees are not timed
 * and carry no stack.
 */
#include "burst.h"

#include "../tests/unit/native_paths.h"

#define BITS 9u
#define EVENTS (1u << BITS) /* in a burst */
#define LEVELS_MOST 32u
#define KNOWN 64u

static struct bench bench;
static CUdeviceptr address[EVENTS];
static unsigned allocated;

void mixed_stack_open(void)
{
	bench_open(&bench);
}

static void free_all(const struct calls *calls)
{
	while (allocated)
		must(calls->free(address[--allocated]) == CUDA_SUCCESS);
}

/* ---- leaves ---- */

static __attribute__((noinline)) void allocate(void *context)
{
	const struct calls *calls = context;
	must(calls->alloc(&address[allocated++], 512) == CUDA_SUCCESS);
	__asm__ volatile("" ::: "memory"); /* no tail call */
}

struct burst {
	const struct calls *calls;
	double ns;
};

static __attribute__((noinline)) void allocate_many(void *context)
{
	struct burst *burst = context;
	uint64_t start = now_ns(CLOCK_MONOTONIC);
	while (allocated < EVENTS)
		allocate((void *)burst->calls);
	burst->ns = (double)(now_ns(CLOCK_MONOTONIC) - start) / EVENTS;
}

/* ---- bursts ---- */

/* The functions of path `number`: at BITS levels from `level` on one of two twins. */
static void choose(uint8_t *path, unsigned levels, unsigned level, unsigned twins, unsigned number)
{
	for (unsigned k = 0; k < levels; k++)
		path[k] = (uint8_t)(twins * 2);
	for (unsigned bit = 0; bit < BITS; bit++)
		path[level + bit] = (uint8_t)(twins * 2 + (number >> bit & 1));
}

enum arm {
	ONE,	       /* one stack, in a loop */
	KNOWN_IN_TURN, /* one of KNOWN, each met often */
	NEW_INNER,     /* never seen, one like the other up to the inner frames */
	NEW_OUTER,     /* never seen, neighbours have no frame of C in common */
	ARMS
};
static const char *const arm_name[ARMS] = { "", "_of_64", "_new_inner", "_new" };

/* ns for each event, the way to it included. */
static double burst_ns(const struct calls *calls, enum arm arm, unsigned levels, unsigned twins)
{
	uint8_t path[EVENTS][LEVELS_MOST];
	for (unsigned i = 0; i < EVENTS; i++) {
		unsigned number = arm == ONE ? 0 : arm == KNOWN_IN_TURN ? i % KNOWN : i;
		choose(path[i], levels, arm == NEW_OUTER ? 0 : levels - BITS,
		       arm <= KNOWN_IN_TURN ? 0 : twins, number);
	}
	struct burst burst = { calls, 0 };
	wait_for_quiet(&bench);
	if (arm == ONE) {
		path_run(path[0], levels, allocate_many, &burst);
	} else {
		uint64_t start = now_ns(CLOCK_MONOTONIC);
		for (unsigned i = 0; i < EVENTS; i++)
			path_run(path[i], levels, allocate, (void *)calls);
		burst.ns = (double)(now_ns(CLOCK_MONOTONIC) - start) / EVENTS;
	}
	free_all(calls);
	return burst.ns;
}

/* Prints NAME[_of_64, _new...]_ns for each burst, and what was lost. `levels`: functions in C. */
void mixed_stack_time(const char *name, unsigned levels)
{
	must(levels >= BITS && levels <= LEVELS_MOST);
	/* the code is known, though no stack: pairs of twins follow below */
	uint8_t path[LEVELS_MOST];
	for (unsigned i = 0; i < 4 * PATH_FUNCTIONS; i++) {
		for (unsigned k = 0; k < levels; k++)
			path[k] = (uint8_t)((i + k) % PATH_FUNCTIONS);
		path_run(path, levels, allocate, (void *)&bench.wrapped);
	}
	free_all(&bench.wrapped);
	for (enum arm arm = 0; arm < ARMS; arm++) {
		burst_ns(&bench.wrapped, arm, levels, 0);
		for (unsigned block = 1; block <= BLOCKS; block++) {
			double bare = burst_ns(&bench.bare, arm, levels, block);
			double wrapped = burst_ns(&bench.wrapped, arm, levels, block);
			bare = (bare + burst_ns(&bench.bare, arm, levels, block)) / 2;
			printf("%s%s_ns %.1f\n", name, arm_name[arm], wrapped - bare);
		}
	}
	printf("%s_lost %llu\n", name, (unsigned long long)lost_events(&bench));
	fflush(stdout);
}
