/*
 * Stores the names of native frames in the recordings of `gpuprof run`, so that other machines can
 * read them. Ends in time and never changes how the job ended: another process looks the names up,
 * and is killed if it takes too long.
 */
#ifndef GP_RUN_NAMES_H
#define GP_RUN_NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "retention.h"

struct gp_run_names {
	uint64_t frames, named;	 /* of the finished recordings */
	size_t done, unfinished; /* recordings */
	const char *first;	 /* unfinished one; owned by the caller */
	const char *why;	 /* why they are unfinished; a text */
};

/* Takes at most ten seconds. A signal ends it at once and is consumed. */
void gp_run_names(const struct gp_made *made, size_t count, struct gp_run_names *out);

#endif
