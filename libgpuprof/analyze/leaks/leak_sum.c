/*
 * Parts are sorted once for each way of adding up; those of one sum lie together then. A part that
 * slows down is in no sum: caches that fill up one after another grow all the time together.
 */
#include "leak_sum.h"

#include <stdlib.h>
#include <string.h>

#include "../../read/tables/array.h"

#define BIRTHS_MIN 5u	 /* of a part: of fewer it is not known whether it slows down */
#define STACKS_SPREAD 3u /* that can be told alone, and are one thing in a common line */
#define STACKS_LEAST 5u	 /* of no line in common: of fewer each would have enough to be told */

struct gp_leak_part {
	struct gp_leak_holder *holder;
	struct gp_leak_owner who;
	struct gp_identity key; /* of the way of adding up that is under way */
	size_t births;
	bool grew, is_told, is_out;
};

static int compare_keys(const struct gp_leak_part *a, const struct gp_leak_part *b)
{
	const struct gp_leak_holder *x = a->holder, *y = b->holder;
	if (x->device != y->device)
		return x->device < y->device ? -1 : 1;
	if (x->space != y->space)
		return x->space < y->space ? -1 : 1;
	if (x->of != y->of)
		return x->of < y->of ? -1 : 1;
	return gp_identity_order(a->key, b->key);
}

static int leak_sum_compare(const void *left, const void *right)
{
	const struct gp_leak_part *a = left, *b = right;
	int order = compare_keys(a, b);
	return order != 0 ? order : (a->holder > b->holder) - (a->holder < b->holder);
}

static void sort(struct gp_leak_sums *s)
{
	for (size_t k = 0; k < s->parts; k++)
		s->part[k].key = s->part[k].who.by[s->by];
	if (s->parts > 1)
		qsort(s->part, s->parts, sizeof *s->part, leak_sum_compare);
	s->next = 0;
	s->of = GP_LEAK_SUM_TOLD;
}

static bool is_in(const struct gp_leak_sums *s, const struct gp_leak_part *p)
{
	if (p->is_out || (p->key.low | p->key.high) == 0)
		return false;
	if (s->of == GP_LEAK_SUM_WHOLE)
		return p->holder->stack == 0;
	return p->is_told ? s->of == GP_LEAK_SUM_TOLD : p->grew;
}

/* From `from` to *to all have one key; how many of them are in. */
static size_t find_run(const struct gp_leak_sums *s, size_t from, size_t *to, bool *has_told)
{
	size_t in = 0;
	*has_told = false;
	for (*to = from; *to < s->parts && compare_keys(&s->part[from], &s->part[*to]) == 0;
	     ++*to) {
		in += is_in(s, &s->part[*to]);
		*has_told |= s->part[*to].is_told && !s->part[*to].is_out;
	}
	return in;
}

/* The sum of this kind over the run from `from`, if there is one. */
static bool find_sum(const struct gp_leak_sums *s, size_t from, size_t *to)
{
	bool has_told;
	const size_t in = find_run(s, from, to, &has_told);
	switch (s->of) {
	case GP_LEAK_SUM_TOLD:
		return has_told && s->by <= GP_LEAK_BY_FRAME && in >= STACKS_SPREAD;
	case GP_LEAK_SUM_WHOLE:
		return s->by == GP_LEAK_BY_ALL && in > 1;
	case GP_LEAK_SUM_REST:
	case GP_LEAK_SUMS:
		break;
	}
	return in >= (s->by >= GP_LEAK_BY_OWNER ? STACKS_LEAST : 2);
}

/* To the next kind of sum of this run, the next run, the next way of adding up. */
static bool step(struct gp_leak_sums *s)
{
	bool has_told;
	if (++s->of < GP_LEAK_SUMS)
		return true;
	s->of = GP_LEAK_SUM_TOLD;
	find_run(s, s->next, &s->next, &has_told);
	if (s->next < s->parts)
		return true;
	if (s->by + 1 == GP_LEAK_BYS)
		return false;
	s->by++;
	sort(s);
	return true;
}

/* False: there is none left. */
static bool find_next(struct gp_leak_sums *s, size_t *from, size_t *to)
{
	if (s->parts == 0)
		return false;
	do {
		if (s->is_begun && !step(s))
			return false;
		s->is_begun = true;
		*from = s->next;
	} while (!find_sum(s, *from, to));
	return true;
}

static void leak_sum_begin(struct gp_leak_sums *s)
{
	s->by = GP_LEAK_BY_LINE;
	s->is_begun = false;
	sort(s);
}

/* ---- parts ---- */

/*
 * By what was made of it, then and since: what is replaced was as many before, and what is left of
 * it is new.
 */
static bool grew(const struct gp_leak_samples *samples, const struct gp_leak_holder *h,
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

/* Those without a stack are needed as they are, too. */
static bool leak_sum_add(struct gp_leak_sums *s, struct gp_recording *r,
			 const struct gp_leak_samples *samples, struct gp_leak_holder *h,
			 struct gp_frame *frame)
{
	size_t births;
	const bool has_grown = grew(samples, h, &births);
	if (!has_grown && h->stack != 0)
		return true;
	struct gp_leak_part *p = gp_array_append(&s->part, &s->parts, sizeof *p);
	if (p == NULL)
		return false;
	*p = (struct gp_leak_part){ .holder = h, .births = births, .grew = has_grown };
	gp_leak_owner_find(r, h, frame, &p->who);
	return true;
}

enum gp_status gp_leak_sums_make(struct gp_recording *recording, struct gp_leak_samples *samples,
				 struct gp_leak_sums *out)
{
	size_t from, to;
	bool is_fine;
	*out = (struct gp_leak_sums){ 0 };
	if (samples->samples < GP_TREND_SAMPLES_MIN)
		return GP_OK;
	struct gp_frame *frame = calloc(GP_FRAMES_MAX, sizeof *frame);
	is_fine = frame != NULL;
	for (size_t k = 0; k < samples->table.rows && is_fine; k++)
		is_fine = leak_sum_add(out, recording, samples, gp_leak_holder(samples, k), frame);
	free(frame);
	if (!is_fine)
		return GP_E_MEMORY;
	leak_sum_begin(out);
	while (find_next(out, &from, &to))
		out->tests++;
	leak_sum_begin(out);
	return GP_OK;
}

/* ---- sums ---- */

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

bool gp_leak_sums_next(struct gp_leak_sums *s, struct gp_leak_sum *out)
{
	*out = (struct gp_leak_sum){ 0 };
	if (!find_next(s, &out->from, &out->to))
		return false;
	out->by = s->by;
	out->of = s->of;
	for (size_t k = out->from; k < out->to; k++) {
		const struct gp_leak_part *p = &s->part[k];
		if (!is_in(s, p))
			continue;
		out->stacks++;
		see_greatest(out, p);
		add_holder(&out->holder, p->holder);
	}
	const struct gp_leak_holder *h = out->great[0].holder;
	out->holder.stack = h->stack;
	out->holder.space = h->space;
	out->holder.of = h->of;
	out->holder.device = h->device;
	out->holder.is_object = h->is_object;
	out->holder.at_ns = h->at_ns;
	return true;
}

void gp_leak_sums_tell(struct gp_leak_sums *s, const struct gp_leak_holder *holder, bool is_cache)
{
	for (size_t k = 0; k < s->parts; k++) {
		s->part[k].is_told |= s->part[k].holder == holder && !is_cache;
		s->part[k].is_out |= s->part[k].holder == holder && is_cache;
	}
}

bool gp_leak_sum_has(const struct gp_leak_sums *s, const struct gp_leak_sum *sum,
		     const struct gp_leak *leak)
{
	for (size_t k = sum->from; k < sum->to; k++) {
		const struct gp_leak_holder *h = s->part[k].holder;
		if (h->stack == leak->stack && h->size == leak->size && h->space == leak->space &&
		    h->of == leak->of && h->device == leak->device && is_in(s, &s->part[k]))
			return true;
	}
	return false;
}

void gp_leak_sum_mark(const struct gp_leak_sums *s, const struct gp_leak_sum *sum,
		      const struct gp_leak_samples *samples, bool *is_of, bool value)
{
	for (size_t k = sum->from; k < sum->to; k++)
		if (is_in(s, &s->part[k]))
			is_of[s->part[k].holder - gp_leak_holder(samples, 0)] = value;
}

void gp_leak_sums_drop_sum(struct gp_leak_sums *s, const struct gp_leak_sum *sum)
{
	for (size_t k = sum->from; k < sum->to; k++)
		s->part[k].is_out |= is_in(s, &s->part[k]);
}

void gp_leak_sums_release(struct gp_leak_sums *s)
{
	free(s->part);
	*s = (struct gp_leak_sums){ 0 };
}
