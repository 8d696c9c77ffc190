/*
 * Sums by kernel, kind of copy, launch and range. Each value is a sample of a row: its index of an
 * operation or a call. Sorted samples give all figures of a row.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../../read/symbols/demangle.h"
#include "../../read/tables/array.h"
#include "../../read/tables/row_table.h"
#include "../phases/range_path.h"

#define NAME_ROOM GP_DEMANGLED_MAX
/* Samples beside one for each operation: kernels in ranges have one for each range around them. */
#define SAMPLES_MORE 4000000u
#define SAMPLES_AN_OPERATION 8u
#define NONE UINT32_MAX

struct sample {
	uint32_t row, index;
	uint32_t call; /* of range kernels */
};

struct numbered {
	uint64_t key;
	uint32_t number; /* 1 + index; 0: new */
};

/* The identity of a row. */
struct sum_key {
	uint32_t name, range; /* texts; NONE */
	uint32_t thread;
	uint8_t device, copy, api;
	bool is_started;
};

struct sums {
	const struct gp_gpu *gpu;
	const struct gp_gpu_calls *calls;
	struct gp_sums *out;
	size_t row_room, text_room, sample_room, samples, samples_most;
	struct sample *sample;
	uint32_t *name; /* text of each function */
	/* struct numbered: texts by hash, ranges by the address of their path, rows by hash */
	struct gp_row_table texts, paths, keys;
	bool is_other; /* the values are those of gp_sum_row.other */
};

/* ---- texts ---- */

void gp_gpu_function_name(const struct gp_gpu_function *f, char *out, size_t room)
{
	if (f->name == NULL)
		snprintf(out, room, "(unknown kernel)");
	else
		gp_demangle_whole(f->name, out, room);
}

static uint32_t sums_text_of(struct sums *s, const char *text)
{
	struct gp_sums *out = s->out;
	const struct gp_identity id = gp_text_identity((struct gp_identity){ 1, 1 }, text);
	struct numbered *n = gp_row_get_key(&s->texts, sizeof *n, gp_identity_hash(id));
	if (n == NULL)
		return NONE;
	if (n->number == 0) {
		char *copy = strdup(text);
		if (copy == NULL || !gp_array_reserve(&out->text, &s->text_room, out->texts, 1,
						      sizeof *out->text)) {
			free(copy);
			return NONE;
		}
		out->text[out->texts] = copy;
		n->number = (uint32_t)++out->texts;
	}
	return n->number - 1;
}

static bool names_make(struct sums *s)
{
	char text[NAME_ROOM];
	s->name = malloc((s->gpu->functions + 1) * sizeof *s->name);
	bool is_fine = s->name != NULL;
	for (size_t k = 0; k < s->gpu->functions && is_fine; k++) {
		gp_gpu_function_name(&s->gpu->function[k], text, sizeof text);
		s->name[k] = sums_text_of(s, text);
		is_fine = s->name[k] != NONE;
	}
	return is_fine;
}

static uint32_t sums_range_of(struct sums *s, const struct gp_range_path *path)
{
	char text[NAME_ROOM];
	struct numbered *n = gp_row_get_key(&s->paths, sizeof *n, (uint64_t)(uintptr_t)path);
	if (n == NULL)
		return NONE;
	if (n->number == 0) {
		gp_range_path_own_text(path, text, sizeof text);
		n->number = sums_text_of(s, text) + 1; /* NONE + 1: new again */
	}
	return n->number - 1;
}

/* ---- rows ---- */

static const char *sums_text_at(const struct gp_sums *out, uint32_t text)
{
	return text != NONE ? out->text[text] : NULL;
}

/* NONE: out of memory. */
static uint32_t sums_row_of(struct sums *s, const struct sum_key *key)
{
	struct gp_sums *out = s->out;
	const uint64_t first = gp_hash_pair(key->name, key->range);
	const uint64_t second =
		gp_hash_pair(key->thread, key->device | key->copy << 8 | key->is_started << 16 |
						  (uint64_t)key->api << 24);
	struct numbered *n = gp_row_get_key(&s->keys, sizeof *n, gp_hash_pair(first, second));
	if (n == NULL)
		return NONE;
	if (n->number == 0) {
		if (!gp_array_reserve(&out->row, &s->row_room, out->rows, 1, sizeof *out->row))
			return NONE;
		out->row[out->rows] = (struct gp_sum_row){ .name = sums_text_at(out, key->name),
							   .range = sums_text_at(out, key->range),
							   .thread = key->thread,
							   .device = key->device,
							   .copy = key->copy,
							   .is_started = key->is_started,
							   .api = key->api };
		n->number = (uint32_t)++out->rows;
	}
	return n->number - 1;
}

static bool sums_sample_add(struct sums *s, uint32_t row, size_t index, uint32_t call)
{
	if (row == NONE)
		return false;
	if (s->samples == s->samples_most) {
		s->out->beyond++;
		return true;
	}
	if (!gp_array_reserve(&s->sample, &s->sample_room, s->samples, 1, sizeof *s->sample))
		return false;
	s->sample[s->samples++] = (struct sample){ row, (uint32_t)index, call };
	return true;
}

static const struct gp_gpu_launch *sums_launch_of(const struct sums *s,
						  const struct gp_gpu_operation *op)
{
	return op->launch != GP_GPU_NO_LAUNCH ? &s->gpu->launch[op->launch] : NULL;
}

static bool range_kernel_add(struct sums *s, size_t index)
{
	const struct gp_gpu_operation *op = &s->gpu->operation[index];
	bool is_fine = true;
	for (uint32_t at = s->gpu->launch[op->launch].call; at != 0 && is_fine;
	     at = s->calls->call[at].call->up) {
		const struct gp_gpu_call *c = &s->calls->call[at];
		const struct sum_key key = { .name = s->name[op->function],
					     .range = sums_range_of(s, c->path),
					     .thread = c->call->thread };
		is_fine = key.range != NONE && sums_sample_add(s, sums_row_of(s, &key), index, at);
	}
	return is_fine;
}

static bool operation_add(struct sums *s, size_t index)
{
	const struct gp_gpu_operation *op = &s->gpu->operation[index];
	const struct gp_gpu_launch *l = sums_launch_of(s, op);
	const bool is_kernel = op->kind == GP_GPU_IS_KERNEL;
	struct sum_key key = { .name = NONE, .range = NONE };
	if (is_kernel != (s->out->of != GP_SUMS_OF_COPIES))
		return true;
	if (is_kernel)
		key.name = s->name[op->function];
	else
		key.copy = GP_GPU_COPY_KIND(op->function);
	if (s->out->of == GP_SUMS_OF_RANGE_KERNELS)
		return l == NULL || range_kernel_add(s, index);
	if (s->out->of == GP_SUMS_OF_LAUNCHES) {
		if (l == NULL)
			return true;
		key.thread = l->thread;
		key.device = op->device;
		key.api = l->by == GP_GPU_BY_GRAPH ? GP_SUM_BY_GRAPH : l->variant;
	}
	return sums_sample_add(s, sums_row_of(s, &key), index, 0);
}

static bool call_sum(struct sums *s, size_t index)
{
	const struct gp_gpu_call *c = &s->calls->call[index];
	struct sum_key key = { .name = NONE,
			       .range = sums_range_of(s, c->path),
			       .is_started = c->call->is_started };
	const uint32_t row = key.range != NONE ? sums_row_of(s, &key) : NONE;
	if (row == NONE)
		return false;
	struct gp_sum_row *r = &s->out->row[row];
	r->calls++;
	r->range_ns += (uint64_t)(c->call->end_ns - c->call->begin_ns);
	r->operations += c->sum.operations;
	r->depth += c->depth;
	r->children += c->children;
	return sums_sample_add(s, row, index, 0);
}

/* ---- figures ---- */

/* The begin of a kernel's first launch is recorded late. */
static bool sums_has_value(const struct sums *s, size_t index)
{
	const struct gp_gpu_operation *op = &s->gpu->operation[index];
	if (!s->is_other || s->out->of == GP_SUMS_OF_COPIES)
		return true;
	return op->at_ns != INT64_MIN &&
	       sums_launch_of(s, op)->before_ns == sums_launch_of(s, op)->at_ns;
}

static uint64_t sums_value_of(const struct sums *s, size_t index)
{
	if (s->out->of == GP_SUMS_OF_RANGES)
		return s->calls->call[index].last_ns - s->calls->call[index].first_ns;
	const struct gp_gpu_operation *op = &s->gpu->operation[index];
	if (!s->is_other)
		return op->took_ns;
	if (s->out->of == GP_SUMS_OF_COPIES)
		return op->bytes;
	const int64_t delay_ns = op->at_ns - sums_launch_of(s, op)->at_ns;
	return op->took_ns + (delay_ns > 0 ? (uint64_t)delay_ns : 0);
}

static int sample_by_call(const void *left, const void *right)
{
	const struct sample *a = left, *b = right;
	return a->row != b->row ? (a->row > b->row) - (a->row < b->row) :
				  (a->call > b->call) - (a->call < b->call);
}

static int sample_by_value(const void *left, const void *right, void *context)
{
	const struct sample *a = left, *b = right;
	if (a->row != b->row)
		return a->row < b->row ? -1 : 1;
	const uint64_t x = sums_value_of(context, a->index), y = sums_value_of(context, b->index);
	return (x > y) - (x < y);
}

/* Of sorted samples. The sum of squares of differences from the mean, so no digits cancel. */
static struct gp_spread spread_of(const struct sums *s, const struct sample *first, size_t count)
{
	struct gp_spread spread = { .count = count,
				    .least = sums_value_of(s, first->index),
				    .most = sums_value_of(s, first[count - 1].index) };
	const double low = (double)sums_value_of(s, first[(count - 1) / 2].index);
	double sum = 0, squares = 0;
	for (size_t k = 0; k < count; k++) {
		const uint64_t value = sums_value_of(s, first[k].index);
		sum += (double)value;
		if (__builtin_add_overflow(spread.total, value, &spread.total))
			spread.total = UINT64_MAX;
	}
	spread.mean = sum / (double)count;
	spread.median = low + ((double)sums_value_of(s, first[count / 2].index) - low) / 2;
	for (size_t k = 0; k < count; k++) {
		const double off = (double)sums_value_of(s, first[k].index) - spread.mean;
		squares += off * off;
	}
	if (count > 1)
		spread.deviation = sqrt(squares / (double)(count - 1));
	return spread;
}

static void spreads_make(struct sums *s, bool is_other)
{
	size_t kept = 0;
	s->is_other = is_other;
	for (size_t k = 0; k < s->samples; k++)
		if (sums_has_value(s, s->sample[k].index))
			s->sample[kept++] = s->sample[k];
	s->samples = kept;
	if (kept != 0)
		qsort_r(s->sample, kept, sizeof *s->sample, sample_by_value, s);
	for (size_t k = 0, end; k < kept; k = end) {
		for (end = k; end < kept && s->sample[end].row == s->sample[k].row; end++)
			;
		struct gp_sum_row *row = &s->out->row[s->sample[k].row];
		*(is_other ? &row->other : &row->time) = spread_of(s, &s->sample[k], end - k);
	}
}

static void calls_count(struct sums *s)
{
	if (s->samples != 0)
		qsort(s->sample, s->samples, sizeof *s->sample, sample_by_call);
	for (size_t k = 0; k < s->samples; k++)
		s->out->row[s->sample[k].row].calls +=
			k == 0 || sample_by_call(&s->sample[k - 1], &s->sample[k]) != 0;
}

static int sums_text_order(const char *a, const char *b)
{
	return a == b || a == NULL || b == NULL ? 0 : strcmp(a, b);
}

static int sums_row_order(const void *left, const void *right)
{
	const struct gp_sum_row *a = left, *b = right;
	int order = a->name != NULL ? sums_text_order(a->range, b->range) : 0;
	if (order == 0 && a->range != NULL && a->name != NULL && a->thread != b->thread)
		order = a->thread < b->thread ? -1 : 1;
	if (order == 0)
		order = (a->time.total < b->time.total) - (a->time.total > b->time.total);
	if (order == 0)
		order = sums_text_order(a->name, b->name);
	if (order == 0)
		order = sums_text_order(a->range, b->range);
	if (order == 0)
		order = (a->thread > b->thread) - (a->thread < b->thread);
	if (order == 0)
		order = a->device + a->copy + a->api + a->is_started - b->device - b->copy -
			b->api - b->is_started;
	return order;
}

static bool samples_add(struct sums *s, int64_t from_ns, int64_t to_ns, unsigned device)
{
	struct gp_sums *out = s->out;
	const bool is_by_launch = out->of == GP_SUMS_OF_RANGE_KERNELS;
	bool is_fine = true;
	for (size_t k = 1; out->of == GP_SUMS_OF_RANGES && k <= s->calls->calls && is_fine; k++)
		is_fine = s->calls->call[k].sum.operations == 0 || call_sum(s, k);
	for (size_t k = 0; out->of != GP_SUMS_OF_RANGES && k < s->gpu->operations && is_fine; k++) {
		struct gp_gpu_operation op = s->gpu->operation[k];
		if (is_by_launch && sums_launch_of(s, &op) != NULL)
			op.at_ns = sums_launch_of(s, &op)->at_ns;
		if (gp_gpu_is_chosen(&op, from_ns, to_ns, device))
			is_fine = operation_add(s, k);
	}
	return is_fine;
}

enum gp_status gp_sums_build(const struct gp_gpu *gpu, const struct gp_gpu_calls *calls,
			     enum gp_sums_of of, int64_t from_ns, int64_t to_ns, unsigned device,
			     struct gp_sums *out)
{
	struct sums s = { .gpu = gpu, .calls = calls, .out = out };
	*out = (struct gp_sums){ .of = of };
	s.samples_most = SAMPLES_MORE + SAMPLES_AN_OPERATION * gpu->operations;
	const bool is_fine = names_make(&s) && samples_add(&s, from_ns, to_ns, device);
	if (is_fine && of == GP_SUMS_OF_RANGE_KERNELS)
		calls_count(&s);
	if (is_fine)
		spreads_make(&s, false);
	if (is_fine && (of == GP_SUMS_OF_COPIES || of == GP_SUMS_OF_LAUNCHES))
		spreads_make(&s, true);
	for (size_t k = 0; k < out->rows; k++)
		if (__builtin_add_overflow(out->total_ns, out->row[k].time.total, &out->total_ns))
			out->total_ns = UINT64_MAX;
	if (out->rows != 0)
		qsort(out->row, out->rows, sizeof *out->row, sums_row_order);
	free(s.sample);
	free(s.name);
	gp_row_table_release(&s.texts);
	gp_row_table_release(&s.paths);
	gp_row_table_release(&s.keys);
	if (!is_fine)
		gp_sums_free(out);
	return is_fine ? GP_OK : GP_E_MEMORY;
}

void gp_sums_free(struct gp_sums *sums)
{
	for (size_t k = 0; k < sums->texts; k++)
		free(sums->text[k]);
	free(sums->text);
	free(sums->row);
	*sums = (struct gp_sums){ 0 };
}
