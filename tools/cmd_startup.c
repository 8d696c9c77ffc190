/*
 * `gpuprof startup`: where the time goes from the start of the program to the end of its first
 * step.
 */
#include <math.h>

#include "io/amount.h"
#include "report/again.h"
#include "report/reading.h"
#include "report/stack_print.h"
#include "report/use_report.h"

#define TOP_DEFAULT 10u

struct startup {
	struct gp_reading r;
	bool has_stacks;
	bool has_rows; /* in one of many recordings at least */
};

static const char *const words[GP_STARTUP_PARTS] = {
	"contexts made",       "module loads",
	"graphs instantiated", "graph captures",
	"torch.compile",       "first step, without other rows",
	"copies and waits",    "before CUDA: imports, cuInit",
	"other host work",
};
static const char *const short_words[GP_STARTUP_PARTS] = {
	"contexts",   "module loads", "graphs instantiated", "graph captures", "torch.compile",
	"first step", "copies",	      "before CUDA",	     "other",
};

static size_t lines_shown(const struct startup *c, size_t lines)
{
	return c->r.top && lines > c->r.top ? (size_t)c->r.top : lines;
}

static double share(const struct gp_startup *s, int64_t ns)
{
	return s->to_ns > s->from_ns ? (double)ns / (double)(s->to_ns - s->from_ns) : 0;
}

/* NULL: no time passed. */
static const struct gp_startup_row *longest_of(const struct gp_startup *s)
{
	const struct gp_startup_row *longest = NULL;
	for (size_t k = 0; k < s->rows; k++)
		if (s->row[k].took_ns > (longest ? longest->took_ns : 0))
			longest = &s->row[k];
	return longest;
}

/* Calls without a duration do not have the time of their part. */
static bool is_timed(const struct gp_startup_row *row)
{
	return row->untimed == 0 || row->took_ns > 0;
}

/* ---- for a person ---- */

static void startup_answer(const struct startup *c, const struct gp_startup *s)
{
	FILE *out = c->r.out;
	const struct gp_startup_row *longest = longest_of(s);
	const int64_t whole_ns = s->to_ns - s->from_ns;
	gp_name_print(out, c->r.path);
	if (s->has_first_step)
		fprintf(out, ": first step done %s after the %s", gp_ns_text(whole_ns).s,
			s->has_program_start ? "program's start" : "first recorded call");
	else
		fprintf(out, ": no first step in %s", gp_ns_text(whole_ns).s);
	if (longest)
		fprintf(out, "; most of it: %s, %.0f%%", short_words[longest->part],
			100 * share(s, longest->took_ns));
	fputc('\n', out);
	gp_headline_print(out, c->r.info);
	if (s->no_step)
		fprintf(out, "no steps were found: %s\n", s->no_step);
	if (!s->has_program_start)
		fputs("the program's start is not recorded: the time of imports is unknown\n", out);
	if (s->is_cut)
		fputs("too many calls: times of parts are lower bounds\n", out);
}

static void startup_rows_print(const struct startup *c, const struct gp_startup *s)
{
	FILE *out = c->r.out;
	bool has_untimed = false;
	fprintf(out, "\n%10s %10s %6s %6s %10s  %s\n", "at", "time", "share", "count", "bytes",
		"what");
	for (size_t k = 0; k < s->rows; k++) {
		const struct gp_startup_row *row = &s->row[k];
		fprintf(out, "%10s ", gp_ns_text(row->at_ns - s->from_ns).s);
		if (is_timed(row))
			fprintf(out, "%10s %5.1f%% ", gp_ns_text(row->took_ns).s,
				100 * share(s, row->took_ns));
		else
			fprintf(out, "%10s %6s ", "unknown", "");
		fprintf(out, "%6s %10s  %s\n", row->count ? gp_count_text(row->count).s : "",
			row->bytes ? gp_bytes_text(row->bytes).s : "", words[row->part]);
		has_untimed |= row->untimed != 0;
	}
	if (has_untimed)
		fputs("calls without a recorded duration count as other host work or first step\n",
		      out);
}

static void startup_lines_print(const struct startup *c, const struct gp_startup *s)
{
	FILE *out = c->r.out;
	const size_t shown = lines_shown(c, s->lines);
	fprintf(out, "\n%10s %6s %6s %10s  %s\n", "time", "loads", "PTX", "bytes",
		"module loads by line");
	for (size_t k = 0; k < shown; k++) {
		const struct gp_startup_line *line = &s->line[k];
		fprintf(out, "%10s %6s %6s %10s  ",
			line->untimed < line->count ? gp_ns_text(line->took_ns).s : "unknown",
			gp_count_text(line->count).s, line->ptx ? gp_count_text(line->ptx).s : "",
			line->bytes ? gp_bytes_text(line->bytes).s : "unknown");
		gp_name_print(out, line->key);
		fputc('\n', out);
		if (c->has_stacks && line->stack)
			gp_stack_print(out, c->r.recording, line->stack, line->at_ns,
				       GP_STACK_FOLDED);
	}
	if (s->lines > shown)
		fprintf(out, "  %s; --top 0 shows all\n",
			gp_plural(s->lines - shown, "more line").s);
}

/* ---- for a program ---- */

static void startup_row_write(struct gp_json *json, const struct gp_startup_row *row)
{
	gp_json_object(json, NULL);
	gp_json_text(json, "part", gp_startup_part_names[row->part]);
	gp_json_signed(json, "at_ns", row->at_ns);
	gp_json_signed_if(json, "took_ns", is_timed(row), row->took_ns);
	gp_json_number(json, "count", row->count);
	gp_json_number(json, "untimed", row->untimed);
	gp_json_number(json, "bytes", row->bytes);
	gp_json_end(json);
}

static void startup_line_write(const struct startup *c, struct gp_json *json,
			       const struct gp_startup_line *line)
{
	gp_json_object(json, NULL);
	gp_json_text(json, "key", line->key);
	gp_json_text(json, "why", line->without);
	gp_json_text(json, "file", line->file);
	gp_json_number_if(json, "line", line->line != 0, line->line);
	gp_json_number(json, "count", line->count);
	gp_json_number(json, "untimed", line->untimed);
	gp_json_number(json, "ptx", line->ptx);
	gp_json_number(json, "bytes", line->bytes);
	gp_json_signed_if(json, "took_ns", line->untimed < line->count, line->took_ns);
	gp_json_signed_if(json, "longest_ns", line->longest_ns >= 0, line->longest_ns);
	gp_stack_write(json, c->r.recording, line->stack, line->at_ns, GP_STACK_FOLDED);
	gp_json_end(json);
}

static void startup_write(const struct startup *c, struct gp_json *json, const struct gp_startup *s)
{
	gp_json_object(json, NULL);
	gp_use_head_write(json, c->r.path, c->r.info);
	gp_json_text(json, "why", s->why);
	gp_json_bool(json, "has_program_start", s->has_program_start);
	gp_json_bool(json, "has_first_step", s->has_first_step);
	gp_json_bool(json, "cut", s->is_cut);
	gp_json_signed(json, "from_ns", s->from_ns);
	gp_json_signed(json, "to_ns", s->to_ns);
	gp_json_array(json, "parts");
	for (size_t k = 0; k < s->rows; k++)
		startup_row_write(json, &s->row[k]);
	gp_json_end(json);
	gp_json_array(json, "module_loads");
	for (size_t k = 0; k < lines_shown(c, s->lines); k++)
		startup_line_write(c, json, &s->line[k]);
	gp_json_end(json);
	gp_json_end(json);
}

/* ---- the command ---- */

enum { WHOLE, BEFORE, CONTEXTS, LOADS, STEP, OTHER, COLUMNS };

static bool startup_row_add(struct startup *c, const struct gp_startup *s)
{
	static const enum gp_startup_part part[COLUMNS] = {
		[BEFORE] = GP_STARTUP_BEFORE, [CONTEXTS] = GP_STARTUP_CONTEXTS,
		[LOADS] = GP_STARTUP_MODULES, [STEP] = GP_STARTUP_FIRST_STEP,
		[OTHER] = GP_STARTUP_OTHER,
	};
	if (!gp_report_table_begin(&c->r.table, c->r.path, c->r.info))
		return false;
	struct gp_report_row *row = gp_report_table_add(&c->r.table, s->why ? "no start" : "");
	if (!row || s->why)
		return row != NULL;
	c->has_rows = true;
	gp_cell_put(&row->cell[WHOLE], (double)(s->to_ns - s->from_ns),
		    gp_ns_text(s->to_ns - s->from_ns).s);
	for (unsigned column = BEFORE; column < COLUMNS; column++)
		for (size_t k = 0; k < s->rows; k++)
			if (s->row[k].part == part[column] && is_timed(&s->row[k]))
				gp_cell_put(&row->cell[column], (double)s->row[k].took_ns,
					    gp_ns_text(s->row[k].took_ns).s);
	return true;
}

static void startup_print(const struct startup *c, const struct gp_startup *s)
{
	FILE *out = c->r.out;
	if (s->why) {
		gp_name_print(out, c->r.path);
		fprintf(out, ": no report on the start: %s\n", s->why);
		gp_headline_print(out, c->r.info);
		return;
	}
	startup_answer(c, s);
	startup_rows_print(c, s);
	if (s->lines == 0)
		return;
	startup_lines_print(c, s);
	const unsigned lacks = gp_again_lacks(c->r.info, GP_LACK_STACKS);
	if (lacks)
		gp_again_print(out, c->r.info, lacks);
}

static int startup_one(struct gp_reading *r)
{
	struct startup *c = (struct startup *)r;
	struct gp_startup startup;
	int exit_status = GP_EXIT_OK;
	enum gp_status status = gp_startup_build(r->recording, &startup);
	if (status)
		return gp_report_failed("report on", r->path, status);
	r->sink.has_report = true;
	if (r->is_json)
		startup_write(c, &r->json, &startup);
	else if (r->is_many)
		exit_status = startup_row_add(c, &startup) ? GP_EXIT_OK : GP_EXIT_DAMAGED;
	else
		startup_print(c, &startup);
	gp_startup_free(&startup);
	return exit_status;
}

static int startup_end(struct gp_reading *r, int worst)
{
	r->none = ((struct startup *)r)->has_rows ? NULL : "no start of a job";
	return worst;
}

static int startup_run(const struct gp_command *command, int argc, char **argv)
{
	struct startup c = { .r = { .command = command,
				    .table = { .columns = COLUMNS,
					       .title = { "in all", "before CUDA", "contexts",
							  "module loads", "first step", "other" },
					       .next = "startup" } } };
	const struct gp_flag flags[] = {
		{ "top", 0, GP_FLAG_NUMBER, "N", &c.r.top,
		  "at most N lines, 0: all; default 10, with --json all" },
		{ "stacks", 0, GP_FLAG_SWITCH, NULL, &c.has_stacks, "frames below each line" },
		{ 0 },
	};
	return gp_reading_run(&c.r, flags, argc, argv);
}

const struct gp_command gp_command_startup = {
	.name = "startup",
	.synopsis = "startup [--json] [options] RECORDING...",
	.text = "show where the time goes until the end of the first step",
	.run = startup_run,
	.options = GP_OPTIONS_REPORT | GP_OPTION_NO_STACKS | GP_OPTION_STEPS,
	.json_levels = 4,
	.top = TOP_DEFAULT,
	.one = startup_one,
	.end = startup_end,
};
