/*
 * Rows of tables. The number of values is checked against the columns when a row ends.
 */
#include "tables.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "../../io/message.h"

/* Without a name: the end of a table. */
static const struct gp_column columns[] = {
#define TABLE(name) { NULL, GP_COLUMN_TEXT },
#define COLUMN(name, TYPE) { #name, GP_COLUMN_##TYPE },
#include "tables.def"
#undef COLUMN
#undef TABLE
	{ NULL, GP_COLUMN_TEXT }
};
static const char *const names[GP_TABLES] = {
#define TABLE(name) #name,
#define COLUMN(name, TYPE)
#include "tables.def"
#undef COLUMN
#undef TABLE
};

void gp_tables_split(const struct gp_column *column, const char *const *name, size_t tables,
		     struct gp_table *out)
{
	for (size_t k = 0; k < tables; k++) {
		const struct gp_column *first = ++column;
		while (column->name)
			column++;
		out[k] = (struct gp_table){ name[k], first, (size_t)(column - first) };
	}
}

const struct gp_table *gp_table_get(enum gp_table_id id)
{
	static struct gp_table table[GP_TABLES];
	if (!table[0].name)
		gp_tables_split(columns, names, GP_TABLES, table);
	return &table[id];
}

void gp_rows_release(struct gp_rows *rows)
{
	for (size_t k = 0; k < GP_ROW_VALUES; k++)
		free(rows->scratch[k]);
}

/* ---- values ---- */

void gp_row_begin(struct gp_rows *rows, enum gp_table_id table)
{
	rows->table = table;
	rows->used = 0;
	gp_row_signed(rows, rows->recording);
}

static struct gp_value *value_add(struct gp_rows *rows, enum gp_value_is is)
{
	assert(rows->used < GP_ROW_VALUES);
	struct gp_value *value = &rows->value[rows->used++];
	value->is = is;
	return value;
}

void gp_row_null(struct gp_rows *rows)
{
	value_add(rows, GP_VALUE_NULL);
}

void gp_row_signed(struct gp_rows *rows, int64_t number)
{
	value_add(rows, GP_VALUE_INTEGER)->integer = number;
}

void gp_row_number(struct gp_rows *rows, uint64_t number)
{
	if (number <= INT64_MAX) {
		gp_row_signed(rows, (int64_t)number);
		return;
	}
	char *text = rows->number[rows->used];
	struct gp_value *value = value_add(rows, GP_VALUE_TEXT);
	value->text = text;
	value->bytes = (size_t)snprintf(text, sizeof rows->number[0], "0x%" PRIx64, number);
}

void gp_row_number_if(struct gp_rows *rows, bool is_known, uint64_t number)
{
	if (is_known)
		gp_row_number(rows, number);
	else
		gp_row_null(rows);
}

void gp_row_signed_if(struct gp_rows *rows, bool is_known, int64_t number)
{
	if (is_known)
		gp_row_signed(rows, number);
	else
		gp_row_null(rows);
}

void gp_row_device(struct gp_rows *rows, unsigned device)
{
	gp_row_number_if(rows, device != GP_DEVICE_UNKNOWN, device);
}

static bool is_utf8(const char *text, size_t bytes)
{
	uint32_t code;
	size_t at = 0;
	for (uint64_t eight; at + sizeof eight <= bytes; at += sizeof eight) {
		memcpy(&eight, text + at, sizeof eight);
		if (eight & UINT64_C(0x8080808080808080))
			break;
	}
	for (size_t n; at < bytes; at += n) {
		n = (unsigned char)text[at] < 0x80 ? 1 :
						     gp_code_point(text + at, bytes - at, &code);
		if (n == 0)
			return false;
	}
	return true;
}

/* A copy with U+FFFD for each byte that is not part of a character. */
static char *text_repair(const char *text, size_t *bytes)
{
	char *copy = malloc(3 * *bytes + 1), *to = copy;
	uint32_t code;
	for (size_t at = 0, n; copy && at < *bytes; at += n ? n : 1) {
		n = (unsigned char)text[at] < 0x80 ? 1 :
						     gp_code_point(text + at, *bytes - at, &code);
		memcpy(to, n ? text + at : "\xef\xbf\xbd", n ? n : 3);
		to += n ? n : 3;
	}
	*bytes = copy ? (size_t)(to - copy) : 0;
	return copy;
}

void gp_row_bytes(struct gp_rows *rows, const char *text, size_t bytes)
{
	char **scratch = &rows->scratch[rows->used];
	struct gp_value *value = value_add(rows, GP_VALUE_TEXT);
	if (!is_utf8(text, bytes)) {
		free(*scratch);
		text = *scratch = text_repair(text, &bytes);
		if (!text)
			rows->status = GP_E_MEMORY;
	}
	value->text = text;
	value->bytes = bytes;
}

void gp_row_text(struct gp_rows *rows, const char *text)
{
	if (text)
		gp_row_bytes(rows, text, strlen(text));
	else
		gp_row_null(rows);
}

void gp_row_end(struct gp_rows *rows)
{
	assert(rows->used == gp_table_get(rows->table)->columns);
	if (!gp_rows_want(rows, rows->table))
		return;
	rows->count++;
	rows->status = rows->sink->row(rows->sink, rows->table, rows->value);
}
