/*
 * `gpuprof waits`: which calls make the host wait for the GPU, by line, and for how long the GPU
 * has nothing to do after them.
 */
#include <math.h>

#include "io/amount.h"
#include "report/again.h"
#include "report/reading.h"
#include "report/stack_print.h"
#include "report/use_report.h"

#define TOP_DEFAULT 10u
#define WORTH_SHARE 0.01 /* of the time: less is not worth a change */

struct waits {
	struct gp_reading r;
	bool has_stacks;
	bool has_calls; /* in one of many recordings at least */
};

static const struct {
	const char *text, *advice;
} reasons[GP_WAIT_REASONS] = {
	[GP_WAIT_ON_SYNCHRONIZE] = { "synchronize", "remove the synchronize, or wait for an event "
						    "that was recorded earlier" },
	[GP_WAIT_ON_ITEM] = { ".item(), print",
			      "keep the value on the GPU, or read it every N-th step" },
	[GP_WAIT_ON_PAGEABLE] = { "pageable copy", "pin the memory (pin_memory=True) and copy with "
						   "non_blocking=True" },
	[GP_WAIT_ON_FREE] = { "free", "keep the memory: allocate it once, and call empty_cache() "
				      "outside of the loop" },
	[GP_WAIT_ON_DATA] = { "data loading", "more workers or prefetching in the data loader" },
	[GP_WAIT_ON_RECOMPILE] = { "module load", "load or compile it before the loop; for "
						  "torch.compile look for changing shapes" },
	[GP_WAIT_ON_OTHER] = { "synchronous copy", "copy with non_blocking=True" },
	[GP_WAIT_ON_EVENT_QUERY] = { "cuEventQuery", "do other work between the queries, or query "
						     "an event that was recorded earlier" },
	[GP_WAIT_ON_STREAM_QUERY] = { "cuStreamQuery", "do other work between the queries, or "
						       "query an event that was recorded earlier" },
	[GP_WAIT_ON_ALLOC] = { "allocation", "allocate the memory once, before the loop" },
	[GP_WAIT_ON_HOST] = { "late launch", "launch fewer and larger kernels: larger batches, "
					     "torch.compile, CUDA graphs" },
};

static size_t rows_shown(const struct waits *c, size_t rows)
{
	return c->r.top && rows > c->r.top ? (size_t)c->r.top : rows;
}

static double per_step(const struct gp_waits *w, uint64_t count)
{
	return (double)count / (double)w->steps;
}

static double lost_share(const struct gp_waits *w)
{
	const int64_t wall_ns = w->to_ns - w->from_ns;
	return wall_ns > 0 ? (double)w->repeated_lost_ns / (double)wall_ns : 0;
}

/* ---- for a person ---- */

/* From GPU time: exact. */
static void print_idle(FILE *out, const struct gp_waits *w)
{
	const int64_t wall_ns = w->to_ns - w->from_ns;
	fprintf(out, "The GPU was idle for %s", gp_ns_text(w->idle_ns).s);
	if (wall_ns > 0)
		fprintf(out, " (%.1f%%)", 100 * (double)w->idle_ns / (double)wall_ns);
	fprintf(out, "; %s are due to the rows below", gp_ns_text(w->lost_ns).s);
	if (w->pending_ns)
		fprintf(out, ", in %s launched work had not begun", gp_ns_text(w->pending_ns).s);
	fputs(".\n", out);
}

static void print_answer(const struct waits *c, const struct gp_waits *w)
{
	FILE *out = c->r.out;
	gp_name_print(out, c->r.path);
	if (w->rows == 0) {
		fprintf(out, ": no call waited for the GPU\n");
		gp_headline_print(out, c->r.info);
		return;
	}
	if (lost_share(w) < WORTH_SHARE)
		fputs(": no costly wait. ", out);
	else if (w->row[0].reason == GP_WAIT_ON_HOST)
		fputs(": late launches leave the GPU idle. ", out);
	else if (w->row[0].reason == GP_WAIT_ON_ALLOC)
		fputs(": allocations leave the GPU idle. ", out);
	else
		fputs(": waits leave the GPU idle. ", out);
	if (w->has_gpu_time)
		print_idle(out, w);
	else
		fprintf(out,
			"The GPU had no work for at least %s (%.1f%%) after calls that wait for "
			"it.\n",
			gp_ns_text(w->repeated_lost_ns).s, 100 * lost_share(w));
	gp_headline_print(out, c->r.info);
	if (w->lost_operations)
		fprintf(out, "%s of the GPU were lost: its idle time is not exact\n",
			gp_plural(w->lost_operations, "operation").s);
	if (w->launches_alone > w->lost_operations)
		fprintf(out, "%s without an operation: the GPU's idle time is not exact\n",
			gp_plural(w->launches_alone, "launch").s);
	fprintf(out, "%s: the host waited %s of %s", w->steps ? "after warm-up" : "in all",
		gp_ns_text(w->blocked_ns).s, gp_ns_text(w->to_ns - w->from_ns).s);
	if (w->steps)
		fprintf(out, "; %s", gp_plural(w->steps, "step").s);
	fputs("\n\n", out);
}

/* Below a free: the allocations of the same memory, whose time is in its row. */
static void print_again(FILE *out, const struct gp_waits *w, const struct gp_wait_again *again)
{
	char count[16] = "";
	if (w->steps)
		snprintf(count, sizeof count, "%.2f", per_step(w, again->count));
	fprintf(out, "%11s %11s %8s %8s  %-16s ", "", gp_ns_text(again->blocked_ns).s,
		gp_count_text(again->count).s, count, " allocated again");
	gp_name_print(out, again->key);
	fputc('\n', out);
}

static void print_rows(const struct waits *c, const struct gp_waits *w)
{
	FILE *out = c->r.out;
	fprintf(out, "%11s %11s %8s %8s  %-16s %s\n", w->has_gpu_time ? "GPU idle" : "no GPU work",
		"host waited", "calls", w->steps ? "a step" : "", "kind", "line");
	for (size_t k = 0; k < rows_shown(c, w->rows); k++) {
		const struct gp_wait_row *row = &w->row[k];
		char count[16] = "";
		if (w->steps)
			snprintf(count, sizeof count, "%.2f", per_step(w, row->count));
		fprintf(out, "%11s %11s %8s %8s  %-16s ", gp_ns_text(row->lost_ns).s,
			gp_ns_text(row->blocked_ns).s, gp_count_text(row->count).s, count,
			reasons[row->reason].text);
		gp_name_print(out, row->key);
		fputc('\n', out);
		if (row->again.count)
			print_again(out, w, &row->again);
		if (c->has_stacks && row->stack)
			gp_stack_print(out, c->r.recording, row->stack, row->at_ns,
				       GP_STACK_FOLDED);
	}
	if (w->rows > rows_shown(c, w->rows))
		fprintf(out, "  %s; --top 0 shows all\n",
			gp_plural(w->rows - rows_shown(c, w->rows), "more row").s);
	if (lost_share(w) >= WORTH_SHARE)
		fprintf(out, "\nfirst: %s\n", reasons[w->row[0].reason].advice);
}

static void print_copies(const struct waits *c, const struct gp_waits *w)
{
	FILE *out = c->r.out;
	bool is_first = true;
	for (unsigned kind = 0; kind < GP_COPIES; kind++) {
		const struct gp_wait_copies *sum = &w->copies[kind];
		if (sum->count == 0)
			continue;
		if (is_first)
			fprintf(out, "\n%-16s %8s %11s  %s\n", "copies", "calls", "bytes",
				"of these pageable");
		is_first = false;
		fprintf(out, "%-16s %8s %11s  ", gp_copy_names[kind], gp_count_text(sum->count).s,
			gp_bytes_text(sum->bytes).s);
		if (sum->pageable_count)
			fprintf(out, "%s, %s\n", gp_count_text(sum->pageable_count).s,
				gp_bytes_text(sum->pageable_bytes).s);
		else
			fputs("-\n", out);
	}
}

static void print_timers(const struct waits *c, const struct gp_timers *t)
{
	FILE *out = c->r.out;
	if (t->rows)
		fprintf(out, "\n%-11s %8s %11s %11s  %s\n", "timers mean", "results", "least",
			"most", "line that reads cudaEventElapsedTime");
	for (size_t k = 0; k < rows_shown(c, t->rows); k++) {
		const struct gp_timer *row = &t->row[k];
		fprintf(out, "%11s %8s %11s %11s  ",
			gp_ns_text((int64_t)(row->total_ns / row->count)).s,
			gp_count_text(row->count).s, gp_ns_text((int64_t)row->least_ns).s,
			gp_ns_text((int64_t)row->most_ns).s);
		gp_name_print(out, row->key);
		fputc('\n', out);
	}
}

/* ---- for a program ---- */

static void write_row(const struct waits *c, struct gp_json *json, const struct gp_waits *w,
		      const struct gp_wait_row *row)
{
	gp_json_object(json, NULL);
	const bool is_query =
		row->reason == GP_WAIT_ON_EVENT_QUERY || row->reason == GP_WAIT_ON_STREAM_QUERY;
	gp_json_text(json, "kind", gp_wait_kind_names[row->reason]);
	gp_json_text(json, "reason", gp_wait_reason_names[row->reason]);
	gp_json_text(json, "queried", is_query ? reasons[row->reason].text : NULL);
	gp_json_text(json, "key", row->key);
	gp_json_text(json, "why", row->without);
	gp_json_text(json, "file", row->file);
	gp_json_number_if(json, "line", row->line != 0, row->line);
	gp_json_number(json, "count", row->count);
	gp_json_real(json, "per_step", w->steps ? per_step(w, row->count) : NAN);
	gp_json_bool(json, "repeated", row->is_repeated);
	gp_json_number(json, "bytes", row->bytes);
	gp_json_signed(json, "lost_ns", row->lost_ns);
	gp_json_signed(json, "blocked_ns", row->blocked_ns);
	gp_json_signed(json, "longest_ns", row->longest_ns);
	if (row->again.count) {
		gp_json_object(json, "again");
		gp_json_text(json, "key", row->again.key);
		gp_json_number(json, "count", row->again.count);
		gp_json_number(json, "bytes", row->again.bytes);
		gp_json_signed(json, "blocked_ns", row->again.blocked_ns);
		gp_json_end(json);
	} else {
		gp_json_null(json, "again");
	}
	gp_stack_write(json, c->r.recording, row->stack, row->at_ns, GP_STACK_FOLDED);
	gp_json_end(json);
}

static void write_timers(const struct waits *c, struct gp_json *json, const struct gp_timers *t)
{
	gp_json_array(json, "timers");
	for (size_t k = 0; k < rows_shown(c, t->rows); k++) {
		const struct gp_timer *row = &t->row[k];
		gp_json_object(json, NULL);
		gp_json_text(json, "key", row->key);
		gp_json_text(json, "why", row->without);
		gp_json_text(json, "file", row->file);
		gp_json_number_if(json, "line", row->line != 0, row->line);
		gp_json_number(json, "count", row->count);
		gp_json_number(json, "total_ns", row->total_ns);
		gp_json_number(json, "least_ns", row->least_ns);
		gp_json_number(json, "most_ns", row->most_ns);
		gp_stack_write(json, c->r.recording, row->stack, row->at_ns, GP_STACK_FOLDED);
		gp_json_end(json);
	}
	gp_json_end(json);
}

static void waits_write(const struct waits *c, struct gp_json *json, const struct gp_waits *w,
			const struct gp_timers *t)
{
	gp_json_object(json, NULL);
	gp_use_head_write(json, c->r.path, c->r.info);
	gp_json_bool(json, "has_calls", w->has_calls);
	gp_json_number(json, "steps", w->steps);
	gp_json_signed(json, "from_ns", w->from_ns);
	gp_json_signed(json, "to_ns", w->to_ns);
	gp_json_signed(json, "lost_ns", w->lost_ns);
	gp_json_signed(json, "repeated_lost_ns", w->repeated_lost_ns);
	gp_json_signed(json, "blocked_ns", w->blocked_ns);
	gp_json_bool(json, "has_gpu_time", w->has_gpu_time);
	gp_json_signed_if(json, "idle_ns", w->has_gpu_time, w->idle_ns);
	gp_json_signed_if(json, "pending_ns", w->has_gpu_time, w->pending_ns);
	gp_json_number(json, "lost_operations", w->lost_operations);
	gp_json_number(json, "launches_alone", w->launches_alone);
	gp_json_array(json, "waits");
	for (size_t k = 0; k < rows_shown(c, w->rows); k++)
		write_row(c, json, w, &w->row[k]);
	gp_json_end(json);
	gp_json_array(json, "copies");
	for (unsigned kind = 0; kind < GP_COPIES; kind++) {
		const struct gp_wait_copies *sum = &w->copies[kind];
		gp_json_object(json, NULL);
		gp_json_text(json, "direction", gp_copy_names[kind]);
		gp_json_number(json, "count", sum->count);
		gp_json_number(json, "bytes", sum->bytes);
		gp_json_number(json, "pageable_count", sum->pageable_count);
		gp_json_number(json, "pageable_bytes", sum->pageable_bytes);
		gp_json_signed(json, "took_ns", sum->took_ns);
		gp_json_end(json);
	}
	gp_json_end(json);
	write_timers(c, json, t);
	gp_json_end(json);
}

/* ---- the command ---- */

enum { LOST, SHARE, BLOCKED, COLUMNS };

static bool waits_row_add(struct waits *c, const struct gp_waits *w)
{
	char text[32];
	if (!gp_report_table_begin(&c->r.table, c->r.path, c->r.info))
		return false;
	const bool has_any = w->has_calls || w->has_gpu_time;
	struct gp_report_row *row =
		gp_report_table_add(&c->r.table, has_any ? "" : "no waits recorded");
	if (!row || !has_any)
		return row != NULL;
	c->has_calls = true;
	const double share = lost_share(w);
	gp_cell_put(&row->cell[LOST], (double)w->lost_ns, gp_ns_text(w->lost_ns).s);
	snprintf(text, sizeof text, "%.1f%%", 100 * share);
	gp_cell_put(&row->cell[SHARE], share, text);
	gp_cell_put(&row->cell[BLOCKED], (double)w->blocked_ns, gp_ns_text(w->blocked_ns).s);
	return true;
}

static int waits_one(struct gp_reading *r)
{
	struct waits *c = (struct waits *)r;
	struct gp_waits waits;
	struct gp_timers timers;
	int exit_status = GP_EXIT_OK;
	int64_t from_ns = INT64_MIN, to_ns = INT64_MAX;
	if (!gp_span_find(r->recording, r->from, r->to, &from_ns, &to_ns))
		return GP_EXIT_USAGE;
	enum gp_status status = gp_waits_build(r->recording, from_ns, to_ns, &waits);
	if (status)
		return gp_report_failed("report on", r->path, status);
	status = gp_timers_build(r->recording, waits.from_ns, waits.to_ns, &timers);
	if (status) {
		gp_waits_free(&waits);
		return gp_report_failed("report on", r->path, status);
	}
	r->sink.has_report = true;
	if (r->is_json) {
		waits_write(c, &r->json, &waits, &timers);
	} else if (r->is_many) {
		exit_status = waits_row_add(c, &waits) ? GP_EXIT_OK : GP_EXIT_DAMAGED;
	} else if (!waits.has_calls && !waits.has_gpu_time) {
		gp_name_print(r->out, r->path);
		fputs(": no copies or waits were recorded\n", r->out);
		gp_headline_print(r->out, r->info);
	} else {
		print_answer(c, &waits);
		if (waits.rows)
			print_rows(c, &waits);
		print_copies(c, &waits);
		print_timers(c, &timers);
		const unsigned lacks = gp_again_lacks(r->info, GP_LACK_STACKS);
		if (waits.rows && lacks)
			gp_again_print(r->out, r->info, lacks);
	}
	gp_timers_free(&timers);
	gp_waits_free(&waits);
	return exit_status;
}

static int waits_end(struct gp_reading *r, int worst)
{
	r->none = ((struct waits *)r)->has_calls ? NULL : "no copies or waits";
	return worst;
}

static int waits_run(const struct gp_command *command, int argc, char **argv)
{
	struct waits c = { .r = { .command = command,
				  .table = {
					  .columns = COLUMNS,
					  .title = { "no GPU work", "of the time", "host waited" },
					  .next = "waits" } } };
	const struct gp_flag flags[] = {
		{ "top", 0, GP_FLAG_NUMBER, "N", &c.r.top,
		  "at most N rows, 0: all; default 10, with --json all" },
		{ "stacks", 0, GP_FLAG_SWITCH, NULL, &c.has_stacks, "frames below each row" },
		{ 0 },
	};
	return gp_reading_run(&c.r, flags, argc, argv);
}

const struct gp_command gp_command_waits = {
	.name = "waits",
	.synopsis = "waits [--json] [options] RECORDING...",
	.text = "show calls that wait for the GPU, and its idle time after them",
	.run = waits_run,
	.options = GP_OPTIONS_REPORT | GP_OPTION_SPAN | GP_OPTION_NO_STACKS | GP_OPTION_STEPS,
	.json_levels = 4,
	.top = TOP_DEFAULT,
	.one = waits_one,
	.end = waits_end,
};
