/* Answers about a flight recorder that turns over while it is read: given for what is kept now. */
#ifndef GP_SETTLE_H
#define GP_SETTLE_H

#include "../read/file/recording.h"

/*
 * Calls `attempt`, and again, after `forget` has dropped its answer, when the owner of a ring wrote
 * over what was read meanwhile; the last of several answers stands. Returns its status.
 */
enum gp_status gp_retry_if_overwritten(struct gp_recording *recording,
				       enum gp_status (*attempt)(void *context,
								 const struct gp_info *info),
				       void (*forget)(void *context), void *context);

#endif
