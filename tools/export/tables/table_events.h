/* Rows of one replay: events, threads, and the highest moment of each curve. */
#ifndef GP_TABLE_EVENTS_H
#define GP_TABLE_EVENTS_H

#include "table_stacks.h"

/* One replay; rewinds. */
void gp_table_events_write(struct gp_export *e, struct gp_rows *rows,
			   struct gp_table_stacks *stacks);

#endif
