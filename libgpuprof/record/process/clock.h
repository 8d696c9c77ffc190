/* The clock of the hot path: rdtsc if the kernel trusts it, else MONOTONIC_RAW in nanoseconds. */
#ifndef GP_CLOCK_H
#define GP_CLOCK_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>
#include <x86intrin.h>

#include "../hot.h"

extern bool gp_clock_is_tsc GP_HOT_DATA __attribute__((visibility("hidden")));

static inline uint64_t gp_clock_raw_ns(clockid_t clock)
{
	struct timespec t;
	clock_gettime(clock, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* The clock of all waits and ages. */
static inline uint64_t gp_now_ns(void)
{
	return gp_clock_raw_ns(CLOCK_MONOTONIC_RAW);
}

static inline uint64_t gp_clock_now(void)
{
	if (__builtin_expect(gp_clock_is_tsc, 1))
		return __rdtsc();
	return gp_clock_raw_ns(CLOCK_MONOTONIC_RAW);
}

/* Reads the clock source once; call before the first gp_clock_now. */
void gp_clock_init(void);
/* The three clocks at one moment, as close together as a few tries allow. */
struct gp_clock_triple {
	uint64_t ticks, mono_ns, unix_ns;
};
struct gp_clock_triple gp_clock_triple(void);
/* Ticks per second: 1000000000 without tsc; else measured over about 1 ms at the first call. */
uint64_t gp_clock_ticks_per_second(void);

#endif
