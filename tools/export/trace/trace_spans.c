/*
 * Spans are sorted by their begin, outer ones first. A span goes into the first lane of its thread
 * or stream in which it lies within the open spans. So a viewer that nests spans shows them all.
 */
#include "trace_spans.h"

#include <stdlib.h>
#include <string.h>

#include "../write/pickle.h"

/* ---- collection ---- */

bool gp_trace_grow(struct gp_trace *t, void *array, size_t *room, size_t count, size_t bytes)
{
	void **first = array;
	if (count < *room)
		return true;
	const size_t more = *room ? *room + *room / 2 : 256;
	void *grown = realloc(*first, more * bytes);
	if (!grown) {
		t->is_out_of_memory = true;
		return false;
	}
	*first = grown;
	*room = more;
	return true;
}

static void span_add(struct gp_trace *t, enum gp_trace_span_of of, uint32_t place, uint32_t number,
		     int64_t begin_ns, int64_t end_ns)
{
	if (end_ns < begin_ns)
		end_ns = begin_ns;
	if (end_ns < t->e->from_ns || begin_ns > t->e->to_ns ||
	    !gp_trace_grow(t, &t->span, &t->span_room, t->spans, sizeof *t->span))
		return;
	t->span[t->spans++] = (struct gp_trace_span){
		.begin_ns = begin_ns > t->e->from_ns ? begin_ns : t->e->from_ns,
		.end_ns = end_ns < t->e->to_ns ? end_ns : t->e->to_ns,
		.number = number,
		.place = place,
		.of = (uint8_t)of,
	};
}

static void add_ranges(struct gp_trace *t)
{
	for (size_t k = 1; k <= t->calls; k++) {
		const struct gp_range_call *c = &t->call[k];
		span_add(t, c->is_started ? GP_TRACE_STARTED : GP_TRACE_RANGE, c->thread,
			 (uint32_t)k, c->begin_ns, c->end_ns);
	}
}

static uint32_t stream_of(struct gp_trace *t, struct gp_pickle_rows *rows,
			  const struct gp_gpu_operation *op)
{
	struct gp_pickle_row *row =
		gp_pickle_row_get(rows, op->stream, (uint64_t)op->context << 8 | op->device, NULL);
	if (!row || !gp_trace_grow(t, &t->stream, &t->stream_room, t->streams, sizeof *t->stream)) {
		t->is_out_of_memory = true;
		return 0;
	}
	if (!row->memo) {
		t->stream[t->streams++] = (struct gp_trace_stream){ .device = op->device,
								    .context = op->context,
								    .stream = op->stream };
		row->memo = (uint32_t)t->streams;
	}
	return row->memo - 1;
}

/* Damage may nest ranges without end, and put each operation on a stream of its own. */
#define LEVELS_MOST 256u
#define ANNOTATIONS_AN_OPERATION 16u

/* Extends the annotations of the ranges in which the operation was launched. */
static void annotate(struct gp_trace *t, struct gp_pickle_rows *rows,
		     const struct gp_gpu_operation *op, uint32_t stream)
{
	const int64_t end_ns = op->at_ns + (int64_t)op->took_ns;
	uint32_t call = op->launch == GP_GPU_NO_LAUNCH ? 0 : t->gpu.launch[op->launch].call;
	const size_t most = ANNOTATIONS_AN_OPERATION * (t->gpu.operations + 1);
	for (unsigned level = 0; call && call <= t->calls; level++) {
		if (level == LEVELS_MOST || rows->count >= most) {
			t->annotations_beyond++;
			return;
		}
		struct gp_pickle_row *row = gp_pickle_row_get(rows, call, stream, NULL);
		const size_t before = t->spans;
		const uint32_t number = call;
		call = t->call[call].up;
		if (!row) {
			t->is_out_of_memory = true;
			return;
		}
		if (!row->memo) {
			span_add(t, GP_TRACE_ANNOTATION, stream, number, op->at_ns, end_ns);
			row->memo = t->spans > before ? (uint32_t)t->spans : 0;
			continue;
		}
		struct gp_trace_span *span = &t->span[row->memo - 1];
		const int64_t last_ns = end_ns < t->e->to_ns ? end_ns : t->e->to_ns;
		span->begin_ns = op->at_ns < span->begin_ns ? op->at_ns : span->begin_ns;
		span->end_ns = last_ns > span->end_ns ? last_ns : span->end_ns;
	}
}

static void add_operations(struct gp_trace *t)
{
	struct gp_pickle_rows rows = { 0 }, annotated = { 0 };
	for (size_t k = 0; k < t->gpu.operations && !t->is_out_of_memory; k++) {
		const struct gp_gpu_operation *op = &t->gpu.operation[k];
		if (t->e->device != GP_DEVICE_UNKNOWN && op->device != t->e->device)
			continue;
		if (op->at_ns == INT64_MIN) {
			t->without_clock++;
			continue;
		}
		if (!gp_gpu_is_chosen(op, t->e->from_ns, t->e->to_ns, t->e->device))
			continue;
		const uint32_t stream = stream_of(t, &rows, op);
		span_add(t, GP_TRACE_OPERATION, stream, (uint32_t)k, op->at_ns,
			 op->at_ns + (int64_t)op->took_ns);
		if (t->sink->has_annotations)
			annotate(t, &annotated, op, stream);
	}
	gp_pickle_rows_release(&rows);
	gp_pickle_rows_release(&annotated);
}

static void add_others(struct gp_trace *t)
{
	const struct gp_info *info = t->e->info;
	for (size_t k = 0; k < t->steps.steps; k++)
		span_add(t, GP_TRACE_STEP, 0, (uint32_t)k, t->steps.step[k].begin_ns,
			 t->steps.step[k].end_ns);
	for (size_t k = 0; k < info->uncertains; k++) {
		const int64_t to_ns = info->uncertain[k].to_ns, last = (int64_t)info->duration_ns;
		span_add(t, GP_TRACE_UNCERTAIN, 0, (uint32_t)k, info->uncertain[k].from_ns,
			 to_ns < last ? to_ns : last);
	}
}

/* ---- lanes ---- */

static int spans_compare(const void *left, const void *right)
{
	const struct gp_trace_span *a = left, *b = right;
	if (a->begin_ns != b->begin_ns)
		return a->begin_ns < b->begin_ns ? -1 : 1;
	if (a->end_ns != b->end_ns)
		return a->end_ns > b->end_ns ? -1 : 1;
	if (a->of != b->of)
		return a->of < b->of ? -1 : 1;
	return a->number < b->number ? -1 : a->number > b->number;
}

#define LANES_MOST 64u /* of a thread or stream; what has no place is in the last one */

/* The lanes of a thread or stream: a stack of open spans each. */
struct lanes {
	struct lane {
		struct lane_open {
			int64_t end_ns;
			bool is_operation;
		} * open;
		size_t opens, room;
	} lane[LANES_MOST];
	unsigned lanes;
};

/* An operation has no spans inside it. */
static uint32_t lane_find(struct gp_trace *t, struct lanes *lanes, const struct gp_trace_span *span)
{
	unsigned k = 0;
	for (; k < lanes->lanes; k++) {
		struct lane *lane = &lanes->lane[k];
		while (lane->opens && lane->open[lane->opens - 1].end_ns <= span->begin_ns)
			lane->opens--;
		const struct lane_open *inner = lane->opens ? &lane->open[lane->opens - 1] : NULL;
		if (!inner || (!inner->is_operation && inner->end_ns >= span->end_ns))
			break;
	}
	if (k == LANES_MOST)
		return LANES_MOST - 1;
	struct lane *lane = &lanes->lane[k];
	lanes->lanes += k == lanes->lanes;
	if (gp_trace_grow(t, &lane->open, &lane->room, lane->opens, sizeof *lane->open))
		lane->open[lane->opens++] =
			(struct lane_open){ span->end_ns, span->of == GP_TRACE_OPERATION };
	return k;
}

/* Operations and annotations of a stream share its lanes. */
static unsigned lanes_of(const struct gp_trace_span *span)
{
	return span->of == GP_TRACE_ANNOTATION ? GP_TRACE_OPERATION : span->of;
}

static void find_lanes(struct gp_trace *t)
{
	struct gp_pickle_rows rows = { 0 };
	struct lanes **list = NULL;
	size_t lists = 0, room = 0;
	for (size_t k = 0; k < t->spans && !t->is_out_of_memory; k++) {
		struct gp_trace_span *s = &t->span[k];
		struct gp_pickle_row *row = gp_pickle_row_get(&rows, s->place, lanes_of(s), NULL);
		if (!row || !gp_trace_grow(t, &list, &room, lists, sizeof(struct lanes *))) {
			t->is_out_of_memory = true;
			break;
		}
		if (!row->memo) {
			list[lists] = calloc(1, sizeof **list);
			t->is_out_of_memory |= !list[lists];
			row->memo = (uint32_t)++lists;
		}
		if (!t->is_out_of_memory)
			s->lane = lane_find(t, list[row->memo - 1], s);
	}
	for (size_t k = 0; k < lists; k++) {
		for (unsigned l = 0; list[k] && l < list[k]->lanes; l++)
			free(list[k]->lane[l].open);
		free(list[k]);
	}
	free(list);
	gp_pickle_rows_release(&rows);
}

/* ---- launches ---- */

static const struct gp_gpu_launch *sorted_launch;

static int launches_compare(const void *left, const void *right)
{
	const uint64_t a = sorted_launch[*(const uint32_t *)left].event,
		       b = sorted_launch[*(const uint32_t *)right].event;
	return a < b ? -1 : a > b;
}

static void list_launches(struct gp_trace *t)
{
	const struct gp_gpu *gpu = &t->gpu;
	t->launch_at = malloc((gpu->launches + 1) * sizeof *t->launch_at);
	t->operation_of = malloc((gpu->launches + 1) * sizeof *t->operation_of);
	if (!t->launch_at || !t->operation_of) {
		t->is_out_of_memory = true;
		return;
	}
	for (size_t k = 0; k < gpu->launches; k++) {
		t->launch_at[k] = (uint32_t)k;
		t->operation_of[k] = GP_TRACE_NONE;
	}
	for (size_t k = gpu->operations; k-- > 0;)
		if (gpu->operation[k].launch < gpu->launches)
			t->operation_of[gpu->operation[k].launch] = (uint32_t)k;
	sorted_launch = gpu->launch;
	qsort(t->launch_at, gpu->launches, sizeof *t->launch_at, launches_compare);
}

enum gp_status gp_trace_spans_build(struct gp_trace *t)
{
	add_ranges(t);
	add_operations(t);
	add_others(t);
	if (!t->is_out_of_memory)
		list_launches(t);
	if (t->is_out_of_memory)
		return GP_E_MEMORY;
	if (t->spans)
		qsort(t->span, t->spans, sizeof *t->span, spans_compare);
	find_lanes(t);
	t->open = malloc((t->spans + 1) * sizeof *t->open);
	return t->open && !t->is_out_of_memory ? GP_OK : GP_E_MEMORY;
}

void gp_trace_spans_release(struct gp_trace *t)
{
	free(t->span);
	free(t->stream);
	free(t->open);
	free(t->launch_at);
	free(t->operation_of);
	free(t->thread);
	gp_pickle_rows_release(&t->thread_rows);
}

/* ---- open spans ---- */

/* Of equal ends the inner span, which has the higher number, is first. */
static bool ends_before(const struct gp_trace *t, uint32_t a, uint32_t b)
{
	const int64_t left = t->span[a].end_ns, right = t->span[b].end_ns;
	return left != right ? left < right : a > b;
}

void gp_trace_open_put(struct gp_trace *t, uint32_t number)
{
	size_t at = t->opens++;
	while (at && ends_before(t, number, t->open[(at - 1) / 2])) {
		t->open[at] = t->open[(at - 1) / 2];
		at = (at - 1) / 2;
	}
	t->open[at] = number;
}

void gp_trace_open_take(struct gp_trace *t)
{
	const uint32_t last = t->open[--t->opens];
	size_t at = 0;
	for (size_t child; (child = 2 * at + 1) < t->opens; at = child) {
		if (child + 1 < t->opens && ends_before(t, t->open[child + 1], t->open[child]))
			child++;
		if (!ends_before(t, t->open[child], last))
			break;
		t->open[at] = t->open[child];
	}
	t->open[at] = last;
}

static int trace_by_number(const void *left, const void *right)
{
	const uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
	return a < b ? -1 : a > b;
}

void gp_trace_sort_numbers(uint32_t *number, size_t count)
{
	qsort(number, count, sizeof *number, trace_by_number);
}
