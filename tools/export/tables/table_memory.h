/* Rows of memory: each life, and the groups that lives have. */
#ifndef GP_TABLE_MEMORY_H
#define GP_TABLE_MEMORY_H

#include "table_stacks.h"

/* Three to five replays; rewinds. */
void gp_table_memory_write(struct gp_export *e, struct gp_rows *rows,
			   struct gp_table_stacks *stacks);

#endif
