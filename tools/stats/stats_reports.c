/*
 * The reports of `stats`, with the names and columns of Nsight Systems 2025. Its documentation,
 * "Post-Collection Analysis Guide", defines them.
 */
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "stats_report.h"

/* ---- cells ---- */

static struct gp_stat_cell *put_text(struct gp_stat_cell *cell, const char *text)
{
	*cell = (struct gp_stat_cell){ .kind = GP_STAT_TEXT, .text = text };
	return cell + 1;
}

static struct gp_stat_cell *put_integer(struct gp_stat_cell *cell, uint64_t number)
{
	*cell = (struct gp_stat_cell){ .kind = GP_STAT_INTEGER,
				       .integer =
					       number < INT64_MAX ? (int64_t)number : INT64_MAX };
	return cell + 1;
}

/* INT64_MIN: unknown. */
static struct gp_stat_cell *put_moment(struct gp_stat_cell *cell, int64_t ns)
{
	if (ns != INT64_MIN)
		*cell = (struct gp_stat_cell){ .kind = GP_STAT_INTEGER, .integer = ns };
	return cell + 1;
}

static struct gp_stat_cell *put_real(struct gp_stat_cell *cell, double number)
{
	*cell = (struct gp_stat_cell){ .kind = GP_STAT_REAL, .real = number, .decimals = 1 };
	return cell + 1;
}

#define MB 1e6 /* as in Nsight Systems */

static struct gp_stat_cell *put_mb(struct gp_stat_cell *cell, double bytes)
{
	*cell = (struct gp_stat_cell){ .kind = GP_STAT_REAL, .real = bytes / MB, .decimals = 3 };
	return cell + 1;
}

/* Avg, Med, Min, Max, StdDev */
static struct gp_stat_cell *put_spread(struct gp_stat_cell *cell, const struct gp_spread *s)
{
	if (s->count == 0)
		return cell + 5;
	cell = put_real(cell, s->mean);
	cell = put_real(cell, s->median);
	cell = put_integer(cell, s->least);
	cell = put_integer(cell, s->most);
	return put_real(cell, s->deviation);
}

#define SPREAD(before, unit)                                                              \
	before "Avg (" unit ")|" before "Med (" unit ")|" before "Min (" unit ")|" before \
	       "Max (" unit ")|" before "StdDev (" unit ")"

/* The text lives until the next row; it is cut where the room ends. */
static char *scratch(struct gp_stats *s, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
static char *scratch(struct gp_stats *s, const char *format, ...)
{
	char *text = &s->scratch[s->used];
	const size_t room = sizeof s->scratch - s->used;
	va_list arguments;
	va_start(arguments, format);
	const int bytes = vsnprintf(text, room, format, arguments);
	va_end(arguments);
	s->used += bytes >= 0 && (size_t)bytes < room ? (size_t)bytes + 1 : room - 1;
	return text;
}

static struct gp_stat_cell *put_share(const struct gp_stats *s, struct gp_stat_cell *cell,
				      const struct gp_sum_row *row)
{
	cell = put_real(cell, s->sums.total_ns ?
				      100.0 * (double)row->time.total / (double)s->sums.total_ns :
				      0);
	cell = put_integer(cell, row->time.total);
	return put_integer(cell, row->time.count);
}

/* PID, TID; the definitions are those of the end of the recording, which was replayed. */
static struct gp_stat_cell *put_thread(const struct gp_stats *s, struct gp_stat_cell *cell,
				       uint32_t thread)
{
	const uint32_t tid = gp_recording_tid(s->recording, thread);
	cell = put_integer(cell, s->info->pid);
	if (tid != 0)
		put_integer(cell, tid);
	return cell + 1;
}

/* ---- sums of kernels and copies ---- */

static void kern_sum_row(struct gp_stats *s, size_t n, struct gp_stat_cell *cell)
{
	const struct gp_sum_row *row = &s->sums.row[n];
	cell = put_share(s, cell, row);
	cell = put_spread(cell, &row->time);
	put_text(cell, row->name);
}

static const char *copy_name(unsigned kind)
{
	static const char *const names[] = {
		"[CUDA memset]",
		"[CUDA memcpy Host-to-Device]",
		"[CUDA memcpy Device-to-Host]",
		"[CUDA memcpy Host-to-Array]",
		"[CUDA memcpy Array-to-Host]",
		"[CUDA memcpy Array-to-Array]",
		"[CUDA memcpy Array-to-Device]",
		"[CUDA memcpy Device-to-Array]",
		"[CUDA memcpy Device-to-Device]",
		"[CUDA memcpy Host-to-Host]",
		"[CUDA memcpy Peer-to-Peer]",
	};
	return kind < sizeof names / sizeof *names ? names[kind] : "[CUDA memcpy]";
}

static void mem_time_row(struct gp_stats *s, size_t n, struct gp_stat_cell *cell)
{
	const struct gp_sum_row *row = &s->sums.row[n];
	cell = put_share(s, cell, row);
	cell = put_spread(cell, &row->time);
	put_text(cell, copy_name(row->copy));
}

static int by_bytes(const void *left, const void *right)
{
	const struct gp_sum_row *a = left, *b = right;
	if (a->other.total != b->other.total)
		return a->other.total < b->other.total ? 1 : -1;
	return a->copy - b->copy;
}

static enum gp_status mem_size_begin(struct gp_stats *s)
{
	if (s->rows != 0)
		qsort(s->sums.row, s->rows, sizeof *s->sums.row, by_bytes);
	return GP_OK;
}

static void mem_size_row(struct gp_stats *s, size_t n, struct gp_stat_cell *cell)
{
	const struct gp_spread *bytes = &s->sums.row[n].other;
	cell = put_mb(cell, (double)bytes->total);
	cell = put_integer(cell, bytes->count);
	cell = put_mb(cell, bytes->mean);
	cell = put_mb(cell, bytes->median);
	cell = put_mb(cell, (double)bytes->least);
	cell = put_mb(cell, (double)bytes->most);
	cell = put_mb(cell, bytes->deviation);
	put_text(cell, copy_name(s->sums.row[n].copy));
}

/* ---- trace of operations ---- */

static enum gp_status gpu_trace_begin(struct gp_stats *s)
{
	s->index = malloc((s->gpu.operations + 1) * sizeof *s->index);
	s->name = calloc(s->gpu.functions + 1, sizeof(char *));
	if (s->index == NULL || s->name == NULL)
		return GP_E_MEMORY;
	for (size_t k = 0; k < s->gpu.operations; k++)
		if (gp_gpu_is_chosen(&s->gpu.operation[k], s->from_ns, s->to_ns, s->device))
			s->index[s->rows++] = k;
	return GP_OK;
}

static const char *function_name(struct gp_stats *s, uint32_t function)
{
	char text[8192];
	if (s->name[function] == NULL) {
		gp_gpu_function_name(&s->gpu.function[function], text, sizeof text);
		s->name[function] = strdup(text);
	}
	return s->name[function] ? s->name[function] : "";
}

static const char *device_name(struct gp_stats *s, unsigned device)
{
	for (size_t k = 0; k < s->info->devices; k++)
		if (s->info->device[k].device == device && s->info->device[k].name)
			return scratch(s, "%s (%u)", s->info->device[k].name, device);
	return scratch(s, "(%u)", device);
}

static struct gp_stat_cell *put_memory(struct gp_stat_cell *cell, unsigned kind)
{
	/* CUpti_ActivityMemoryKind */
	static const char *const names[] = {
		NULL,	 "Pageable", "Pinned",	      "Device",
		"Array", "Managed",  "Device Static", "Managed Static"
	};
	if (kind != 0 && kind < sizeof names / sizeof *names)
		put_text(cell, names[kind]);
	return cell + 1;
}

static struct gp_stat_cell *put_shape(struct gp_stat_cell *cell, const struct gp_gpu_function *f)
{
	cell = put_integer(cell, f->grid & 0xffffffffu);
	cell = put_integer(cell, f->grid >> 32 & 0xffff);
	cell = put_integer(cell, f->grid >> 48);
	for (unsigned k = 0; k < 48; k += 16)
		cell = put_integer(cell, f->block >> k & 0xffff);
	cell = put_integer(cell, f->registers);
	cell = put_mb(cell, f->static_shared);
	return put_mb(cell, f->dynamic_shared);
}

static void gpu_trace_row(struct gp_stats *s, size_t n, struct gp_stat_cell *cell)
{
	const struct gp_gpu_operation *op = &s->gpu.operation[s->index[n]];
	const bool is_kernel = op->kind == GP_GPU_IS_KERNEL;
	cell = put_moment(cell, op->at_ns);
	cell = put_integer(cell, op->took_ns);
	cell = put_integer(cell, op->correlation);
	cell = is_kernel ? put_shape(cell, &s->gpu.function[op->function]) : cell + 9;
	if (!is_kernel) {
		put_mb(cell, (double)op->bytes);
		if (op->took_ns != 0)
			put_mb(cell + 1, 1e9 * (double)op->bytes / (double)op->took_ns);
		put_memory(cell + 2, GP_GPU_COPY_FROM(op->function));
		put_memory(cell + 3, GP_GPU_COPY_TO(op->function));
	}
	cell = put_text(cell + 4, device_name(s, op->device));
	cell = put_integer(cell, op->context) + 1;
	cell = put_integer(cell, op->stream);
	put_text(cell, is_kernel ? function_name(s, op->function) :
				   copy_name(GP_GPU_COPY_KIND(op->function)));
}

/* ---- launches ---- */

/* The ends of launch calls are not recorded, so API and queue times are empty. */
static void kern_exec_row(struct gp_stats *s, size_t n, struct gp_stat_cell *cell)
{
	static const char *const names[] = { "cuLaunchKernel", "cuLaunchKernelEx",
					     "cuLaunchCooperativeKernel", "cuLaunchGrid" };
	const struct gp_sum_row *row = &s->sums.row[n];
	cell = put_thread(s, cell, row->thread);
	cell = put_integer(cell, row->device);
	cell = put_integer(cell, row->time.count) + 1;
	cell = put_spread(cell, &row->other) + 10;
	cell = put_spread(cell, &row->time);
	cell = put_text(cell, row->api == GP_SUM_BY_GRAPH ? "cuGraphLaunch" : names[row->api]);
	put_text(cell, row->name);
}

/* ---- ranges ---- */

static const char *style_of(bool is_started)
{
	return is_started ? "StartEnd" : "PushPop";
}

static void proj_sum_row(struct gp_stats *s, size_t n, struct gp_stat_cell *cell)
{
	const struct gp_sum_row *row = &s->sums.row[n];
	const double calls = (double)row->calls;
	cell = put_text(cell, row->range);
	cell = put_text(cell, style_of(row->is_started));
	cell = put_integer(cell, row->time.total);
	cell = put_integer(cell, row->range_ns);
	cell = put_integer(cell, row->calls);
	cell = put_spread(cell, &row->time);
	cell = put_integer(cell, row->operations);
	cell = put_real(cell, (double)row->operations / calls);
	cell = put_real(cell, (double)row->depth / calls);
	put_real(cell, (double)row->children / calls);
}

static void range_kern_row(struct gp_stats *s, size_t n, struct gp_stat_cell *cell)
{
	const struct gp_sum_row *row = &s->sums.row[n];
	cell = put_text(cell, row->range);
	cell = put_text(cell, style_of(false));
	cell = put_thread(s, cell, row->thread);
	cell = put_integer(cell, row->calls);
	cell = put_integer(cell, row->time.count);
	cell = put_integer(cell, row->time.total);
	cell = put_spread(cell, &row->time);
	put_text(cell, row->name);
}

/* ---- traces of ranges ---- */

#define STACK_MOST 64u /* ids: a recording may nest ranges without limit in a few bytes */

static const char *range_name(struct gp_stats *s, const struct gp_gpu_call *call)
{
	char text[8192];
	gp_range_path_own_text(call->path, text, sizeof text);
	return scratch(s, "%s", text);
}

/* Lvl, NumChild, RangeId, ParentId, RangeStack */
static struct gp_stat_cell *put_place(struct gp_stats *s, struct gp_stat_cell *cell, size_t number)
{
	uint32_t chain[STACK_MOST];
	unsigned deep = 0;
	const struct gp_gpu_call *call = &s->calls.call[number];
	for (uint32_t at = (uint32_t)number; at != 0 && deep < STACK_MOST;
	     at = s->calls.call[at].call->up)
		chain[deep++] = at;
	cell = put_integer(cell, call->depth);
	cell = put_integer(cell, call->children);
	cell = put_integer(cell, number);
	if (call->call->up != 0)
		put_integer(cell, call->call->up);
	char *text = scratch(s, "%s", "");
	while (deep-- > 0) {
		s->used--; /* over the zero */
		scratch(s, ":%u", chain[deep]);
	}
	return put_text(cell + 1, text);
}

static int by_first(const void *left, const void *right, void *context)
{
	const size_t a = *(const size_t *)left, b = *(const size_t *)right;
	const struct gp_gpu_call *call = context;
	if (call[a].first_ns != call[b].first_ns)
		return call[a].first_ns < call[b].first_ns ? -1 : 1;
	return (a > b) - (a < b);
}

static enum gp_status proj_trace_begin(struct gp_stats *s)
{
	s->index = malloc((s->calls.calls + 1) * sizeof *s->index);
	if (s->index == NULL)
		return GP_E_MEMORY;
	for (size_t k = 1; k <= s->calls.calls; k++)
		if (s->calls.call[k].sum.operations != 0)
			s->index[s->rows++] = k;
	if (s->rows != 0)
		qsort_r(s->index, s->rows, sizeof *s->index, by_first, s->calls.call);
	return GP_OK;
}

static void proj_trace_row(struct gp_stats *s, size_t n, struct gp_stat_cell *cell)
{
	const struct gp_gpu_call *c = &s->calls.call[s->index[n]];
	cell = put_text(cell, range_name(s, c));
	cell = put_moment(cell, c->at_ns);
	cell = put_integer(cell, c->last_ns - c->first_ns);
	cell = put_moment(cell, c->call->begin_ns);
	cell = put_integer(cell, (uint64_t)(c->call->end_ns - c->call->begin_ns));
	cell = put_text(cell, style_of(c->call->is_started));
	cell = put_thread(s, cell, c->call->thread);
	cell = put_integer(cell, c->sum.operations);
	put_place(s, cell, s->index[n]);
}

static enum gp_status pushpop_begin(struct gp_stats *s)
{
	s->index = malloc((s->calls.calls + 1) * sizeof *s->index);
	s->child_ns = calloc(s->calls.calls + 1, sizeof *s->child_ns);
	if (s->index == NULL || s->child_ns == NULL)
		return GP_E_MEMORY;
	for (size_t k = 1; k <= s->calls.calls; k++) {
		const struct gp_range_call *call = s->calls.call[k].call;
		s->child_ns[call->up] += (uint64_t)(call->end_ns - call->begin_ns);
		if (!call->is_started && call->begin_ns >= s->from_ns && call->begin_ns <= s->to_ns)
			s->index[s->rows++] = k;
	}
	return GP_OK;
}

static void pushpop_row(struct gp_stats *s, size_t n, struct gp_stat_cell *cell)
{
	const struct gp_gpu_call *c = &s->calls.call[s->index[n]];
	const int64_t took_ns = c->call->end_ns - c->call->begin_ns;
	const char *name = range_name(s, c);
	cell = put_moment(cell, c->call->begin_ns);
	cell = put_moment(cell, c->call->end_ns);
	cell = put_moment(cell, took_ns);
	cell = put_integer(cell, s->child_ns[s->index[n]]);
	cell = put_moment(cell, took_ns - (int64_t)s->child_ns[s->index[n]]);
	cell = put_text(cell, name);
	cell = put_thread(s, cell, c->call->thread);
	cell = put_place(s, cell, s->index[n]);
	char *tree = scratch(s, "%s", "");
	for (uint32_t k = 0; k < c->depth && k < STACK_MOST; k++) {
		s->used--;
		scratch(s, "--");
	}
	s->used--;
	scratch(s, "%s", name);
	put_text(cell, tree);
}

/* ---- all ---- */

const struct gp_stat_report gp_stat_reports[] = {
	{ "cuda_gpu_kern_sum", "CUDA GPU Kernel Summary",
	  "Time (%)|Total Time (ns)|Instances|" SPREAD("", "ns") "|Name", GP_SUMS_OF_KERNELS, NULL,
	  kern_sum_row, GP_STAT_NEEDS_TIME },
	{ "cuda_gpu_mem_size_sum", "CUDA GPU MemOps Summary (by Size)",
	  "Total (MB)|Count|" SPREAD("", "MB") "|Operation", GP_SUMS_OF_COPIES, mem_size_begin,
	  mem_size_row, GP_STAT_NEEDS_TIME },
	{ "cuda_gpu_mem_time_sum", "CUDA GPU MemOps Summary (by Time)",
	  "Time (%)|Total Time (ns)|Count|" SPREAD("", "ns") "|Operation", GP_SUMS_OF_COPIES, NULL,
	  mem_time_row, GP_STAT_NEEDS_TIME },
	{ "cuda_gpu_trace", "CUDA GPU Trace",
	  "Start (ns)|Duration (ns)|CorrId|GrdX|GrdY|GrdZ|BlkX|BlkY|BlkZ|Reg/Trd|StcSMem (MB)|"
	  "DymSMem (MB)|Bytes (MB)|Throughput (MB/s)|SrcMemKd|DstMemKd|Device|Ctx|GreenCtx|Strm|"
	  "Name",
	  GP_STAT_NO_SUMS, gpu_trace_begin, gpu_trace_row, GP_STAT_NEEDS_TIME },
	{ "cuda_kern_exec_sum", "CUDA Kernel Launch & Exec Time Summary",
	  "PID|TID|DevId|Count|QCount|" SPREAD("T", "ns") "|" SPREAD("A", "ns") "|" SPREAD(
		  "Q", "ns") "|" SPREAD("K", "ns") "|API Name|Kernel Name",
	  GP_SUMS_OF_LAUNCHES, NULL, kern_exec_row, GP_STAT_NEEDS_TIME },
	{ "nvtx_gpu_proj_sum", "NVTX GPU Projection Summary",
	  "Range|Style|Total Proj Time (ns)|Total Range Time (ns)|Range Instances|" SPREAD(
		  "Proj ", "ns") "|Total GPU Ops|Avg GPU Ops|Avg Range Lvl|Avg Num Child",
	  GP_SUMS_OF_RANGES, NULL, proj_sum_row, GP_STAT_NEEDS_TIME | GP_STAT_NEEDS_RANGES },
	{ "nvtx_gpu_proj_trace", "NVTX GPU Projection Trace",
	  "Name|Projected Start (ns)|Projected Duration (ns)|Orig Start (ns)|Orig Duration (ns)|"
	  "Style|PID|TID|NumGPUOps|Lvl|NumChild|RangeId|ParentId|RangeStack",
	  GP_STAT_NO_SUMS, proj_trace_begin, proj_trace_row,
	  GP_STAT_NEEDS_TIME | GP_STAT_NEEDS_RANGES },
	{ "nvtx_kern_sum", "NVTX Range Kernel Summary",
	  "NVTX Range|Style|PID|TID|NVTX Inst|Kern Inst|Total Time (ns)|" SPREAD(
		  "", "ns") "|Kernel Name",
	  GP_SUMS_OF_RANGE_KERNELS, NULL, range_kern_row,
	  GP_STAT_NEEDS_TIME | GP_STAT_NEEDS_RANGES },
	{ "nvtx_pushpop_trace", "NVTX Push/Pop Range Trace",
	  "Start (ns)|End (ns)|Duration (ns)|DurChild (ns)|DurNonChild (ns)|Name|PID|TID|Lvl|"
	  "NumChild|RangeId|ParentId|RangeStack|NameTree",
	  GP_STAT_NO_SUMS, pushpop_begin, pushpop_row, GP_STAT_NEEDS_RANGES },
	{ 0 },
};

enum gp_status gp_stat_begin(struct gp_stats *s, const struct gp_stat_report *report)
{
	enum gp_status status = GP_OK;
	if (report->of != GP_STAT_NO_SUMS)
		status = gp_sums_build(&s->gpu, &s->calls, (enum gp_sums_of)report->of, s->from_ns,
				       s->to_ns, s->device, &s->sums);
	s->rows = s->sums.rows;
	return status == GP_OK && report->begin ? report->begin(s) : status;
}

void gp_stat_end(struct gp_stats *s)
{
	gp_sums_free(&s->sums);
	for (size_t k = 0; s->name != NULL && k < s->gpu.functions; k++)
		free(s->name[k]);
	free(s->name);
	free(s->index);
	free(s->child_ns);
	s->name = NULL;
	s->index = NULL;
	s->child_ns = NULL;
	s->rows = 0;
}
