/*
 * The leak that explains an out-of-memory event, if one does. Activations of one forward pass grow
 * from layer to layer as a leak grows from step to step: what tells them apart is a backward pass.
 */
#include "oom_answer.h"
#include "report.h"

/* One that holds at that moment at least what is missing then. */
static const struct gp_leak *leak_choose(const struct gp_oom_report *r, const struct gp_oom *o,
					 const struct gp_oom_case *c)
{
	uint64_t missing = c->finding.missing_bytes;
	if (missing == GP_BYTES_UNKNOWN || !missing || gp_has_losses(r->info))
		return NULL;
	for (size_t k = 0; k < r->leaks.leaks; k++) {
		const struct gp_leak *l = &r->leaks.leak[k];
		if (!l->is_object && l->device == o->device && l->since_ns < o->at_ns &&
		    l->bytes_per_step > 0 && l->live_bytes >= missing)
			return l;
	}
	return NULL;
}

/* Layers open no ranges that are called a step, and allocate blocks of the framework. */
static bool leak_can_be_activations(const struct gp_oom_report *r, const struct gp_leak *l)
{
	return l->space == GP_SPACE_BLOCK && r->leaks.steps.source != GP_STEPS_RANGES;
}

enum gp_status gp_oom_leak_find(const struct gp_oom_report *r, const struct gp_oom *o,
				const struct gp_oom_case *c, const struct gp_leak **leak,
				bool *is_sure)
{
	enum gp_backward_seen seen = GP_BACKWARD_ENDED;
	enum gp_status status = GP_OK;
	*leak = leak_choose(r, o, c);
	if (*leak && leak_can_be_activations(r, *leak))
		status = gp_oom_backward_find(r->recording, o, (*leak)->since_ns, &seen);
	/* its end would free them */
	if (seen == GP_BACKWARD_UNDER_WAY)
		*leak = NULL;
	*is_sure = *leak && seen == GP_BACKWARD_ENDED;
	return status;
}
