/*
 * A recording of a few kilobytes for targets with another kind of input: one segment, one thread, a
 * GPU, a driver, a version of PyTorch, some blocks. It is not sealed, as if its process had been
 * killed.
 */
#ifndef SMALL_RECORDING_H
#define SMALL_RECORDING_H

#include "../../libgpuprof/format/layout.h"

#define SMALL_RECORDING_PID 4242u
#define SMALL_RECORDING_BOOT "00000000-0000-0000-0000-000000000000"
#define SMALL_RECORDING_THREAD 1u
#define SMALL_RECORDING_EVENTS 16u /* of SMALL_RECORDING_THREAD, orders 0 to 15 */

/* Event `order` of the recording, as its ring held it. */
struct gp_record small_recording_event(uint64_t order);
/* Writes it to `out` and returns its length. `ring_path` may be "". Aborts if `room` is short. */
size_t small_recording_make(uint8_t *out, size_t room, const char *ring_path);

#endif
