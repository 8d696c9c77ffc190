/* Opens each recording once to find its rank, and the first one to find the step. */
#include "rank_names.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../io/message.h"
#include "../../io/stdin_recording.h"
#include "../../report/report.h"
#include "part_files.h"

static uint64_t step_find(struct gp_recording *recording)
{
	struct gp_steps steps;
	if (gp_steps_find(recording, &steps) != GP_OK)
		return 0;
	const uint64_t last = steps.steps;
	gp_steps_free(&steps);
	return last;
}

/* False: a rank is unknown. A recording that cannot be read has none; its export prints why. */
static bool ranks_find(int recordings, char *const *paths, struct gp_job_rank *rank, uint64_t *step)
{
	bool is_known = true;
	for (int k = 0; k < recordings; k++) {
		struct gp_recording *recording;
		const struct gp_info *info;
		if (gp_recording_open(gp_readable_path(paths[k]), &recording, NULL) != GP_OK)
			return false;
		if (gp_recording_info(recording, &info) != GP_OK ||
		    !gp_job_rank_find(recording, info, &rank[k]))
			is_known = false;
		if (k == 0)
			*step = step_find(recording);
		gp_recording_close(recording);
	}
	return is_known;
}

static bool ranks_differ(int recordings, const struct gp_job_rank *rank)
{
	for (int k = 0; k < recordings; k++)
		for (int before = 0; before < k; before++)
			if (rank[k].rank == rank[before].rank)
				return false;
	return true;
}

/* Without different ranks, the places of the recordings are their numbers. */
static void ranks_settle(bool is_known, int recordings, struct gp_job_rank *rank)
{
	if (is_known && ranks_differ(recordings, rank))
		return;
	for (int k = 0; k < recordings; k++) {
		rank[k].rank = (uint32_t)k;
		rank[k].ranks = (uint32_t)recordings;
	}
	gp_error("ranks are not known: files are numbered in the order of the recordings");
}

static bool names_fill(const struct gp_export_format *format, const char *folder, int recordings,
		       char *const *paths, struct gp_rank_names *out)
{
	uint64_t step = 0;
	char name[GP_RANK_NAME_BYTES];
	bool is_named = true;
	const bool is_known = ranks_find(recordings, paths, out->rank, &step);
	ranks_settle(is_known, recordings, out->rank);
	for (int k = 0; k < recordings; k++) {
		format->rank_name(name, step, out->rank[k].rank);
		const int n = snprintf(out->path[k], PATH_MAX, "%s%s", folder, name);
		is_named = is_named && n < PATH_MAX;
	}
	if (is_named)
		return gp_folders_make(out->path[0]);
	gp_error("cannot create '%s': %s", folder, gp_cause(ENAMETOOLONG));
	return false;
}

bool gp_rank_names_make(const struct gp_export_format *format, const char *folder, int recordings,
			char *const *paths, struct gp_rank_names *out)
{
	*out = (struct gp_rank_names){
		.files = recordings,
		.path = calloc((size_t)recordings, sizeof *out->path),
		.rank = calloc((size_t)recordings, sizeof *out->rank),
	};
	if (out->path && out->rank)
		return names_fill(format, folder, recordings, paths, out);
	gp_error("cannot export: %s", gp_status_text(GP_E_MEMORY));
	return false;
}

void gp_rank_names_free(struct gp_rank_names *names)
{
	free(names->path);
	free(names->rank);
	*names = (struct gp_rank_names){ 0 };
}
