/*
 * Rows of a table, and the names of recordings in it.
 */
#include "table.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../io/amount.h"
#include "../io/message.h"
#include "../io/style.h"
#include "report.h"

/* ---- recordings ---- */

static const char *const flaw_labels[GP_FLAWS] = {
	[GP_FLAW_DAMAGED] = "damaged",
	[GP_FLAW_INCOMPLETE] = "not complete",
	[GP_FLAW_LOST] = "lost",
};

static uint64_t lost_of(const struct gp_info *info)
{
	return info->lost_memory + info->lost_launch + info->lost_other + info->nested;
}

static void flaw_add(struct gp_flaw *flaw, const char *path, uint64_t events)
{
	if (!flaw->recordings++ || events > flaw->most) {
		flaw->path = path;
		flaw->most = events;
	}
	flaw->events += events;
}

static size_t folder_length(const char *path)
{
	const char *slash = strrchr(path, '/');
	return slash ? (size_t)(slash - path) + 1 : 0;
}

/* The common beginning, up to a slash. */
static size_t folder_common(const char *a, const char *b, size_t length)
{
	size_t common = 0;
	for (size_t k = 0; k < length && a[k] == b[k]; k++)
		if (a[k] == '/')
			common = k + 1;
	return common;
}

void gp_report_table_see(struct gp_report_table *table, const char *path,
			 const struct gp_info *info)
{
	const uint64_t lost = lost_of(info);
	if (!table->recordings++) {
		table->first = path;
		table->folder_length = folder_length(path);
	}
	table->folder_length = folder_common(table->first, path, table->folder_length);
	if (info->is_damaged)
		flaw_add(&table->flaw[GP_FLAW_DAMAGED], path, 0);
	else if (!info->is_complete && !info->is_running)
		flaw_add(&table->flaw[GP_FLAW_INCOMPLETE], path, 0);
	if (lost)
		flaw_add(&table->flaw[GP_FLAW_LOST], path, lost);
}

void gp_report_table_name_print(const struct gp_report_table *table, const char *path, FILE *out)
{
	const char *name = path + table->folder_length;
	const size_t n = strlen(name);
	const bool has_suffix = n > 4 && strcmp(name + n - 4, ".gpr") == 0;
	gp_mask(out, name, n - (has_suffix ? 4 : 0));
}

void gp_report_table_flaws_print(const struct gp_report_table *table, FILE *out)
{
	for (size_t k = 0; k < GP_FLAWS; k++) {
		const struct gp_flaw *flaw = &table->flaw[k];
		if (!flaw->recordings)
			continue;
		fprintf(out, "%s%s:%s ", gp_on(GP_ROLE_BAD), flaw_labels[k], gp_off());
		gp_report_table_name_print(table, flaw->path, out);
		if (flaw->recordings > 1)
			fprintf(out, " and %s",
				gp_plural(flaw->recordings - 1, "more recording").s);
		if (flaw->events)
			fprintf(out, ", %s", gp_plural(flaw->events, "event").s);
		fputc('\n', out);
	}
}

/* ---- rows ---- */

struct gp_report_row *gp_report_table_append(struct gp_report_table *table, const char *path)
{
	if (table->rows == table->capacity) {
		size_t capacity = table->capacity ? 2 * table->capacity : 16;
		struct gp_report_row *row = realloc(table->row, capacity * sizeof *row);
		if (!row) {
			gp_error("cannot print the table: out of memory");
			return NULL;
		}
		table->row = row;
		table->capacity = capacity;
	}
	struct gp_report_row *row = &table->row[table->rows++];
	*row = (struct gp_report_row){ .path = path };
	for (size_t c = 0; c < GP_TABLE_COLUMNS; c++)
		gp_cell_put(&row->cell[c], NAN, "-");
	return row;
}

struct gp_text gp_report_table_state_of(const struct gp_info *info)
{
	struct gp_text state = { "" };
	if (info->is_damaged)
		snprintf(state.s, sizeof state.s, "damaged");
	else if (lost_of(info))
		snprintf(state.s, sizeof state.s, "%.30s lost", gp_count_text(lost_of(info)).s);
	else if (info->is_running)
		snprintf(state.s, sizeof state.s, "running");
	else if (!info->is_complete)
		snprintf(state.s, sizeof state.s, "not complete");
	return state;
}

bool gp_report_table_begin(struct gp_report_table *table, const char *path,
			   const struct gp_info *info)
{
	gp_report_table_see(table, path, info);
	struct gp_report_row *row = gp_report_table_append(table, path);
	if (!row)
		return false;
	row->state = gp_report_table_state_of(info);
	table->is_begun = true;
	return true;
}

struct gp_report_row *gp_report_table_add(struct gp_report_table *table, const char *part)
{
	struct gp_report_row *row = &table->row[table->rows - 1];
	if (!table->is_begun) {
		row = gp_report_table_append(table, row->path);
		if (!row)
			return NULL;
		row->state = row[-1].state;
	}
	table->is_begun = false;
	snprintf(row->part, sizeof row->part, "%s", part);
	return row;
}

bool gp_report_table_note(struct gp_report_row *row, const char *note)
{
	char *copy = strdup(note);
	if (!copy) {
		gp_error("cannot print the table: out of memory");
		return false;
	}
	free(row->note);
	row->note = copy;
	return true;
}

void gp_report_table_release(struct gp_report_table *table)
{
	for (size_t r = 0; r < table->rows; r++)
		free(table->row[r].note);
	free(table->row);
	*table = (struct gp_report_table){ 0 };
}

/* ---- cells ---- */

void gp_cell_put(struct gp_cell *cell, double number, const char *text)
{
	cell->number = number;
	snprintf(cell->text, sizeof cell->text, "%s", text);
}

void gp_cell_put_bytes(struct gp_cell *cell, uint64_t bytes)
{
	gp_cell_put(cell, (double)bytes, gp_bytes_text(bytes).s);
}

void gp_cell_put_least(struct gp_cell *cell, uint64_t bytes, bool is_at_least)
{
	char text[sizeof cell->text];
	snprintf(text, sizeof text, "%s%.40s", is_at_least ? ">= " : "", gp_bytes_text(bytes).s);
	gp_cell_put(cell, (double)bytes, text);
}

void gp_cell_put_count(struct gp_cell *cell, uint64_t count)
{
	gp_cell_put(cell, (double)count, gp_count_text(count).s);
}

struct gp_text gp_report_table_moment_text(const struct gp_rank_moment *moment)
{
	return gp_moment_text(moment->at_ns, moment->start.unix_ns + (uint64_t)moment->at_ns);
}

void gp_cell_put_step(struct gp_cell *cell, const struct gp_steps *steps)
{
	if (steps->steps && steps->p50_ns >= 0)
		gp_cell_put(cell, (double)steps->p50_ns, gp_ns_text(steps->p50_ns).s);
}

void gp_cell_put_ooms(struct gp_cell *cell, const struct gp_info *info, uint64_t ooms,
		      int64_t first_ns)
{
	if (ooms || gp_has_all_ooms(info))
		gp_cell_put_count(cell, ooms);
	cell->moment = (struct gp_rank_moment){ gp_rank_start_of(info), first_ns, 0 };
}
