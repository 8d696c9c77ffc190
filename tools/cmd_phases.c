/*
 * `gpuprof phases`: the tree of the job's ranges, with calls, time, memory and launches of each.
 */
#include <stdlib.h>
#include <string.h>

#include "io/line_fit.h"
#include "phases/phases_report.h"
#include "report/reading.h"

#define TOP_DEFAULT 20u
#define FOLD_DEFAULT 5u

static enum gp_curve of_choose(const char *text)
{
	return !text			   ? GP_CURVES :
	       strcmp(text, "driver") == 0 ? GP_CURVE_DRIVER :
					     GP_CURVE_ALLOCATED;
}

/* ---- many recordings ---- */

#define TITLE_MAX 24u

/* An outermost phase in one row of the table. */
struct phase_time {
	char *name;
	size_t row;
	uint64_t calls, steady_ns; /* without the warm-up */
	uint64_t time_ns;	   /* of all calls */
};

/* The columns are the phases that most recordings have, so all recordings are read before. */
struct phases_table {
	struct phase_time *time;
	size_t times, capacity;
	uint64_t highest_bytes; /* peak of a recording with phases */
	char title[GP_TABLE_COLUMNS][TITLE_MAX + 1];
};

/* Cuts the middle of the name. Masks all bytes that are not printable ASCII. */
static void title_set(char title[TITLE_MAX + 1], const char *name)
{
	gp_name_cut(name, TITLE_MAX, "..", title, TITLE_MAX + 1);
	for (char *c = title; *c; c++)
		*c = *c >= ' ' && *c < 0x7f ? *c : '?';
}

static bool is_column(const struct gp_phase *phase)
{
	return phase->style == GP_PHASE_NESTED && !phase->depth && phase->name && *phase->name;
}

static bool time_add(struct phases_table *t, size_t row, const struct gp_phase *p)
{
	if (t->times == t->capacity) {
		const size_t capacity = t->capacity ? 2 * t->capacity : 64;
		struct phase_time *time = realloc(t->time, capacity * sizeof *time);
		if (!time)
			return false;
		t->time = time;
		t->capacity = capacity;
	}
	struct phase_time *added = &t->time[t->times];
	*added = (struct phase_time){ .name = strdup(p->name),
				      .row = row,
				      .calls = p->steady_calls,
				      .steady_ns = p->mean_ns * p->steady_calls,
				      .time_ns = p->time_ns };
	t->times += added->name != NULL;
	return added->name != NULL;
}

struct phases {
	struct gp_reading r;
	struct gp_phases_report report;
	struct phases_table times;
	struct gp_phases_options requested;
	const char *of;
	int64_t device; /* -1: all */
	uint64_t depth, fold;
	bool has_gpu;
};

/* `next:` names the recording with the highest peak among those with phases. */
static void highest_see(struct phases *c)
{
	const struct gp_phases_report *p = &c->report;
	for (size_t k = 0; k < p->peaks; k++) {
		const uint64_t bytes = p->at_peak[k].holders->live_bytes;
		if (bytes > c->times.highest_bytes) {
			c->times.highest_bytes = bytes;
			c->r.table.next_path = p->path;
		}
	}
}

static bool row_add(struct phases *c)
{
	const struct gp_phases_report *p = &c->report;
	struct phases_table *t = &c->times;
	struct gp_report_row *row = NULL;
	if (gp_report_table_begin(&c->r.table, p->path, p->info))
		row = gp_report_table_add(&c->r.table, "");
	if (!row)
		return false;
	const size_t before = t->times;
	for (size_t k = 0; k < p->phases.phases; k++)
		if (is_column(&p->phases.phase[k]) &&
		    !time_add(t, c->r.table.rows - 1, &p->phases.phase[k]))
			return false;
	if (t->times > before)
		highest_see(c);
	char text[GP_PHASES_BRIEF];
	return !gp_phases_peaks_brief(p, text) || gp_report_table_note(row, text);
}

/* By name, then by row. */
static int time_compare(const void *a, const void *b)
{
	const struct phase_time *x = a, *y = b;
	const int order = strcmp(x->name, y->name);
	return order ? order : (x->row > y->row) - (x->row < y->row);
}

/* The times of one name. */
struct column {
	size_t begin, end, recordings;
	uint64_t time_ns;
};

static bool is_before(const struct column *a, const struct column *b)
{
	return a->recordings != b->recordings ? a->recordings > b->recordings :
						a->time_ns > b->time_ns;
}

static struct column column_at(const struct phases_table *t, size_t begin)
{
	struct column c = { .begin = begin, .end = begin };
	for (; c.end < t->times && strcmp(t->time[c.end].name, t->time[begin].name) == 0; c.end++) {
		c.recordings += c.end == begin || t->time[c.end].row != t->time[c.end - 1].row;
		c.time_ns += t->time[c.end].time_ns;
	}
	return c;
}

/* The mean time of a call, over all phases of that name. */
static void column_put(struct phases_table *t, struct gp_report_table *table, size_t column,
		       const struct column *c)
{
	uint64_t calls = 0, steady_ns = 0;
	title_set(t->title[column], t->time[c->begin].name);
	table->title[column] = t->title[column];
	for (size_t k = c->begin; k < c->end; k++) {
		const size_t row = t->time[k].row;
		calls += t->time[k].calls;
		steady_ns += t->time[k].steady_ns;
		if (k + 1 < c->end && t->time[k + 1].row == row)
			continue;
		if (calls)
			gp_cell_put(&table->row[row].cell[column],
				    (double)steady_ns / (double)calls,
				    gp_ns_text((int64_t)(steady_ns / calls)).s);
		calls = steady_ns = 0;
	}
}

static void columns_choose(struct phases_table *t, struct gp_report_table *table)
{
	struct column chosen[GP_TABLE_COLUMNS + 1];
	size_t columns = 0;
	if (t->times)
		qsort(t->time, t->times, sizeof *t->time, time_compare);
	for (size_t begin = 0; begin < t->times;) {
		const struct column c = column_at(t, begin);
		size_t at = columns;
		for (; at > 0 && is_before(&c, &chosen[at - 1]); at--)
			chosen[at] = chosen[at - 1];
		chosen[at] = c;
		columns += columns < GP_TABLE_COLUMNS;
		begin = c.end;
	}
	for (size_t k = 0; k < columns; k++)
		column_put(t, table, k, &chosen[k]);
	table->columns = columns;
}

/* ---- the command ---- */

/* The end of the warm-up, if the span continues after it. */
static enum gp_status warmup_find(struct gp_phases_report *p)
{
	struct gp_steps steps;
	enum gp_status status = gp_steps_find(p->recording, &steps);
	if (status)
		return status;
	p->no_steps = steps.why;
	p->warmup_steps = 0;
	if (steps.warmup && steps.warmup < steps.steps &&
	    steps.step[steps.warmup].begin_ns < p->requested.to_ns) {
		p->warmup_steps = steps.warmup;
		p->requested.warm_ns = steps.step[steps.warmup].begin_ns;
	}
	gp_steps_free(&steps);
	return GP_OK;
}

static int phases_show(struct phases *c)
{
	struct gp_phases_report *p = &c->report;
	enum gp_status status = warmup_find(p);
	if (!status)
		status = gp_phases_build(p->recording, &p->requested, &p->phases);
	if (!status)
		status = gp_phases_hold(p);
	if (!status)
		status = gp_phases_project(p);
	if (!status) {
		c->r.sink.has_report = true;
		status = c->r.is_json  ? gp_phases_write(p) :
			 !c->r.is_many ? gp_phases_print(p) :
			 row_add(c)    ? GP_OK :
					 GP_E_MEMORY;
	}
	return status ? gp_report_failed("read", p->path, status) : GP_EXIT_OK;
}

static int phases_one(struct gp_reading *r)
{
	struct phases *c = (struct phases *)r;
	struct gp_phases_report *p = &c->report;
	int exit_status = GP_EXIT_USAGE;
	*p = (struct gp_phases_report){
		.path = r->path,
		.recording = r->recording,
		.info = r->info,
		.requested = c->requested,
		.depth = c->depth,
		.top = r->top,
		.has_gpu = c->has_gpu,
		.out = r->out,
		.json = &r->json,
	};
	if (gp_report_has_device(r->path, r->info, c->device) &&
	    gp_span_find(r->recording, r->from, r->to, &p->requested.from_ns, &p->requested.to_ns))
		exit_status = phases_show(c);
	gp_phases_hold_free(p);
	gp_phases_free(&p->phases);
	return exit_status;
}

static int phases_end(struct gp_reading *r, int worst)
{
	struct phases_table *t = &((struct phases *)r)->times;
	columns_choose(t, &r->table);
	if (!r->table.columns)
		r->none = "no phases";
	else
		fputs("time of a call, on average, without the warm-up:\n", r->out);
	for (size_t k = 0; k < t->times; k++)
		free(t->time[k].name);
	free(t->time);
	return worst;
}

static int phases_check(struct gp_reading *r, int recordings)
{
	struct phases *c = (struct phases *)r;
	(void)recordings;
	if (c->requested.is_recorded_only && c->requested.is_by_frames)
		return gp_usage(r->command, "'--recorded-only' with '--frames'");
	if (c->has_gpu && (c->requested.is_recorded_only || c->requested.is_by_frames ||
			   c->requested.is_own_thread))
		return gp_usage(r->command, "'--gpu' with another attribution of ranges");
	c->requested.of = of_choose(c->of);
	c->requested.device = c->device < 0 ? GP_DEVICE_UNKNOWN : (unsigned)c->device;
	c->requested.fold = c->fold != UINT64_MAX ? c->fold : r->is_json ? 0 : FOLD_DEFAULT;
	return GP_EXIT_OK;
}

static int phases_run(const struct gp_command *command, int argc, char **argv)
{
	struct phases c = { .r = { .command = command, .table.next = "phases" },
			    .requested = { .from_ns = INT64_MIN, .to_ns = INT64_MAX },
			    .depth = UINT64_MAX,
			    .fold = UINT64_MAX };
	const struct gp_flag flags[] = {
		{ "device", 0, GP_FLAG_DEVICE, "N", &c.device,
		  "memory and launches of this device alone" },
		{ "of", 0, GP_FLAG_CHOICE, "CURVE=allocated|driver", &c.of,
		  "memory of this curve" },
		{ "depth", 0, GP_FLAG_NUMBER, "1..N", &c.depth, "levels of ranges at most" },
		{ "top", 0, GP_FLAG_NUMBER, "N", &c.r.top,
		  "the first N ranges of a level; 0: all. Default 20, with --json all" },
		{ "fold", 0, GP_FLAG_NUMBER, "N", &c.fold,
		  "merge more than N numbered names into one row; 0: never. Default 5, with "
		  "--json 0" },
		{ "gpu", 0, GP_FLAG_SWITCH, NULL, &c.has_gpu,
		  "time of the GPU for operations launched in each range" },
		{ "own-thread", 0, GP_FLAG_SWITCH, NULL, &c.requested.is_own_thread,
		  "work belongs to ranges of its own thread alone, that of autograd's too" },
		{ "recorded-only", 0, GP_FLAG_SWITCH, NULL, &c.requested.is_recorded_only,
		  "only recorded ranges; do not infer forward phases" },
		{ "frames", 0, GP_FLAG_SWITCH, NULL, &c.requested.is_by_frames,
		  "phases as stacks show them, in the place of ranges; default where there are "
		  "none" },
		{ 0 },
	};
	return gp_reading_run(&c.r, flags, argc, argv);
}

const struct gp_command gp_command_phases = {
	.name = "phases",
	.synopsis =
		"phases [--json] [--device N] [--of CURVE] [--from TIME] [--to TIME] [--depth N] "
		"[--top N] [--fold N] [--gpu] [--own-thread] [--recorded-only | --frames] [-o FILE "
		"[--force]] RECORDING...",
	.text = "show memory, calls, time and launches of each phase of the job",
	.run = phases_run,
	.options = GP_OPTIONS_REPORT | GP_OPTION_SPAN | GP_OPTION_STEPS,
	.json_levels = 3,
	.top = TOP_DEFAULT,
	.check = phases_check,
	.one = phases_one,
	.end = phases_end,
};
