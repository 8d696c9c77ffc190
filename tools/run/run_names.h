/*
 * The names of native frames that `gpuprof run` stores in what its job recorded, so that it can be
 * read elsewhere. Promises to end in time and to change nothing of how the job ended: another
 * process looks the names up, and is killed when it does not end by itself.
 */
#ifndef GP_RUN_NAMES_H
#define GP_RUN_NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "retention.h"

struct gp_run_names {
	uint64_t frames, named;	 /* of the recordings that were done with */
	size_t done, unfinished; /* recordings */
	const char *first;	 /* of those not finished; the caller's */
	const char *why;	 /* they are not; a text */
};

/* Not longer than ten seconds. A signal ends it at once and is used up. */
void gp_run_names(const struct gp_made *made, size_t count, struct gp_run_names *out);

#endif
