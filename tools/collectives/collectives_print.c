/* `gpuprof collectives` for a person. */
#include "../io/amount.h"
#include "../io/screen.h"
#include "../report/again.h"
#include "collectives_report.h"

#define ALL_COLUMNS 100u

struct gp_text gp_collective_text(const struct gp_collective_row *row)
{
	struct gp_text text;
	const char *name = gp_collective_name(row->operation);
	if (name != NULL)
		snprintf(text.s, sizeof text.s, "%s", name);
	else
		snprintf(text.s, sizeof text.s, "operation %u", row->operation);
	return text;
}

double gp_overlap_share(uint64_t overlapped_ns, uint64_t kernel_ns)
{
	return kernel_ns != 0 ? (double)overlapped_ns / (double)kernel_ns : 0;
}

static struct gp_text duration(uint64_t ns)
{
	return gp_ns_text(ns > INT64_MAX ? INT64_MAX : (int64_t)ns);
}

static size_t collectives_shown(const struct gp_collectives_report *r)
{
	return r->top && r->collectives.rows > r->top ? (size_t)r->top : r->collectives.rows;
}

static const char *reason(const struct gp_collectives *c)
{
	return c->why != NULL ? c->why : "NCCL is older than 2.18, or was built without NVTX";
}

static void collectives_print_answer(const struct gp_collectives_report *r)
{
	const struct gp_collectives *c = &r->collectives;
	gp_name_print(r->out, r->path);
	if (c->calls == 0 && c->kernels == 0)
		fputs(": no calls of NCCL were recorded", r->out);
	else if (c->kernels == 0)
		fprintf(r->out, ": %s of NCCL, %s", gp_plural(c->calls, "call").s,
			gp_bytes_text(c->bytes).s);
	else
		fprintf(r->out, ": NCCL's kernels ran %s, %.1f%% of it while other kernels ran",
			duration(c->kernel_ns).s,
			100 * gp_overlap_share(c->overlapped_ns, c->kernel_ns));
	if (c->calls == 0 && c->kernels == 0 && c->why != NULL)
		fprintf(r->out, ": %s", c->why);
	fputc('\n', r->out);
	gp_headline_print(r->out, r->info);
	if (c->kernels == 0)
		return;
	fprintf(r->out, "NCCL: %s, %s; %s, %s", gp_plural(c->calls, "call").s,
		gp_bytes_text(c->bytes).s, gp_plural(c->kernels, "kernel").s,
		duration(c->kernel_ns).s);
	if (c->steps != 0)
		fprintf(r->out, "; %s after warm-up", gp_plural(c->steps, "step").s);
	fputc('\n', r->out);
}

/* Only what is not as it should be. */
static void collectives_print_doubts(const struct gp_collectives_report *r)
{
	const struct gp_collectives *c = &r->collectives;
	const struct gp_gpu *g = &c->gpu;
	if (c->kernels_alone != 0) {
		fprintf(r->out, "%s of NCCL, %s, without a call",
			gp_plural(c->kernels_alone, "kernel").s, duration(c->alone_ns).s);
		if (c->kernels_in_graphs != 0)
			fprintf(r->out, "; graphs launched %s of them",
				gp_count_text(c->kernels_in_graphs).s);
		if (c->calls == 0)
			fprintf(r->out, ": %s", reason(c));
		fputc('\n', r->out);
	}
	if (c->unsized != 0)
		fprintf(r->out, "%s of NCCL without size: not in the table\n",
			gp_plural(c->unsized, "call").s);
	if (c->beyond != 0)
		fprintf(r->out, "%s beyond the rows of a report: not in the table\n",
			gp_plural(c->beyond, "call").s);
	if (g->dropped + g->lost + g->beyond != 0)
		fprintf(r->out, "%s of the GPU are missing: times are too low\n",
			gp_plural(g->dropped + g->lost + g->beyond, "operation").s);
}

static bool has_step_column(const struct gp_collectives_report *r)
{
	return r->collectives.steps != 0 && r->by != GP_COLLECTIVES_BY_STEP;
}

static void rate_print(FILE *out, double rate)
{
	fprintf(out, " %7s", rate >= 0 ? gp_rate_text(rate, 3).s : "-");
}

static void row_print_times(FILE *out, const struct gp_collective_row *row, bool is_narrow)
{
	fprintf(out, "%9s%c ", row->timed != 0 ? duration(row->total_ns).s : "-",
		row->is_shared && row->timed != 0 ? '*' : ' ');
	if (!is_narrow)
		fprintf(out, "%9s ",
			row->timed != 0 && !row->is_shared ? duration(row->median_ns).s : "-");
}

static void row_print(const struct gp_collectives_report *r, const struct gp_collective_row *row,
		      bool is_narrow)
{
	const struct gp_collectives *c = &r->collectives;
	const bool has_times = c->gpu.has_operations;
	FILE *out = r->out;
	if (has_times)
		row_print_times(out, row, is_narrow);
	fprintf(out, "%7s ", gp_count_text(row->count).s);
	if (has_step_column(r))
		fprintf(out, "%7.2f ", (double)row->in_steps / (double)c->steps);
	fprintf(out, "%9s", gp_bytes_text(row->bytes).s);
	if (has_times) {
		if (!is_narrow)
			rate_print(out, row->algorithm_rate);
		rate_print(out, row->bus_rate);
		if (row->kernel_ns != 0)
			fprintf(out, " %6.1f%%",
				100 * gp_overlap_share(row->overlapped_ns, row->kernel_ns));
		else
			fprintf(out, " %7s", "-");
		if (!is_narrow)
			fprintf(out, " %7u", row->streams);
	}
	fprintf(out, "  %s", gp_collective_text(row).s);
	if (c->communicators > 1)
		fprintf(out, ", communicator %u", row->communicator + 1);
	if (row->part == 0 && r->by != GP_COLLECTIVES_BY_CALL)
		fprintf(out, ", no %s", r->by_word);
	else if (r->by != GP_COLLECTIVES_BY_CALL)
		fprintf(out, ", %s %llu", r->by_word,
			(unsigned long long)row->part - (r->by == GP_COLLECTIVES_BY_STREAM));
	if (row->exchanged != 0)
		fputs(" (sends and receives)", out);
	fputc('\n', out);
}

static void collectives_print_rows(const struct gp_collectives_report *r)
{
	const struct gp_collectives *c = &r->collectives;
	const bool has_times = c->gpu.has_operations;
	const bool is_narrow = gp_screen_is_below(ALL_COLUMNS);
	FILE *out = r->out;
	bool has_shared = false;
	fputc('\n', out);
	if (has_times)
		fprintf(out, "%9s  ", "total");
	if (has_times && !is_narrow)
		fprintf(out, "%9s ", "median");
	fprintf(out, "%7s ", "calls");
	if (has_step_column(r))
		fprintf(out, "%7s ", "a step");
	fprintf(out, "%9s", "size");
	if (has_times)
		fprintf(out, is_narrow ? " %7s %7s" : " %7s %7s %7s %7s",
			is_narrow ? "busbw" : "algbw", is_narrow ? "overlap" : "busbw", "overlap",
			"streams");
	fputs("  operation\n", out);
	for (size_t k = 0; k < collectives_shown(r); k++) {
		row_print(r, &c->row[k], is_narrow);
		has_shared |= c->row[k].is_shared && c->row[k].timed != 0;
	}
	if (c->rows > collectives_shown(r))
		fprintf(out, "  %s; --top 0 shows all\n",
			gp_plural(c->rows - collectives_shown(r), "more row").s);
	if (has_shared)
		fputs("*: of groups of different calls, whose kernels do the work of all of them\n",
		      out);
	if (has_times)
		fprintf(out, "%s: GB/s as nccl-tests counts them; overlap: with other kernels\n",
			is_narrow ? "busbw" : "algbw, busbw");
}

static void communicator_print(FILE *out, size_t number, const struct gp_communicator *c,
			       bool has_times)
{
	fprintf(out, "communicator %zu: ", number);
	if (c->id != 0)
		fprintf(out, "%#llx, ", (unsigned long long)c->id);
	if (c->ranks == 0)
		fprintf(out, "ranks not known%s", has_times ? ": no busbw of most operations" : "");
	else if (c->rank != 0)
		fprintf(out, "rank %u of %u", c->rank - 1, c->ranks);
	else
		fprintf(out, "%u ranks", c->ranks);
	if (c->device != GP_DEVICE_UNKNOWN)
		fprintf(out, ", GPU %u", c->device);
	fputc('\n', out);
}

void gp_collectives_print(const struct gp_collectives_report *r)
{
	const struct gp_collectives *c = &r->collectives;
	collectives_print_answer(r);
	collectives_print_doubts(r);
	if (c->rows != 0)
		collectives_print_rows(r);
	for (size_t k = 0; k < c->communicators && (r->top == 0 || k < r->top); k++)
		communicator_print(r->out, k + 1, &c->communicator[k], c->gpu.has_operations);
	if (c->calls != 0 && !c->gpu.has_operations && c->gpu.why != NULL)
		fprintf(r->out, "no GPU time was recorded: %s\n", c->gpu.why);
	else if (c->calls != 0 && !c->gpu.has_operations)
		gp_again_print(r->out, r->info, GP_LACK_GPU_TIME);
}
