/* A recording counts how often its owner overtook the reader. */
#include "settle.h"

#define TRIES_MAX 16u

enum gp_status gp_retry_if_overwritten(struct gp_recording *recording,
				       enum gp_status (*attempt)(void *context,
								 const struct gp_info *info),
				       void (*forget)(void *context), void *context)
{
	enum gp_status status = GP_OK;
	for (unsigned left = TRIES_MAX; left-- > 0;) {
		const struct gp_info *info;
		status = gp_recording_info(recording, &info);
		if (status != GP_OK)
			break;
		unsigned overtakes = recording->overtakes;
		status = attempt(context, info);
		if (status != GP_OK || recording->overtakes == overtakes || left == 0)
			break;
		forget(context);
	}
	return status;
}

bool gp_recording_keeps(struct gp_recording *recording, enum gp_kind kind)
{
	const struct gp_info *info;
	return gp_recording_info(recording, &info) != GP_OK || info->kept[kind] != 0;
}
