/*
 * The file has no name for readers before the export succeeds, so a journal would guard nothing.
 */
#include "sqlite_file.h"

#include <sqlite3.h>
#include <string.h>

#define SQL_ROOM 4096u

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

struct sqlite3_stmt *gp_sqlite_insert(struct gp_sqlite *s, const struct gp_table *table)
{
	char sql[SQL_ROOM] = "INSERT INTO \"";
	sqlite3_stmt *insert = NULL;
	sql_add(sql, table->name);
	for (size_t k = 0; k < table->columns; k++)
		sql_add(sql, k ? ", ?" : "\" VALUES (?");
	sql_add(sql, ")");
	if (!s->status)
		check(s,
		      sqlite3_prepare_v3(s->db, sql, -1, SQLITE_PREPARE_PERSISTENT, &insert, NULL));
	return insert;
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

void gp_sqlite_add(struct gp_sqlite *s, struct sqlite3_stmt *insert, const struct gp_value *value,
		   size_t values)
{
	if (s->status || !insert)
		return;
	for (size_t k = 0; k < values; k++)
		check(s, value_bind(insert, (int)k + 1, &value[k]));
	check(s, sqlite3_step(insert));
	check(s, sqlite3_reset(insert));
}

void gp_sqlite_finish(struct sqlite3_stmt *insert)
{
	sqlite3_finalize(insert);
}
