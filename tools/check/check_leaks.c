/*
 * Single stacks that leak too little to show in the sum, and objects of the driver that grow.
 */
#include <stdlib.h>
#include <string.h>

#include "../io/line_fit.h"
#include "../io/message.h"
#include "../io/terminal_width.h"
#include "../report/report.h"
#include "check_report.h"

#define SITE_MAX 192u
#define SITE_COLUMNS 80u /* for the largest part of a sum */

/* The group of its stack; for a sum, that of the largest part. */
static void find_site(const struct gp_check *c, const struct gp_leak *leak, char out[SITE_MAX])
{
	const struct gp_grouping how = { .by = leak->by == GP_LEAK_BY_STACK ? GP_BY_STACK :
									      GP_BY_LINE };
	const struct gp_use use = { .stack = leak->stack,
				    .at_ns = leak->at_ns,
				    .without = leak->stack ? NULL : "no stack was recorded",
				    .space = leak->space };
	struct gp_groups groups;
	snprintf(out, SITE_MAX, "no stack was recorded");
	if (!leak->stack || gp_groups_build(c->recording, &use, 1, &how, &groups))
		return;
	if (groups.groups && leak->by == GP_LEAK_BY_STACK)
		gp_name_cut(groups.group[0].key, SITE_MAX - 1, gp_cut_mark(), out, SITE_MAX);
	else if (groups.groups) {
		char most[SITE_COLUMNS + 16];
		gp_name_cut(groups.group[0].key, SITE_COLUMNS, gp_cut_mark(), most, sizeof most);
		snprintf(out, SITE_MAX, "spread over %s, the most in %s",
			 gp_plural(leak->stacks, "stack").s, most);
	}
	gp_groups_free(&groups);
}

/* A leak without a device may be of any device. */
static bool is_of_another(const struct gp_check *c, const struct gp_leak *leak)
{
	return c->only_device >= 0 && leak->device < GP_DEVICES && leak->device != c->only_device;
}

/* Bytes are compared with the limit. Objects have no size, so any growth of them exceeds it. */
static bool is_within(const struct gp_check *c, const struct gp_leak *leak)
{
	return leak->bytes_per_step > 0 &&
	       leak->bytes_per_step <= (double)c->limit[GP_CHECK_GROWTH].number;
}

static void add_finding(struct gp_check *c, const struct gp_leak *leak)
{
	const struct gp_check_amount *limit = &c->limit[GP_CHECK_GROWTH];
	char site[SITE_MAX];
	struct gp_check_finding *f =
		gp_check_add(c, leak->is_object ? "max_growth_objects" : "max_growth_stack", NULL);
	find_site(c, leak, site);
	f->has_device = leak->device < GP_DEVICES && !gp_leak_is_pinned(leak);
	f->device = f->has_device ? leak->device : 0;
	f->state = gp_leak_is_certain(&c->leaks, leak) ? GP_CHECK_EXCEEDED : GP_CHECK_NOT_JUDGED;
	if (f->state != GP_CHECK_EXCEEDED)
		snprintf(f->why, sizeof f->why, "%s",
			 leak->may_be_activations ?
				 "it may be activations of one forward pass" :
				 "a cache or queue that fills looks so, too: record a longer run");
	f->has_value = true;
	f->value.number = (uint64_t)gp_rate_bytes(leak->bytes_per_step);
	f->limit = *limit;
	const struct gp_check_texts text = gp_check_texts(f->value, *limit);
	const struct gp_text number = gp_leak_number(leak);
	if (leak->bytes_per_step > 0)
		snprintf(f->text, sizeof f->text,
			 "%s a step in %s%s since step %zu (limit %s a step): %s", text.value.s,
			 number.s, leak->is_replaced ? "" : " a step", leak->since_step,
			 text.limit.s, site);
	else
		snprintf(f->text, sizeof f->text, "%s a step since step %zu: %s", number.s,
			 leak->since_step, site);
}

static bool is_of_sum(const struct gp_growth_device *g, const struct gp_leak *leak)
{
	const enum gp_curve of =
		leak->space == GP_SPACE_BLOCK ? GP_CURVE_ALLOCATED : GP_CURVE_DRIVER;
	return !leak->is_object && g->device == leak->device && g->of == of;
}

/* If the sum of all memory already exceeds the limit, its stacks need no finding of their own. */
static bool check_leaks_is_listed(const struct gp_check *c, const struct gp_leak *leak)
{
	bool has_sum = false;
	for (size_t k = 0; k < c->growth.devices; k++)
		has_sum |= is_of_sum(&c->growth.device[k], leak);
	return has_sum && gp_check_shows(c, leak->device, GP_CULPRITS_STEPS);
}

void gp_check_leaks(struct gp_check *c)
{
	for (size_t k = 0; k < c->leaks.leaks; k++) {
		const struct gp_leak *leak = &c->leaks.leak[k];
		if (!check_leaks_is_listed(c, leak) && !is_of_another(c, leak) &&
		    !is_within(c, leak))
			add_finding(c, leak);
	}
}

/* ---- suspects that are shown ---- */

bool gp_check_has_few_steps(const struct gp_check *c)
{
	return c->growth.why && c->growth.steps && c->growth.warm < GP_GROWTH_STEPS_LEAST;
}

double gp_check_suspected(const struct gp_check *c, const struct gp_growth_device *g, bool is_sure)
{
	double bytes_per_step = 0;
	for (size_t k = 0; k < c->leaks.leaks; k++)
		if (is_of_sum(g, &c->leaks.leak[k]) &&
		    (!is_sure || gp_leak_is_certain(&c->leaks, &c->leaks.leak[k])))
			bytes_per_step += c->leaks.leak[k].bytes_per_step;
	for (size_t k = 0; k < c->leaks.fillings && !is_sure; k++)
		if (is_of_sum(g, &c->leaks.filling[k]))
			bytes_per_step += c->leaks.filling[k].bytes_per_step;
	return bytes_per_step;
}

const struct gp_leak *gp_check_next_suspect(const struct gp_check *c, size_t *next)
{
	const struct gp_leaks *all = &c->leaks;
	/* time windows instead of steps do not show growth a step */
	while (!all->window_ns && *next < all->leaks + all->fillings) {
		const size_t k = (*next)++;
		const bool is_filling = k >= all->leaks;
		const struct gp_leak *leak =
			is_filling ? &all->filling[k - all->leaks] : &all->leak[k];
		const bool is_beyond = !is_filling && !is_within(c, leak);
		if ((is_beyond || check_leaks_is_listed(c, leak)) && !is_of_another(c, leak))
			return leak;
	}
	return NULL;
}

struct gp_leaks_report gp_check_leaks_report(const struct gp_check *c)
{
	return (struct gp_leaks_report){ .recording = c->recording,
					 .info = c->info,
					 .path = c->path,
					 .leaks = c->leaks,
					 .device = c->only_device };
}
