/* The leak that explains an out-of-memory event, if one does. */
#include "../report/report.h"
#include "oom_answer.h"

/* One that holds at that moment at least what is missing then. */
enum gp_status gp_oom_leak_find(const struct gp_oom_report *r, const struct gp_oom *o,
				const struct gp_oom_case *c, struct gp_leaks *leaks,
				const struct gp_leak **leak)
{
	const uint64_t missing = c->finding.missing_bytes, lacks = c->finding.short_bytes;
	*leaks = (struct gp_leaks){ 0 };
	*leak = NULL;
	if (missing == GP_BYTES_UNKNOWN || !lacks || gp_has_losses(r->info))
		return GP_OK;
	enum gp_status status = gp_leaks_build(r->recording, INT64_MIN, o->at_ns, leaks);
	for (size_t k = 0; status == GP_OK && k < leaks->leaks && !*leak; k++) {
		const struct gp_leak *l = &leaks->leak[k];
		if (!l->is_object && l->device == o->device && l->since_ns < o->at_ns &&
		    l->bytes_per_step > 0 && l->live_bytes >= missing)
			*leak = l;
	}
	return status;
}
