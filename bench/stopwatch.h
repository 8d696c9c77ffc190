/*
 * Times a few nanoseconds: earlier work has ended, later work has not begun. So the time excludes
 * the start and the end of a deep chain of calls, whose branches a processor cannot predict.
 */
#ifndef STOPWATCH_H
#define STOPWATCH_H

#include <stdint.h>
#include <time.h>

static inline uint64_t tick_begin(void)
{
	__builtin_ia32_lfence();
	uint64_t tick = __builtin_ia32_rdtsc();
	__builtin_ia32_lfence();
	return tick;
}

static inline uint64_t tick_end(void)
{
	unsigned cpu;
	uint64_t tick = __builtin_ia32_rdtscp(&cpu);
	__builtin_ia32_lfence();
	return tick;
}

/* Takes 20 ms. */
static inline double tick_calibrate(void)
{
	struct timespec from, now;
	double ns;
	clock_gettime(CLOCK_MONOTONIC_RAW, &from);
	uint64_t tick = tick_begin();
	do {
		clock_gettime(CLOCK_MONOTONIC_RAW, &now);
		ns = (double)(now.tv_sec - from.tv_sec) * 1e9 +
		     (double)(now.tv_nsec - from.tv_nsec);
	} while (ns < 20e6);
	return ns / (double)(tick_end() - tick);
}

#endif
