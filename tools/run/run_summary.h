/*
 * What a run left: its recordings, named in the job's list, summed up in at most five lines on
 * stderr; what --keep then removes, and the names that are stored in them.
 */
#ifndef GP_RUN_SUMMARY_H
#define GP_RUN_SUMMARY_H

#include <stdbool.h>
#include <stdint.h>

#include "gpuprof.h"
#include "job_list.h"

struct gp_run_summary {
	const struct gp_job_list *list;
	const char *command;		   /* as it was called */
	const char *only;		   /* names that alone were to be recorded; "" all */
	const char *pattern;		   /* of the recordings' names */
	const struct gp_scope_rule *scope; /* what was asked to be captured */
	uint64_t keep;			   /* 0: remove nothing */
	bool is_quiet, is_verbose;
	bool is_symbolizing; /* names of native frames are stored in the recordings */
};

void gp_run_summary(const struct gp_run_summary *harvest);

#endif
