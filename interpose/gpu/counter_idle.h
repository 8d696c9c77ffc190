/* Whether the GPU is idle, by queries of its streams, which do not block. For counters. */
#ifndef GP_COUNTER_IDLE_H
#define GP_COUNTER_IDLE_H

#include <stdbool.h>
#include <stdint.h>

/* A stream was made in that context (0: unknown). Those beyond 512 are not looked at. */
void gp_idle_add(uint64_t stream, uint64_t context);
/* The stream ends now, or (0) all of that context. Returns when no look at it is in progress. */
void gp_idle_remove(uint64_t stream, uint64_t context);

/*
 * Waits at most 100 ms until the known streams of the context and `own` are idle. Only between
 * gp_calls_begin and gp_calls_end, by one thread at a time. False: one is not, or the driver
 * refused.
 */
bool gp_idle_await(uint64_t own, uint64_t context);

#endif
