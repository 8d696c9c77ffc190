/* All calls of ranges of a recording, for exports. */
#include <stdlib.h>

#include "../gpu/gpu_collect.h"
#include "../phases/range_path.h"

enum gp_status gp_range_calls_build(struct gp_recording *recording, struct gp_range_calls *out)
{
	const struct gp_info *info;
	struct gp_event e;
	*out = (struct gp_range_calls){ 0 };
	enum gp_status status = gp_recording_info(recording, &info);
	if (status == GP_OK)
		status = gp_recording_rewind(recording);
	if (status == GP_OK)
		status = gp_range_paths_derive(recording, &out->paths);
	if (out->paths != NULL)
		gp_range_paths_keep_calls(out->paths, gp_gpu_items_most(recording));
	while (status == GP_OK && (status = gp_recording_next(recording, &e)) == GP_OK)
		gp_range_paths_see(out->paths, e.thread, &e.record);
	if (status == GP_END)
		status = gp_range_paths_status(out->paths);
	if (status != GP_OK) {
		gp_range_calls_free(out);
		return status;
	}
	out->call = gp_range_paths_calls(out->paths, &out->calls);
	out->beyond = gp_range_paths_beyond(out->paths);
	return GP_OK;
}

const struct gp_range_path *gp_range_calls_path(const struct gp_range_calls *calls, size_t call)
{
	return gp_range_paths_called(calls->paths, &calls->call[call]);
}

void gp_range_calls_free(struct gp_range_calls *calls)
{
	gp_range_paths_close(calls->paths);
	*calls = (struct gp_range_calls){ 0 };
}
