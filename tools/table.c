/*
 * Tables of one row a recording: columns as wide as they must be, the value unlike the others
 * marked.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "amount.h"
#include "message.h"
#include "report.h"
#include "screen.h"
#include "style.h"

struct gp_sheet_row *gp_sheet_add(struct gp_sheet *table, const char *path, const char *more)
{
	if (table->rows == table->capacity) {
		size_t capacity = table->capacity ? 2 * table->capacity : 16;
		struct gp_sheet_row *row = realloc(table->row, capacity * sizeof *row);
		if (!row)
			goto no_memory;
		table->row = row;
		table->capacity = capacity;
	}
	struct gp_sheet_row *row = &table->row[table->rows];
	*row = (struct gp_sheet_row){ .path = path };
	if (asprintf(&row->name, "%s%s", path, more) < 0)
		goto no_memory;
	for (size_t c = 0; c < GP_TABLE_COLUMNS; c++)
		row->cell[c].number = NAN;
	table->rows++;
	return row;
no_memory:
	gp_complain("cannot print the table: out of memory");
	return NULL;
}

bool gp_sheet_name(struct gp_sheet_row *row, const char *path, const char *more)
{
	char *name;
	if (asprintf(&name, "%s%s", path, more) < 0) {
		gp_complain("cannot print the table: out of memory");
		return false;
	}
	free(row->name);
	row->name = name;
	return true;
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

static double median(double *values, size_t n)
{
	qsort(values, n, sizeof *values, compare);
	return n % 2 ? values[n / 2] : (values[n / 2 - 1] + values[n / 2]) / 2;
}

/* Of fewer, a median and its distances do not say what is usual. */
#define OUTLIER_ROWS 4u
/* Times the median distance; Iglewicz and Hoaglin's 3.5 robust deviations are 5.2 of them. */
#define OUTLIER_DISTANCES 5.0
/* Of the median: ranks always differ a little, and of equal ones the median distance is 0. */
#define OUTLIER_SHARE 0.02

/*
 * The row whose number stands out in a column, or SIZE_MAX: the one farthest from the median, if
 * the rule above holds.
 */
static size_t outlier(const struct gp_sheet *table, size_t column)
{
	size_t n = 0, far = SIZE_MAX;
	double *values = malloc((table->rows + 1) * sizeof *values);
	if (!values)
		return far;
	for (size_t r = 0; r < table->rows; r++)
		if (!isnan(table->row[r].cell[column].number))
			values[n++] = table->row[r].cell[column].number;
	if (n >= OUTLIER_ROWS) {
		double middle = median(values, n), most = 0;
		for (size_t k = 0; k < n; k++)
			values[k] = fabs(values[k] - middle);
		double usual = median(values, n);
		for (size_t r = 0; r < table->rows; r++) {
			double d = fabs(table->row[r].cell[column].number - middle);
			if (d > most && d > OUTLIER_DISTANCES * usual &&
			    d > OUTLIER_SHARE * fabs(middle)) {
				most = d;
				far = r;
			}
		}
	}
	free(values);
	return far;
}

static size_t widest(const struct gp_sheet *table, size_t column)
{
	size_t width = strlen(table->title[column]);
	for (size_t r = 0; r < table->rows; r++) {
		size_t n = strlen(table->row[r].cell[column].text);
		width = n > width ? n : width;
	}
	return width;
}

/* What is damaged, else the row with most marks: what to look at first. */
static size_t strangest(const struct gp_sheet *table, const size_t *far)
{
	size_t best = 0, most = 0;
	for (size_t r = 0; r < table->rows; r++) {
		size_t marks = table->row[r].is_damaged ? GP_TABLE_COLUMNS : 0;
		for (size_t c = 0; c < table->columns; c++)
			marks += far[c] == r;
		if (marks > most) {
			most = marks;
			best = r;
		}
	}
	return best;
}

/* What is usual in the column: the text of the row nearest to its median. */
static const char *usual_text(const struct gp_sheet *table, size_t column)
{
	size_t n = 0, best = 0;
	double *values = malloc((table->rows + 1) * sizeof *values);
	if (!values)
		return "not known";
	for (size_t r = 0; r < table->rows; r++)
		if (!isnan(table->row[r].cell[column].number))
			values[n++] = table->row[r].cell[column].number;
	const double middle = median(values, n);
	double least = INFINITY;
	for (size_t r = 0; r < table->rows; r++) {
		double d = fabs(table->row[r].cell[column].number - middle);
		if (d < least) {
			least = d;
			best = r;
		}
	}
	free(values);
	return table->row[best].cell[column].text;
}

/* Before the table: of many rows a reader wants those that differ. */
static void print_outliers(const struct gp_sheet *table, const size_t *far, FILE *out)
{
	for (size_t c = 0; c < table->columns; c++) {
		if (far[c] == SIZE_MAX)
			continue;
		const struct gp_sheet_row *row = &table->row[far[c]];
		fprintf(out, "%soutlier:%s ", gp_on(GP_ROLE_MARK), gp_off());
		gp_name_print(out, row->path);
		fprintf(out, ": %s %s (median %s)\n", table->title[c], row->cell[c].text,
			usual_text(table, c));
	}
}

void gp_sheet_put_step(struct gp_sheet_row *row, size_t column, struct gp_recording *recording)
{
	struct gp_steps steps = { 0 };
	struct gp_cell *cell = &row->cell[column];
	snprintf(cell->text, sizeof cell->text, "-");
	if (gp_steps_find(recording, &steps) == GP_OK && steps.steps && steps.p50_ns >= 0) {
		snprintf(cell->text, sizeof cell->text, "%.40s", gp_ns_text(steps.p50_ns).s);
		cell->number = (double)steps.p50_ns;
	}
	gp_steps_free(&steps);
}

static void print_cell(FILE *out, const char *text, int width, bool is_far)
{
	if (is_far)
		fprintf(out, "%s%*s*%s ", gp_on(GP_ROLE_MARK), width, text, gp_off());
	else
		fprintf(out, "%*s  ", width, text);
}

void gp_sheet_print(const struct gp_sheet *table, FILE *out)
{
	size_t width[GP_TABLE_COLUMNS], far[GP_TABLE_COLUMNS];
	bool has_outlier = false;
	for (size_t c = 0; c < table->columns; c++) {
		width[c] = widest(table, c);
		far[c] = outlier(table, c);
		has_outlier = has_outlier || far[c] != SIZE_MAX;
	}
	print_outliers(table, far, out);
	for (size_t c = 0; c < table->columns; c++)
		fprintf(out, "%*s  ", (int)width[c], table->title[c]);
	fputs("recording\n", out);
	for (size_t r = 0; r < table->rows; r++) {
		const struct gp_sheet_row *row = &table->row[r];
		for (size_t c = 0; c < table->columns; c++)
			print_cell(out, row->cell[c].text, (int)width[c], far[c] == r);
		gp_name_print(out, row->name);
		fputc('\n', out);
	}
	if (has_outlier)
		fprintf(out, "%s*%s outlier\n", gp_on(GP_ROLE_MARK), gp_off());
	if (!table->rows)
		return;
	const struct gp_sheet_row *row = &table->row[strangest(table, far)];
	gp_next_print(out, row->is_damaged ? "verify" : table->next, row->path);
}

void gp_sheet_release(struct gp_sheet *table)
{
	for (size_t r = 0; r < table->rows; r++)
		free(table->row[r].name);
	free(table->row);
	*table = (struct gp_sheet){ 0 };
}
