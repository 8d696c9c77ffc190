/* Matches names of ranges with the rule; counts steps by the ends of ranges. */
#include "scope_range.h"

#include <errno.h>
#include <string.h>

#define OPTIMIZER "Optimizer.step#" /* of every optimizer of PyTorch, followed by its class */

/* children inherit them: they continue the counts */
static _Atomic uint64_t steps, gpu_steps;
static _Atomic uint32_t gpu_windows;

void (*gp_gpu_window)(bool is_open, uint32_t number);

static size_t scope_range_text_of(const struct gp_range *range, const char **text)
{
	if (!range->name) {
		*text = range->text ? range->text : "";
		return range->bytes == GP_TO_NUL ? strnlen(*text, GP_RANGE_NAME_MAX) : range->bytes;
	}
	return gp_range_name_text(range->name, text);
}

static bool is_optimizer(const char *text, size_t bytes)
{
	return bytes >= sizeof OPTIMIZER - 1 && memcmp(text, OPTIMIZER, sizeof OPTIMIZER - 1) == 0;
}

/* True if it is the selected range, or one that ends a step. */
static bool is_heeded(const struct gp_range *range)
{
	const struct gp_scope_rule *rule = &gp_settings.scope;
	const char *text, *domain = NULL;
	const size_t bytes = scope_range_text_of(range, &text);
	if (rule->name[0] == '\0')
		return is_optimizer(text, bytes);
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

static bool ends_gpu_step(uint32_t name)
{
	const struct gp_gpu_rule *rule = &gp_settings.gpu_time;
	const char *text;
	const size_t bytes = gp_range_name_text(name, &text);
	if (rule->name[0] == '\0')
		return is_optimizer(text, bytes);
	return strlen(rule->name) == bytes && memcmp(rule->name, text, bytes) == 0;
}

bool gp_gpu_window_is_open(void)
{
	return gp_gpu_rule_has(&gp_settings.gpu_time, atomic_load(&gpu_steps) + 1);
}

/* If threads end steps at once, each opens or closes the window of its own step. */
static void end_gpu_step(void)
{
	const struct gp_gpu_rule *rule = &gp_settings.gpu_time;
	const uint64_t ended = atomic_fetch_add(&gpu_steps, 1) + 1;
	const bool was_open = gp_gpu_rule_has(rule, ended);
	const bool is_open = gp_gpu_rule_has(rule, ended + 1);
	if (was_open == is_open || !gp_gpu_window)
		return;
	const int kept = errno;
	const uint32_t before =
		gp_gpu_rule_has(rule, 1); /* its first window is open at the start */
	const uint32_t number = before + (is_open ? atomic_fetch_add(&gpu_windows, 1) + 1 :
						    atomic_load(&gpu_windows));
	gp_gpu_window(is_open, number);
	errno = kept;
}

uint64_t gp_scope_range_begins(const struct gp_range *range)
{
	return gp_settings.scope.from == GP_SCOPE_RANGE && is_heeded(range) ?
		       scope_range_open_span(GP_SCOPE_BY_RANGE) :
		       0;
}

void gp_scope_range_ended(uint32_t name, uint64_t span)
{
	if (gp_settings.gpu_time.when == GP_GPU_STEPS && name && ends_gpu_step(name))
		end_gpu_step();
	if (span != 0)
		close_span(GP_SCOPE_BY_RANGE, span);
	else if (gp_settings.scope.from == GP_SCOPE_STEPS && name &&
		 is_heeded(&(struct gp_range){ .name = name,
					       .domain = gp_range_name_of(name)->domain }))
		end_step();
}
