/* The replays that make the rows, one after the other. */
#include "table_write.h"

#include "table_events.h"
#include "table_memory.h"
#include "table_rest.h"

enum gp_status gp_tables_write(struct gp_export *e, struct gp_table_sink *sink)
{
	struct gp_rows rows = { .sink = sink, .recording = (int64_t)e->number + 1 };
	struct gp_table_stacks *stacks = gp_table_stacks_open(e, &rows);
	if (!rows.status)
		gp_table_rest_write(e, &rows, stacks);
	if (!rows.status)
		gp_table_events_write(e, &rows, stacks);
	if (!rows.status)
		gp_table_memory_write(e, &rows, stacks);
	if (!rows.status)
		gp_table_gpu_write(e, &rows, stacks);
	gp_table_stacks_close(stacks);
	gp_rows_release(&rows);
	e->entries += rows.count;
	return rows.status;
}
