/* The rank of a recording's process in its job. */
#ifndef GP_JOB_RANK_H
#define GP_JOB_RANK_H

#include <stdbool.h>
#include <stdint.h>

#include "gpuprof.h"

struct gp_job_rank {
	uint32_t rank, ranks; /* ranks: 0 unknown */
	bool has_nccl;	      /* the process is in a communicator of NCCL */
};

/*
 * The launcher's rank (RANK, SLURM_PROCID), else that of the largest communicator of NCCL. NCCL's
 * also counts if it has more ranks than the launcher: then a program started ranks of its own,
 * which all inherit the launcher's variables. False: the rank is unknown. May rewind.
 */
bool gp_job_rank_find(struct gp_recording *recording, const struct gp_info *info,
		      struct gp_job_rank *out);

#endif
