/*
 * The streams that are being captured, and the gate that keeps our driver calls out of captures. A
 * driver call of ours on a capturing thread would end the capture. Needs no recorder.
 */
#ifndef GP_CAPTURE_H
#define GP_CAPTURE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "../../libgpuprof/record/hot.h"
#include "../driver/cuda_types.h"

/* Number of captures in progress in the process. */
extern _Atomic uint32_t gp_captures GP_HOT_DATA __attribute__((visibility("hidden")));

static inline bool gp_is_capturing(void)
{
	return atomic_load_explicit(&gp_captures, memory_order_relaxed) != 0;
}

/*
 * True: no capture is in progress, and none begins before gp_calls_end(). False: make no driver
 * call.
 */
bool gp_calls_begin(void);
void gp_calls_end(void);
/* Between them: a call that takes up to 2 s. A capture waits that long for it. */
void gp_calls_are_long(bool are);

/*
 * gp_capture_begin: before the driver call that begins a capture; waits for calls inside the gate.
 * The others: after the driver's call; `result` decides whether the capture continues.
 */
void gp_capture_begin(void);
void gp_capture_began(uint64_t stream, CUresult result);
/* Returns the owner of what was allocated in the capture; 0: nothing, or the capture continues. */
uint64_t gp_capture_ended(uint64_t stream, CUresult result);

/* Ends the capture that began on `stream`, if there is one. Returns as gp_capture_ended. */
uint64_t gp_capture_forget(uint64_t stream);
/*
 * The owner of memory that is allocated in the capture that began on this stream: an odd number,
 * since the graph has no handle yet. 0: none began. Streams that joined it by an event are unknown.
 */
uint64_t gp_capture_owner(uint64_t stream);

/* A forked child has no captures. */
void gp_capture_reset(void);

#endif
