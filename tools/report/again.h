/*
 * What a recording lacks for an answer, and the `gpuprof run` that would record it. Has only
 * options that differ from the defaults and that help.
 */
#ifndef AGAIN_H
#define AGAIN_H

#include <stdio.h>

#include "gpuprof.h"

enum gp_lack {
	GP_LACK_STACKS = 1,    /* stacks, which name the allocating code */
	GP_LACK_DETAILS = 2,   /* of PyTorch's allocator */
	GP_LACK_USES = 4,      /* of memory by launches, for `idle` */
	GP_LACK_GPU_TIME = 8,  /* for `kernels`; the caller decides it */
	GP_LACK_LAUNCHES = 16, /* stacks of launches; likewise */
	GP_LACK_COUNTERS = 32, /* for `counters`; likewise */
};

#define GP_AGAIN_OPTIONS 160u
#define GP_AGAIN_WHY 96u

/*
 * Those of the needed parts, enum gp_lack, that the recording lacks and another recording would
 * have.
 */
unsigned gp_again_lacks(const struct gp_info *info, unsigned needed);
/*
 * "gpuprof run --outside-capture=stacks", with which a job records `lacks`. `out` has room for
 * GP_AGAIN_OPTIONS bytes and is returned.
 */
const char *gp_again_run(const struct gp_info *info, unsigned lacks, char *out);
/* Why stacks are missing, a text of GP_AGAIN_WHY bytes in `out`; "": no usual cause. */
const char *gp_again_why(const struct gp_info *info, unsigned lacks, char *out);
/* The last line of a report: `next:` with that run. */
void gp_again_print(FILE *out, const struct gp_info *info, unsigned lacks);

#endif
