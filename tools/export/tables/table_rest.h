/* Rows of the small tables: facts of the recording, and lists of other reports. */
#ifndef GP_TABLE_REST_H
#define GP_TABLE_REST_H

#include "table_stacks.h"

void gp_table_rest_write(struct gp_export *e, struct gp_rows *rows, struct gp_table_stacks *stacks);
/* Operations of the GPU, and the calls of ranges. */
void gp_table_gpu_write(struct gp_export *e, struct gp_rows *rows, struct gp_table_stacks *stacks);

#endif
