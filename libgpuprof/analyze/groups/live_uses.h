/* The holders of live memory in one curve of one device, by stack. The uses always add up. */
#ifndef GP_LIVE_USES_H
#define GP_LIVE_USES_H

#include "../../read/file/recording.h"
#include "use_table.h"

/*
 * A use for allocations of that stack and kind. Stack 0 gets the reason why no stack was recorded,
 * if gp_recording_info was called before.
 */
struct gp_use gp_use_like(const struct gp_recording *recording, uint32_t stack, uint8_t space,
			  int64_t at_ns);

/*
 * `holders` has the curve, the time and the bytes. It gets the sum of the uses, and how much of it
 * is uncertain. The uses go into `out`, with its epochs set. The caller owns `out`, also on
 * failure.
 */
enum gp_status gp_live_uses_take(struct gp_recording *recording, struct gp_holders *holders,
				 struct gp_use_table *out);

#endif
