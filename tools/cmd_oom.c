/*
 * `gpuprof oom`: the failed request, what was missing, why, and what to change. --details adds the
 * evidence: each OOM, what grew before it, and the effect of each remedy. OOMs with the same stack
 * and size are examined once.
 */
#include <stdlib.h>
#include <string.h>

#include "io/message.h"
#include "oom/oom_answer.h"
#include "oom/oom_ranks.h"
#include "report/reading.h"

#define TOP_DEFAULT 5u
/* different OOMs reported in full as text; each takes several replays */
#define LOOKED_TEXT 10u

struct oom {
	struct gp_reading r;
	struct gp_oom_report report;
	const char *window_text;
	uint64_t number; /* requested OOM; UINT64_MAX: all */
	int64_t window_ns;
	struct gp_oom_ranks ranks;
	bool is_by_step, is_detailed;
};

/* ---- one recording ---- */

static bool oom_choose(struct oom *c)
{
	struct gp_oom_report *r = &c->report;
	r->row = calloc(r->ooms.ooms + 1, sizeof *r->row);
	for (size_t k = 0; r->row && k < r->ooms.ooms; k++) {
		bool is_device = c->r.device < 0 || r->ooms.oom[k].device == (uint64_t)c->r.device;
		r->row[k].is_shown = is_device && (!r->number || k + 1 == r->number);
		r->shown += r->row[k].is_shown;
		/* with a number, count the requested OOM, not the first one alike */
		if (r->row[k].is_shown)
			r->row[r->number ? k : r->ooms.oom[k].like].times++;
	}
	return r->row;
}

/*
 * The time since just before the current step began; the default before the first step. The first
 * allocation of a step has the step's begin time and counts as grown.
 */
static int64_t window_of(struct oom *c, size_t k)
{
	struct gp_oom_report *r = &c->report;
	int64_t at_ns = r->ooms.oom[k].at_ns;
	size_t begun = 0;
	while (begun < r->steps.steps && r->steps.step[begun].begin_ns <= at_ns)
		begun++;
	r->row[k].step = begun;
	return begun ? at_ns - r->steps.step[begun - 1].begin_ns + 1 : c->window_ns;
}

static enum gp_status add_answer(struct gp_oom_report *r, size_t k,
				 const struct gp_oom_case *looked)
{
	r->row[k].answer = calloc(1, sizeof *r->row[k].answer);
	return r->row[k].answer ? gp_oom_answer_build(r, k, looked, r->row[k].answer) : GP_E_MEMORY;
}

/*
 * Keeps one state at a time: each has all live blocks of the job. `is_full`: print all of it;
 * else store only the verdict for the table.
 */
static enum gp_status oom_look(struct oom *c, size_t k, bool is_full)
{
	struct gp_oom_report *r = &c->report;
	struct gp_oom_case looked;
	bool is_brief = !c->r.is_json && !c->is_detailed;
	enum gp_status status =
		gp_oom_look(r->recording, &r->ooms, k, &r->settings, window_of(c, k), &looked);
	r->row[k].is_looked = true;
	r->row[k].verdict = looked.finding.verdict;
	r->row[k].free_bytes = looked.facts.free_bytes;
	if (status == GP_OK && (is_brief || (c->r.is_json && is_full)))
		status = add_answer(r, k, &looked);
	if (status == GP_OK && is_full)
		status = c->r.is_json ? gp_oom_case_write(&c->r.json, r, k, &looked) :
					gp_oom_case_print(r, k, &looked);
	gp_oom_case_free(&looked);
	return status;
}

/*
 * In full: the first OOM of each kind, or the requested one. Beyond the limit the table has only
 * the verdicts.
 */
static enum gp_status show_cases(struct oom *c)
{
	struct gp_oom_report *r = &c->report;
	enum gp_status status = GP_OK;
	size_t looked = 0, rows = 0;
	for (size_t k = 0; k < r->ooms.ooms && status == GP_OK; k++) {
		bool is_full = r->ooms.oom[k].like == k || r->number;
		bool is_left = is_full && looked >= (c->r.is_json ? GP_OOM_ANSWERS : LOOKED_TEXT);
		if (!r->row[k].is_shown)
			continue;
		r->is_cut |= is_left;
		looked += is_full;
		rows++;
		if (is_full && !is_left)
			status = oom_look(c, k, true);
		else if (is_full && !c->r.is_json && rows <= GP_OOM_ROWS)
			status = oom_look(c, k, false);
		else if (c->r.is_json)
			status = gp_oom_case_write(&c->r.json, r, k, NULL);
	}
	return status;
}

static enum gp_status show_json(struct oom *c)
{
	gp_oom_head_write(&c->r.json, &c->report);
	enum gp_status status = show_cases(c);
	gp_json_end(&c->r.json);
	gp_json_end(&c->r.json);
	return status;
}

/* One row for each different OOM, and the full answer for the first. */
static enum gp_status show_brief(struct oom *c)
{
	struct gp_oom_report *r = &c->report;
	enum gp_status status = GP_OK;
	size_t first = SIZE_MAX, rows = 0;
	for (size_t k = 0; k < r->ooms.ooms && status == GP_OK; k++) {
		struct gp_oom_row *row = &r->row[k];
		first = row->is_shown && first == SIZE_MAX ? k : first;
		row->is_row = row->times && r->shown > 1 && rows < GP_OOM_BRIEF_ROWS;
		rows += row->is_row;
		if (row->is_row || k == first)
			status = oom_look(c, k, false);
	}
	if (status == GP_OK)
		gp_oom_brief_print(r, first);
	return status;
}

/* The table needs all verdicts, so it comes last. */
static enum gp_status show_details(struct oom *c)
{
	struct gp_oom_report *r = &c->report;
	FILE *out = r->out;
	char *text = NULL;
	size_t bytes = 0;
	r->out = open_memstream(&text, &bytes);
	if (!r->out) {
		r->out = out;
		return GP_E_MEMORY;
	}
	enum gp_status status = show_cases(c);
	bool is_whole = fclose(r->out) == 0;
	r->out = out;
	gp_oom_head_print(r);
	fwrite(text, 1, bytes, out);
	gp_oom_end_print(r);
	free(text);
	return status == GP_OK && !is_whole ? GP_E_MEMORY : status;
}

static int oom_build(struct oom *c)
{
	struct gp_oom_report *r = &c->report;
	gp_allocator_settings_read(r->info->alloc_conf, &r->settings);
	enum gp_status status = gp_ooms_build(r->recording, &r->settings, &r->ooms);
	if (status == GP_OK && !oom_choose(c))
		status = GP_E_MEMORY;
	if (status == GP_OK && c->is_by_step)
		status = gp_steps_find(r->recording, &r->steps);
	if (status)
		return gp_report_failed("report on", r->path, status);
	if (!r->shown && !gp_report_has_device(r->path, r->info, c->r.device))
		return GP_EXIT_USAGE;
	if (r->number && !r->shown) {
		gp_error("cannot find out-of-memory %llu%s in '%s': memory %s",
			 (unsigned long long)r->number, c->r.device >= 0 ? " of that GPU" : "",
			 r->path, gp_ran_out_text(r->ooms.ooms).s);
		return GP_EXIT_USAGE;
	}
	status = gp_oom_roles_find(r);
	if (status)
		return gp_report_failed("report on", r->path, status);
	c->r.sink.has_report = true;
	status = c->r.is_json	? show_json(c) :
		 c->r.is_many	? gp_oom_ranks_add(&c->ranks, r) :
		 c->is_detailed ? show_details(c) :
				  show_brief(c);
	return status ? gp_report_failed("report on", r->path, status) : GP_EXIT_OK;
}

static int oom_one(struct gp_reading *reading)
{
	struct oom *c = (struct oom *)reading;
	struct gp_oom_report *r = &c->report;
	*r = (struct gp_oom_report){ .recording = reading->recording,
				     .info = reading->info,
				     .path = reading->path,
				     .number = c->number == UINT64_MAX ? 0 : c->number,
				     .top = reading->top,
				     .out = reading->out };
	const int exit_status = oom_build(c);
	for (size_t k = 0; r->row && k < r->ooms.ooms; k++)
		free(r->row[k].answer);
	free(r->row);
	free(r->roles);
	gp_steps_free(&r->steps);
	gp_ooms_free(&r->ooms);
	return exit_status;
}

/*
 * A table of several recordings. With --details also the full report on the one that failed first.
 */
static int oom_end(struct gp_reading *r, int worst)
{
	struct oom *c = (struct oom *)r;
	const bool has_ranks = r->is_many && !r->is_json && c->ranks.table.recordings;
	const char *path = has_ranks ? gp_oom_ranks_print(&c->ranks, r->out, &c->number) : NULL;
	if (path && !c->is_detailed)
		gp_next_print(r->out, "oom --details", path);
	if (path && c->is_detailed) {
		fprintf(r->out, "\ndetails of the first OOM:\n");
		r->is_many = false;
		worst = gp_report_worse(worst, gp_reading_repeat(r, path));
	}
	gp_oom_ranks_release(&c->ranks);
	return worst;
}

/* ---- the command ---- */

static bool window_read(struct oom *c)
{
	const char *text = c->window_text;
	c->window_ns = -1;
	c->is_by_step = text && strcmp(text, "step") == 0;
	if (!text || c->is_by_step || gp_duration_parse(text, &c->window_ns))
		return true;
	return gp_flags_wrong_value("window", text, "time or 'step'",
				    "a time is 20ms, 1.5s or 2min; step: since the step began");
}

static int oom_check(struct gp_reading *r, int recordings)
{
	struct oom *c = (struct oom *)r;
	if (c->number != UINT64_MAX && !gp_inputs_is_one(r->command, "--number", recordings))
		return GP_EXIT_USAGE;
	/* these options select evidence, so they imply --details */
	c->is_detailed |= r->is_top_given || c->window_text;
	return window_read(c) ? GP_EXIT_OK : GP_EXIT_USAGE;
}

static int oom_run(const struct gp_command *command, int argc, char **argv)
{
	struct oom c = { .r.command = command, .number = UINT64_MAX };
	const struct gp_flag flags[] = {
		{ "number", 0, GP_FLAG_NUMBER, "1..N", &c.number, "the N-th alone" },
		{ "window", 0, GP_FLAG_TEXT, "SECONDS", &c.window_text,
		  "growth in this time before, or step: since its step began; default 10 s, or "
		  "since the one before" },
		{ "details", 0, GP_FLAG_SWITCH, NULL, &c.is_detailed,
		  "the evidence: all OOMs, all memory, live and grown by stack" },
		{ "top", 0, GP_FLAG_NUMBER, "N", &c.r.top,
		  "at most N stacks and blocks in each table, 0: all; default 5, with --json all" },
		{ 0 },
	};
	gp_oom_ranks_begin(&c.ranks);
	return gp_reading_run(&c.r, flags, argc, argv);
}

const struct gp_command gp_command_oom = {
	.name = "oom",
	.synopsis = "oom [--details] [--number N] [--json] [options] RECORDING...",
	.text = "show why memory ran out, and what to change",
	.run = oom_run,
	.options = GP_OPTIONS_REPORT | GP_OPTION_DEVICE | GP_OPTION_STEPS | GP_OPTION_NO_STACKS,
	.json_levels = 5,
	.top = TOP_DEFAULT,
	.check = oom_check,
	.one = oom_one,
	.end = oom_end,
};
