/* Who holds what is live now in one curve of one device, by stack. The uses always add up. */
#ifndef GP_LIVE_USES_H
#define GP_LIVE_USES_H

#include "../../read/file/recording.h"
#include "use_table.h"

/*
 * What an allocation of that stack and kind is added to; 0: it says why no stack was recorded,
 * where gp_recording_info was asked before.
 */
struct gp_use gp_use_like(const struct gp_recording *recording, uint32_t stack, uint8_t space,
			  int64_t at_ns);

/*
 * `holders` says of which curve and when, and holds its bytes; it gets what the uses add up to, and
 * how much of that is uncertain. The uses go into `out`, whose epochs are set and which is the
 * caller's also on failure.
 */
enum gp_status gp_live_uses_take(struct gp_recording *recording, struct gp_holders *holders,
				 struct gp_use_table *out);

#endif
