/*
 * Compares the cost of a native stack with libunwind's own fast trace, in one process, in turns.
 *	native_cost [OWN_COPY]	prints a line for each measurement
 * native_stack_ns_10, _30, _60: combinations that were never seen, with _anchor; repeat_stack_ns:
 * 64 frames; repeat_of_64_ns: 64 stacks with one start, in turn; new_start_ns: never seen, below
 * inner frames that are in the memo, with _anchor.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "../libgpuprof/record/native/native_learn.h"
#include "../libgpuprof/record/native/native_walk.h"
#include "../tests/unit/native_paths.h"
#include "stopwatch.h"

#define BLOCKS 31u
#define CHAINS 2000u
#define FRAMES_MOST 64u

typedef int backtrace_function(void **buffer, int size);

static struct gp_native_thread *thread;
static backtrace_function *unw_backtrace;
static uint8_t chains[CHAINS][FRAMES_MOST];
static uint64_t seed = 88172645463325252u;
static volatile unsigned depth_seen;

static void must(bool holds, const char *what)
{
	if (holds)
		return;
	fprintf(stderr, "native_cost: not so: %s\n", what);
	exit(1);
}

static uint64_t now_ns(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC_RAW, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

static double median(double *values, size_t number)
{
	qsort(values, number, sizeof *values, by_value);
	return values[number / 2];
}

/* ---- what a leaf does ---- */

static __attribute__((noinline)) void leaf_nothing(void *context)
{
	uint64_t start = tick_begin();
	depth_seen = 0;
	*(uint64_t *)context = tick_end() - start;
}

static __attribute__((noinline)) void leaf_ours(void *context)
{
	uint64_t start = tick_begin();
	struct gp_native_stack *s = gp_native_stack_now(thread, __builtin_frame_address(0));
	depth_seen = s ? s->depth : 0;
	*(uint64_t *)context = tick_end() - start;
}

static __attribute__((noinline)) void leaf_anchor(void *context)
{
	void *pc[FRAMES_MOST + 1];
	uint64_t start = tick_begin();
	depth_seen = (unsigned)unw_backtrace(pc, FRAMES_MOST + 1);
	*(uint64_t *)context = tick_end() - start;
}

#define REPEATS 1000u
static __attribute__((noinline)) void leaf_repeats(void *context)
{
	double *ns = context;
	for (unsigned block = 0; block < BLOCKS; block++) {
		uint64_t start = now_ns();
		for (unsigned i = 0; i < REPEATS; i++)
			depth_seen = gp_native_stack_now(thread, __builtin_frame_address(0))->depth;
		ns[block] = (double)(now_ns() - start) / REPEATS;
	}
	must(depth_seen == GP_NATIVE_DEPTH, "a repeated stack has 64 frames");
}

/* ---- arms ---- */

static void draw(unsigned frames, unsigned functions)
{
	for (unsigned i = 0; i < CHAINS; i++)
		for (unsigned k = 0; k < frames; k++)
			chains[i][k] = (uint8_t)((path_random(&seed) >> 20) % functions);
}

static double ns_per_tick;

/* Mean of the middle half, which removes the effects of preemptions and of a coarse tick. */
static double time_chains(unsigned number, unsigned frames, void (*leaf)(void *))
{
	static double ticks[CHAINS];
	for (unsigned i = 0; i < CHAINS; i++) {
		uint64_t one;
		path_run(chains[i % number], frames, leaf, &one);
		ticks[i] = (double)one;
	}
	double sum = 0;
	qsort(ticks, CHAINS, sizeof *ticks, by_value);
	for (unsigned i = CHAINS / 4; i < CHAINS * 3 / 4; i++)
		sum += ticks[i];
	return sum / (CHAINS / 2) * ns_per_tick;
}

/* The chains are new to the memo each time, because it keeps a stack that it meets twice. */
static void compare(unsigned frames)
{
	double ours[BLOCKS], anchor[BLOCKS];
	for (unsigned block = 0; block < BLOCKS; block++) {
		/* main and its callers are counted */
		unsigned below = frames - 3;
		draw(below, PATH_FUNCTIONS);
		double bare = time_chains(CHAINS, below, leaf_nothing);
		ours[block] = time_chains(CHAINS, below, leaf_ours);
		anchor[block] = time_chains(CHAINS, below, leaf_anchor);
		double bare_again = time_chains(CHAINS, below, leaf_nothing);
		bare = bare < bare_again ? bare : bare_again;
		ours[block] -= bare;
		anchor[block] -= bare;
		printf("native_stack_ns_%u %.1f\nnative_stack_ns_%u_anchor %.1f\n", frames,
		       ours[block], frames, anchor[block]);
	}
	double a = median(ours, BLOCKS), b = median(anchor, BLOCKS);
	fprintf(stderr, "%u frames: %.1f ns, unw_backtrace %.1f ns, ratio %.2f\n", frames, a, b,
		a / b);
}

/* 64 stacks that the memo holds under one key, and `new` ones beside them that are walked. */
static void repeat_many(void)
{
	double bare[BLOCKS], ours[BLOCKS];
	draw(40, 4);
	time_chains(64, 40, leaf_ours);
	for (unsigned block = 0; block < BLOCKS; block++) {
		bare[block] = time_chains(64, 40, leaf_nothing);
		ours[block] = time_chains(64, 40, leaf_ours) - bare[block];
		printf("repeat_of_64_ns %.1f\n", ours[block]);
	}
	fprintf(stderr, "one of 64 known stacks with one start, 43 frames: %.1f ns\n",
		median(ours, BLOCKS));
	double fresh[BLOCKS], anchor[BLOCKS];
	for (unsigned block = 0; block < BLOCKS; block++) {
		draw(40, PATH_FUNCTIONS);
		for (unsigned i = 0; i < CHAINS; i++)
			memset(chains[i] + 30, 0, 10); /* inner ten frames of a known stack */
		bare[block] = time_chains(CHAINS, 40, leaf_nothing);
		fresh[block] = time_chains(CHAINS, 40, leaf_ours) - bare[block];
		anchor[block] = time_chains(CHAINS, 40, leaf_anchor) - bare[block];
		printf("new_start_ns %.1f\nnew_start_ns_anchor %.1f\n", fresh[block],
		       anchor[block]);
	}
	double a = median(fresh, BLOCKS), b = median(anchor, BLOCKS);
	fprintf(stderr,
		"lookups that just miss, 43 frames: %.1f ns, unw_backtrace %.1f ns, ratio %.2f\n",
		a, b, a / b);
}

static void *find(void *handle, const char *name)
{
	return dlsym(handle, name);
}

int main(int argc, char **argv)
{
	double ns[BLOCKS];
	void *anchor = dlopen("libunwind.so.8", RTLD_NOW | RTLD_LOCAL);
	void *copy = argc > 1 ? dlopen(argv[1], RTLD_NOW | RTLD_LOCAL) : anchor;
	anchor = anchor ? anchor : copy; /* where libunwind is not installed */
	must(anchor && copy, "libunwind is there");
	*(void **)&unw_backtrace = dlsym(anchor, "unw_backtrace");
	const struct gp_native_setup setup = { .depth = GP_NATIVE_DEPTH,
					       .lookup = find,
					       .context = copy };
	const char *why = gp_native_open(&setup);
	must(!why, why);
	static struct gp_thread_pieces pieces;
	thread = gp_native_thread_open(&pieces);
	must(thread != NULL, "a thread has a state");
	ns_per_tick = tick_calibrate();
	for (unsigned i = 0; i < 2; i++) { /* both have seen the code */
		draw(60, PATH_FUNCTIONS);
		time_chains(CHAINS, 60, leaf_ours);
		time_chains(CHAINS, 60, leaf_anchor);
	}
	compare(10);
	compare(30);
	compare(60);
	draw(64, PATH_FUNCTIONS);
	path_run(chains[0], 64, leaf_repeats, ns);
	for (unsigned block = 0; block < BLOCKS; block++)
		printf("repeat_stack_ns %.1f\n", ns[block]);
	fprintf(stderr, "repeated, 64 frames: %.1f ns\n", median(ns, BLOCKS));
	repeat_many();
	return 0;
}
