/* What leaks by little among much that comes and goes, and objects of the driver that grow. */
#include <stdlib.h>
#include <string.h>

#include "check_report.h"
#include "message.h"
#include "report.h"

#define WHO_MAX 160u

static enum gp_by by_of(const struct gp_leak *leak)
{
	return leak->by == GP_LEAK_BY_STACK ? GP_BY_STACK :
	       leak->by == GP_LEAK_BY_OWNER ? GP_BY_LIBRARY :
					      GP_BY_LINE;
}

/* The group that its stack would be in; of a sum, that of the largest part. */
static void find_who(const struct gp_check *c, const struct gp_leak *leak, char out[WHO_MAX])
{
	const struct gp_grouping how = { .by = by_of(leak) };
	const struct gp_use use = { .stack = leak->stack,
				    .at_ns = leak->at_ns,
				    .without = leak->stack ? NULL : "no stack was recorded",
				    .space = leak->space };
	struct gp_groups groups;
	snprintf(out, WHO_MAX, "no stack was recorded");
	if (!leak->stack || gp_groups_build(c->recording, &use, 1, &how, &groups))
		return;
	if (groups.groups && leak->by == GP_LEAK_BY_STACK)
		snprintf(out, WHO_MAX, "%.*s", (int)WHO_MAX - 1, groups.group[0].key);
	else if (groups.groups)
		snprintf(out, WHO_MAX, "spread over %s, the most in %.80s",
			 gp_plural(leak->stacks, "stack").s, groups.group[0].key);
	gp_groups_free(&groups);
}

/* Pinned memory is held against the limit; of what has no size there must be none. */
static void check_object(struct gp_check *c, const struct gp_leak *leak)
{
	const struct gp_check_amount *limit = &c->limit[GP_CHECK_GROWTH];
	char who[WHO_MAX];
	if (leak->bytes_per_step > 0 && leak->bytes_per_step <= (double)limit->number)
		return;
	struct gp_check_finding *f = gp_check_add(c, "max_growth_objects", NULL);
	find_who(c, leak, who);
	f->state = GP_CHECK_EXCEEDED;
	f->has_value = true;
	f->value.number = (uint64_t)gp_rate_bytes(leak->bytes_per_step);
	f->limit = *limit;
	if (leak->is_replaced)
		snprintf(f->text, sizeof f->text,
			 "%s more in as many of kind '%s' after each step since step %zu: %s",
			 gp_bytes_text(f->value.number).s, gp_leak_kind(leak), leak->since_step,
			 who);
	else
		snprintf(f->text, sizeof f->text,
			 "%s more of kind '%s' after each step since step %zu: %s",
			 gp_rate_text(leak->count_per_step, 3).s, gp_leak_kind(leak),
			 leak->since_step, who);
}

static bool has_failed(const struct gp_check *c)
{
	for (size_t k = 0; k < c->findings; k++)
		if (c->finding[k].culprits == GP_CULPRITS_STEPS)
			return true;
	return false;
}

/* Of one stack, where the sum of all swings too much to tell. */
static void check_memory(struct gp_check *c, const struct gp_leak *leak)
{
	const struct gp_check_amount *limit = &c->limit[GP_CHECK_GROWTH];
	char who[WHO_MAX];
	if (leak->bytes_per_step <= (double)limit->number)
		return;
	struct gp_check_finding *f = gp_check_add(c, "max_growth_stack", NULL);
	find_who(c, leak, who);
	f->state = GP_CHECK_EXCEEDED;
	f->has_value = true;
	f->value.number = (uint64_t)gp_rate_bytes(leak->bytes_per_step);
	f->limit = *limit;
	snprintf(f->text, sizeof f->text,
		 "%s more held after each step since step %zu, at most %s: %s",
		 gp_bytes_text(f->value.number).s, leak->since_step, gp_bytes_text(limit->number).s,
		 who);
}

void gp_check_leaks(struct gp_check *c)
{
	struct gp_leaks leaks;
	bool is_told = has_failed(c);
	if (c->growth.why || gp_doubt_of(c->info) ||
	    gp_leaks_build(c->recording, INT64_MIN, INT64_MAX, &leaks))
		return;
	for (size_t k = 0; k < leaks.leaks && !leaks.steps.why; k++)
		if (leaks.leak[k].is_object)
			check_object(c, &leaks.leak[k]);
		else if (!is_told)
			check_memory(c, &leaks.leak[k]);
	gp_leaks_free(&leaks);
}
