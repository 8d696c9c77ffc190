/* Names of ranges against the rule; steps are counted by the ends of ranges. */
#include "scope_range.h"

#include <errno.h>
#include <string.h>

#define OPTIMIZER "Optimizer.step#" /* of every optimizer of PyTorch, with its class behind */
#define STARTED 64u		    /* ranges with numbers that are heeded and open at once */

/* Children inherit them: they count on. */
static _Atomic uint64_t steps;
static _Atomic uint64_t started[STARTED]; /* numbers of heeded ranges; 0: free */
static _Atomic uint64_t opener;		  /* the one that opened what is captured; 0: none */

static size_t text_of(const struct gp_range *range, const char **text)
{
	if (!range->name) {
		*text = range->text ? range->text : "";
		return range->bytes == GP_TO_NUL ? strnlen(*text, GP_RANGE_NAME_MAX) : range->bytes;
	}
	return gp_range_name_text(range->name, text);
}

/* Is it the range that was asked for, or one that ends a step? */
static bool is_heeded(const struct gp_range *range)
{
	const struct gp_scope_rule *rule = &gp_settings.scope;
	const char *text, *domain = NULL;
	const size_t bytes = text_of(range, &text);
	if (rule->name[0] == '\0')
		return bytes >= sizeof OPTIMIZER - 1 &&
		       memcmp(text, OPTIMIZER, sizeof OPTIMIZER - 1) == 0;
	const size_t domain_bytes = range->domain ? gp_range_name_text(range->domain, &domain) : 0;
	return gp_scope_is_named(rule, text, bytes, domain, domain_bytes);
}

/*
 * Before the first event of a process there is no recorder and nothing to enter: then the state
 * alone changes, and the recording begins with it. False: this comes from inside our own work.
 */
static bool enter(bool *is_inside)
{
	*is_inside = atomic_load_explicit(&gp_local->word, memory_order_relaxed) != 0;
	return !*is_inside || gp_enter_level(GP_LEVEL_MEMORY);
}

static bool change(bool to_open, enum gp_scope_by by)
{
	const int kept = errno;
	bool is_inside, is_done = false;
	if (enter(&is_inside)) {
		is_done = to_open ? gp_scope_open(by) : gp_scope_close(by);
		if (is_inside)
			gp_leave();
	}
	errno = kept;
	return is_done;
}

/* The first that is asked for begins where the one before it ends. */
static void end_step(void)
{
	const struct gp_scope_rule *rule = &gp_settings.scope;
	const uint64_t ended = atomic_fetch_add(&steps, 1) + 1;
	if (ended == rule->last_step)
		change(false, GP_SCOPE_BY_STEP);
	else if (ended + 1 == rule->first_step)
		change(true, GP_SCOPE_BY_STEP);
}

uint64_t gp_scope_range_pushed(const struct gp_range *range)
{
	return gp_settings.scope.from == GP_SCOPE_RANGE && is_heeded(range) &&
			       change(true, GP_SCOPE_BY_RANGE) ?
		       gp_scope_span() :
		       0;
}

void gp_scope_range_popped(uint32_t name, uint64_t span)
{
	/* its span may be over, and another thread's range have opened the next */
	if (span != 0 && span == gp_scope_span())
		change(false, GP_SCOPE_BY_RANGE);
	else if (gp_settings.scope.from == GP_SCOPE_STEPS && name &&
		 is_heeded(&(struct gp_range){ .name = name,
					       .domain = gp_range_name_of(name)->domain }))
		end_step();
}

void gp_scope_range_started(const struct gp_range *range, uint64_t number)
{
	if (!is_heeded(range))
		return;
	if (gp_settings.scope.from == GP_SCOPE_RANGE) {
		if (change(true, GP_SCOPE_BY_RANGE))
			atomic_store(&opener, number);
		return;
	}
	for (unsigned k = 0; k < STARTED; k++) {
		uint64_t none = 0;
		if (atomic_compare_exchange_strong(&started[k], &none, number))
			return;
	}
}

void gp_scope_range_finished(uint64_t number)
{
	uint64_t is = number;
	if (gp_settings.scope.from == GP_SCOPE_RANGE) {
		if (atomic_compare_exchange_strong(&opener, &is, 0))
			change(false, GP_SCOPE_BY_RANGE);
		return;
	}
	for (unsigned k = 0; k < STARTED; k++, is = number)
		if (atomic_compare_exchange_strong(&started[k], &is, 0)) {
			end_step();
			return;
		}
}
