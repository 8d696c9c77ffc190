/* What a job holds more of from step to step, and which stacks it is that do. */
#include <stdlib.h>
#include <string.h>

#include "check_report.h"
#include "report.h"

void gp_check_growth(struct gp_check *c)
{
	const struct gp_check_amount *limit = &c->limit[GP_CHECK_GROWTH];
	const char *doubt = gp_doubt_of(c->info);
	struct gp_check_finding *f = gp_check_add(c, "max_growth", NULL);
	struct gp_growth *g = &c->growth;
	f->limit = *limit;
	enum gp_status status = gp_growth_find(c->recording, (double)limit->number, g);
	struct gp_text most = gp_bytes_text(limit->number);
	snprintf(f->text, sizeof f->text, "at most %s more of device memory held after each step",
		 most.s);
	if (status)
		g->why = gp_status_text(status);
	if (g->why || doubt) {
		f->state = GP_CHECK_NOT_JUDGED;
		snprintf(f->why, sizeof f->why, "%s", g->why ? g->why : doubt);
		return;
	}
	f->has_value = true;
	f->value.number = g->bytes_per_step > 0 ? (uint64_t)gp_rate_bytes(g->bytes_per_step) : 0;
	snprintf(f->text, sizeof f->text,
		 "%s more of device memory held after each of the steps %zu to %zu, at most %s",
		 gp_bytes_text(f->value.number).s, g->first, g->steps, most.s);
	if (g->is_beyond) {
		f->state = GP_CHECK_EXCEEDED;
		f->culprits = GP_CULPRITS_STEPS;
	} else if (g->bytes_per_step > (double)limit->number) {
		snprintf(f->why, sizeof f->why, "that is within what goes up and down");
	}
}

/* ---- stacks ---- */

static const struct gp_holders *find(const struct gp_peak *peak, unsigned device, enum gp_curve of)
{
	for (size_t k = 0; k < peak->holders; k++)
		if (peak->holder[k].device == device && peak->holder[k].of == of)
			return &peak->holder[k];
	return NULL;
}

static bool add(struct gp_check_grown **list, size_t *count, const struct gp_diff_group *g)
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

static bool add_device(const struct gp_check *c, const struct gp_peak peak[2], unsigned device,
		       enum gp_curve of, struct gp_check_grown **list, size_t *count)
{
	const struct gp_grouping grouping = { .by = GP_BY_STACK };
	const struct gp_diff_how how = { .grouping = &grouping };
	struct gp_diff_side side[2] = { { .recording = c->recording },
					{ .recording = c->recording } };
	struct gp_diff diff;
	for (size_t k = 0; k < 2; k++) {
		const struct gp_holders *h = find(&peak[k], device, of);
		side[k].uses = h ? h->uses : 0;
		side[k].use = h ? h->use : NULL;
	}
	if (gp_diff_build(side, 2, &how, &diff))
		return false;
	bool is_fine = true;
	for (size_t k = 0; k < diff.changed && is_fine; k++)
		if (diff.group[k].part[1].bytes > diff.group[k].part[0].bytes)
			is_fine = add(list, count, &diff.group[k]);
	gp_diff_free(&diff);
	return is_fine;
}

static int compare(const void *left, const void *right)
{
	const struct gp_check_grown *a = left, *b = right;
	uint64_t x = a->bytes - a->before_bytes, y = b->bytes - b->before_bytes;
	return x != y ? (x < y ? 1 : -1) : strcmp(a->key, b->key);
}

struct gp_check_grown *gp_check_steps_list(const struct gp_check *c, size_t *count)
{
	struct gp_peak peak[2] = { { 0 } };
	struct gp_check_grown *list = NULL;
	const int64_t at_ns[2] = { c->growth.from_ns, c->growth.to_ns };
	bool is_fine = true;
	*count = 0;
	for (size_t k = 0; k < 2 && is_fine; k++)
		is_fine = !gp_peak_build(c->recording, GP_AT_TIME, at_ns[k], &peak[k]);
	for (size_t k = 0; k < c->figures.devices && is_fine; k++) {
		const struct gp_figures *f = &c->figures.device[k];
		enum gp_curve of = f->has_framework ? GP_CURVE_ALLOCATED : GP_CURVE_DRIVER;
		is_fine = add_device(c, peak, f->device, of, &list, count);
	}
	gp_peak_free(&peak[0]);
	gp_peak_free(&peak[1]);
	if (*count > 1)
		qsort(list, *count, sizeof *list, compare);
	return list;
}
