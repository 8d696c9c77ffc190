/* The leak that explains an out-of-memory event, if one does. */
#include "oom_answer.h"
#include "report.h"

/* One that holds at that moment at least what is missing then. */
const struct gp_leak *gp_oom_leak_find(const struct gp_oom_report *r, const struct gp_oom *o,
				       const struct gp_oom_case *c)
{
	const uint64_t missing = c->finding.missing_bytes, lacks = c->finding.short_bytes;
	if (missing == GP_BYTES_UNKNOWN || !lacks || gp_has_losses(r->info))
		return NULL;
	for (size_t k = 0; k < r->leaks.leaks; k++) {
		const struct gp_leak *l = &r->leaks.leak[k];
		if (!l->is_object && l->device == o->device && l->since_ns < o->at_ns &&
		    l->bytes_per_step > 0 && l->live_bytes >= missing)
			return l;
	}
	return NULL;
}
