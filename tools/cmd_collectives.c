/*
 * `gpuprof collectives`: calls of NCCL by operation, communicator and size. Times and rates need
 * GPU time.
 */
#include <string.h>

#include "collectives/collectives_report.h"
#include "io/amount.h"
#include "report/reading.h"

#define TOP_DEFAULT 20u

struct collectives {
	struct gp_reading r;
	struct gp_collectives_report report;
	const char *by;
	bool has_calls; /* in one of many recordings at least */
};

#define BY_WORDS "call|step|stream"
static const char *const by_words[] = {
	[GP_COLLECTIVES_BY_CALL] = "call",
	[GP_COLLECTIVES_BY_STEP] = "step",
	[GP_COLLECTIVES_BY_STREAM] = "stream",
};

enum { CALLS, BYTES, TIME, OVERLAP, COLUMNS };

static bool collectives_row_add(struct collectives *c)
{
	const struct gp_collectives *all = &c->report.collectives;
	char text[112];
	if (!gp_report_table_begin(&c->r.table, c->r.path, c->r.info))
		return false;
	const bool has_any = all->calls != 0 || all->kernels != 0;
	struct gp_report_row *row =
		gp_report_table_add(&c->r.table, has_any ? "" : "no calls of NCCL");
	if (!row || !has_any)
		return row != NULL;
	c->has_calls = true;
	gp_cell_put(&row->cell[CALLS], (double)all->calls, gp_count_text(all->calls).s);
	gp_cell_put(&row->cell[BYTES], (double)all->bytes, gp_bytes_text(all->bytes).s);
	if (all->kernels != 0) {
		const double share = gp_overlap_share(all->overlapped_ns, all->kernel_ns);
		gp_cell_put(&row->cell[TIME], (double)all->kernel_ns,
			    gp_ns_text((int64_t)all->kernel_ns).s);
		snprintf(text, sizeof text, "%.1f%%", 100 * share);
		gp_cell_put(&row->cell[OVERLAP], share, text);
	}
	if (all->rows == 0)
		return true;
	snprintf(text, sizeof text, "%s of %s", gp_collective_text(&all->row[0]).s,
		 gp_bytes_text(all->row[0].bytes).s);
	return gp_report_table_note(row, text);
}

static int collectives_one(struct gp_reading *r)
{
	struct collectives *c = (struct collectives *)r;
	struct gp_collectives_report *report = &c->report;
	int64_t from_ns = INT64_MIN, to_ns = INT64_MAX;
	int exit_status = GP_EXIT_OK;
	if (!gp_span_find(r->recording, r->from, r->to, &from_ns, &to_ns))
		return GP_EXIT_USAGE;
	report->path = r->path;
	report->info = r->info;
	report->top = r->top;
	report->out = r->out;
	report->json = &r->json;
	enum gp_status status = gp_collectives_build(r->recording, report->by, from_ns, to_ns,
						     &report->collectives);
	if (status)
		return gp_report_failed("report on", r->path, status);
	r->sink.has_report = true;
	if (r->is_json)
		gp_collectives_write(report);
	else if (r->is_many)
		exit_status = collectives_row_add(c) ? GP_EXIT_OK : GP_EXIT_DAMAGED;
	else
		gp_collectives_print(report);
	gp_collectives_free(&report->collectives);
	return exit_status;
}

static int collectives_end(struct gp_reading *r, int worst)
{
	r->none = ((struct collectives *)r)->has_calls ? NULL : "no calls of NCCL";
	return worst;
}

static int collectives_check(struct gp_reading *r, int recordings)
{
	struct collectives *c = (struct collectives *)r;
	(void)recordings;
	for (unsigned k = 0; c->by != NULL && k < sizeof by_words / sizeof *by_words; k++)
		if (strcmp(c->by, by_words[k]) == 0)
			c->report.by = (enum gp_collectives_by)k;
	c->report.by_word = by_words[c->report.by];
	return GP_EXIT_OK;
}

static int collectives_run(const struct gp_command *command, int argc, char **argv)
{
	struct collectives c = { .r = { .command = command,
					.table = {
						.columns = COLUMNS,
						.title = { "calls", "bytes", "kernels", "overlap" },
						.next = "collectives" } } };
	const struct gp_flag flags[] = {
		{ "by", 0, GP_FLAG_CHOICE, "WHAT=" BY_WORDS, &c.by,
		  "a row for each operation, communicator and size; for each of its steps, or "
		  "streams. Default call" },
		{ "top", 0, GP_FLAG_NUMBER, "N", &c.r.top,
		  "at most N rows, 0: all; default 20, with --json all" },
		{ 0 },
	};
	return gp_reading_run(&c.r, flags, argc, argv);
}

const struct gp_command gp_command_collectives = {
	.name = "collectives",
	.synopsis = "collectives [--by WHAT] [--json] [options] RECORDING...",
	.text = "show the calls of NCCL: number, bytes, bandwidth",
	.run = collectives_run,
	.options = GP_OPTIONS_REPORT | GP_OPTION_SPAN | GP_OPTION_STEPS,
	.json_levels = 4,
	.top = TOP_DEFAULT,
	.check = collectives_check,
	.one = collectives_one,
	.end = collectives_end,
};
