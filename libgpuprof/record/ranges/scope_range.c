/* Matches names of ranges with the rule; counts steps by the ends of ranges. */
#include "scope_range.h"

#include <errno.h>
#include <string.h>

#define OPTIMIZER "Optimizer.step#" /* of every optimizer of PyTorch, followed by its class */

static _Atomic uint64_t steps; /* children inherit it: they continue the count */

static size_t scope_range_text_of(const struct gp_range *range, const char **text)
{
	if (!range->name) {
		*text = range->text ? range->text : "";
		return range->bytes == GP_TO_NUL ? strnlen(*text, GP_RANGE_NAME_MAX) : range->bytes;
	}
	return gp_range_name_text(range->name, text);
}

/* True if it is the selected range, or one that ends a step. */
static bool is_heeded(const struct gp_range *range)
{
	const struct gp_scope_rule *rule = &gp_settings.scope;
	const char *text, *domain = NULL;
	const size_t bytes = scope_range_text_of(range, &text);
	if (rule->name[0] == '\0')
		return bytes >= sizeof OPTIMIZER - 1 &&
		       memcmp(text, OPTIMIZER, sizeof OPTIMIZER - 1) == 0;
	const size_t domain_bytes = range->domain ? gp_range_name_text(range->domain, &domain) : 0;
	return gp_scope_is_named(rule, text, bytes, domain, domain_bytes);
}

/*
 * Before the first event of a process there is no recorder to enter: only the state changes, and
 * the recording begins with it. False: called from inside the recorder's own work.
 */
GP_HOT bool enter(bool *is_inside)
{
	*is_inside = atomic_load_explicit(&gp_local->word, memory_order_relaxed) != 0;
	return !*is_inside || gp_enter_level(GP_LEVEL_MEMORY);
}

/* Returns the number of the span. */
static uint64_t scope_range_open_span(enum gp_scope_by by)
{
	const int kept = errno;
	bool is_inside;
	uint64_t span = 0;
	if (enter(&is_inside)) {
		span = gp_scope_open(by);
		if (is_inside)
			gp_leave();
	}
	errno = kept;
	return span;
}

static void close_span(enum gp_scope_by by, uint64_t span)
{
	const int kept = errno;
	bool is_inside;
	if (enter(&is_inside)) {
		gp_scope_close(by, span);
		if (is_inside)
			gp_leave();
	}
	errno = kept;
}

/* The first selected step begins where the one before it ends. */
static void end_step(void)
{
	const struct gp_scope_rule *rule = &gp_settings.scope;
	const uint64_t ended = atomic_fetch_add(&steps, 1) + 1;
	if (ended == rule->last_step)
		close_span(GP_SCOPE_BY_STEP, GP_SCOPE_ANY);
	else if (ended + 1 == rule->first_step)
		scope_range_open_span(GP_SCOPE_BY_STEP);
}

uint64_t gp_scope_range_begins(const struct gp_range *range)
{
	return gp_settings.scope.from == GP_SCOPE_RANGE && is_heeded(range) ?
		       scope_range_open_span(GP_SCOPE_BY_RANGE) :
		       0;
}

void gp_scope_range_ended(uint32_t name, uint64_t span)
{
	if (span != 0)
		close_span(GP_SCOPE_BY_RANGE, span);
	else if (gp_settings.scope.from == GP_SCOPE_STEPS && name &&
		 is_heeded(&(struct gp_range){ .name = name,
					       .domain = gp_range_name_of(name)->domain }))
		end_step();
}
