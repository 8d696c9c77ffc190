/*
 * A new SQLite database in an empty file that is thrown away after a failure: without a journal,
 * one transaction, and prepared inserts.
 */
#ifndef GP_SQLITE_FILE_H
#define GP_SQLITE_FILE_H

#include "tables.h"

struct sqlite3;
struct gp_sqlite_insert;

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
/*
 * INSERT of whole rows. Several rows go into one statement, because a statement for each row costs
 * twice the time. NULL after a failure.
 */
struct gp_sqlite_insert *gp_sqlite_insert(struct gp_sqlite *s, const struct gp_table *table);
/* Takes a copy of the values. The row is in the table after gp_sqlite_flush at the latest. */
void gp_sqlite_add(struct gp_sqlite *s, struct gp_sqlite_insert *insert,
		   const struct gp_value *value, size_t values);
void gp_sqlite_flush(struct gp_sqlite_insert *insert);
/* Flushes, too. Before gp_sqlite_close. */
void gp_sqlite_finish(struct gp_sqlite_insert *insert);

#endif
