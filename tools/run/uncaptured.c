/*
 * Explains missing captures. Ranges are also recorded outside of captures, so a range in another
 * domain than the requested one can be found.
 */
#include "uncaptured.h"

#include <stdio.h>
#include <string.h>

static bool is_begin(const struct gp_record *record)
{
	return record->kind == GP_RANGE_PUSH || record->kind == GP_RANGE_START;
}

/* The domain of the first range of that name; NULL: none. */
static const char *find_domain(struct gp_recording *recording, const char *name)
{
	struct gp_event event;
	if (gp_recording_rewind(recording) != GP_OK)
		return NULL;
	while (gp_recording_next(recording, &event) == GP_OK) {
		const struct gp_record *r = &event.record;
		if (!is_begin(r))
			continue;
		const char *text = gp_recording_text(recording, GP_RANGE_NAME, r->aux);
		if (!text || strcmp(text, name) != 0)
			continue;
		/* both kinds of begin store the domain at the same offset */
		const char *domain =
			gp_recording_text(recording, GP_RANGE_NAME, r->range_push.domain);
		return domain ? domain : "";
	}
	return NULL;
}

/* The option for the domain in which the range was opened instead. */
static void add_other_domain(const struct gp_scope_rule *rule, const struct gp_made *made,
			     size_t count, char *out, size_t capacity)
{
	const char *domain = NULL;
	for (size_t k = 0; k < count && !domain; k++) {
		struct gp_recording *recording;
		if (gp_recording_open(made[k].path, &recording, NULL) != GP_OK)
			continue;
		domain = find_domain(recording, rule->name);
		const size_t n = strlen(out);
		if (domain)
			snprintf(out + n, capacity - n, " in %s%s%s, but nvtx:%s%s%s was",
				 *rule->domain ? "domain '" : "the default domain", rule->domain,
				 *rule->domain ? "'" : "", rule->name, *domain ? "@" : "", domain);
		gp_recording_close(recording);
	}
}

void gp_uncaptured_fill(const struct gp_scope_rule *rule, const struct gp_made *made, size_t count,
			char *out, size_t capacity)
{
	switch (rule->from) {
	case GP_SCOPE_ALL:
		snprintf(out, capacity, "%s",
			 rule->delay_ns ? "it ended before the delay did" : "");
		break;
	case GP_SCOPE_PROFILER:
		snprintf(out, capacity, "cudaProfilerStart was not called");
		break;
	case GP_SCOPE_RANGE:
		snprintf(out, capacity, "no NVTX range '%s' was opened", rule->name);
		add_other_domain(rule, made, count, out, capacity);
		break;
	case GP_SCOPE_STEPS:
		snprintf(out, capacity, "step %llu was not seen: %s%s%s end steps",
			 (unsigned long long)rule->first_step,
			 *rule->name ? "ranges '" : "PyTorch's optimizers", rule->name,
			 *rule->name ? "'" : "");
		break;
	case GP_SCOPE_ORDERS:
		snprintf(out, capacity, "'gpuprof ctl' did not start it");
		break;
	}
}
