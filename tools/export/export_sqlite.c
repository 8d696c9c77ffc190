/*
 * `--format sqlite`: the tables of tables.def in a database, and views for common questions, which
 * sqlite_views.def has.
 */
#include <stdlib.h>

#include "tables/sqlite_file.h"
#include "tables/table_write.h"

extern const struct gp_export_format gp_export_format_sqlite;

struct sqlite_sink {
	struct gp_table_sink sink; /* first: the sink of the tables */
	struct gp_sqlite file;
	struct gp_sqlite_insert *insert[GP_TABLES];
	int64_t recording;
};

static const struct {
	const char *name, *sql;
} views[] = {
#define VIEW(name, sql) { #name, sql },
#include "tables/sqlite_views.def"
#undef VIEW
};

static enum gp_status sqlite_row(struct gp_table_sink *sink, enum gp_table_id table,
				 const struct gp_value *value)
{
	struct sqlite_sink *s = (struct sqlite_sink *)sink;
	gp_sqlite_add(&s->file, s->insert[table], value, gp_table_get(table)->columns);
	return s->file.status;
}

static enum gp_status sqlite_lives_void(struct gp_table_sink *sink)
{
	struct sqlite_sink *s = (struct sqlite_sink *)sink;
	char sql[96];
	snprintf(sql, sizeof sql, "DELETE FROM lives WHERE recording = %lld",
		 (long long)s->recording);
	gp_sqlite_flush(s->insert[GP_TABLE_lives]);
	gp_sqlite_run(&s->file, sql);
	return s->file.status;
}

static void views_create(struct gp_sqlite *file)
{
	char sql[4096];
	for (size_t k = 0; k < sizeof views / sizeof *views; k++) {
		snprintf(sql, sizeof sql, "CREATE VIEW IF NOT EXISTS \"%s\" AS %s", views[k].name,
			 views[k].sql);
		gp_sqlite_run(file, sql);
	}
}

static enum gp_status export_sqlite_write(struct gp_export *e)
{
	struct sqlite_sink s = { .sink = { .row = sqlite_row, .lives_void = sqlite_lives_void },
				 .recording = (int64_t)e->number + 1 };
	gp_sqlite_open(&s.file, e->path);
	for (unsigned k = 0; k < GP_TABLES; k++) {
		s.sink.is_requested[k] = true;
		gp_sqlite_create(&s.file, gp_table_get(k));
		s.insert[k] = gp_sqlite_insert(&s.file, gp_table_get(k));
	}
	views_create(&s.file);
	const enum gp_status status = s.file.status ? GP_OK : gp_tables_write(e, &s.sink);
	for (unsigned k = 0; k < GP_TABLES; k++)
		gp_sqlite_finish(s.insert[k]);
	gp_sqlite_close(&s.file);
	return s.file.status ? s.file.status : status;
}

const struct gp_export_format gp_export_format_sqlite = {
	.name = "sqlite",
	.unit = "rows",
	.opens = "open it with sqlite3 or any reader of SQLite",
	.takes_many = true,
	.is_own_file = true,
	.write = export_sqlite_write,
};
