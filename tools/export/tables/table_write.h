/* All tables of one recording. */
#ifndef GP_TABLE_WRITE_H
#define GP_TABLE_WRITE_H

#include "tables.h"

/*
 * Gives the rows of the span and the device that `e` chooses to a sink. The order of the tables is
 * not certain. Adds to e->entries.
 */
enum gp_status gp_tables_write(struct gp_export *e, struct gp_table_sink *sink);

#endif
