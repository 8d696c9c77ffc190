/*
 * `gpuprof idle`: what lived at the peak without being used, and memory that was wasted over the
 * run, from a recording with --track-access.
 */
#include <string.h>

#include "idle/idle_report.h"
#include "input/flags.h"
#include "input/inputs.h"
#include "io/amount.h"
#include "io/message.h"
#include "io/sink.h"
#include "report/report.h"
#include "report/stack_print.h"

extern const struct gp_command gp_command_idle;

#define TOP_DEFAULT 10u
#define LEAST_DEFAULT 100u /* launches */

struct idle {
	struct gp_idle_report r;
	struct gp_sink sink;
	struct gp_json json;
	struct gp_report_table sheet;
	const char *output;
	uint64_t least;
	bool is_json, is_many, is_forced;
	bool has_known; /* of one of many recordings at least */
};

/* ---- many recordings ---- */

enum { UNUSED, SHARE, PEAK, NEVER, COLUMNS };

static bool row_add_device(struct idle *c, const struct gp_idle_device *d)
{
	char text[32];
	snprintf(text, sizeof text, "GPU %u", d->device);
	struct gp_report_row *row = gp_report_table_add(&c->sheet, text);
	if (!row)
		return false;
	c->has_known = true;
	const uint64_t all = gp_idle_total(d, true).bytes;
	const uint64_t unused = gp_idle_unused_bytes(d, true);
	const double share = all ? (double)unused / (double)all : 0;
	snprintf(text, sizeof text, "%.1f%%", 100 * share);
	gp_cell_put_bytes(&row->cell[UNUSED], unused);
	gp_cell_put(&row->cell[SHARE], share, text);
	gp_cell_put_bytes(&row->cell[PEAK], all);
	gp_cell_put_bytes(&row->cell[NEVER], gp_idle_state_sum(d, true, GP_IDLE_NEVER).bytes);
	return true;
}

/* One without uses has a row, too: of that rank it is not known. */
static bool rows_add(struct idle *c)
{
	const struct gp_idle *i = &c->r.idle;
	if (!gp_report_table_begin(&c->sheet, c->r.path, c->r.info))
		return false;
	if (!i->has_uses || i->is_blind)
		return gp_report_table_add(&c->sheet, i->has_uses ? "too few uses recorded" :
								    "no uses recorded");
	for (size_t k = 0; k < i->devices; k++)
		if (gp_idle_wants(&c->r, i->device[k].device) && !row_add_device(c, &i->device[k]))
			return false;
	return true;
}

/* ---- one ---- */

static bool has_device(const struct gp_idle_report *r)
{
	if (r->device < 0 || !r->idle.has_uses || r->idle.is_blind)
		return true;
	for (size_t k = 0; k < r->idle.devices; k++)
		if (gp_idle_wants(r, r->idle.device[k].device))
			return true;
	gp_report_no_device(r->path, r->info, r->device);
	return false;
}

static int report_uses(struct idle *c, const char *path)
{
	struct gp_idle_report *r = &c->r;
	int exit_status = GP_EXIT_USAGE;
	r->path = path;
	r->recording = gp_report_open(path, &r->info, &exit_status);
	if (!r->recording)
		return exit_status;
	exit_status = gp_report_exit(path, r->info);
	enum gp_status status = gp_idle_build(r->recording, c->least, &r->idle);
	int result = GP_EXIT_OK;
	gp_idle_fold(&r->idle);
	if (status) {
		result = gp_report_failed("report on", path, status);
	} else if (!has_device(r)) {
		result = GP_EXIT_USAGE;
	} else {
		c->sink.has_report = true;
		if (c->is_json)
			gp_idle_write(r);
		else if (!c->is_many)
			gp_idle_print(r);
		else if (!rows_add(c))
			result = GP_EXIT_DAMAGED;
	}
	gp_idle_free(&r->idle);
	gp_recording_close(r->recording);
	return result > exit_status ? result : exit_status;
}

static int idle_report_all(struct idle *c, int recordings, char **paths)
{
	int worst = GP_EXIT_OK;
	c->is_many = recordings > 1;
	c->r.out = c->sink.out;
	c->r.json = &c->json;
	gp_json_init(&c->json, c->sink.out, c->is_many ? 5 : 4);
	if (c->is_many && c->is_json)
		gp_json_array(&c->json, NULL);
	for (int k = 0; k < recordings; k++)
		worst = gp_report_worse(worst, report_uses(c, paths[k]));
	if (c->is_many && c->is_json)
		gp_json_end(&c->json);
	if (c->has_known)
		gp_report_table_print(&c->sheet, c->sink.out);
	else if (c->sheet.rows && !gp_report_table_none_print(
					  &c->sheet, "no uses",
					  "; gpuprof run --track-access records them", c->sink.out))
		gp_next_print(c->sink.out, c->sheet.next, c->sheet.first);
	gp_report_table_release(&c->sheet);
	return worst;
}

static int idle_run(int argc, char **argv)
{
	struct idle c = { .r.top = UINT64_MAX,
			  .least = LEAST_DEFAULT,
			  .sheet = { .columns = COLUMNS,
				     .title = { "unused", "of peak", "at the peak", "never used" },
				     .next = "idle" } };
	const struct gp_flag flags[] = {
		{ "least", 0, GP_FLAG_NUMBER, "LAUNCHES", &c.least,
		  "launches without a use after which memory is idle; default 100" },
		{ "device", 0, GP_FLAG_DEVICE, "N", &c.r.device, "only this device" },
		{ "top", 0, GP_FLAG_NUMBER, "N", &c.r.top,
		  "at most N rows of each table, 0: all; default 10, with --json all" },
		{ "stacks", 0, GP_FLAG_SWITCH, NULL, &c.r.has_stacks, "frames below each row" },
		{ "json", 0, GP_FLAG_SWITCH, NULL, &c.is_json,
		  "for a program: docs/JSON.md lists the keys" },
		GP_FLAGS_NO_STACKS,
		GP_FLAGS_OUTPUT(&c.output, &c.is_forced),
		GP_FLAGS_SCREEN,
		{ 0 },
	};
	int words = gp_inputs_parse(&gp_command_idle, flags, argc, &argv);
	if (words < 0)
		return gp_flags_exit(words);
	if (c.r.has_stacks && !gp_inputs_is_one(&gp_command_idle, "--stacks", words))
		return GP_EXIT_USAGE;
	if (c.r.top == UINT64_MAX)
		c.r.top = c.is_json ? 0 : TOP_DEFAULT;
	int exit_status = gp_sink_open(&c.sink, c.output, c.is_forced, !c.is_json, argv, words);
	if (exit_status != GP_EXIT_OK)
		return exit_status;
	return gp_sink_close(&c.sink, idle_report_all(&c, words, argv));
}

const struct gp_command gp_command_idle = {
	"idle",
	"idle [--least LAUNCHES] [--json] [options] RECORDING...",
	"show unused memory, at the peak and over the run",
	idle_run,
};
