/*
 * The file in which the processes of a job list their recordings for `gpuprof run`. It is created
 * empty, passed to the job in GPUPROF_LIST, and removed at the end. The next run removes lists of
 * runs that were killed.
 */
#ifndef GP_JOB_LIST_H
#define GP_JOB_LIST_H

#include <stdbool.h>

struct gp_job_list {
	char path[512]; /* length limit of the library; "": no list */
	int lock;	/* held while the run is alive */
	int error;	/* errno if there is no list */
};

/* In TMPDIR, else in /tmp. */
bool gp_job_list_open(struct gp_job_list *list);
void gp_job_list_close(struct gp_job_list *list);

#endif
