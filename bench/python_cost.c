/*
 * Measures a walk of the calling thread's Python frames with warm caches. python_cost.py loads it
 * and calls it at several depths, through ctypes.CDLL, so without the GIL.
 */
#include <dlfcn.h>
#include <stdint.h>
#include <time.h>

#include "../libgpuprof/record/python/python_walk.h"

#define BATCH 200u
#define MOST 128u

static void *look_up(void *context, const char *name)
{
	(void)context;
	return dlsym(RTLD_DEFAULT, name);
}

int python_cost_find(void)
{
	return gp_python_find(look_up, NULL) && !gp_python_why_off();
}

static uint64_t now_ns(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static volatile uint64_t sink;

static double batch_ns(int with_identity)
{
	struct gp_python_frame frames[MOST];
	struct gp_python_walk walk;
	uint64_t sum = 0, start = now_ns();
	for (unsigned k = 0; k < BATCH; k++) {
		unsigned n = gp_python_walk(frames, MOST, &walk);
		sum += n;
		for (unsigned f = 0; with_identity && f < n; f++)
			sum += gp_python_identity(frames[f].code);
	}
	sink = sum;
	return (double)(now_ns() - start) / BATCH;
}

/* The least of several batches: ns for one walk, with the identities of its frames or without. */
double python_cost(int with_identity, unsigned batches)
{
	double least = 1e9;
	for (unsigned k = 0; k < batches; k++) {
		double ns = batch_ns(with_identity);
		least = ns < least ? ns : least;
	}
	return least;
}
