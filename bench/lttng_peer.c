/*
 * The peer: nanoseconds of an enabled lttng-ust tracepoint with the payload of a launch event.
 * Prints lttng_ns, or nothing when the event is not enabled in a session.
 */
#define LTTNG_UST_TRACEPOINT_CREATE_PROBES
#define LTTNG_UST_TRACEPOINT_DEFINE
#include "lttng_peer.h"

#include <stdio.h>
#include <time.h>

#define BURST 4096u
#define BLOCKS 31u

static double now_ns(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC_RAW, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

int main(void)
{
	uint64_t kernel = (uint64_t)(uintptr_t)main;
	/* the library waits for the session daemon before main, so the event is enabled by now */
	if (!lttng_ust_tracepoint_enabled(gpuprof_peer, launch))
		return 77;
	for (unsigned i = 0; i < BLOCKS; i++) {
		double start = now_ns();
		for (unsigned j = 0; j < BURST; j++)
			lttng_ust_tracepoint(gpuprof_peer, launch, kernel, 0, j, 256, 0);
		printf("lttng_ns %.2f\n", (now_ns() - start) / BURST);
	}
	return 0;
}
