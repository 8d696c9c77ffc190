/* Opens each recording once to find its rank, and the first one to find the step. */
#include "rank_names.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "../../io/message.h"
#include "../../io/stdin_recording.h"
#include "../../report/report.h"

/* -1: unknown. A recording that cannot be read has none; its export prints why. */
static int64_t rank_find(struct gp_recording *recording)
{
	struct gp_collectives c;
	uint32_t most = 0;
	int64_t rank = -1;
	if (gp_collectives_build(recording, GP_COLLECTIVES_BY_CALL, INT64_MIN, INT64_MAX, &c) ==
	    GP_OK)
		for (size_t k = 0; k < c.communicators; k++) {
			const struct gp_communicator *of = &c.communicator[k];
			if (of->ranks <= most || of->rank == 0 || of->rank > of->ranks)
				continue;
			most = of->ranks;
			rank = (int64_t)of->rank - 1;
		}
	gp_collectives_free(&c);
	return rank;
}

static uint64_t step_find(struct gp_recording *recording)
{
	struct gp_steps steps;
	if (gp_steps_find(recording, &steps) != GP_OK)
		return 0;
	const uint64_t last = steps.steps;
	gp_steps_free(&steps);
	return last;
}

static void look_at(int recordings, char *const *paths, int64_t *rank, uint64_t *step)
{
	for (int k = 0; k < recordings; k++) {
		struct gp_recording *recording;
		rank[k] = -1;
		if (gp_recording_open(gp_readable_path(paths[k]), &recording, NULL) != GP_OK)
			continue;
		rank[k] = rank_find(recording);
		if (k == 0)
			*step = step_find(recording);
		gp_recording_close(recording);
	}
}

/* Without different ranks, the places of the recordings are their numbers. */
static void ranks_settle(int recordings, int64_t *rank)
{
	bool is_known = true;
	for (int k = 0; k < recordings; k++) {
		is_known = is_known && rank[k] >= 0;
		for (int before = 0; before < k; before++)
			is_known = is_known && rank[k] != rank[before];
	}
	if (is_known)
		return;
	for (int k = 0; k < recordings; k++)
		rank[k] = k;
	gp_error("ranks are not known: files are numbered in the order of the recordings");
}

static bool name_write(char *out, const char *folder, uint64_t step, int64_t rank)
{
	const unsigned long long number = step;
	const int n = rank < 0 ? snprintf(out, PATH_MAX, "%smemory_snapshot/step_%012llu", folder,
					  number) :
				 snprintf(out, PATH_MAX,
					  "%smemory_snapshot/step_%012llu/%06lld_step_%llu.pickle",
					  folder, number, (long long)rank, number);
	return n > 0 && n < PATH_MAX;
}

/* Makes the folder with all above it; -1: errno. */
static int folders_make(char *path)
{
	for (char *slash = strchr(path + 1, '/');; slash = strchr(slash + 1, '/')) {
		if (slash)
			*slash = '\0';
		const bool is_made = mkdir(path, 0777) == 0 || errno == EEXIST;
		if (slash)
			*slash = '/';
		if (!is_made || !slash)
			return is_made ? 0 : -1;
	}
}

static bool names_fill(const char *folder, int recordings, char *const *paths, int64_t *rank,
		       struct gp_rank_names *out)
{
	uint64_t step = 0;
	char made[PATH_MAX];
	look_at(recordings, paths, rank, &step);
	ranks_settle(recordings, rank);
	bool is_named = name_write(made, folder, step, -1);
	for (int k = 0; k < recordings; k++)
		is_named = is_named && name_write(out->path[k], folder, step, rank[k]);
	errno = ENAMETOOLONG;
	if (is_named && folders_make(made) == 0)
		return true;
	gp_error("cannot create '%s': %s", is_named ? made : folder, gp_cause(errno));
	return false;
}

bool gp_rank_names_make(const char *folder, int recordings, char *const *paths,
			struct gp_rank_names *out)
{
	int64_t *rank = calloc((size_t)recordings, sizeof *rank);
	bool is_made = false;
	*out = (struct gp_rank_names){ .files = recordings,
				       .path = calloc((size_t)recordings, sizeof *out->path) };
	if (rank && out->path)
		is_made = names_fill(folder, recordings, paths, rank, out);
	else
		gp_error("cannot export: %s", gp_status_text(GP_E_MEMORY));
	free(rank);
	return is_made;
}

void gp_rank_names_free(struct gp_rank_names *names)
{
	free(names->path);
	*names = (struct gp_rank_names){ 0 };
}
