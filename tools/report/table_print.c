/*
 * A table of recordings as text: the findings first, then as many columns as fit.
 */
#include <stdlib.h>
#include <string.h>

#include "../io/amount.h"
#include "../io/line_fit.h"
#include "../io/message.h"
#include "../io/screen.h"
#include "../io/style.h"
#include "outlier.h"
#include "report.h"
#include "table.h"

/* ---- findings ---- */

/* Of a column; SIZE_MAX: no such row. */
struct found {
	size_t far;	/* the outlier; in a column of faults the named row */
	size_t usual;	/* the row nearest to the median */
	size_t faults;	/* recordings with a fault */
	bool is_higher; /* the outlier is above the median */
	bool is_unsure; /* moments of faults have several clocks */
};

/* The row farthest from the median, if it is an outlier. */
static void find_outlier(const struct gp_report_table *table, size_t column, struct found *out)
{
	double *values = malloc((table->rows + 1) * sizeof *values);
	for (size_t r = 0; values && r < table->rows; r++)
		values[r] = table->row[r].cell[column].number;
	const struct gp_outlier found = gp_outlier_find(values, values ? table->rows : 0);
	out->far = found.far;
	out->usual = found.usual;
	out->is_higher = found.is_higher;
	free(values);
}

static bool is_fault(const struct gp_report_table *table, size_t column, size_t row)
{
	return table->fault[column].label && table->row[row].cell[column].number > 0;
}

/* Sets clock_ns of the moments of faults, and `before` to it. */
static void find_moments(const struct gp_report_table *table, size_t column, struct found *out)
{
	struct gp_rank_moment *moment = malloc((table->rows + 1) * sizeof *moment);
	size_t count = 0;
	for (size_t r = 0; moment && r < table->rows; r++)
		if (is_fault(table, column, r))
			moment[count++] = table->row[r].cell[column].moment;
	out->is_unsure = moment && !gp_rank_moments_align(moment, count, sizeof *moment);
	for (size_t r = table->rows; moment && r-- > 0;)
		if (is_fault(table, column, r))
			table->row[r].cell[column].before = moment[--count].clock_ns;
	free(moment);
}

static void find_faults(const struct gp_report_table *table, size_t column, struct found *out)
{
	if (table->fault[column].has_moment)
		find_moments(table, column, out);
	for (size_t r = 0; r < table->rows; r++) {
		if (!is_fault(table, column, r))
			continue;
		out->faults += r == 0 || table->row[r].path != table->row[r - 1].path ||
			       !is_fault(table, column, r - 1);
		if (out->far == SIZE_MAX ||
		    table->row[r].cell[column].before < table->row[out->far].cell[column].before)
			out->far = r;
	}
}

static void find_all(const struct gp_report_table *table, struct found found[GP_TABLE_COLUMNS])
{
	for (size_t c = 0; c < table->columns; c++) {
		found[c] = (struct found){ .far = SIZE_MAX, .usual = SIZE_MAX };
		if (table->fault[c].label)
			find_faults(table, c, &found[c]);
		else
			find_outlier(table, c, &found[c]);
	}
}

/* The row with the highest number above 0 in a column. *is_one: the highest number is unique. */
static size_t find_highest_of(const struct gp_report_table *table, size_t column, bool *is_one)
{
	size_t highest = SIZE_MAX;
	double most = 0;
	for (size_t r = 0; r < table->rows; r++) {
		double number = table->row[r].cell[column].number;
		*is_one = number > most || (*is_one && number != most);
		if (number > most) {
			highest = r;
			most = number;
		}
	}
	return highest;
}

/* Of the first column with such a number; SIZE_MAX: none, or it is not unique. */
static size_t find_highest(const struct gp_report_table *table)
{
	for (size_t c = 0; c < table->columns; c++) {
		bool is_one = false;
		const size_t row = find_highest_of(table, c, &is_one);
		if (row != SIZE_MAX)
			return is_one ? row : SIZE_MAX;
	}
	return SIZE_MAX;
}

/* ---- lines ---- */

/* Includes the device if a recording has several rows. */
static void print_row_name(const struct gp_report_table *table, size_t r, FILE *out)
{
	gp_report_table_name_print(table, table->row[r].path, out);
	if (table->rows > table->recordings && table->row[r].part[0])
		fprintf(out, " %s", table->row[r].part);
}

/* "leak: rank-23, 128 KiB a step", "first OOM: rank-41, at 39.3 ms (...); 1 more recording" */
static void print_fault(const struct gp_report_table *table, size_t c, const struct found *found,
			FILE *out)
{
	const struct gp_fault *fault = &table->fault[c];
	const struct gp_cell *cell = &table->row[found->far].cell[c];
	fprintf(out, "%s%s:%s ", gp_on(GP_ROLE_BAD), fault->label, gp_off());
	print_row_name(table, found->far, out);
	if (fault->unit)
		fprintf(out, ", %s%s", cell->text, fault->unit);
	if (fault->has_moment)
		fprintf(out, ", at %s", gp_report_table_moment_text(&cell->moment).s);
	if (found->faults > 1)
		fprintf(out, "; %s", gp_plural(found->faults - 1, "more recording").s);
	fputc('\n', out);
	if (found->is_unsure)
		fputs(gp_rank_order_unsure, out);
}

static void print_outlier(const struct gp_report_table *table, size_t c, const struct found *found,
			  FILE *out)
{
	fprintf(out, "%soutlier:%s ", gp_on(GP_ROLE_MARK), gp_off());
	print_row_name(table, found->far, out);
	fprintf(out, ": %s %s (median %s)\n", table->title[c], table->row[found->far].cell[c].text,
		table->row[found->usual].cell[c].text);
}

/* Printed above the table, because in a long table only the rows that differ matter. */
static void print_findings(const struct gp_report_table *table, const struct found *found,
			   FILE *out)
{
	gp_report_table_flaws_print(table, out);
	for (size_t c = 0; c < table->columns; c++)
		if (table->fault[c].label && found[c].far != SIZE_MAX)
			print_fault(table, c, &found[c], out);
	for (size_t c = 0; c < table->columns; c++)
		if (!table->fault[c].label && found[c].far != SIZE_MAX)
			print_outlier(table, c, &found[c], out);
}

static bool print_damaged_next(const struct gp_report_table *table, FILE *out)
{
	const struct gp_flaw *damaged = &table->flaw[GP_FLAW_DAMAGED];
	if (damaged->recordings)
		gp_next_print(out, "verify", damaged->path);
	return damaged->recordings > 0;
}

bool gp_report_table_none_print(const struct gp_report_table *table, const char *what,
				const char *tail, FILE *out)
{
	gp_report_table_flaws_print(table, out);
	fprintf(out, "%s in %zu recordings%s\n", what, table->recordings, tail);
	return print_damaged_next(table, out);
}

static void table_print_next(const struct gp_report_table *table, const struct found *found,
			     FILE *out)
{
	const size_t highest = find_highest(table);
	size_t row = SIZE_MAX;
	if (print_damaged_next(table, out))
		return;
	for (size_t c = 0; c < table->columns; c++) {
		if (!table->fault[c].label || found[c].far == SIZE_MAX)
			continue;
		gp_next_print(out, table->fault[c].next, table->row[found[c].far].path);
		return;
	}
	if (table->next_path) {
		gp_next_print(out, table->next, table->next_path);
		return;
	}
	/* a lower number than usual is a rank that ended early, or did less */
	for (size_t c = table->columns; c-- > 0;)
		if (found[c].far != SIZE_MAX && found[c].is_higher)
			row = found[c].far;
	row = row == SIZE_MAX ? highest : row;
	if (row != SIZE_MAX)
		gp_next_print(out, table->next, table->row[row].path);
}

/* ---- columns ---- */

#define BETWEEN 2u /* between columns of the table; the first is for the mark of an outlier */

struct layout {
	size_t width[GP_TABLE_COLUMNS];
	bool is_shown[GP_TABLE_COLUMNS];
	bool has_left_out;
};

static size_t display_width(const char *text)
{
	return gp_display_width(text, strlen(text));
}

/* Width of the text after the columns. A note may be cut. */
static size_t row_end_width(const struct gp_report_table *table, const struct gp_report_row *row)
{
	char *text = NULL;
	size_t bytes = 0, width = strlen(row->path);
	FILE *name = open_memstream(&text, &bytes);
	if (name) {
		gp_report_table_name_print(table, row->path, name);
		if (fclose(name) == 0)
			width = gp_display_width(text, bytes);
		free(text);
	}
	const size_t parts[] = { strlen(row->part), strlen(row->state.s),
				 row->note ? gp_name_least(row->note) : 0 };
	for (size_t k = 0; k < sizeof parts / sizeof *parts; k++)
		width += parts[k] ? parts[k] + BETWEEN : 0;
	return width;
}

static size_t column_width(const struct gp_report_table *table, size_t column, bool *is_known)
{
	size_t width = strlen(table->title[column]);
	*is_known = false;
	for (size_t r = 0; r < table->rows; r++) {
		const char *text = table->row[r].cell[column].text;
		size_t n = display_width(text);
		width = n > width ? n : width;
		*is_known |= strcmp(text, "-") != 0;
	}
	return width;
}

/* Chooses the columns that fit, in order. Columns without figures come last. */
static void layout_find(const struct gp_report_table *table, struct layout *out)
{
	const size_t limit = gp_screen_columns();
	bool is_known[GP_TABLE_COLUMNS];
	size_t used = strlen("recording");
	*out = (struct layout){ .has_left_out = false };
	for (size_t r = 0; r < table->rows; r++) {
		size_t n = row_end_width(table, &table->row[r]);
		used = n > used ? n : used;
	}
	for (size_t c = 0; c < table->columns; c++)
		out->width[c] = column_width(table, c, &is_known[c]);
	for (size_t k = 0; k < 2 * table->columns; k++) {
		const size_t c = k % table->columns, width = out->width[c] + BETWEEN;
		if (is_known[c] != (k < table->columns))
			continue;
		out->is_shown[c] = !limit || used + width <= limit || c == 0;
		out->has_left_out |= !out->is_shown[c];
		used += out->is_shown[c] ? width : 0;
	}
}

static void print_padded(FILE *out, const char *text, size_t width, bool is_left)
{
	const size_t n = display_width(text);
	const int room = (int)(width > n ? width - n : 0);
	fprintf(out, "%*s%s%*s", is_left ? 0 : room, "", text, is_left ? room : 0, "");
}

static void table_print_row(const struct gp_report_table *table, size_t r,
			    const struct layout *layout, const struct found *found, FILE *out)
{
	const struct gp_report_row *row = &table->row[r];
	for (size_t c = 0; c < table->columns; c++) {
		const bool is_bad = is_fault(table, c, r);
		const bool is_far = !table->fault[c].label && found[c].far == r;
		if (!layout->is_shown[c])
			continue;
		fputs(is_bad ? gp_on(GP_ROLE_BAD) : is_far ? gp_on(GP_ROLE_MARK) : "", out);
		print_padded(out, row->cell[c].text, layout->width[c], table->is_text[c]);
		fprintf(out, "%s%s ", is_far ? "*" : " ", is_bad || is_far ? gp_off() : "");
	}
	gp_report_table_name_print(table, row->path, out);
	if (row->part[0])
		fprintf(out, "  %s", row->part);
	if (row->state.s[0])
		fprintf(out, "  %s%s%s", gp_on(GP_ROLE_BAD), row->state.s, gp_off());
	if (row->note) {
		fputs("  ", out);
		gp_name_print(out, row->note);
	}
	fputc('\n', out);
}

static void print_left_out(const struct gp_report_table *table, const struct layout *layout,
			   FILE *out)
{
	const char *before = "--wide adds ";
	for (size_t c = 0; c < table->columns; c++) {
		if (layout->is_shown[c])
			continue;
		fprintf(out, "%s%s", before, table->title[c]);
		before = ", ";
	}
	fputc('\n', out);
}

static void print_rows(const struct gp_report_table *table, const struct found *found, FILE *out)
{
	struct layout layout;
	bool has_outlier = false;
	layout_find(table, &layout);
	for (size_t c = 0; c < table->columns; c++) {
		if (!layout.is_shown[c])
			continue;
		print_padded(out, table->title[c], layout.width[c], table->is_text[c]);
		fputs("  ", out);
		has_outlier |= !table->fault[c].label && found[c].far != SIZE_MAX;
	}
	fputs("recording\n", out);
	for (size_t r = 0; r < table->rows; r++)
		table_print_row(table, r, &layout, found, out);
	if (has_outlier)
		fprintf(out, "%s*%s outlier\n", gp_on(GP_ROLE_MARK), gp_off());
	if (layout.has_left_out)
		print_left_out(table, &layout, out);
}

void gp_report_table_rows_print(const struct gp_report_table *table, FILE *out)
{
	struct found found[GP_TABLE_COLUMNS];
	find_all(table, found);
	print_rows(table, found, out);
}

void gp_report_table_print(const struct gp_report_table *table, FILE *out)
{
	struct found found[GP_TABLE_COLUMNS];
	find_all(table, found);
	print_findings(table, found, out);
	print_rows(table, found, out);
	table_print_next(table, found, out);
}
