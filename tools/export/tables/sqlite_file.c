/*
 * The file has no name for readers before the export succeeds, so a journal would guard nothing.
 */
#include "sqlite_file.h"

#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>

#define SQL_ROOM 4096u
/*
 * Rows of one statement. sqlite3 alone inserts a row of `events` in 1.04 to 1.38 us with one row a
 * statement, and in 0.64 to 0.80 us with 32 (bench/insert_rate.c). More rows gain little.
 */
#define ROWS_MOST 32u
#define TEXT_MORE 32u /* bytes, so that few longer texts need a new place */

static enum gp_status status_of(int result)
{
	switch (result & 0xff) {
	case SQLITE_OK:
	case SQLITE_DONE:
	case SQLITE_ROW:
		return GP_OK;
	case SQLITE_FULL:
		return GP_E_SPACE;
	case SQLITE_NOMEM:
		return GP_E_MEMORY;
	default:
		return GP_E_IO;
	}
}

static void check(struct gp_sqlite *s, int result)
{
	if (!s->status)
		s->status = status_of(result);
}

void gp_sqlite_run(struct gp_sqlite *s, const char *sql)
{
	if (!s->status)
		check(s, sqlite3_exec(s->db, sql, NULL, NULL, NULL));
}

void gp_sqlite_open(struct gp_sqlite *s, const char *path)
{
	*s = (struct gp_sqlite){ 0 };
	/* one thread, and no statistics: malloc then takes no lock */
	sqlite3_config(SQLITE_CONFIG_SINGLETHREAD);
	sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0);
	if (!path) { /* a device or a pipe, where a database cannot be */
		s->status = GP_E_IO;
		return;
	}
	check(s, sqlite3_open_v2(path, &s->db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, NULL));
	gp_sqlite_run(s, "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF;"
			 "PRAGMA locking_mode = EXCLUSIVE; PRAGMA cache_size = -16384; BEGIN");
}

void gp_sqlite_close(struct gp_sqlite *s)
{
	gp_sqlite_run(s, "COMMIT");
	const int result = sqlite3_close(s->db);
	check(s, result);
}

/* Appends to a statement that has room for the longest table. */
static void sql_add(char *sql, const char *text)
{
	const size_t n = strlen(sql);
	snprintf(sql + n, SQL_ROOM - n, "%s", text);
}

void gp_sqlite_create(struct gp_sqlite *s, const struct gp_table *table)
{
	static const char *const types[] = { [GP_COLUMN_INTEGER] = "\" INTEGER",
					     [GP_COLUMN_REAL] = "\" REAL",
					     [GP_COLUMN_TEXT] = "\" TEXT" };
	char sql[SQL_ROOM] = "CREATE TABLE IF NOT EXISTS \"";
	sql_add(sql, table->name);
	for (size_t k = 0; k < table->columns; k++) {
		sql_add(sql, k ? ", \"" : "\" (\"");
		sql_add(sql, table->column[k].name);
		sql_add(sql, types[table->column[k].type]);
	}
	sql_add(sql, ")");
	gp_sqlite_run(s, sql);
}

/* ---- rows ---- */

/* A parameter of the statement for several rows, with the value that it gets next. */
struct sqlite_slot {
	struct gp_value value; /* its text is `text` */
	char *text;
	size_t room;
	bool is_bound;
};

struct gp_sqlite_insert {
	struct gp_sqlite *file;
	const struct gp_table *table;
	sqlite3_stmt *one, *many; /* NULL: not prepared yet */
	size_t rows, most;	  /* rows in the slots; rows of `many` */
	struct sqlite_slot *slot;
};

static sqlite3_stmt *insert_prepare(struct gp_sqlite_insert *i, size_t rows)
{
	char sql[SQL_ROOM] = "INSERT INTO \"";
	sqlite3_stmt *insert = NULL;
	struct gp_sqlite *s = i->file;
	sql_add(sql, i->table->name);
	sql_add(sql, "\" VALUES ");
	for (size_t row = 0; row < rows; row++) {
		sql_add(sql, row ? ",(?" : "(?");
		for (size_t k = 1; k < i->table->columns; k++)
			sql_add(sql, ",?");
		sql_add(sql, ")");
	}
	if (!s->status)
		check(s,
		      sqlite3_prepare_v3(s->db, sql, -1, SQLITE_PREPARE_PERSISTENT, &insert, NULL));
	return insert;
}

/* As many rows as the statement's text and the library's limit of parameters allow. */
static size_t insert_most(const struct gp_sqlite *s, const struct gp_table *table)
{
	const size_t row_text = 2 * table->columns + 4, heads = 128;
	const int parameters = sqlite3_limit(s->db, SQLITE_LIMIT_VARIABLE_NUMBER, -1);
	size_t rows = ROWS_MOST;
	if (rows > (SQL_ROOM - heads) / row_text)
		rows = (SQL_ROOM - heads) / row_text;
	if (rows > (size_t)parameters / table->columns)
		rows = (size_t)parameters / table->columns;
	return rows ? rows : 1;
}

struct gp_sqlite_insert *gp_sqlite_insert(struct gp_sqlite *s, const struct gp_table *table)
{
	struct gp_sqlite_insert *i = s->status ? NULL : calloc(1, sizeof *i);
	if (!i) {
		check(s, SQLITE_NOMEM);
		return NULL;
	}
	i->file = s;
	i->table = table;
	i->most = insert_most(s, table);
	i->slot = calloc(i->most * table->columns, sizeof *i->slot);
	if (!i->slot)
		check(s, SQLITE_NOMEM);
	return i;
}

static bool slot_has(const struct sqlite_slot *slot, const struct gp_value *value)
{
	const struct gp_value *old = &slot->value;
	if (old->is != value->is)
		return false;
	switch (value->is) {
	case GP_VALUE_INTEGER:
		return old->integer == value->integer;
	case GP_VALUE_REAL:
		return memcmp(&old->real, &value->real, sizeof old->real) == 0;
	case GP_VALUE_TEXT:
		return old->bytes == value->bytes &&
		       memcmp(old->text, value->text, value->bytes) == 0;
	case GP_VALUE_NULL:
		break;
	}
	return true;
}

/* False: out of memory. */
static bool slot_put(struct sqlite_slot *slot, const struct gp_value *value)
{
	if (slot_has(slot, value))
		return true;
	slot->is_bound = false;
	if (value->is == GP_VALUE_TEXT && (value->bytes > slot->room || !slot->text)) {
		const size_t room = value->bytes + TEXT_MORE;
		char *text = realloc(slot->text, room);
		if (!text)
			return false;
		slot->text = text;
		slot->room = room;
	}
	slot->value = *value;
	if (value->is == GP_VALUE_TEXT) {
		memcpy(slot->text, value->text, value->bytes);
		slot->value.text = slot->text;
	}
	return true;
}

static int value_bind(sqlite3_stmt *insert, int at, const struct gp_value *value)
{
	switch (value->is) {
	case GP_VALUE_INTEGER:
		return sqlite3_bind_int64(insert, at, value->integer);
	case GP_VALUE_REAL:
		return sqlite3_bind_double(insert, at, value->real);
	case GP_VALUE_TEXT:
		return sqlite3_bind_text64(insert, at, value->text, value->bytes, SQLITE_STATIC,
					   SQLITE_UTF8);
	case GP_VALUE_NULL:
		break;
	}
	return sqlite3_bind_null(insert, at);
}

static void insert_step(struct gp_sqlite_insert *i, sqlite3_stmt *insert)
{
	if (i->file->status)
		return;
	check(i->file, sqlite3_step(insert));
	check(i->file, sqlite3_reset(insert));
}

/* Parameters keep their values, so only those that changed are bound. */
static void insert_many(struct gp_sqlite_insert *i)
{
	if (!i->many)
		i->many = insert_prepare(i, i->most);
	for (size_t k = 0; k < i->most * i->table->columns && !i->file->status; k++) {
		struct sqlite_slot *slot = &i->slot[k];
		if (slot->is_bound)
			continue;
		check(i->file, value_bind(i->many, (int)k + 1, &slot->value));
		slot->is_bound = true;
	}
	insert_step(i, i->many);
	i->rows = 0;
}

void gp_sqlite_flush(struct gp_sqlite_insert *i)
{
	if (!i)
		return;
	if (i->rows && !i->one)
		i->one = insert_prepare(i, 1);
	for (size_t row = 0; row < i->rows && !i->file->status; row++) {
		const struct sqlite_slot *slot = &i->slot[row * i->table->columns];
		for (size_t k = 0; k < i->table->columns; k++)
			check(i->file, value_bind(i->one, (int)k + 1, &slot[k].value));
		insert_step(i, i->one);
	}
	i->rows = 0;
}

void gp_sqlite_add(struct gp_sqlite *s, struct gp_sqlite_insert *i, const struct gp_value *value,
		   size_t values)
{
	if (s->status || !i)
		return;
	struct sqlite_slot *slot = &i->slot[i->rows * values];
	for (size_t k = 0; k < values; k++)
		if (!slot_put(&slot[k], &value[k]))
			check(s, SQLITE_NOMEM);
	if (++i->rows == i->most)
		insert_many(i);
}

void gp_sqlite_finish(struct gp_sqlite_insert *i)
{
	if (!i)
		return;
	gp_sqlite_flush(i);
	sqlite3_finalize(i->one);
	sqlite3_finalize(i->many);
	for (size_t k = 0; i->slot && k < i->most * i->table->columns; k++)
		free(i->slot[k].text);
	free(i->slot);
	free(i);
}
