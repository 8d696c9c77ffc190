/*
 * Names of files for the recordings of a job's ranks, where torchtitan and tools for its files look
 * for them: FOLDER/memory_snapshot/step_000000000010/000003_step_10.pickle.
 */
#ifndef GP_RANK_NAMES_H
#define GP_RANK_NAMES_H

#include <limits.h>
#include <stdbool.h>

struct gp_rank_names {
	int files;
	char (*path)[PATH_MAX]; /* one for each recording, in their order */
};

/*
 * Makes the folders, and a name for each recording. The rank is that of the largest communicator of
 * NCCL. If one is unknown or occurs twice, all have their place among `paths`, with a message. The
 * step is the last one of the first recording; 0: no steps were found. False: the error is printed.
 * Free with gp_rank_names_free, also then.
 */
bool gp_rank_names_make(const char *folder, int recordings, char *const *paths,
			struct gp_rank_names *out);
void gp_rank_names_free(struct gp_rank_names *names);

#endif
