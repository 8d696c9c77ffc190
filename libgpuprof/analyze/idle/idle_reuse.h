/*
 * Buffers of the program that have one size and live at the same time, but are used at different
 * times: how few would be enough.
 */
#ifndef GP_IDLE_REUSE_H
#define GP_IDLE_REUSE_H

#include "touch_replay.h"

/*
 * Fills in d->reuse, without keys, from the parts of d's device. Exact: the least number of buffers
 * is the highest number in use at once (an interval graph). GP_E_MEMORY.
 */
enum gp_status gp_idle_reuse_find(const struct gp_peak_part *part, size_t parts,
				  struct gp_idle_device *d);

#endif
