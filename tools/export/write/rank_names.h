/*
 * Names of files for the recordings of a job's ranks in a folder. The format decides how they look,
 * so that its tools find them.
 */
#ifndef GP_RANK_NAMES_H
#define GP_RANK_NAMES_H

#include <limits.h>
#include <stdbool.h>

#include "export.h"

struct gp_rank_names {
	int files;
	/* one for each recording, in their order */
	char (*path)[PATH_MAX];
	struct gp_job_rank *rank;
};

/*
 * Makes the folders, and a name for each recording. If a rank is unknown or occurs twice, each
 * recording has its place among `paths` as its rank, with a message. The step is the last one of
 * the first recording; 0: no steps were found. False: the error is printed. Free with
 * gp_rank_names_free, also then.
 */
bool gp_rank_names_make(const struct gp_export_format *format, const char *folder, int recordings,
			char *const *paths, struct gp_rank_names *out);
void gp_rank_names_free(struct gp_rank_names *names);

#endif
