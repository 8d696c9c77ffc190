/*
 * The answer of `gpuprof leaks` in one line, for its own report and others that quote it.
 */
#include <inttypes.h>
#include <stdarg.h>
#include <string.h>

#include "leaks_report.h"

#define STEPS_SHOWN 1e6	      /* larger counts are not printed */
#define UNTIL_MOST 31557600e9 /* a year in ns; later dates are not printed */

const char *const gp_leak_verdict_names[] = {
	[GP_LEAK_FOUND] = "leak",
	[GP_LEAK_SUSPECTED] = "suspected",
	[GP_LEAK_NONE] = "none",
	[GP_LEAK_UNKNOWN] = "unknown",
};

static void verdict_add(struct gp_leak_answer *answer, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
static void verdict_add(struct gp_leak_answer *answer, const char *format, ...)
{
	size_t used = strlen(answer->s);
	va_list arguments;
	va_start(arguments, format);
	vsnprintf(answer->s + used, sizeof answer->s - used, format, arguments);
	va_end(arguments);
}

/* "3.20 KiB a step on GPU 0, full in 11.7 h at this rate (84,000 steps)" */
static void verdict_add_memory(struct gp_leak_answer *answer, const struct gp_leaks_report *r,
			       const struct gp_leak_total *total, const char **separator)
{
	const char *unit = gp_leak_unit(r);
	for (unsigned k = 0; k < GP_DEVICES; k++) {
		const double steps = total->steps_until_full[k], ns = steps * r->leaks.step_ns;
		if (total->of_device[k] <= 0)
			continue;
		verdict_add(answer, "%s%s a %s on GPU %u", *separator,
			    gp_bytes_text((uint64_t)gp_rate_bytes(total->of_device[k])).s, unit, k);
		*separator = "; ";
		const bool is_soon = steps >= 0 && ns < UNTIL_MOST;
		if (is_soon)
			verdict_add(answer, ", full in %s at this rate", gp_about_text(ns).s);
		if (is_soon && !r->leaks.window_ns && steps < STEPS_SHOWN)
			verdict_add(answer, " (%s)", gp_plural((uint64_t)steps, unit).s);
	}
}

/* The first leaking object; *more: how many others leak. NULL: none. */
static const struct gp_leak *verdict_first_object(const struct gp_leaks_report *r, size_t *more)
{
	const struct gp_leak *first = NULL;
	*more = 0;
	for (size_t k = 0; k < r->leaks.leaks; k++) {
		const struct gp_leak *leak = &r->leaks.leak[k];
		struct gp_leak_view view;
		if (!leak->is_object)
			continue;
		gp_leak_look_up(r, leak->stack, leak->at_ns, &view);
		if (!gp_leak_is_selected(r, leak, &view))
			continue;
		*more += first != NULL;
		first = first ? first : leak;
	}
	return first;
}

/* "8.00 KiB a step in pinned allocations", "1 stream a step and 2 more kinds" */
static void verdict_add_objects(struct gp_leak_answer *answer, const struct gp_leaks_report *r,
				const char **separator)
{
	size_t more;
	const struct gp_leak *first = verdict_first_object(r, &more);
	if (!first)
		return;
	const int64_t bytes = gp_rate_bytes(first->bytes_per_step);
	if (bytes > 0)
		verdict_add(answer, "%s%s a %s in %ss", *separator,
			    gp_bytes_text((uint64_t)bytes).s, gp_leak_unit(r), gp_leak_kind(first));
	else
		verdict_add(answer, "%s%s a %s", *separator, gp_leak_number(first).s,
			    gp_leak_unit(r));
	if (more)
		verdict_add(answer, "; %s of objects", gp_plural(more, "more leak").s);
}

/* " of library 'cuBLAS' on GPU 0": memory outside of the filters may grow. */
static void verdict_add_requested(struct gp_leak_answer *answer, const struct gp_leaks_report *r)
{
	if (r->library)
		verdict_add(answer, " of library '%.64s'", r->library);
	if (r->device >= 0)
		verdict_add(answer, " on GPU %" PRId64, r->device);
}

static bool verdict_lacks_events(const struct gp_info *info)
{
	return info->uncertains || info->lost_memory || info->has_hole;
}

/* Whether all leaks may be activations. */
static bool verdict_may_be_activations(const struct gp_leaks_report *r)
{
	for (size_t k = 0; k < r->leaks.leaks; k++)
		if (!r->leaks.leak[k].may_be_activations)
			return false;
	return r->leaks.leaks > 0;
}

bool gp_leak_is_suspected(const struct gp_leak_answer *answer)
{
	return answer->verdict == GP_LEAK_FOUND || answer->verdict == GP_LEAK_SUSPECTED;
}

/* Why a leak is not certain; NULL: it is. */
static const char *verdict_caveat(const struct gp_leaks_report *r,
				  const struct gp_leak_total *total)
{
	if (verdict_lacks_events(r->info))
		return ", but memory events are missing";
	if (total->certain)
		return NULL;
	if (verdict_may_be_activations(r))
		return ", or activations of one forward pass";
	return ", or a cache that still fills; a longer run separates them";
}

struct gp_leak_answer gp_leak_answer_of(const struct gp_leaks_report *r,
					const struct gp_leak_total *total)
{
	struct gp_leak_answer answer = { .verdict = GP_LEAK_NONE };
	char text[GP_LEAK_CAVEAT_MAX];
	const char *separator = ": ";
	if (total->leaks) {
		const char *caveat = verdict_caveat(r, total);
		answer.verdict = caveat ? GP_LEAK_SUSPECTED : GP_LEAK_FOUND;
		verdict_add(&answer, "Leak %s%s", caveat ? "suspected" : "found",
			    caveat ? caveat : "");
		verdict_add_memory(&answer, r, total, &separator);
		verdict_add_objects(&answer, r, &separator);
		verdict_add(&answer, ".");
		return answer;
	}
	const char *caveat = gp_leak_caveat(r, text);
	if (caveat) {
		answer.verdict = GP_LEAK_UNKNOWN;
		verdict_add(&answer, "No verdict on leaks: %s.", caveat);
		return answer;
	}
	verdict_add(&answer, "No leak");
	verdict_add_requested(&answer, r);
	verdict_add(&answer, " found");
	verdict_add(&answer, "%s.", total->fillings ? ", but a cache that still fills" : "");
	if (r->leaks.detectable_to_step < r->leaks.steps.steps)
		verdict_add(&answer,
			    " A leak that begins in step %s of %s or later would be missed.",
			    gp_count_text(r->leaks.detectable_to_step + 1).s,
			    gp_count_text(r->leaks.steps.steps).s);
	return answer;
}

enum gp_status gp_leak_answer_build(struct gp_recording *recording, const struct gp_info *info,
				    const char *path, struct gp_leak_answer *out)
{
	struct gp_leaks_report r = {
		.recording = recording, .info = info, .path = path, .device = -1
	};
	enum gp_status status = gp_leaks_build(recording, INT64_MIN, INT64_MAX, &r.leaks);
	if (status)
		return status;
	const struct gp_leak_total total = gp_leak_total_of(&r);
	*out = gp_leak_answer_of(&r, &total);
	gp_leaks_free(&r.leaks);
	return status;
}

void gp_leak_cell_put(struct gp_cell *cell, const struct gp_leaks_report *r,
		      const struct gp_leak_total *total)
{
	const int64_t bytes = gp_rate_bytes(total->bytes_per_step + total->pinned_per_step);
	char text[GP_LEAK_CAVEAT_MAX];
	size_t more;
	if (!total->leaks && (gp_leak_caveat(r, text) || !gp_leak_judges_half(r)))
		return;
	const struct gp_leak *object = bytes > 0 ? NULL : verdict_first_object(r, &more);
	if (object)
		gp_cell_put(cell, (double)total->leaks, gp_leak_number(object).s);
	else
		gp_cell_put(cell, (double)total->leaks, gp_bytes_text((uint64_t)bytes).s);
	/* a table names a found leak before a suspected one */
	const bool is_found = gp_leak_answer_of(r, total).verdict == GP_LEAK_FOUND;
	const int64_t most = INT64_MAX / 2;
	cell->before = (is_found ? -most : 0) - (bytes < most ? bytes : most);
}
