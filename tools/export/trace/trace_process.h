/* The rank of a recording, and names of its process and threads. */
#ifndef GP_TRACE_PROCESS_H
#define GP_TRACE_PROCESS_H

#include "trace.h"

/* False: the rank is unknown. */
bool gp_trace_rank(const struct gp_export *e, struct gp_job_rank *out);
/* "node_0_rank_3"; without a rank the program, and the file if there are several. */
void gp_trace_process_name(const struct gp_export *e, unsigned node, char *out, size_t room);
/* As the job named it, else "thread 3". `tid`: 0 unknown */
void gp_trace_thread_name(struct gp_recording *recording, uint32_t thread, uint32_t tid, char *out,
			  size_t room);

#endif
