/* The report of `gpuprof kernels`, for a person and for a program. */
#ifndef GP_KERNELS_REPORT_H
#define GP_KERNELS_REPORT_H

#include "../report/report.h"

struct gp_kernels_report {
	const char *path;
	struct gp_recording *recording;
	const struct gp_info *info;
	struct gp_kernels kernels;
	enum gp_kernels_by by;
	const char *by_word; /* the value of --by */
	uint64_t top;	     /* rows, 0: all */
	bool has_stacks;     /* print frames below each row */
	FILE *out;
	struct gp_json *json;
};

void gp_kernels_print(const struct gp_kernels_report *report);
void gp_kernels_write(const struct gp_kernels_report *report);
/* The command line of Nsight Compute for row `number`, from 1. Returns the exit status. */
int gp_kernels_ncu(const struct gp_kernels_report *report, uint64_t number);

/* Counts operations that are missing or uncertain, a line for each kind that is not 0. */
void gp_gpu_doubts_print(FILE *out, const struct gp_gpu *gpu);

/*
 * Whether the recording has operations of that device, or -1 (all). If not, prints an error. True
 * if it has no operations at all.
 */
bool gp_gpu_has_device(const char *path, const struct gp_gpu *gpu, int64_t device);

/* Of the sum of the kernels' times; 0 without kernels. */
double gp_kernel_share(const struct gp_kernels *kernels, const struct gp_kernel_row *row);

#endif
