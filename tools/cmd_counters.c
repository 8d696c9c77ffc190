/*
 * `gpuprof counters`: hardware counters of kernels, a row for each kernel and launch shape, and
 * what limits it; or counters of a GPU over time.
 */
#include <math.h>
#include <string.h>

#include "counters/samples_report.h"
#include "io/amount.h"
#include "io/screen.h"
#include "report/again.h"
#include "report/reading.h"
#include "report/use_report.h"

#define TOP_DEFAULT 20u
#define ALL_COLUMNS 100u /* with a short name */

struct counters {
	struct gp_reading r;
	struct gp_samples samples; /* of the recording, if it has no kernels */
	int64_t from_ns, to_ns;
	bool is_csv;
	bool has_all;	 /* print each metric below its row */
	bool has_values; /* in one of many recordings at least */
};

static size_t counters_shown(const struct counters *c, size_t rows)
{
	return c->r.top && rows > c->r.top ? (size_t)c->r.top : rows;
}

/* ---- for a person ---- */

static void share_print(FILE *out, double share, unsigned width)
{
	if (isnan(share))
		fprintf(out, "%*s ", (int)width, "-");
	else
		fprintf(out, "%*.1f%% ", (int)width - 1, 100 * share);
}

/* Whether the first row is the kernel with the longest launch, and its limit is known. */
static bool is_answer(const struct gp_counter_row *first)
{
	return first->bound != GP_BOUND_UNKNOWN && !isnan(first->time_ns);
}

/* The first line without values, and with no reason for that the command which records them. */
static void lack_print(const struct counters *c, const struct gp_counters *k)
{
	FILE *out = c->r.out;
	const bool is_sampled = k->is_accepted && k->why && strstr(k->why, "; a sample every ");
	fputs(is_sampled     ? ": no sample was recorded" :
	      k->is_accepted ? ": no kernel was measured" :
			       ": no counters were recorded",
	      out);
	if (k->why && !is_sampled) {
		const char *launches = k->is_accepted ? strstr(k->why, "; ") : NULL;
		fputs(": ", out);
		gp_name_print(out, launches ? launches + 2 : k->why);
		fputs(k->is_accepted ? " of one kernel and launch shape" : "", out);
	}
	fputc('\n', out);
	gp_headline_print(out, c->r.info);
	if (!k->why)
		gp_again_print(out, c->r.info, GP_LACK_COUNTERS);
}

static void answer_print(const struct counters *c, const struct gp_counters *k)
{
	FILE *out = c->r.out;
	gp_name_print(out, c->r.path);
	if (!k->has_values) {
		lack_print(c, k);
		return;
	}
	const struct gp_counter_row *first = &k->row[0];
	if (is_answer(first)) {
		const bool is_bound = first->bound != GP_BOUND_NEITHER;
		fputs(": ", out);
		gp_name_print(out, first->key);
		fprintf(out, " takes longest a launch: %s%s, %.0f%% of its roof\n",
			is_bound ? "bound by " : "not bound by SM, DRAM or L2",
			is_bound ? gp_bound_names[first->bound] : "", 100 * first->roof);
	} else {
		fprintf(out, ": counters of %s\n", gp_plural(k->rows, "kernel").s);
	}
	gp_headline_print(out, c->r.info);
	if (k->why) {
		gp_name_print(out, k->why);
		fputc('\n', out);
	}
	if (k->beyond)
		fprintf(out, "%s beyond the memory for a report\n",
			gp_plural(k->beyond, "value").s);
}

static void shape_print(FILE *out, const struct gp_counter_row *row)
{
	fprintf(out, "%llux%llux%llu, %llux%llux%llu", (unsigned long long)(row->grid & 0xffffffff),
		(unsigned long long)(row->grid >> 32 & 0xffff),
		(unsigned long long)(row->grid >> 48), (unsigned long long)(row->block & 0xffff),
		(unsigned long long)(row->block >> 16 & 0xffff),
		(unsigned long long)(row->block >> 32 & 0xffff));
}

/* Whether a column of the table has a value, apart from count and roof. */
static bool has_figure(const struct gp_counter_row *row)
{
	return !isnan(row->time_ns) || !isnan(row->compute) || !isnan(row->memory) ||
	       !isnan(row->l2) || !isnan(row->active_warps) || !isnan(row->intensity);
}

static void metrics_print(FILE *out, const struct gp_counters *k, const struct gp_counter_row *row)
{
	for (size_t m = 0; m < k->metrics; m++) {
		if (!k->metric[m] || isnan(row->value[m]))
			continue;
		fprintf(out, "    %16.6g  ", row->value[m]);
		gp_name_print(out, k->metric[m]);
		fputc('\n', out);
	}
}

static void row_print(FILE *out, const struct gp_counter_row *row, bool is_narrow)
{
	fprintf(out, "%10s ",
		isnan(row->time_ns) ? "-" :
				      gp_ns_text((int64_t)fmin(fmax(row->time_ns, 0), 9e18)).s);
	if (!is_narrow)
		fprintf(out, "%5s ", gp_count_text(row->count).s);
	share_print(out, row->compute, 6);
	share_print(out, row->memory, 6);
	if (!is_narrow) {
		share_print(out, row->l2, 6);
		share_print(out, row->active_warps, 6);
	}
	if (!is_narrow && isnan(row->intensity))
		fprintf(out, "%9s ", "-");
	else if (!is_narrow)
		fprintf(out, "%9.2f ", row->intensity);
	fprintf(out, "%-8s ", gp_bound_names[row->bound]);
	share_print(out, row->roof, 6);
	fputc(' ', out);
	gp_name_print(out, row->key);
	fputs(" (", out);
	shape_print(out, row);
	fputs(")\n", out);
}

static void rows_print(const struct counters *c, const struct gp_counters *k)
{
	const bool is_narrow = gp_screen_is_below(ALL_COLUMNS);
	FILE *out = c->r.out;
	fprintf(out, "\n      time %s    SM   DRAM %sbound by   roof  kernel\n",
		is_narrow ? "" : "count ", is_narrow ? "" : "    L2  warps flop/byte ");
	for (size_t n = 0; n < counters_shown(c, k->rows); n++) {
		row_print(out, &k->row[n], is_narrow);
		if (c->has_all || !has_figure(&k->row[n]))
			metrics_print(out, k, &k->row[n]);
	}
	if (k->rows > counters_shown(c, k->rows))
		fprintf(out, "  %s; --top 0 shows all\n",
			gp_plural(k->rows - counters_shown(c, k->rows), "more row").s);
}

static void samples_show(const struct counters *c, const struct gp_counters *k)
{
	FILE *out = c->r.out;
	const struct gp_samples *s = &c->samples;
	const int64_t end_ns = (int64_t)c->r.info->duration_ns;
	char brief[GP_SAMPLES_BRIEF];
	gp_samples_brief(s, &s->device[0], brief);
	gp_name_print(out, c->r.path);
	fputs(": on average ", out);
	gp_name_print(out, brief);
	fputc('\n', out);
	gp_headline_print(out, c->r.info);
	if (k->why) {
		gp_name_print(out, k->why);
		fputc('\n', out);
	}
	if (s->beyond)
		fprintf(out, "%s beyond the memory for a report\n",
			gp_plural(s->beyond, "sample").s);
	for (size_t n = 0; n < s->devices; n++)
		gp_samples_print(out, s, &s->device[n], c->from_ns > 0 ? c->from_ns : 0,
				 c->to_ns < end_ns ? c->to_ns : end_ns);
}

/* ---- for a program ---- */

static void row_write(struct gp_json *json, const struct gp_counters *k,
		      const struct gp_counter_row *row)
{
	gp_json_object(json, NULL);
	gp_json_text(json, "name", row->key);
	gp_json_text(json, "symbol", row->name);
	gp_json_array(json, "grid");
	gp_json_number(json, NULL, row->grid & 0xffffffff);
	gp_json_number(json, NULL, row->grid >> 32 & 0xffff);
	gp_json_number(json, NULL, row->grid >> 48);
	gp_json_end(json);
	gp_json_array(json, "block");
	for (unsigned at = 0; at < 48; at += 16)
		gp_json_number(json, NULL, row->block >> at & 0xffff);
	gp_json_end(json);
	gp_json_number(json, "dynamic_shared_bytes", row->shared_bytes);
	gp_json_number(json, "count", row->count);
	gp_json_number(json, "passes", row->passes);
	gp_json_real(json, "time_ns", row->time_ns);
	gp_json_real(json, "compute", row->compute);
	gp_json_real(json, "memory", row->memory);
	gp_json_real(json, "l2", row->l2);
	gp_json_real(json, "active_warps", row->active_warps);
	gp_json_real(json, "dram_bytes", row->bytes);
	gp_json_real(json, "operations", row->operations);
	gp_json_real(json, "intensity", row->intensity);
	gp_json_real(json, "roof", row->roof);
	gp_json_text(json, "bound", row->bound ? gp_bound_names[row->bound] : NULL);
	gp_json_array(json, "metrics");
	for (size_t m = 0; m < k->metrics; m++) {
		if (!k->metric[m])
			continue;
		gp_json_object(json, NULL);
		gp_json_text(json, "name", k->metric[m]);
		gp_json_real(json, "value", row->value[m]);
		gp_json_end(json);
	}
	gp_json_end(json);
	gp_json_end(json);
}

static void counters_write(struct counters *c, const struct gp_counters *k)
{
	struct gp_json *json = &c->r.json;
	gp_json_object(json, NULL);
	gp_use_head_write(json, c->r.path, c->r.info);
	gp_json_bool(json, "has_counters", k->has_values);
	gp_json_text(json, "why", k->why);
	gp_json_number(json, "beyond", k->has_values ? k->beyond : c->samples.beyond);
	gp_samples_write(json, &c->samples);
	gp_json_array(json, "kernels");
	for (size_t n = 0; n < counters_shown(c, k->rows); n++)
		row_write(json, k, &k->row[n]);
	gp_json_end(json);
	gp_json_end(json);
}

/* ---- the command ---- */

enum { KERNELS, ROOF, COLUMNS };

static bool counters_row_add(struct counters *c, const struct gp_counters *k)
{
	char text[32];
	if (!gp_report_table_begin(&c->r.table, c->r.path, c->r.info))
		return false;
	const bool is_sampled = c->samples.devices != 0;
	struct gp_report_row *row = gp_report_table_add(
		&c->r.table, k->has_values || is_sampled ? "" : "no counters recorded");
	if (row && is_sampled) {
		char brief[GP_SAMPLES_BRIEF];
		c->has_values = true;
		gp_samples_brief(&c->samples, &c->samples.device[0], brief);
		return gp_report_table_note(row, brief);
	}
	if (!row || !k->has_values)
		return row != NULL;
	c->has_values = true;
	gp_cell_put(&row->cell[KERNELS], (double)k->rows, gp_count_text(k->rows).s);
	if (!is_answer(&k->row[0]))
		return true;
	snprintf(text, sizeof text, "%.1f%%", 100 * k->row[0].roof);
	gp_cell_put(&row->cell[ROOF], k->row[0].roof, text);
	return gp_report_table_note(row, k->row[0].key);
}

static int counters_one(struct gp_reading *r)
{
	struct counters *c = (struct counters *)r;
	struct gp_counters counters;
	int exit_status = GP_EXIT_OK;
	c->from_ns = INT64_MIN;
	c->to_ns = INT64_MAX;
	if (!gp_span_find(r->recording, r->from, r->to, &c->from_ns, &c->to_ns))
		return GP_EXIT_USAGE;
	enum gp_status status = gp_counters_build(r->recording, &counters);
	if (status == GP_OK && !counters.has_values)
		status = gp_samples_build(r->recording, c->from_ns, c->to_ns, &c->samples);
	if (status) {
		gp_counters_free(&counters);
		return gp_report_failed("report on", r->path, status);
	}
	r->sink.has_report = true;
	if (r->is_json) {
		counters_write(c, &counters);
	} else if (c->is_csv) {
		gp_samples_csv(r->out, r->path, &c->samples);
	} else if (r->is_many) {
		exit_status = counters_row_add(c, &counters) ? GP_EXIT_OK : GP_EXIT_DAMAGED;
	} else if (c->samples.devices) {
		samples_show(c, &counters);
	} else {
		answer_print(c, &counters);
		if (counters.has_values)
			rows_print(c, &counters);
	}
	gp_counters_free(&counters);
	gp_samples_free(&c->samples);
	return exit_status;
}

static int counters_check(struct gp_reading *r, int recordings)
{
	const struct counters *c = (struct counters *)r;
	(void)recordings;
	if (c->is_csv && r->is_json)
		return gp_usage(r->command, "'--csv' and '--json' exclude each other");
	r->is_text &= !c->is_csv;
	return GP_EXIT_OK;
}

static void counters_open(struct gp_reading *r)
{
	if (((struct counters *)r)->is_csv)
		fputs(GP_SAMPLES_CSV "\n", r->out);
}

static int counters_end(struct gp_reading *r, int worst)
{
	if (((struct counters *)r)->has_values)
		return worst;
	r->none = "no counters";
	r->none_tail = "; gpuprof run --metrics roofline --kernel REGEX measures them";
	r->table.next = NULL;
	return worst;
}

static int counters_run(const struct gp_command *command, int argc, char **argv)
{
	struct counters c = { .r = { .command = command,
				     .table = { .columns = COLUMNS,
						.title = { "kernels", "roof" },
						.next = "counters" } } };
	const struct gp_flag flags[] = {
		{ "top", 0, GP_FLAG_NUMBER, "N", &c.r.top,
		  "at most N rows, 0: all; default 20, with --json all" },
		{ "csv", 0, GP_FLAG_SWITCH, NULL, &c.is_csv,
		  "samples of a GPU as comma-separated values, a row each" },
		{ "all", 0, GP_FLAG_SWITCH, NULL, &c.has_all, "each metric below its kernel" },
		{ 0 },
	};
	return gp_reading_run(&c.r, flags, argc, argv);
}

const struct gp_command gp_command_counters = {
	.name = "counters",
	.synopsis = "counters [--all] [--csv|--json] [options] RECORDING...",
	.text = "show hardware counters of kernels, or of a GPU over time",
	.run = counters_run,
	.options = GP_OPTIONS_REPORT | GP_OPTION_SPAN | GP_OPTION_STEPS,
	.check = counters_check,
	.begin = counters_open,
	.json_levels = 5,
	.top = TOP_DEFAULT,
	.one = counters_one,
	.end = counters_end,
};
