/*
 * The file in which the processes of a job tell `gpuprof run` of their recordings: created empty,
 * named to the job by GPUPROF_LIST, gone at the end. Lists of runs that were killed are removed by
 * the next run.
 */
#ifndef GP_JOB_LIST_H
#define GP_JOB_LIST_H

#include <stdbool.h>

struct gp_job_list {
	char path[512]; /* as long as the library takes it; "": there is none */
	int lock;	/* held while the run lives */
	int error;	/* errno: why there is none */
};

/* In TMPDIR, else in /tmp. */
bool gp_job_list_open(struct gp_job_list *list);
void gp_job_list_close(struct gp_job_list *list);

#endif
