/* Medians of measured counters by kernel, and the figures of a roofline from the usual metrics. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../read/file/recording.h"
#include "../../read/symbols/demangle.h"
#include "../settle.h"

#define VALUES_MOST (1u << 20) /* 16 MiB: more than a recorder measures */
#define NAME_MAX 4096u
/* Share of a unit's peak from which on it limits a kernel: Nsight Compute's rule SOLBottleneck. */
#define BOUND_LEAST 0.6

const char *const gp_bound_names[] = { "unknown", "memory", "compute", "L2", "neither" };

struct value {
	uint32_t function, metric;
	double value;
};

struct reading {
	struct value *value;
	size_t values, room;
	uint64_t beyond;
	uint64_t *passes; /* by function */
	size_t passes_room;
};

static enum gp_status value_add(struct reading *in, const struct gp_record *r)
{
	struct value v = { .function = r->aux, .metric = (uint32_t)r->counter.metric };
	if (r->counter.metric >= GP_COUNTER_METRICS || r->aux == 0)
		return GP_OK;
	if (in->values == VALUES_MOST) {
		in->beyond++;
		return GP_OK;
	}
	if (in->values == in->room) {
		const size_t room = in->room + in->room / 4 + 1024;
		void *grown = realloc(in->value, room * sizeof *in->value);
		if (grown == NULL)
			return GP_E_MEMORY;
		in->value = grown;
		in->room = room;
	}
	memcpy(&v.value, &r->counter.value, sizeof v.value);
	in->value[in->values++] = v;
	return GP_OK;
}

static int by_kernel_and_size(const void *left, const void *right)
{
	const struct value *a = left, *b = right;
	if (a->function != b->function)
		return a->function < b->function ? -1 : 1;
	if (a->metric != b->metric)
		return a->metric < b->metric ? -1 : 1;
	/* NaN comes first, and so in one order */
	if (isnan(a->value) || isnan(b->value))
		return isnan(b->value) - isnan(a->value);
	return a->value < b->value ? -1 : a->value > b->value;
}

/* ---- rows ---- */

enum usual {
#define METRIC(NAME, text, operations) USUAL_##NAME,
#include "../../format/usual_metrics.def"
#undef METRIC
	USUALS,
};

static const struct {
	const char *name;
	unsigned operations;
} usual[USUALS] = {
#define METRIC(NAME, text, operations) { text, operations },
#include "../../format/usual_metrics.def"
#undef METRIC
};

/* NAN: it was not measured. */
static double usual_value(const struct gp_counters *c, const struct gp_counter_row *row,
			  enum usual metric)
{
	for (size_t k = 0; k < c->metrics; k++)
		if (c->metric[k] && strcmp(c->metric[k], usual[metric].name) == 0)
			return row->value[k];
	return NAN;
}

static double operations_of(const struct gp_counters *c, const struct gp_counter_row *row)
{
	double sum = NAN;
	for (enum usual k = 0; k < USUALS; k++) {
		const double value = usual[k].operations ? usual_value(c, row, k) : NAN;
		if (!isnan(value))
			sum = (isnan(sum) ? 0 : sum) + usual[k].operations * value;
	}
	return sum;
}

static enum gp_bound bound_of(const struct gp_counter_row *row)
{
	if (isnan(row->compute) || isnan(row->memory))
		return GP_BOUND_UNKNOWN;
	if (row->roof < BOUND_LEAST)
		return isnan(row->l2) ? GP_BOUND_UNKNOWN : GP_BOUND_NEITHER;
	if (row->l2 > fmax(row->memory, row->compute))
		return GP_BOUND_L2;
	return row->memory >= row->compute ? GP_BOUND_MEMORY : GP_BOUND_COMPUTE;
}

static void row_judge(const struct gp_counters *c, struct gp_counter_row *row)
{
	row->time_ns = usual_value(c, row, USUAL_TIME);
	row->compute = usual_value(c, row, USUAL_COMPUTE) / 100;
	row->memory = usual_value(c, row, USUAL_MEMORY) / 100;
	row->l2 = usual_value(c, row, USUAL_L2) / 100;
	row->active_warps = usual_value(c, row, USUAL_WARPS) / 100;
	row->bytes = usual_value(c, row, USUAL_BYTES);
	row->operations = operations_of(c, row);
	row->intensity = row->bytes > 0 ? row->operations / row->bytes : NAN;
	row->roof = isnan(row->compute) || isnan(row->memory) ?
			    NAN :
			    fmax(fmax(row->compute, row->memory), row->l2);
	row->bound = bound_of(row);
}

static enum gp_status row_name(struct gp_recording *recording, uint32_t function,
			       struct gp_counter_row *row)
{
	char text[NAME_MAX] = "(unknown kernel)";
	const struct gp_record *r =
		gp_defined_record(recording->definitions, GP_GPU_FUNCTION, function);
	row->name = gp_recording_text(recording, GP_GPU_FUNCTION, function);
	if (row->name && !*row->name)
		row->name = NULL;
	if (row->name)
		gp_demangle(row->name, text, sizeof text);
	if (r) {
		row->grid = r->gpu_function.grid;
		row->block = r->gpu_function.block;
		row->shared_bytes = (uint32_t)(r->gpu_function.shared >> 32);
	}
	row->key = strdup(text);
	return row->key ? GP_OK : GP_E_MEMORY;
}

static int longest_first(const void *left, const void *right)
{
	const struct gp_counter_row *a = left, *b = right;
	const double a_ns = isnan(a->time_ns) ? -1 : a->time_ns;
	const double b_ns = isnan(b->time_ns) ? -1 : b->time_ns;
	if (a_ns != b_ns)
		return a_ns < b_ns ? 1 : -1;
	const int order = strcmp(a->key, b->key);
	return order ? order : a->grid < b->grid ? -1 : a->grid > b->grid;
}

/* The values are in order: one function after the other, of it one metric after the other. */
static enum gp_status rows_make(struct gp_recording *recording, const struct reading *in,
				struct gp_counters *out)
{
	size_t functions = 0, next;
	for (size_t k = 0; k < in->values; k++)
		functions += k == 0 || in->value[k].function != in->value[k - 1].function;
	out->row = calloc(functions + 1, sizeof *out->row);
	enum gp_status status = out->row ? GP_OK : GP_E_MEMORY;
	struct gp_counter_row *row = NULL;
	for (size_t k = 0; status == GP_OK && k < in->values; k = next) {
		const struct value *v = &in->value[k];
		for (next = k; next < in->values && in->value[next].function == v->function &&
			       in->value[next].metric == v->metric;)
			next++;
		if (k == 0 || v->function != v[-1].function) {
			row = &out->row[out->rows++];
			for (size_t m = 0; m < GP_COUNTER_METRICS; m++)
				row->value[m] = NAN;
			status = row_name(recording, v->function, row);
			row->passes = v->function < in->passes_room ? in->passes[v->function] : 0;
		}
		if (next - k > row->count)
			row->count = next - k;
		row->value[v->metric] = in->value[k + (next - k - 1) / 2].value;
	}
	for (size_t k = 0; status == GP_OK && k < out->rows; k++)
		row_judge(out, &out->row[k]);
	if (status == GP_OK)
		qsort(out->row, out->rows, sizeof *out->row, longest_first);
	return status;
}

/* ---- the report ---- */

static void passes_note(struct reading *in, const struct gp_record *r)
{
	if (r->aux < in->passes_room)
		in->passes[r->aux] = r->counter.passes;
}

static enum gp_status counters_read(struct gp_recording *recording, struct reading *in)
{
	struct gp_event e;
	if (!gp_recording_keeps(recording, GP_COUNTER))
		return gp_recording_end(recording);
	enum gp_status status = gp_recording_rewind(recording);
	while (status == GP_OK && (status = gp_recording_next(recording, &e)) == GP_OK) {
		if (e.record.kind != GP_COUNTER)
			continue;
		passes_note(in, &e.record);
		status = value_add(in, &e.record);
		if (status != GP_OK)
			return status;
	}
	return status == GP_END ? GP_OK : status;
}

enum gp_status gp_counters_build(struct gp_recording *recording, struct gp_counters *out)
{
	struct reading in = { .passes_room = 1u << 16 };
	*out = (struct gp_counters){ 0 };
	in.passes = calloc(in.passes_room, sizeof *in.passes);
	enum gp_status status = in.passes ? counters_read(recording, &in) : GP_E_MEMORY;
	for (unsigned k = 0; status == GP_OK && k < GP_COUNTER_METRICS; k++) {
		out->metric[k] = gp_recording_text(recording, GP_FACT, GP_FACT_METRIC + k);
		if (out->metric[k])
			out->metrics = k + 1;
	}
	if (status == GP_OK && in.values)
		qsort(in.value, in.values, sizeof *in.value, by_kernel_and_size);
	if (status == GP_OK)
		status = rows_make(recording, &in, out);
	out->has_values = out->rows != 0;
	out->beyond = in.beyond;
	const struct gp_record *fact =
		gp_defined_record(recording->definitions, GP_FACT, GP_FACT_COUNTERS);
	out->is_accepted = fact && fact->fact.value != 0;
	out->why = gp_recording_text(recording, GP_FACT, GP_FACT_COUNTERS);
	free(in.value);
	free(in.passes);
	if (status != GP_OK)
		gp_counters_free(out);
	return status;
}

void gp_counters_free(struct gp_counters *counters)
{
	for (size_t k = 0; k < counters->rows; k++)
		free(counters->row[k].key);
	free(counters->row);
	*counters = (struct gp_counters){ 0 };
}
