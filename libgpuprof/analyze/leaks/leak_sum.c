/* Stacks are sorted by line once; sums are then made line by line. */
#include "leak_sum.h"

#include <stdlib.h>
#include <string.h>

#include "../../read/tables/array.h"

#define BIRTHS_MIN 5u	 /* of a stack: with fewer it is not known whether it slows down */
#define STACKS_SPREAD 3u /* of one line, at least one of them a suspect: they are one leak */

struct gp_leak_part {
	struct gp_leak_holder *holder;
	struct gp_identity line;
	size_t births;
	bool is_suspect, is_out;
};

static int compare_lines(const struct gp_leak_part *a, const struct gp_leak_part *b)
{
	const struct gp_leak_holder *x = a->holder, *y = b->holder;
	if (x->device != y->device)
		return x->device < y->device ? -1 : 1;
	if (x->space != y->space)
		return x->space < y->space ? -1 : 1;
	if (x->of != y->of)
		return x->of < y->of ? -1 : 1;
	return gp_identity_order(a->line, b->line);
}

static int leak_sum_compare(const void *left, const void *right)
{
	const struct gp_leak_part *a = left, *b = right;
	const int order = compare_lines(a, b);
	return order != 0 ? order : (a->holder > b->holder) - (a->holder < b->holder);
}

/* ---- parts ---- */

/*
 * At least half of the survivors (births) add to the number of objects; the others replace older
 * ones. Objects that come and go are on average fewer than half of the survivors. And the growth
 * does not slow down, as far as the number of survivors shows that.
 */
static bool has_grown(const struct gp_leak_samples *samples, const struct gp_leak_holder *h,
		      size_t *births)
{
	struct gp_leak_series whole;
	struct gp_trend_fall fall;
	gp_leak_series(samples, h, GP_LEAK_WHOLE, &whole);
	const struct gp_series *s = &whole.s;
	const size_t last = s->samples - 1;
	double gone = 0;
	*births = 0;
	for (size_t k = 1; k <= last; k++) {
		*births += s->births[k];
		gone += s->count[k] - s->count[0] - (double)*births;
	}
	const double kept = GP_TREND_HALF * (double)*births;
	return *births > 0 && s->count[last] - s->count[0] >= kept && gone <= kept * (double)last &&
	       (*births < BIRTHS_MIN || !gp_trend_slows(s->at, s->count, s->samples, &fall));
}

/* False: no memory. */
static bool leak_sum_add(struct gp_leak_sums *s, struct gp_recording *r,
			 const struct gp_leak_samples *samples, struct gp_leak_holder *h,
			 struct gp_frame *frame)
{
	struct gp_leak_owner owner;
	size_t births;
	if (h->stack == 0 || !has_grown(samples, h, &births))
		return true;
	gp_leak_owner_find(r, h, frame, &owner);
	if (!owner.has_line)
		return true;
	struct gp_leak_part *p = gp_array_append(&s->part, &s->parts, sizeof *p);
	if (p == NULL)
		return false;
	*p = (struct gp_leak_part){ .holder = h, .line = owner.line, .births = births };
	return true;
}

/* The end of the line that begins with part `from`. */
static size_t line_end(const struct gp_leak_sums *s, size_t from)
{
	size_t to = from;
	while (to < s->parts && compare_lines(&s->part[from], &s->part[to]) == 0)
		to++;
	return to;
}

enum gp_status gp_leak_sums_make(struct gp_recording *recording, struct gp_leak_samples *samples,
				 struct gp_leak_sums *out)
{
	*out = (struct gp_leak_sums){ 0 };
	if (samples->samples < GP_TREND_SAMPLES_MIN)
		return GP_OK;
	struct gp_frame *frame = calloc(GP_FRAMES_MAX, sizeof *frame);
	bool is_fine = frame != NULL;
	for (size_t k = 0; k < samples->table.rows && is_fine; k++)
		is_fine = leak_sum_add(out, recording, samples, gp_leak_holder(samples, k), frame);
	free(frame);
	if (!is_fine)
		return GP_E_MEMORY;
	if (out->parts > 1)
		qsort(out->part, out->parts, sizeof *out->part, leak_sum_compare);
	for (size_t from = 0, to; from < out->parts; from = to) {
		to = line_end(out, from);
		out->tests += to - from > 1;
	}
	return GP_OK;
}

void gp_leak_sums_note(struct gp_leak_sums *s, const struct gp_leak_holder *holder, bool is_cache)
{
	for (size_t k = 0; k < s->parts; k++) {
		s->part[k].is_suspect |= s->part[k].holder == holder && !is_cache;
		s->part[k].is_out |= s->part[k].holder == holder && is_cache;
	}
}

/* ---- sums ---- */

static bool is_in(const struct gp_leak_sum *sum, const struct gp_leak_part *p)
{
	return !p->is_out && !(sum->is_rest && p->is_suspect);
}

static void add_holder(struct gp_leak_holder *sum, const struct gp_leak_holder *h)
{
	for (size_t k = 0; k < GP_LEAK_POINTS; k++) {
		sum->bytes[k] += h->bytes[k];
		sum->count[k] += h->count[k];
		sum->births[k] += h->births[k];
	}
	for (size_t k = 0; k < h->examples; k++)
		gp_leak_keep_example(sum, &h->example[k]);
}

/* Into the list of those with most births. */
static void see_greatest(struct gp_leak_sum *sum, const struct gp_leak_part *p)
{
	size_t k = sum->greatest;
	while (k > 0 && sum->great[k - 1].births < p->births)
		k--;
	if (k == GP_LEAK_PARTS)
		return;
	sum->greatest += sum->greatest < GP_LEAK_PARTS;
	memmove(&sum->great[k + 1], &sum->great[k], (sum->greatest - 1 - k) * sizeof *sum->great);
	sum->great[k].holder = p->holder;
	sum->great[k].births = p->births;
}

static void add_up(const struct gp_leak_sums *s, struct gp_leak_sum *out)
{
	for (size_t k = out->from; k < out->to; k++) {
		if (!is_in(out, &s->part[k]))
			continue;
		see_greatest(out, &s->part[k]);
		add_holder(&out->holder, s->part[k].holder);
	}
	const struct gp_leak_holder *h = out->great[0].holder;
	out->holder.stack = h->stack;
	out->holder.space = h->space;
	out->holder.of = h->of;
	out->holder.device = h->device;
	out->holder.is_object = h->is_object;
	out->holder.at_ns = h->at_ns;
}

bool gp_leak_sums_next(struct gp_leak_sums *s, struct gp_leak_sum *out)
{
	*out = (struct gp_leak_sum){ 0 };
	while (s->next < s->parts) {
		size_t suspects = 0;
		out->from = s->next;
		out->to = line_end(s, s->next);
		out->is_rest = s->is_rest;
		out->stacks = 0;
		s->next = s->is_rest ? out->to : s->next;
		s->is_rest = !s->is_rest;
		for (size_t k = out->from; k < out->to; k++) {
			out->stacks += is_in(out, &s->part[k]);
			suspects += is_in(out, &s->part[k]) && s->part[k].is_suspect;
		}
		if (out->is_rest ? out->stacks < 2 : suspects == 0 || out->stacks < STACKS_SPREAD)
			continue;
		add_up(s, out);
		return true;
	}
	return false;
}

bool gp_leak_sum_has(const struct gp_leak_sums *s, const struct gp_leak_sum *sum,
		     const struct gp_leak *leak)
{
	for (size_t k = sum->from; k < sum->to; k++) {
		const struct gp_leak_holder *h = s->part[k].holder;
		if (h->stack == leak->stack && h->size == leak->size && h->space == leak->space &&
		    h->of == leak->of && h->device == leak->device && is_in(sum, &s->part[k]))
			return true;
	}
	return false;
}

void gp_leak_sum_mark(const struct gp_leak_sums *s, const struct gp_leak_sum *sum,
		      const struct gp_leak_samples *samples, bool *is_of, bool value)
{
	for (size_t k = sum->from; k < sum->to; k++)
		if (is_in(sum, &s->part[k]))
			is_of[s->part[k].holder - gp_leak_holder(samples, 0)] = value;
}

void gp_leak_sums_drop(struct gp_leak_sums *s, const struct gp_leak_sum *sum)
{
	for (size_t k = sum->from; k < sum->to; k++)
		s->part[k].is_out |= is_in(sum, &s->part[k]);
}

void gp_leak_sums_release(struct gp_leak_sums *s)
{
	free(s->part);
	*s = (struct gp_leak_sums){ 0 };
}
