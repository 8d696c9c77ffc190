/*
 * Measures what sqlite3 alone takes to insert rows of `events`: with one row a statement, all
 * parameters bound, and with 32 rows and the changed parameters bound, as the exports do.
 *	insert_rate DATABASE NEW	DATABASE: of `gpuprof export --format sqlite`; NEW: replaced
 */
#include <sqlite3.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define ROWS_MOST 1000000u
#define COLUMNS_MOST 32u

struct value {
	int type; /* SQLITE_NULL, SQLITE_INTEGER, SQLITE_TEXT */
	long long number;
	char *text; /* NULL, or lives until the end; equal neighbours share it */
};

static struct value *value;
static unsigned columns, rows;
static char create[4096];

static double cpu_s(void)
{
	struct timespec t;
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void die(const char *what)
{
	fprintf(stderr, "insert_rate: %s\n", what);
	exit(1);
}

static void read_rows(const char *path)
{
	sqlite3 *in;
	sqlite3_stmt *s;
	if (sqlite3_open_v2(path, &in, SQLITE_OPEN_READONLY, NULL) ||
	    sqlite3_prepare_v2(in, "SELECT sql FROM sqlite_schema WHERE name = 'events'", -1, &s,
			       NULL) ||
	    sqlite3_step(s) != SQLITE_ROW)
		die("no table 'events'");
	snprintf(create, sizeof create, "%s", (const char *)sqlite3_column_text(s, 0));
	sqlite3_finalize(s);
	sqlite3_prepare_v2(in, "SELECT * FROM events", -1, &s, NULL);
	columns = (unsigned)sqlite3_column_count(s);
	value = calloc((size_t)ROWS_MOST * columns, sizeof *value);
	if (!value || columns > COLUMNS_MOST)
		die("too much");
	for (; rows < ROWS_MOST && sqlite3_step(s) == SQLITE_ROW; rows++)
		for (unsigned k = 0; k < columns; k++) {
			struct value *v = &value[(size_t)rows * columns + k];
			const char *text = (const char *)sqlite3_column_text(s, (int)k);
			v->type = sqlite3_column_type(s, (int)k);
			v->number = sqlite3_column_int64(s, (int)k);
			if (text && rows && v[-(int)columns].text &&
			    strcmp(text, v[-(int)columns].text) == 0)
				v->text = v[-(int)columns].text;
			else if (text)
				v->text = strdup(text);
		}
	sqlite3_finalize(s);
	sqlite3_close(in);
}

static bool is_same(const struct value *a, const struct value *b)
{
	return a->type == b->type && a->number == b->number && a->text == b->text;
}

static void bind(sqlite3_stmt *s, int at, const struct value *v)
{
	if (v->type == SQLITE_INTEGER)
		sqlite3_bind_int64(s, at, v->number);
	else if (v->type == SQLITE_TEXT)
		sqlite3_bind_text(s, at, v->text, -1, SQLITE_STATIC);
	else
		sqlite3_bind_null(s, at);
}

/* Microseconds a row. */
static double insert_us(const char *path, unsigned many)
{
	char sql[8192] = "INSERT INTO events VALUES ";
	sqlite3 *out;
	sqlite3_stmt *s;
	const unsigned parameters = many * columns;
	for (unsigned k = 0; k < parameters; k++)
		strcat(sql, k % columns ? ",?" : k ? "),(?" : "(?");
	strcat(sql, ")");
	unlink(path);
	if (sqlite3_open(path, &out) ||
	    sqlite3_exec(out,
			 "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF;"
			 "PRAGMA locking_mode = EXCLUSIVE; PRAGMA cache_size = -16384; BEGIN",
			 NULL, NULL, NULL) ||
	    sqlite3_exec(out, create, NULL, NULL, NULL) ||
	    sqlite3_prepare_v2(out, sql, -1, &s, NULL))
		die(sqlite3_errmsg(out));
	const double start = cpu_s();
	unsigned done = 0;
	for (; done + many <= rows; done += many) {
		const struct value *v = &value[(size_t)done * columns];
		for (unsigned k = 0; k < parameters; k++)
			if (many == 1 || !done || !is_same(&v[k], &v[(int)k - (int)parameters]))
				bind(s, (int)k + 1, &v[k]);
		sqlite3_step(s);
		sqlite3_reset(s);
	}
	sqlite3_finalize(s);
	sqlite3_exec(out, "COMMIT", NULL, NULL, NULL);
	sqlite3_close(out);
	return (cpu_s() - start) * 1e6 / (done ? done : 1);
}

int main(int argc, char **argv)
{
	sqlite3_config(SQLITE_CONFIG_SINGLETHREAD);
	sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0);
	if (argc < 3)
		die("needs DATABASE and NEW");
	read_rows(argv[1]);
	const double one = insert_us(argv[2], 1), many = insert_us(argv[2], 32);
	printf("insert_us_one %.2f\ninsert_us_many %.2f\n", one, many);
	unlink(argv[2]);
	return 0;
}
