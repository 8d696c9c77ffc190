/* The tables of a recording, for formats that hold tables: tables.def describes them. */
#ifndef GP_TABLES_H
#define GP_TABLES_H

#include "../write/export.h"

enum gp_table_id {
#define TABLE(name) GP_TABLE_##name,
#define COLUMN(name, TYPE)
#include "tables.def"
#undef COLUMN
#undef TABLE
	GP_TABLES
};

enum gp_column_type { GP_COLUMN_INTEGER, GP_COLUMN_REAL, GP_COLUMN_TEXT };
struct gp_column {
	const char *name;
	enum gp_column_type type;
};
struct gp_table {
	const char *name;
	const struct gp_column *column;
	size_t columns;
};
#define GP_ROW_VALUES 32u /* at most */

enum gp_value_is { GP_VALUE_NULL, GP_VALUE_INTEGER, GP_VALUE_REAL, GP_VALUE_TEXT };
struct gp_value {
	enum gp_value_is is;
	int64_t integer;
	double real;
	const char *text; /* valid UTF-8 */
	size_t bytes;
};

/* Takes rows. A status other than GP_OK ends the export. */
struct gp_table_sink {
	/* other rows are dropped; tables that no one requests cost no replay */
	bool is_requested[GP_TABLES];
	enum gp_status (*row)(struct gp_table_sink *sink, enum gp_table_id table,
			      const struct gp_value *value);
	/* Rows of `lives` of this recording are void: they come again. */
	enum gp_status (*lives_void)(struct gp_table_sink *sink);
};

/* Tables from a list of columns in which an entry without a name stands before each table. */
void gp_tables_split(const struct gp_column *column, const char *const *name, size_t tables,
		     struct gp_table *out);
const struct gp_table *gp_table_get(enum gp_table_id table);

/* ---- one row: values in the order of the columns ---- */

struct gp_rows {
	struct gp_table_sink *sink;
	enum gp_status status; /* of the first failure; later rows are dropped */
	uint64_t count;
	int64_t recording; /* the first column of each table */
	enum gp_table_id table;
	size_t used;
	struct gp_value value[GP_ROW_VALUES];
	char *scratch[GP_ROW_VALUES]; /* of texts that were changed */
	char number[GP_ROW_VALUES][24];
};
void gp_rows_release(struct gp_rows *rows);
static inline bool gp_rows_want(const struct gp_rows *rows, enum gp_table_id table)
{
	return rows->status == GP_OK && rows->sink->is_requested[table];
}
void gp_row_begin(struct gp_rows *rows, enum gp_table_id table);
void gp_row_null(struct gp_rows *rows);
void gp_row_signed(struct gp_rows *rows, int64_t number);
/* From 2^63 on it becomes a text, "0xffffffffffffffff". */
void gp_row_number(struct gp_rows *rows, uint64_t number);
/* NULL unless `is_known`. */
void gp_row_number_if(struct gp_rows *rows, bool is_known, uint64_t number);
void gp_row_signed_if(struct gp_rows *rows, bool is_known, int64_t number);
void gp_row_device(struct gp_rows *rows, unsigned device); /* NULL: GP_DEVICE_UNKNOWN */
/* Bytes that are not UTF-8 become U+FFFD. NULL: NULL. The text must live until gp_row_end. */
void gp_row_text(struct gp_rows *rows, const char *text);
void gp_row_bytes(struct gp_rows *rows, const char *text, size_t bytes);
void gp_row_end(struct gp_rows *rows);

#endif
