/* What a job holds more of from step to step, and which stacks it is that do. */
#include <stdlib.h>
#include <string.h>

#include "../report/report.h"
#include "check_report.h"

/* A stack that surely leaks explains it, or `leaks` cannot look for one. */
static bool is_sure(const struct gp_check *c, const struct gp_growth_device *g)
{
	char text[GP_LEAK_DOUBT_MAX];
	const struct gp_leaks_report r = gp_check_leaks_report(c);
	return gp_check_suspected(c, g, true) > (double)c->limit[GP_CHECK_GROWTH].number ||
	       (g->rule == GP_GROWTH_EXCEEDS && gp_leak_doubt(&r, text) != NULL);
}

/* Why growth beyond the limit passes or is not judged. */
static const char *const rule_texts[] = {
	[GP_GROWTH_WITHIN] = "",
	[GP_GROWTH_SWINGS] = "not significant: it rises and falls",
	[GP_GROWTH_STOPS] = "it ends: the last third grows by less than 40% of that a step",
	[GP_GROWTH_RETURNS] = "half as much was live before",
	[GP_GROWTH_SLOWS] = "it slows down, as a cache that fills does. Record a longer run.",
	[GP_GROWTH_EXCEEDS] = "no stack leaks for certain. Record a longer run.",
};

static void check_device(struct gp_check *c, const struct gp_growth_device *g)
{
	const struct gp_check_amount *limit = &c->limit[GP_CHECK_GROWTH];
	struct gp_check_finding *f = gp_check_add(c, "max_growth", NULL);
	f->has_device = true;
	f->device = g->device;
	f->limit = *limit;
	f->has_value = true;
	f->value.number = g->bytes_per_step > 0 ? (uint64_t)gp_rate_bytes(g->bytes_per_step) : 0;
	const struct gp_check_texts text = gp_check_texts(f->value, *limit);
	snprintf(f->text, sizeof f->text, "%s%s of %s memory, steps %zu to %zu (limit %s a step)",
		 f->value.number ? text.value.s : "no growth", f->value.number ? " a step" : "",
		 g->of == GP_CURVE_DRIVER ? "driver" : "PyTorch", c->growth.first, c->growth.steps,
		 text.limit.s);
	if (g->rule >= GP_GROWTH_SLOWS) {
		f->state = is_sure(c, g) ? GP_CHECK_EXCEEDED : GP_CHECK_NOT_JUDGED;
		f->culprits = GP_CULPRITS_STEPS;
	}
	if (f->state != GP_CHECK_EXCEEDED)
		snprintf(f->why, sizeof f->why, "%s", rule_texts[g->rule]);
}

/* And what to do about it. */
static const char *write_why(const struct gp_check *c, char *out, size_t room)
{
	char hint[GP_LEAK_DOUBT_MAX];
	const struct gp_growth *g = &c->growth;
	const struct gp_leaks_report r = gp_check_leaks_report(c);
	const char *todo = c->leaks.steps.why ? gp_leak_doubt_hint(&r, hint) : NULL;
	if (gp_check_has_few_steps(c))
		snprintf(out, room, "%s after warm-up, %u are needed: run %zu more",
			 gp_plural(g->warm, "step").s, GP_GROWTH_STEPS_LEAST,
			 GP_GROWTH_STEPS_LEAST - g->warm);
	else if (todo)
		snprintf(out, room, "no steps found; %s", todo);
	else
		snprintf(out, room, "%s", g->why);
	return out;
}

static void check_growth_refuse(struct gp_check *c, const char *why)
{
	const struct gp_check_amount *limit = &c->limit[GP_CHECK_GROWTH];
	struct gp_check_finding *f = gp_check_add(c, "max_growth", NULL);
	f->limit = *limit;
	f->state = GP_CHECK_NOT_JUDGED;
	snprintf(f->text, sizeof f->text, "growth of at most %s a step",
		 gp_bytes_text(limit->number).s);
	snprintf(f->why, sizeof f->why, "%s", why);
}

void gp_check_growth(struct gp_check *c)
{
	const struct gp_check_amount *limit = &c->limit[GP_CHECK_GROWTH];
	struct gp_growth *g = &c->growth;
	enum gp_status status = GP_OK;
	g->why = gp_span_doubt_of(c->info);
	if (!g->why)
		status = gp_growth_find(c->recording, (double)limit->number, &c->leaks, g);
	if (status)
		g->why = gp_status_text(status);
	if (g->why) {
		char why[200];
		check_growth_refuse(c, write_why(c, why, sizeof why));
		return;
	}
	const size_t before = c->findings;
	for (size_t k = 0; k < g->devices; k++)
		if (c->only_device < 0 || g->device[k].device == c->only_device)
			check_device(c, &g->device[k]);
	gp_check_leaks(c);
	if (c->findings == before)
		check_growth_refuse(c, "no memory is live where steps begin");
}

/* ---- stacks ---- */

static const struct gp_holders *check_growth_find(const struct gp_peak *peak, unsigned device,
						  enum gp_curve of)
{
	for (size_t k = 0; k < peak->holders; k++)
		if (peak->holder[k].device == device && peak->holder[k].of == of)
			return &peak->holder[k];
	return NULL;
}

static bool check_growth_add(struct gp_check_grown **list, size_t *count,
			     const struct gp_diff_group *g)
{
	struct gp_check_grown *grown = realloc(*list, (*count + 1) * sizeof *grown);
	char *key = strdup(g->key);
	if (grown)
		*list = grown;
	if (grown && key)
		grown[(*count)++] = (struct gp_check_grown){ .key = key,
							     .bytes = g->part[1].bytes,
							     .before_bytes = g->part[0].bytes };
	else
		free(key);
	return grown && key;
}

static void add_device(const struct gp_check *c, const struct gp_peak peak[2],
		       const struct gp_growth_device *g, struct gp_check_grown **list,
		       size_t *count)
{
	const struct gp_grouping grouping = { .by = GP_BY_STACK };
	const struct gp_diff_how how = { .grouping = &grouping };
	struct gp_diff_side side[2] = { { .recording = c->recording },
					{ .recording = c->recording } };
	struct gp_diff diff;
	for (size_t k = 0; k < 2; k++) {
		const struct gp_holders *h = check_growth_find(&peak[k], g->device, g->of);
		side[k].uses = h ? h->uses : 0;
		side[k].use = h ? h->use : NULL;
	}
	if (gp_diff_build(side, 2, &how, &diff))
		return;
	bool is_fine = true;
	for (size_t k = 0; k < diff.changed && is_fine; k++)
		if (diff.group[k].part[1].bytes > diff.group[k].part[0].bytes)
			is_fine = check_growth_add(list, count, &diff.group[k]);
	gp_diff_free(&diff);
}

static int check_growth_compare(const void *left, const void *right)
{
	const struct gp_check_grown *a = left, *b = right;
	uint64_t x = a->bytes - a->before_bytes, y = b->bytes - b->before_bytes;
	return x != y ? (x < y ? 1 : -1) : strcmp(a->key, b->key);
}

struct gp_check_grown *gp_check_steps_list(const struct gp_check *c,
					   const struct gp_growth_device *g, size_t *count)
{
	struct gp_peak peak[2] = { { 0 } };
	struct gp_check_grown *list = NULL;
	/* as `step:N`: before what these steps do first */
	const int64_t at_ns[2] = { c->growth.from_ns - 1, c->growth.to_ns - 1 };
	bool is_fine = true;
	*count = 0;
	for (size_t k = 0; k < 2 && is_fine; k++)
		is_fine = !gp_peak_build(c->recording, GP_AT_TIME, at_ns[k], &peak[k]);
	if (is_fine)
		add_device(c, peak, g, &list, count);
	gp_peak_free(&peak[0]);
	gp_peak_free(&peak[1]);
	if (*count > 1)
		qsort(list, *count, sizeof *list, check_growth_compare);
	return list;
}
