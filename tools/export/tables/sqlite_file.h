/*
 * A new SQLite database in an empty file that is thrown away after a failure: without a journal,
 * one transaction, and prepared inserts.
 */
#ifndef GP_SQLITE_FILE_H
#define GP_SQLITE_FILE_H

#include "tables.h"

struct sqlite3;
struct sqlite3_stmt;

struct gp_sqlite {
	struct sqlite3 *db;
	enum gp_status status; /* of the first failure; later calls have no effect */
};
void gp_sqlite_open(struct gp_sqlite *s, const char *path);
/* Ends the transaction. */
void gp_sqlite_close(struct gp_sqlite *s);
void gp_sqlite_run(struct gp_sqlite *s, const char *sql);
/* CREATE TABLE IF NOT EXISTS, with an INTEGER, REAL or TEXT for each column. */
void gp_sqlite_create(struct gp_sqlite *s, const struct gp_table *table);
/* INSERT of a whole row. NULL after a failure. */
struct sqlite3_stmt *gp_sqlite_insert(struct gp_sqlite *s, const struct gp_table *table);
void gp_sqlite_add(struct gp_sqlite *s, struct sqlite3_stmt *insert, const struct gp_value *value,
		   size_t values);
void gp_sqlite_finish(struct sqlite3_stmt *insert);

#endif
