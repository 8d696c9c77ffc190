/*
 * Whether the memory events of a recording are complete.
 */
#include "report.h"

const char *gp_span_caveat_of(const struct gp_info *info)
{
	if (!info->is_sealed && !info->is_running)
		return "the end of the recording is missing";
	if (info->is_late)
		return "the recording began late";
	if (info->has_gap)
		return "the recording paused for a while";
	if (info->has_framework_late)
		return "PyTorch had blocks before the recording began";
	if (info->has_hole || info->has_uncertain_peaks || info->is_damaged)
		return "events are missing";
	return NULL;
}

bool gp_has_all_ooms(const struct gp_info *info)
{
	const bool has_kept_all = !info->kept_from_ns ||
				  (info->counts[GP_OOM] == info->kept[GP_OOM] &&
				   info->counts[GP_ALLOC_FAILED] == info->kept[GP_ALLOC_FAILED]);
	return has_kept_all && !gp_span_caveat_of(info) && !info->ended_by && !info->lost_memory &&
	       !info->nested && !info->uncertains;
}

const char *gp_caveat_of(const struct gp_info *info)
{
	const char *caveat = gp_span_caveat_of(info);
	if (caveat)
		return caveat;
	return info->is_running ? "the job is running" :
	       info->ended_by	? "the recording ended before the job did" :
				  NULL;
}
