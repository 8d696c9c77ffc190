/*
 * Part of gpuprof.h, which includes it: for programs that write all events of a recording in one
 * replay, or several reports on it. Curves that an event changed, moments at which ids of stacks
 * agree, and answers that reports share.
 */
#ifndef GPUPROF_REPLAY_H
#define GPUPROF_REPLAY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "format/event.h"
#include "format/status.h"

struct gp_module_epochs;
struct gp_recording;

/* ---- curves ---- */

/*
 * The curves that changed since the last call: bit N of *devices is device N. The first call after
 * a rewind reports all that are not zero.
 */
void gp_recording_take_moved(struct gp_recording *recording, uint64_t *devices, bool *has_host);
/* Curves after the event that gp_recording_next returned last. False: the device is not known. */
bool gp_recording_curves_now(const struct gp_recording *recording, unsigned device,
			     uint64_t now_bytes[GP_CURVES]);
/* The same of the host, by enum gp_host_curve. False: no memory was pinned yet. */
bool gp_recording_host_now(const struct gp_recording *recording, uint64_t now_bytes[2]);

/* ---- stacks ---- */

/* For gp_stack_epoch. GP_E_MEMORY. */
enum gp_status gp_stack_epochs_open(struct gp_recording *recording, struct gp_module_epochs **out);
/* Returns a number. At moments with equal numbers, an id means the same stack. */
uint32_t gp_stack_epoch(const struct gp_module_epochs *epochs, int64_t at_ns);
void gp_stack_epochs_close(struct gp_module_epochs *epochs);

/* ---- several reports on one recording ---- */

/*
 * Finds steps and the roles of allocations in one replay, or two. The recording keeps them for
 * reports that need them. Without a call, the first of these reports finds them. GP_E_MEMORY, or
 * what gp_recording_next returns.
 */
enum gp_status gp_recording_prepare(struct gp_recording *recording);
/* Points of the timelines in reports on a whole recording. */
#define GP_TIMELINE_POINTS 2000u
/*
 * Keeps the answers of these functions for a whole recording, and the next call of each takes its
 * answer: gp_timeline_build and gp_role_timeline_build with so many points, gp_leaks_build,
 * gp_waits_build, and gp_phases_build for all devices, with the warm-up of gp_steps_find. One
 * replay for all, and up to six for parts of them, where ranges, GPU time, OOMs or suspects of
 * leaks need it. Rewinds. After a failure they find their answers themselves. GP_E_ARGUMENT: too
 * few points.
 */
enum gp_status gp_recording_prepare_reports(struct gp_recording *recording, size_t points);

#endif
