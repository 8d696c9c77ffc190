/* The report of `gpuprof collectives`, for a person and for a program. */
#ifndef GP_COLLECTIVES_REPORT_H
#define GP_COLLECTIVES_REPORT_H

#include "../report/report.h"

struct gp_collectives_report {
	const char *path;
	const struct gp_info *info;
	struct gp_collectives collectives;
	enum gp_collectives_by by;
	const char *by_word; /* the value of --by */
	uint64_t top;	     /* rows, 0: all */
	FILE *out;
	struct gp_json *json;
};

void gp_collectives_print(const struct gp_collectives_report *report);
void gp_collectives_write(const struct gp_collectives_report *report);

/* "AllReduce", or the number of an operation that has no name here. */
struct gp_text gp_collective_text(const struct gp_collective_row *row);
/* Of `kernel_ns`, from 0 to 1; 0 without kernels. */
double gp_overlap_share(uint64_t overlapped_ns, uint64_t kernel_ns);

#endif
