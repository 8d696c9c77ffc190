/*
 * Growth of the memory of a job from step to step, and the stacks that grow.
 */
#include "../report/report.h"
#include "check_report.h"

/* Certain stacks explain the growth, or `leaks` cannot examine them. */
static bool is_sure(const struct gp_check *c, const struct gp_growth_device *g)
{
	char text[GP_LEAK_CAVEAT_MAX];
	const struct gp_leaks_report r = gp_check_leaks_report(c);
	return gp_check_suspected(c, g, true) > (double)c->limit[GP_CHECK_GROWTH].number ||
	       (g->rule == GP_GROWTH_EXCEEDS && gp_leak_caveat(&r, text) != NULL);
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

static struct gp_check_finding *growth_add(struct gp_check *c)
{
	struct gp_check_finding *f = gp_check_add(c, "max_growth", NULL);
	f->limit = c->limit[GP_CHECK_GROWTH];
	snprintf(f->text, sizeof f->text, "growth of at most %s a step",
		 gp_bytes_text(f->limit.number).s);
	return f;
}

/* Why the growth is not judged, and what to do about it. */
static void growth_refuse(struct gp_check *c)
{
	char hint[GP_LEAK_CAVEAT_MAX];
	const struct gp_growth *g = &c->growth;
	const struct gp_leaks_report r = gp_check_leaks_report(c);
	const char *todo = c->leaks.steps.why ? gp_leak_caveat_hint(&r, hint) : NULL;
	struct gp_check_finding *f = growth_add(c);
	if (gp_check_has_few_steps(c))
		gp_check_refuse(f, "%s after warm-up, %u are needed: run %zu more",
				gp_plural(g->warm, "step").s, GP_GROWTH_STEPS_LEAST,
				GP_GROWTH_STEPS_LEAST - g->warm);
	else if (todo)
		gp_check_refuse(f, "no steps found; %s", todo);
	else
		gp_check_refuse(f, "%s", g->why);
}

void gp_check_growth(struct gp_check *c)
{
	const struct gp_check_amount *limit = &c->limit[GP_CHECK_GROWTH];
	struct gp_growth *g = &c->growth;
	enum gp_status status = GP_OK;
	g->why = gp_span_caveat_of(c->info);
	if (!g->why)
		status = gp_growth_find(c->recording, (double)limit->number, &c->leaks, g);
	if (status)
		g->why = gp_status_text(status);
	if (g->why) {
		growth_refuse(c);
		return;
	}
	const size_t before = c->findings;
	for (size_t k = 0; k < g->devices; k++)
		if (c->only_device < 0 || g->device[k].device == c->only_device)
			check_device(c, &g->device[k]);
	gp_check_leaks(c);
	if (c->findings == before)
		gp_check_refuse(growth_add(c), "no memory is live where steps begin");
}

/* ---- stacks ---- */

/* Keeps only the groups that grew, largest growth first. */
static void keep_grown(struct gp_diff *diff)
{
	size_t kept = 0;
	for (size_t k = 0; k < diff->changed; k++) {
		struct gp_diff_group group = diff->group[k];
		if (group.part[1].bytes <= group.part[0].bytes)
			continue;
		diff->group[k] = diff->group[kept]; /* freed with the others */
		diff->group[kept++] = group;
	}
	diff->changed = kept;
}

bool gp_check_steps_build(const struct gp_check *c, const struct gp_growth_device *g,
			  struct gp_diff *out)
{
	const struct gp_grouping grouping = { .by = GP_BY_STACK };
	const struct gp_diff_how how = { .grouping = &grouping };
	/* 1 ns earlier, as `step:N`: before the first events of these steps */
	const int64_t at_ns[2] = { c->growth.from_ns - 1, c->growth.to_ns - 1 };
	struct gp_diff_side side[2] = { { .recording = c->recording },
					{ .recording = c->recording } };
	struct gp_peak peak[2] = { { 0 } };
	bool is_fine = true;
	for (size_t k = 0; k < 2 && is_fine; k++) {
		is_fine = !gp_peak_build(c->recording, GP_AT_TIME, at_ns[k], &peak[k]);
		const struct gp_holders *h =
			is_fine ? gp_check_holders(&peak[k], g->device, g->of) : NULL;
		side[k].uses = h ? h->uses : 0;
		side[k].use = h ? h->use : NULL;
	}
	is_fine = is_fine && !gp_diff_build(side, 2, &how, out);
	if (is_fine)
		keep_grown(out);
	gp_peak_free(&peak[0]);
	gp_peak_free(&peak[1]);
	return is_fine;
}
