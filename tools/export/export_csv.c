/*
 * `--format csv`: one table of tables.def, or `blocks`: lives, each with the columns of its group.
 * Groups come after the lives, so lives wait in a file without a name.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "../io/csv.h"
#include "tables/table_write.h"
#include "write/digits.h"

extern const struct gp_export_format gp_export_format_csv;

static const char *const selections[] = { "blocks",
#define TABLE(name) #name,
#define COLUMN(name, TYPE)
#include "tables/tables.def"
#undef COLUMN
#undef TABLE
					  NULL };

struct csv_sink {
	struct gp_table_sink sink; /* first: the sink of the tables */
	struct gp_export *e;
	FILE *blocks, *out[GP_TABLES]; /* NULL: not selected */
	uint64_t rows;
	FILE *lives;  /* number of the group, line */
	char **group; /* of `blocks`: the line of each group */
	size_t group_room;
};

/* ---- fields ---- */

/* A spreadsheet would compute it: gets an apostrophe in front. */
static bool is_formula(const char *text)
{
	return *text && strchr("=+-@\t\r", *text);
}

static void csv_text(FILE *out, const struct gp_value *value)
{
	char *copy = malloc(value->bytes + 2);
	if (!copy)
		return;
	copy[0] = '\'';
	memcpy(copy + 1, value->text, value->bytes);
	copy[value->bytes + 1] = '\0';
	gp_csv_put(out, is_formula(copy + 1) ? copy : copy + 1);
	free(copy);
}

/* Most texts: a name in which each byte stands for itself. */
static bool is_plain(const struct gp_value *value)
{
	for (size_t k = 0; k < value->bytes; k++) {
		const unsigned char byte = (unsigned char)value->text[k];
		if (byte < 0x20 || byte > 0x7e || byte == '"' || byte == ',')
			return false;
	}
	return value->bytes == 0 || !strchr("=+-@", value->text[0]);
}

static void csv_number(FILE *out, int64_t number)
{
	char digits[GP_DIGITS_MOST + 1] = "-";
	const bool is_negative = number < 0;
	const uint64_t value = is_negative ? -(uint64_t)number : (uint64_t)number;
	const char *end = gp_digits_put(digits + is_negative, value);
	fwrite_unlocked(digits, 1, (size_t)(end - digits), out);
}

static void csv_value(FILE *out, const struct gp_value *value)
{
	if (value->is == GP_VALUE_INTEGER)
		csv_number(out, value->integer);
	else if (value->is == GP_VALUE_REAL)
		fprintf(out, "%.17g", value->real);
	else if (value->is == GP_VALUE_TEXT && is_plain(value))
		fwrite_unlocked(value->text, 1, value->bytes, out);
	else if (value->is == GP_VALUE_TEXT)
		csv_text(out, value);
}

static void csv_values(FILE *out, const struct gp_value *value, size_t values)
{
	for (size_t k = 0; k < values; k++) {
		if (k)
			putc_unlocked(',', out);
		csv_value(out, &value[k]);
	}
}

/* Lines end as RFC 4180 has it. */
static void csv_head(FILE *out, const struct gp_table *table, size_t from)
{
	for (size_t k = from; k < table->columns; k++)
		fprintf(out, "%s%s", k ? "," : "", table->column[k].name);
}

/* ---- lives and their groups ---- */

#define LIFE_OWN 2u /* recording and number: columns that both tables begin with */

static enum gp_status life_keep(struct csv_sink *s, const struct gp_value *value)
{
	fprintf(s->lives, "%" PRId64 " ", value[1].integer);
	csv_values(s->lives, value, gp_table_get(GP_TABLE_lives)->columns);
	fputc('\n', s->lives);
	return ferror(s->lives) ? GP_E_SPACE : GP_OK;
}

static bool groups_reach(struct csv_sink *s, size_t number)
{
	size_t room = s->group_room ? s->group_room : 256;
	while (room <= number)
		room *= 2;
	char **grown = room > s->group_room ? realloc(s->group, room * sizeof *grown) : s->group;
	if (!grown)
		return false;
	if (room > s->group_room)
		memset(grown + s->group_room, 0, (room - s->group_room) * sizeof *grown);
	s->group = grown;
	s->group_room = room;
	return true;
}

static enum gp_status group_keep(struct csv_sink *s, const struct gp_value *value)
{
	const size_t number = (size_t)value[1].integer;
	char *text = NULL;
	size_t bytes;
	FILE *line = groups_reach(s, number) ? open_memstream(&text, &bytes) : NULL;
	if (!line)
		return GP_E_MEMORY;
	csv_values(line, value + LIFE_OWN, gp_table_get(GP_TABLE_groups)->columns - LIFE_OWN);
	const bool is_fine = fclose(line) == 0;
	free(s->group[number]);
	s->group[number] = text;
	return is_fine ? GP_OK : GP_E_MEMORY;
}

/* Writes the lives that were kept; of `blocks` each with its group. */
static enum gp_status lives_write(struct csv_sink *s)
{
	char *line = NULL, *text;
	size_t room = 0;
	ssize_t n;
	rewind(s->lives);
	while ((n = getline(&line, &room, s->lives)) > 0) {
		const size_t number = strtoull(line, &text, 10);
		const char *group = number < s->group_room ? s->group[number] : NULL;
		line[n - 1] = '\0';
		if (s->out[GP_TABLE_lives])
			fprintf(s->out[GP_TABLE_lives], "%s\r\n", text + 1);
		if (s->blocks)
			fprintf(s->blocks, "%s,%s\r\n", text + 1, group ? group : "");
		s->rows += s->out[GP_TABLE_lives] && s->blocks ? 2 : 1;
	}
	free(line);
	return ferror(s->lives) ? GP_E_IO : GP_OK;
}

/* ---- the sink ---- */

static enum gp_status csv_row(struct gp_table_sink *sink, enum gp_table_id table,
			      const struct gp_value *value)
{
	struct csv_sink *s = (struct csv_sink *)sink;
	enum gp_status status = GP_OK;
	if (table == GP_TABLE_lives)
		return s->blocks || s->out[table] ? life_keep(s, value) : GP_OK;
	if (table == GP_TABLE_groups && s->blocks)
		status = group_keep(s, value);
	if (!s->out[table])
		return status;
	csv_values(s->out[table], value, gp_table_get(table)->columns);
	fputs("\r\n", s->out[table]);
	s->rows++;
	return status;
}

static enum gp_status csv_lives_void(struct gp_table_sink *sink)
{
	struct csv_sink *s = (struct csv_sink *)sink;
	if (s->lives)
		fclose(s->lives);
	s->lives = tmpfile();
	return s->lives ? GP_OK : GP_E_SPACE;
}

/*
 * Numbers of stacks and frames are given when they are met, in the order of these tables. So that
 * files of several tables fit together, a table with such a number needs those before it.
 */
static const uint8_t number_order[GP_TABLES] = {
	[GP_TABLE_graphs] = 1, [GP_TABLE_ooms] = 1,	    [GP_TABLE_events] = 2,
	[GP_TABLE_groups] = 3, [GP_TABLE_kernels] = 4,	    [GP_TABLE_stacks] = 5,
	[GP_TABLE_frames] = 5, [GP_TABLE_stack_frames] = 5,
};

static void requests_find(struct csv_sink *s)
{
	unsigned last = 0;
	bool is_selected[GP_TABLES];
	for (unsigned k = 0; k < GP_TABLES; k++) {
		const bool is_joined = k == GP_TABLE_lives || k == GP_TABLE_groups;
		is_selected[k] = s->out[k] || (s->blocks && is_joined);
		if (is_selected[k] && number_order[k] > last)
			last = number_order[k];
	}
	for (unsigned k = 0; k < GP_TABLES; k++)
		s->sink.is_requested[k] = is_selected[k] || (s->e->has_stacks && number_order[k] &&
							     number_order[k] <= last);
}

/* The file of a selection; NULL: it is not written. */
static FILE *csv_file(const struct gp_export *e, size_t selection)
{
	if (e->part)
		return e->part[selection];
	return strcmp(selections[selection], e->select) == 0 ? e->out : NULL;
}

static void csv_begin(struct csv_sink *s)
{
	const bool is_first = s->e->number == 0;
	s->blocks = csv_file(s->e, 0);
	if (s->blocks && is_first) {
		csv_head(s->blocks, gp_table_get(GP_TABLE_lives), 0);
		csv_head(s->blocks, gp_table_get(GP_TABLE_groups), LIFE_OWN);
		fputs("\r\n", s->blocks);
	}
	for (unsigned k = 0; k < GP_TABLES; k++) {
		s->out[k] = csv_file(s->e, 1 + k);
		if (!s->out[k] || !is_first)
			continue;
		csv_head(s->out[k], gp_table_get(k), 0);
		fputs("\r\n", s->out[k]);
	}
	requests_find(s);
}

static enum gp_status export_csv_write(struct gp_export *e)
{
	struct csv_sink s = { .sink = { .row = csv_row, .lives_void = csv_lives_void }, .e = e };
	const uint64_t before = e->entries;
	csv_begin(&s);
	enum gp_status status = gp_tables_write(e, &s.sink);
	if (status == GP_OK && s.lives)
		status = lives_write(&s);
	for (size_t k = 0; k < s.group_room; k++)
		free(s.group[k]);
	e->entries = before + s.rows;
	free(s.group);
	if (s.lives)
		fclose(s.lives);
	return status;
}

const struct gp_export_format gp_export_format_csv = {
	.name = "csv",
	.unit = "rows",
	.opens = "open it with a spreadsheet or pandas",
	.selections = selections,
	.part_ending = ".csv",
	.takes_many = true,
	.is_text = true,
	.write = export_csv_write,
};
