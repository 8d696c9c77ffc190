/*
 * Sums up a run in at most five lines on stderr, from the recordings in the job's list. Then
 * removes recordings for --keep, and stores names in the new ones.
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
	const char *only;		   /* record only processes with these names; "": all */
	const char *pattern;		   /* of the recordings' names */
	const struct gp_scope_rule *scope; /* what to capture */
	const char *next; /* command for the last line, unless OOMs; NULL: peak or timeline */
	uint64_t keep;	  /* 0: remove nothing */
	bool is_quiet, is_verbose;
	bool is_symbolizing; /* store names of native frames in the recordings */
};

void gp_run_summary(const struct gp_run_summary *harvest);

#endif
