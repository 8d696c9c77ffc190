/* Writes a report of `stats` as a table, CSV or JSON, in the layout of `nsys stats`. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "../io/csv.h"
#include "../io/message.h"
#include "../io/screen.h"
#include "stats_report.h"

struct writing {
	struct gp_stats *stats;
	const struct gp_stat_report *report;
	struct gp_stat_cell cell[GP_STAT_COLUMNS];
	size_t width[GP_STAT_COLUMNS];
	char heads[512]; /* of the report, with zeros between them */
	const char *head[GP_STAT_COLUMNS];
	unsigned columns;
	FILE *out;
};

static void row_make(struct writing *w, size_t row)
{
	memset(w->cell, 0, sizeof w->cell);
	w->stats->used = 0;
	w->report->row(w->stats, row, w->cell);
}

/* A number, with commas between thousands for a table. Texts have none. */
static const char *number_text(const struct gp_stat_cell *c, bool has_commas, char out[80])
{
	char plain[400];
	if (c->kind == GP_STAT_REAL)
		snprintf(plain, sizeof plain, "%.*f", c->decimals, c->real);
	else
		snprintf(plain, sizeof plain, "%" PRId64, c->integer);
	const size_t sign = plain[0] == '-', whole = strcspn(plain, ".");
	size_t used = 0;
	for (size_t k = 0; plain[k] != '\0' && used + 2 < 80; k++) {
		if (has_commas && k > sign && k < whole && (whole - k) % 3 == 0)
			out[used++] = ',';
		out[used++] = plain[k];
	}
	out[used] = '\0';
	return out;
}

/* ---- table ---- */

/* Columns of a terminal that a masked text takes. */
static size_t text_width(const char *text)
{
	size_t width = 0;
	for (size_t bytes = strlen(text), n; bytes != 0; text += n, bytes -= n) {
		n = gp_printable(text, bytes);
		width += n != 0 ? 1 : 4;
		n += n == 0;
	}
	return width;
}

static void spaces(FILE *out, size_t count)
{
	fprintf(out, "%*s", (int)count, "");
}

static void table_cell(struct writing *w, unsigned k, bool is_last)
{
	const struct gp_stat_cell *c = &w->cell[k];
	char text[80];
	if (c->kind == GP_STAT_TEXT && is_last) {
		gp_name_print(w->out, c->text);
	} else if (c->kind == GP_STAT_TEXT) {
		gp_mask(w->out, c->text, strlen(c->text));
		spaces(w->out, w->width[k] - text_width(c->text));
	} else if (c->kind != GP_STAT_EMPTY) {
		number_text(c, true, text);
		fprintf(w->out, "%*s", (int)w->width[k], text);
	} else if (!is_last) {
		spaces(w->out, w->width[k]);
	}
}

static void table_heads(struct writing *w)
{
	for (unsigned k = 0; k < w->columns; k++) {
		const size_t gap = w->width[k] - strlen(w->head[k]);
		spaces(w->out, (k ? 2 : 1) + gap / 2);
		fputs(w->head[k], w->out);
		if (k + 1 < w->columns)
			spaces(w->out, gap - gap / 2);
	}
	fputc('\n', w->out);
	for (unsigned k = 0; k < w->columns; k++) {
		fputs(k ? "  " : " ", w->out);
		for (size_t n = 0; n < w->width[k]; n++)
			fputc('-', w->out);
	}
	fputc('\n', w->out);
}

static void table_write(struct writing *w)
{
	char text[80];
	for (unsigned k = 0; k < w->columns; k++)
		w->width[k] = strlen(w->head[k]);
	for (size_t row = 0; row < w->stats->rows; row++) {
		row_make(w, row);
		for (unsigned k = 0; k < w->columns; k++) {
			const struct gp_stat_cell *c = &w->cell[k];
			size_t width = 0;
			if (c->kind == GP_STAT_TEXT)
				width = text_width(c->text);
			else if (c->kind != GP_STAT_EMPTY)
				width = strlen(number_text(c, true, text));
			if (width > w->width[k])
				w->width[k] = width;
		}
	}
	fprintf(w->out, " ** %s (%s):\n\n", w->report->title, w->report->name);
	table_heads(w);
	for (size_t row = 0; row < w->stats->rows; row++) {
		row_make(w, row);
		for (unsigned k = 0; k < w->columns; k++) {
			fputs(k ? "  " : " ", w->out);
			table_cell(w, k, k + 1 == w->columns);
		}
		fputc('\n', w->out);
	}
}

/* ---- for programs ---- */

static void csv_write(struct writing *w)
{
	char text[80];
	for (unsigned k = 0; k < w->columns; k++)
		fprintf(w->out, "%s%s", k ? "," : "", w->head[k]);
	fputc('\n', w->out);
	for (size_t row = 0; row < w->stats->rows; row++) {
		row_make(w, row);
		for (unsigned k = 0; k < w->columns; k++) {
			const struct gp_stat_cell *c = &w->cell[k];
			if (k)
				fputc(',', w->out);
			if (c->kind == GP_STAT_TEXT)
				gp_csv_put(w->out, c->text);
			else if (c->kind != GP_STAT_EMPTY)
				fputs(number_text(c, false, text), w->out);
		}
		fputc('\n', w->out);
	}
}

static void json_write(struct writing *w)
{
	struct gp_json json;
	gp_json_init(&json, w->out, 2);
	json.is_foreign = true;
	gp_json_array(&json, NULL);
	for (size_t row = 0; row < w->stats->rows; row++) {
		row_make(w, row);
		gp_json_object(&json, NULL);
		for (unsigned k = 0; k < w->columns; k++) {
			const struct gp_stat_cell *c = &w->cell[k];
			if (c->kind == GP_STAT_REAL)
				gp_json_decimal(&json, w->head[k], c->real, c->decimals);
			else if (c->kind == GP_STAT_INTEGER)
				gp_json_signed(&json, w->head[k], c->integer);
			else
				gp_json_text(&json, w->head[k], c->text);
		}
		gp_json_end(&json);
	}
	gp_json_end(&json);
}

void gp_stat_write(struct gp_stats *stats, const struct gp_stat_report *report,
		   enum gp_stat_format format, FILE *out)
{
	struct writing w = { .stats = stats, .report = report, .out = out };
	char *rest = w.heads;
	snprintf(w.heads, sizeof w.heads, "%s", report->heads);
	while (rest != NULL && w.columns < GP_STAT_COLUMNS)
		w.head[w.columns++] = strsep(&rest, "|");
	if (format == GP_STAT_JSON)
		json_write(&w);
	else if (format == GP_STAT_CSV)
		csv_write(&w);
	else
		table_write(&w);
}
