/*
 * Answers about a flight recorder that is overwritten during the reading: they hold for the part
 * that is kept now.
 */
#ifndef GP_SETTLE_H
#define GP_SETTLE_H

#include "../read/file/recording.h"

/*
 * Calls `attempt`. If the owner of a ring overwrote the data meanwhile, calls `forget` to drop the
 * answer, and tries again. The last of several answers stands. Returns its status.
 */
enum gp_status gp_retry_if_overwritten(struct gp_recording *recording,
				       enum gp_status (*attempt)(void *context,
								 const struct gp_info *info),
				       void (*forget)(void *context), void *context);

/*
 * False: a replay would meet no record of that kind. A search for it then needs gp_recording_end
 * only.
 */
bool gp_recording_keeps(struct gp_recording *recording, enum gp_kind kind);

#endif
