/*
 * Kernels added up by name, by their launch's stack, or by range. Each function, stack or range is
 * named once.
 */
#include <stdlib.h>
#include <string.h>

#include "../../read/file/recording.h"
#include "../../read/symbols/demangle.h"
#include "../../read/tables/row_table.h"
#include "../groups/group_key.h"
#include "kernel_arguments.h"

#define ROW_NAME_MAX 4096u

/* A kernel's duration and delay, for quantiles. */
struct lasted {
	uint64_t took_ns;
	uint32_t row, operation;
};

struct row_of {
	uint64_t key;
	uint32_t row; /* 1 + its index; 0: new */
};

/* Time of one stack or function in a row. */
struct part {
	uint64_t key; /* row << 32 | stack or function */
	uint64_t total_ns;
	int64_t at_ns;
};

struct summing {
	struct gp_recording *recording;
	struct gp_kernels *out;
	enum gp_kernels_by by;
	struct gp_read_stack *stack;
	size_t room;
	struct gp_row_table names;	       /* struct row_of, by text */
	struct gp_row_table sources;	       /* struct row_of, by function, stack or range */
	struct gp_row_table stacks, functions; /* struct part */
	struct lasted *lasted;
	size_t lasteds;
	uint64_t *argument_bytes; /* by launch; NULL: not recorded */
};

static const enum gp_by group_by[] = {
	[GP_KERNELS_BY_LIBRARY] = GP_BY_LIBRARY,
	[GP_KERNELS_BY_OPERATOR] = GP_BY_OPERATOR,
	[GP_KERNELS_BY_LINE] = GP_BY_LINE,
	[GP_KERNELS_BY_MODULE] = GP_BY_MODULE,
};

/* ---- keys ---- */

/* The reason in place of a key; NULL: there is a key. */
static const char *key_missing(const struct summing *s, const struct gp_gpu_launch *l)
{
	if (s->by == GP_KERNELS_BY_NAME)
		return NULL;
	if (l == NULL)
		return "no launch found";
	if (s->by < GP_KERNELS_BY_RANGE && l->stack == 0)
		return "no stack was recorded";
	return NULL;
}

void gp_gpu_operation_text(const struct gp_gpu *gpu, const struct gp_gpu_operation *op, char *out,
			   size_t room)
{
	static const char *const copies[] = { [GP_GPU_TO_DEVICE] = "host_to_device",
					      [GP_GPU_TO_HOST] = "device_to_host",
					      [GP_GPU_ON_DEVICE] = "device_to_device",
					      [GP_GPU_ON_HOST] = "host_to_host",
					      [GP_GPU_PEER] = "peer" };
	if (op->kind == GP_GPU_IS_KERNEL) {
		const char *name = gpu->function[op->function].name;
		if (name != NULL)
			gp_demangle(name, out, room);
		else
			snprintf(out, room, "(unknown kernel)");
		return;
	}
	const unsigned kind = GP_GPU_COPY_KIND(op->function);
	const bool is_known = kind < sizeof copies / sizeof *copies && copies[kind] != NULL;
	snprintf(out, room, "%s",
		 op->kind == GP_GPU_IS_SET ? "fill" :
		 is_known		   ? copies[kind] :
					     "other");
}

/* True: the text is a reason. */
static bool key_write(struct summing *s, const struct gp_gpu_operation *op,
		      const struct gp_gpu_launch *l, char out[ROW_NAME_MAX])
{
	const char *missing = key_missing(s, l);
	if (missing == NULL && s->by == GP_KERNELS_BY_NAME) {
		gp_gpu_operation_text(&s->out->gpu, op, out, ROW_NAME_MAX);
		return false;
	}
	if (missing == NULL && s->by >= GP_KERNELS_BY_RANGE) {
		const struct gp_range_path *path = gp_range_path_shown(l->range, NULL);
		if (s->by == GP_KERNELS_BY_RANGE || path->known != GP_RANGE_IN)
			gp_range_path_text(path, out, GP_KEY_MAX);
		else
			snprintf(out, ROW_NAME_MAX, "%s",
				 gp_range_path_phase(path)->name ? gp_range_path_phase(path)->name :
								   "");
		return path->known != GP_RANGE_IN;
	}
	if (missing == NULL) {
		const struct gp_grouping how = { .by = group_by[s->by] };
		const struct gp_use use = { .stack = l->stack, .at_ns = l->at_ns };
		const struct gp_use_place place = gp_use_place(s->recording, &use, &how, s->stack);
		missing = place.without;
		if (missing == NULL)
			gp_group_key(how.by, &use, s->stack, out);
	}
	if (missing != NULL)
		snprintf(out, ROW_NAME_MAX, "(%s)", missing);
	return missing != NULL;
}

/* All operations with one source have one key. */
static uint64_t source_of(const struct summing *s, const struct gp_gpu_operation *op,
			  const struct gp_gpu_launch *l)
{
	if (s->by == GP_KERNELS_BY_NAME)
		return op->function;
	if (key_missing(s, l) != NULL)
		return l == NULL ? UINT64_MAX : UINT64_MAX - 1;
	return s->by < GP_KERNELS_BY_RANGE ? l->stack : (uint64_t)(uintptr_t)l->range;
}

/* The row's index; UINT32_MAX: out of memory. */
static uint32_t row_of(struct summing *s, const struct gp_gpu_operation *op,
		       const struct gp_gpu_launch *l)
{
	char text[ROW_NAME_MAX];
	struct row_of *source = gp_row_get_key(&s->sources, sizeof *source, source_of(s, op, l));
	if (source == NULL || source->row != 0)
		return source != NULL ? source->row - 1 : UINT32_MAX;
	const bool is_rest = key_write(s, op, l, text);
	const uint64_t key =
		gp_identity_hash(gp_text_identity((struct gp_identity){ is_rest, 1 }, text));
	struct row_of *name = gp_row_get_key(&s->names, sizeof *name, key);
	if (name != NULL && name->row == 0) {
		struct gp_kernels *out = s->out;
		if (out->rows == s->room) {
			const size_t room = s->room + s->room / 4 + 64;
			void *grown = realloc(out->row, room * sizeof *out->row);
			if (grown == NULL)
				return UINT32_MAX;
			out->row = grown;
			s->room = room;
		}
		out->row[out->rows] =
			(struct gp_kernel_row){ .key = strdup(text),
						.is_rest = is_rest,
						.delay_ns = -1,
						.occupancy = -1,
						.argument_bytes = GP_ARGUMENTS_UNKNOWN,
						.typical = SIZE_MAX };
		if (out->row[out->rows].key == NULL)
			return UINT32_MAX;
		name->row = (uint32_t)++out->rows;
	}
	if (name == NULL)
		return UINT32_MAX;
	source->row = name->row;
	return name->row - 1;
}

/* ---- sums ---- */

static void time_add(uint64_t *sum, uint64_t ns)
{
	if (__builtin_add_overflow(*sum, ns, sum))
		*sum = UINT64_MAX;
}

static bool part_add(struct gp_row_table *parts, uint32_t row, uint32_t what, uint64_t ns,
		     int64_t at_ns)
{
	struct part *p = gp_row_get_key(parts, sizeof *p, (uint64_t)row << 32 | what);
	if (p == NULL)
		return false;
	time_add(&p->total_ns, ns);
	p->at_ns = at_ns;
	return true;
}

static bool kernel_add(struct summing *s, size_t at)
{
	struct gp_gpu *gpu = &s->out->gpu;
	const struct gp_gpu_operation *op = &gpu->operation[at];
	const struct gp_gpu_launch *l =
		op->launch != GP_GPU_NO_LAUNCH ? &gpu->launch[op->launch] : NULL;
	const uint32_t which = row_of(s, op, l);
	if (which == UINT32_MAX)
		return false;
	struct gp_kernel_row *row = &s->out->row[which];
	row->count++;
	time_add(&row->total_ns, op->took_ns);
	row->joined += op->join == GP_GPU_JOINED;
	row->in_graphs += op->is_in_graph;
	if (op->took_ns >= row->longest_ns) {
		row->longest_ns = op->took_ns;
		row->device = op->device;
	}
	s->out->launches_without_stack += l == NULL || l->stack == 0;
	s->lasted[s->lasteds++] = (struct lasted){ op->took_ns, which, (uint32_t)at };
	if (l != NULL && l->stack != 0 &&
	    !part_add(&s->stacks, which, l->stack, op->took_ns, l->at_ns))
		return false;
	return part_add(&s->functions, which, op->function, op->took_ns, 0);
}

/* Operations are in the order of their begin. */
static void see_busy(struct gp_kernels *out, const struct gp_gpu_operation *op, uint64_t *first_ns,
		     uint64_t *last_ns)
{
	const uint64_t end_ns = op->began_ns + op->took_ns;
	if (*first_ns == UINT64_MAX)
		*first_ns = *last_ns = op->began_ns;
	if (end_ns > *last_ns) {
		out->busy_ns += end_ns - (op->began_ns > *last_ns ? op->began_ns : *last_ns);
		*last_ns = end_ns;
	}
	out->envelope_ns = *last_ns - *first_ns;
}

/* ---- rows ---- */

static int by_row(const void *left, const void *right)
{
	const struct lasted *a = left, *b = right;
	if (a->row != b->row)
		return a->row < b->row ? -1 : 1;
	if (a->took_ns != b->took_ns)
		return a->took_ns < b->took_ns ? -1 : 1;
	return (a->operation > b->operation) - (a->operation < b->operation);
}

/* True: its delay from the call means what users expect. */
static bool has_delay(const struct gp_gpu *gpu, const struct gp_gpu_operation *op)
{
	if (op->join != GP_GPU_JOINED || op->is_in_graph || op->at_ns == INT64_MIN)
		return false;
	return gpu->launch[op->launch].before_ns == gpu->launch[op->launch].at_ns;
}

/* The quantile by the nearest rank. */
static size_t quantile_at(size_t count, unsigned percent)
{
	const size_t rank = (count * percent + 99) / 100;
	return rank == 0 ? 0 : rank - 1;
}

/* The median of the first `count`; each has a row. */
static void rows_medians(struct summing *s, size_t count,
			 void (*set)(struct gp_kernel_row *, uint64_t))
{
	qsort(s->lasted, count, sizeof *s->lasted, by_row);
	for (size_t k = 0, end; k < count; k = end) {
		for (end = k; end < count && s->lasted[end].row == s->lasted[k].row; end++)
			;
		set(&s->out->row[s->lasted[k].row],
		    s->lasted[k + quantile_at(end - k, 50)].took_ns);
	}
}

static void delay_set(struct gp_kernel_row *row, uint64_t ns)
{
	row->delay_ns = (int64_t)ns;
}

static void arguments_set(struct gp_kernel_row *row, uint64_t bytes)
{
	row->argument_bytes = bytes;
}

static void rows_arguments(struct summing *s)
{
	const struct gp_gpu *gpu = &s->out->gpu;
	size_t known = 0;
	for (size_t k = 0; k < s->lasteds; k++) {
		const struct gp_gpu_operation *op = &gpu->operation[s->lasted[k].operation];
		const bool is_single = op->join == GP_GPU_JOINED && !op->is_in_graph;
		if (!is_single || s->argument_bytes[op->launch] == GP_ARGUMENTS_UNKNOWN)
			continue;
		struct lasted swapped = s->lasted[k]; /* the rest is needed again */
		s->lasted[k] = s->lasted[known];
		swapped.took_ns = s->argument_bytes[op->launch];
		s->lasted[known++] = swapped;
	}
	rows_medians(s, known, arguments_set);
	for (size_t k = 0; k < known; k++)
		s->lasted[k].took_ns = gpu->operation[s->lasted[k].operation].took_ns;
}

static void rows_quantiles(struct summing *s)
{
	struct gp_gpu *gpu = &s->out->gpu;
	qsort(s->lasted, s->lasteds, sizeof *s->lasted, by_row);
	for (size_t k = 0, end; k < s->lasteds; k = end) {
		struct gp_kernel_row *row = &s->out->row[s->lasted[k].row];
		for (end = k; end < s->lasteds && s->lasted[end].row == s->lasted[k].row; end++)
			;
		row->median_ns = s->lasted[k + quantile_at(end - k, 50)].took_ns;
		row->p99_ns = s->lasted[k + quantile_at(end - k, 99)].took_ns;
		for (size_t n = 0; n < end - k && row->typical == SIZE_MAX; n++) {
			const size_t middle = quantile_at(end - k, 50);
			const size_t at = n % 2 ? middle - (n + 1) / 2 : middle + n / 2;
			if (at >= end - k)
				continue;
			const struct gp_gpu_operation *op =
				&gpu->operation[s->lasted[k + at].operation];
			if (op->join == GP_GPU_JOINED && !op->is_in_graph)
				row->typical = s->lasted[k + at].operation;
		}
	}
	/* the same with delays */
	size_t delays = 0;
	for (size_t k = 0; k < s->lasteds; k++) {
		const struct gp_gpu_operation *op = &gpu->operation[s->lasted[k].operation];
		if (!has_delay(gpu, op))
			continue;
		const int64_t delay_ns = op->at_ns - gpu->launch[op->launch].at_ns;
		s->lasted[delays] = s->lasted[k];
		s->lasted[delays++].took_ns = delay_ns > 0 ? (uint64_t)delay_ns : 0;
	}
	rows_medians(s, delays, delay_set);
}

static const char *gpu_name(const struct summing *s, unsigned device)
{
	for (size_t k = 0; k < s->recording->info.devices; k++)
		if (s->recording->info.device[k].device == device)
			return s->recording->info.device[k].name;
	return NULL;
}

/* The costliest function and stack of each row. Ties go to the lowest number, not to the hash. */
static void rows_parts(struct summing *s)
{
	struct gp_kernels *out = s->out;
	uint64_t *most = calloc(out->rows + 1, sizeof *most);
	const struct part *p = s->functions.row;
	for (uint32_t k = 0; most != NULL && k < s->functions.rows; k++) {
		const uint32_t row = (uint32_t)(p[k].key >> 32), function = (uint32_t)p[k].key;
		if (p[k].total_ns < most[row] || (p[k].total_ns == most[row] && most[row] != 0 &&
						  function > out->row[row].function))
			continue;
		most[row] = p[k].total_ns;
		out->row[row].function = function;
	}
	if (most != NULL)
		memset(most, 0, out->rows * sizeof *most);
	p = s->stacks.row;
	for (uint32_t k = 0; most != NULL && k < s->stacks.rows; k++) {
		struct gp_kernel_row *row = &out->row[p[k].key >> 32];
		const uint32_t stack = (uint32_t)p[k].key;
		if (row->stack != 0 &&
		    (p[k].total_ns < most[p[k].key >> 32] ||
		     (p[k].total_ns == most[p[k].key >> 32] && stack > row->stack)))
			continue;
		most[p[k].key >> 32] = p[k].total_ns;
		row->stack = stack;
		row->at_ns = p[k].at_ns;
	}
	free(most);
}

static void row_describe(struct summing *s, struct gp_kernel_row *row)
{
	const struct gp_grouping how = { .by = GP_BY_LIBRARY };
	const struct gp_use use = { .stack = row->stack, .at_ns = row->at_ns };
	const struct gp_gpu_function *f = &s->out->gpu.function[row->function];
	row->name = f->name;
	row->occupancy = gp_gpu_occupancy(gpu_name(s, row->device), f);
	row->without = row->stack == 0 ? "no stack was recorded" : NULL;
	if (row->stack == 0)
		return;
	row->without = gp_use_place(s->recording, &use, &how, s->stack).without;
	if (row->without == NULL)
		memcpy(row->library, s->stack->names.library, sizeof row->library);
}
_Static_assert(sizeof((struct gp_kernel_row *)0)->library == GP_NAME_MAX, "a name fits");

static int costliest_kernel(const void *left, const void *right)
{
	const struct gp_kernel_row *a = left, *b = right;
	if (a->is_rest != b->is_rest)
		return a->is_rest ? 1 : -1;
	if (a->total_ns != b->total_ns)
		return a->total_ns < b->total_ns ? 1 : -1;
	return strcmp(a->key, b->key);
}

static enum gp_status rows_build(struct summing *s, int64_t from_ns, int64_t to_ns, unsigned device)
{
	struct gp_kernels *out = s->out;
	const struct gp_gpu *gpu = &out->gpu;
	uint64_t first_ns = UINT64_MAX, last_ns = 0;
	s->stack = malloc(sizeof *s->stack);
	s->lasted = malloc((gpu->operations + 1) * sizeof *s->lasted);
	if (s->stack == NULL || s->lasted == NULL)
		return GP_E_MEMORY;
	for (size_t k = 0; k < gpu->operations; k++) {
		const struct gp_gpu_operation *op = &gpu->operation[k];
		if (!gp_gpu_is_chosen(op, from_ns, to_ns, device))
			continue;
		out->count[op->kind]++;
		time_add(&out->total_ns[op->kind], op->took_ns);
		see_busy(out, op, &first_ns, &last_ns);
		if (op->kind == GP_GPU_IS_KERNEL && !kernel_add(s, k))
			return GP_E_MEMORY;
	}
	if (s->argument_bytes != NULL)
		rows_arguments(s);
	rows_quantiles(s);
	rows_parts(s);
	for (size_t k = 0; k < out->rows; k++)
		row_describe(s, &out->row[k]);
	if (out->rows != 0)
		qsort(out->row, out->rows, sizeof *out->row, costliest_kernel);
	return GP_OK;
}

enum gp_status gp_kernels_build(struct gp_recording *recording, enum gp_kernels_by by,
				int64_t from_ns, int64_t to_ns, unsigned device,
				struct gp_kernels *out)
{
	struct summing s = { .recording = recording, .out = out, .by = by };
	*out = (struct gp_kernels){ 0 };
	enum gp_status status = gp_gpu_build(recording, by >= GP_KERNELS_BY_RANGE, &out->gpu);
	if (status == GP_OK && out->gpu.ranges != NULL)
		status = gp_range_paths_fold(&out->gpu.ranges, 1);
	if (status == GP_OK)
		status = gp_kernel_arguments(recording, &out->gpu, &s.argument_bytes);
	out->has_arguments = s.argument_bytes != NULL;
	if (status == GP_OK)
		status = rows_build(&s, from_ns, to_ns, device);
	gp_row_table_release(&s.names);
	gp_row_table_release(&s.sources);
	gp_row_table_release(&s.stacks);
	gp_row_table_release(&s.functions);
	free(s.stack);
	free(s.lasted);
	free(s.argument_bytes);
	if (status != GP_OK)
		gp_kernels_free(out);
	return status;
}

enum gp_status gp_kernels_skip(struct gp_recording *recording, const struct gp_kernels *kernels,
			       const struct gp_kernel_row *row, uint64_t *skip)
{
	const struct gp_gpu *gpu = &kernels->gpu;
	struct gp_event e;
	*skip = UINT64_MAX;
	if (row->typical == SIZE_MAX || row->name == NULL)
		return GP_OK;
	const struct gp_gpu_operation *op = &gpu->operation[row->typical];
	const char *name = gpu->function[op->function].name;
	enum gp_status status = gp_recording_rewind(recording);
	for (*skip = 0; status == GP_OK && (status = gp_recording_next(recording, &e)) == GP_OK;)
		*skip += e.at_ns < gpu->launch[op->launch].at_ns &&
			 gp_launched_as(&e.record) == GP_LAUNCHED_KERNEL &&
			 gp_recording_kernel_name(recording, e.record.launch.kernel) == name;
	return status == GP_END ? GP_OK : status;
}

void gp_kernels_free(struct gp_kernels *kernels)
{
	for (size_t k = 0; k < kernels->rows; k++)
		free(kernels->row[k].key);
	free(kernels->row);
	gp_gpu_free(&kernels->gpu);
	*kernels = (struct gp_kernels){ 0 };
}
