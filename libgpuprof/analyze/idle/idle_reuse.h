/* The program's buffers of one size that live at once and whose uses do not: how few would do. */
#ifndef GP_IDLE_REUSE_H
#define GP_IDLE_REUSE_H

#include "touch_replay.h"

/*
 * Of the parts of d's device: fills in d->reuse, without keys. Exact: as many buffers are needed as
 * are in use at once at most (an interval graph). GP_E_MEMORY.
 */
enum gp_status gp_idle_reuse_find(const struct gp_peak_part *part, size_t parts,
				  struct gp_idle_device *d);

#endif
