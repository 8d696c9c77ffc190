/*
 * Which streams are being captured, and the gate that keeps our own driver calls away from
 * captures: one of ours inside a capture that reaches its thread would end the capture. Needs no
 * recorder.
 */
#ifndef GP_CAPTURE_H
#define GP_CAPTURE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "../../libgpuprof/record/hot.h"
#include "../driver/cuda_types.h"

/* How many captures are under way in the process. */
extern _Atomic uint32_t gp_captures GP_HOT_DATA __attribute__((visibility("hidden")));

static inline bool gp_is_capturing(void)
{
	return atomic_load_explicit(&gp_captures, memory_order_relaxed) != 0;
}

/*
 * True: no capture is under way and none begins before gp_calls_end(). False: make no driver call.
 */
bool gp_calls_begin(void);
void gp_calls_end(void);

/*
 * Before the driver is called to begin a capture of `stream`; waits for calls that are inside the
 * gate. After the driver answered to a begin or an end: `result` decides whether the capture goes
 * on.
 */
void gp_capture_begin(void);
void gp_capture_began(uint64_t stream, CUresult result);
void gp_capture_ended(uint64_t stream, CUresult result);

/* The capture that began on `stream`, if there is one, is over. */
void gp_capture_forget(uint64_t stream);
/* Whether a capture began on this very stream; streams that joined it by an event are not known. */
bool gp_is_captured(uint64_t stream);

/* A forked child has no captures. */
void gp_capture_reset(void);

#endif
