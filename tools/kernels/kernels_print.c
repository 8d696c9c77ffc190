/* `gpuprof kernels` for a person. */
#include "../command.h"
#include "../io/amount.h"
#include "../io/message.h"
#include "../io/screen.h"
#include "../report/again.h"
#include "../report/stack_print.h"
#include "kernels_report.h"

#define ALL_COLUMNS 100u /* with a short name */

double gp_kernel_share(const struct gp_kernels *kernels, const struct gp_kernel_row *row)
{
	const uint64_t all_ns = kernels->total_ns[GP_GPU_IS_KERNEL];
	return all_ns != 0 ? (double)row->total_ns / (double)all_ns : 0;
}

static struct gp_text duration(uint64_t ns)
{
	return gp_ns_text(ns > INT64_MAX ? INT64_MAX : (int64_t)ns);
}

static size_t rows_shown(const struct gp_kernels_report *r)
{
	return r->top && r->kernels.rows > r->top ? (size_t)r->top : r->kernels.rows;
}

static void kernels_print_answer(const struct gp_kernels_report *r)
{
	const struct gp_kernels *k = &r->kernels;
	gp_name_print(r->out, r->path);
	if (k->rows == 0) {
		fputs(k->gpu.operations == 0 && k->gpu.windows == 0 ?
			      ": no window of GPU time began\n" :
			      ": the GPU ran no kernel\n",
		      r->out);
		gp_headline_print(r->out, r->info);
		return;
	}
	if (k->row[0].is_rest) {
		fprintf(r->out, ": the GPU ran %s\n",
			gp_plural(k->count[GP_GPU_IS_KERNEL], "kernel").s);
	} else {
		fputs(r->by == GP_KERNELS_BY_NAME ? ": the costliest kernel is " :
						    ": most time goes to ",
		      r->out);
		gp_name_print(r->out, k->row[0].key);
		fprintf(r->out, ", %s (%.1f%% of all kernels)\n", duration(k->row[0].total_ns).s,
			100 * gp_kernel_share(k, &k->row[0]));
	}
	gp_headline_print(r->out, r->info);
	fprintf(r->out, "GPU: %s, %s", gp_plural(k->count[GP_GPU_IS_KERNEL], "kernel").s,
		duration(k->total_ns[GP_GPU_IS_KERNEL]).s);
	if (k->count[GP_GPU_IS_COPY])
		fprintf(r->out, "; %s, %s",
			k->count[GP_GPU_IS_COPY] == 1 ?
				"1 copy" :
				gp_plural(k->count[GP_GPU_IS_COPY], "copie").s,
			duration(k->total_ns[GP_GPU_IS_COPY]).s);
	if (k->count[GP_GPU_IS_SET])
		fprintf(r->out, "; %s, %s", gp_plural(k->count[GP_GPU_IS_SET], "set").s,
			duration(k->total_ns[GP_GPU_IS_SET]).s);
	fprintf(r->out, "; busy %s of %s\n", duration(k->busy_ns).s, duration(k->envelope_ns).s);
}

void gp_gpu_doubts_print(FILE *out, const struct gp_gpu *g)
{
	const struct {
		uint64_t count;
		const char *noun, *text;
	} doubt[] = {
		{ g->dropped, "operation", "dropped by CUPTI: sums are too low" },
		{ g->lost, "operation", "lost by gpuprof: sums are too low" },
		{ g->beyond, "event", "beyond the memory for a report: sums are too low" },
		{ g->joined[GP_GPU_UNCERTAIN], "operation",
		  "may belong to another launch of the same kernel" },
		{ g->joined[GP_GPU_UNJOINED], "operation", "without a launch" },
		{ g->launches_alone, "launch", "without an operation" },
		{ g->outside, "operation", "of calls outside of the windows: not in this report" },
		{ g->swapped, "operation", "in another order than the calls of racing threads" },
	};
	for (size_t k = 0; k < sizeof doubt / sizeof *doubt; k++)
		if (doubt[k].count != 0)
			fprintf(out, "%s %s\n", gp_plural(doubt[k].count, doubt[k].noun).s,
				doubt[k].text);
}

bool gp_gpu_has_device(const char *path, const struct gp_gpu *g, int64_t device)
{
	bool is_there[UINT8_MAX + 1] = { false };
	char list[GP_DEVICES_TEXT] = "";
	for (size_t k = 0; k < g->operations; k++)
		is_there[g->operation[k].device] = true;
	if (device < 0 || g->operations == 0 || (device <= UINT8_MAX && is_there[device]))
		return true;
	gp_error("cannot show GPU %lld of '%s': no operation was recorded", (long long)device,
		 path);
	for (size_t k = 0, used = 0; k < GP_DEVICES && used + 16 < sizeof list; k++)
		if (is_there[k])
			used += (size_t)sprintf(list + used, "%s%zu", used != 0 ? ", " : "", k);
	if (list[0] != '\0')
		gp_hint("GPUs of the recording: %s", list);
	return false;
}

static void kernels_print_rows(const struct gp_kernels_report *r)
{
	const bool is_narrow = gp_screen_is_below(ALL_COLUMNS);
	FILE *out = r->out;
	bool has_occupancy = false;
	for (size_t k = 0; k < rows_shown(r); k++)
		has_occupancy |= r->kernels.row[k].occupancy >= 0;
	fprintf(out, "\n%6s %10s %8s", "share", "total", "count");
	if (!is_narrow)
		fprintf(out, " %9s %9s %9s", "mean", "p99", "delay");
	if (!is_narrow && has_occupancy)
		fprintf(out, " %9s", "occupancy");
	if (!is_narrow && r->kernels.has_arguments)
		fprintf(out, " %10s", "arguments");
	fprintf(out, "  %s\n", r->by_word);
	for (size_t k = 0; k < rows_shown(r); k++) {
		const struct gp_kernel_row *row = &r->kernels.row[k];
		fprintf(out, "%5.1f%% %10s %8s", 100 * gp_kernel_share(&r->kernels, row),
			duration(row->total_ns).s, gp_count_text(row->count).s);
		if (!is_narrow)
			fprintf(out, " %9s %9s %9s", duration(row->total_ns / row->count).s,
				duration(row->p99_ns).s,
				row->delay_ns >= 0 ? gp_ns_text(row->delay_ns).s : "-");
		if (!is_narrow && has_occupancy && row->occupancy >= 0)
			fprintf(out, " %8.0f%%", 100 * row->occupancy);
		else if (!is_narrow && has_occupancy)
			fprintf(out, " %9s", "-");
		if (!is_narrow && r->kernels.has_arguments)
			fprintf(out, " %10s",
				row->argument_bytes != UINT64_MAX ?
					gp_bytes_text(row->argument_bytes).s :
					"-");
		fputs("  ", out);
		gp_name_print(out, row->key);
		fputc('\n', out);
		if (r->has_stacks && row->stack)
			gp_stack_print(out, r->recording, row->stack, row->at_ns, GP_STACK_FOLDED);
	}
	if (r->kernels.rows > rows_shown(r))
		fprintf(out, "  %s; --top 0 shows all\n",
			gp_plural(r->kernels.rows - rows_shown(r), "more row").s);
	fputs("share: of the sum of the kernels' times", out);
	if (!is_narrow)
		fputs("; delay: median from the launch to the start", out);
	fputc('\n', out);
	if (!is_narrow && has_occupancy)
		fputs("occupancy: theoretical, of the launch shape with most time\n", out);
	if (!is_narrow && r->kernels.has_arguments)
		fputs("arguments: median of the live memory that a launch's arguments point to\n",
		      out);
}

static bool needs_stacks(const struct gp_kernels_report *r)
{
	return (r->by != GP_KERNELS_BY_NAME && r->by < GP_KERNELS_BY_RANGE) || r->has_stacks;
}

void gp_kernels_print(const struct gp_kernels_report *r)
{
	const struct gp_gpu *g = &r->kernels.gpu;
	if (!g->has_operations) {
		gp_name_print(r->out, r->path);
		fprintf(r->out, ": no GPU time was recorded%s%s\n", g->why ? ": " : "",
			g->why ? g->why : "");
		gp_headline_print(r->out, r->info);
		if (g->why == NULL)
			gp_again_print(r->out, r->info, GP_LACK_GPU_TIME);
		return;
	}
	kernels_print_answer(r);
	gp_gpu_doubts_print(r->out, g);
	if (r->kernels.rows != 0)
		kernels_print_rows(r);
	const uint64_t bare = r->kernels.launches_without_stack;
	if (needs_stacks(r) && bare != 0) {
		fprintf(r->out, "%s launched without a stack\n", gp_plural(bare, "kernel").s);
		if (bare == r->kernels.count[GP_GPU_IS_KERNEL])
			gp_again_print(r->out, r->info, GP_LACK_GPU_TIME | GP_LACK_LAUNCHES);
	}
}

/* ---- Nsight Compute ---- */

/* In single quotes for a shell. */
static void kernel_print_quoted(FILE *out, const char *text)
{
	fputc('\'', out);
	for (; *text; text++) {
		if (*text == '\'')
			fputs("'\\''", out);
		else
			fputc(*text >= ' ' && *text < 0x7f ? *text : '?', out);
	}
	fputc('\'', out);
}

int gp_kernels_ncu(const struct gp_kernels_report *r, uint64_t number)
{
	uint64_t skip = UINT64_MAX;
	if (number > r->kernels.rows) {
		gp_error("no row %llu: the report has %llu", (unsigned long long)number,
			 (unsigned long long)r->kernels.rows);
		return GP_EXIT_USAGE;
	}
	const struct gp_kernel_row *row = &r->kernels.row[number - 1];
	const struct gp_kernels *k = &r->kernels;
	const char *name = row->typical != SIZE_MAX ?
				   k->gpu.function[k->gpu.operation[row->typical].function].name :
				   row->name;
	enum gp_status status = gp_kernels_skip(r->recording, &r->kernels, row, &skip);
	if (status != GP_OK)
		return gp_report_failed("report on", r->path, status);
	if (name == NULL) {
		gp_error("the kernel of row %llu has no name", (unsigned long long)number);
		return GP_EXIT_USAGE;
	}
	fputs("ncu --kernel-name-base mangled --kernel-name ", r->out);
	kernel_print_quoted(r->out, name);
	if (skip != UINT64_MAX)
		fprintf(r->out, " --launch-skip %llu", (unsigned long long)skip);
	fputs(" --launch-count 1 ", r->out);
	gp_command_print(r->out, r->info->command ? r->info->command : "COMMAND");
	fputc('\n', r->out);
	return GP_EXIT_OK;
}
