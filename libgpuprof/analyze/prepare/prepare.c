/* The replays that several reports on one recording share. */
#include <stdlib.h>

#include "../kept.h"
#include "../leaks/leaks.h"
#include "../peak/timeline.h"
#include "../phases/phase.h"
#include "../roles/role_bands.h"
#include "../roles/roles.h"
#include "../steps/step_find.h"
#include "../waits/waits_observe.h"

enum gp_status gp_recording_prepare(struct gp_recording *recording)
{
	struct gp_analysis analysis[2];
	struct gp_steps steps;
	struct gp_roles *roles;
	const enum gp_status begun[2] = { gp_steps_analysis(recording, &steps, &analysis[0]),
					  gp_roles_analysis(recording, &roles, &analysis[1]) };
	enum gp_status status = begun[0] != GP_OK ? begun[0] : begun[1];
	if (status == GP_OK)
		status = gp_analyse(recording, analysis, 2);
	free(analysis[0].context);
	free(analysis[1].context);
	gp_roles_keep(recording, roles, status);
	if (status == GP_OK)
		gp_steps_keep(recording, &steps);
	gp_steps_free(&steps);
	return status;
}

/* The options for all of a recording and all devices, with its warm-up. */
static enum gp_status phases_whole(struct gp_recording *recording, struct gp_phases_options *out)
{
	struct gp_steps steps;
	*out = (struct gp_phases_options){ .device = GP_DEVICE_UNKNOWN,
					   .of = GP_CURVES,
					   .from_ns = INT64_MIN,
					   .to_ns = INT64_MAX };
	const enum gp_status status = gp_steps_find(recording, &steps);
	if (status != GP_OK)
		return status;
	if (steps.warmup > 0 && steps.warmup < steps.steps)
		out->warm_ns = steps.step[steps.warmup].begin_ns;
	gp_steps_free(&steps);
	return GP_OK;
}

/* The answers of the reports. */
struct prepared {
	struct gp_timeline *timeline;
	struct gp_role_timeline *bands;
	struct gp_leaks *leaks;
	struct gp_phases *phases;
	struct gp_waits *waits;
};
#define REPORTS 5u

#define DROP(name, of)                        \
	static void name##_drop(void *answer) \
	{                                     \
		gp_##of##_free(answer);       \
		free(answer);                 \
	}
DROP(timeline, timeline)
DROP(bands, role_timeline)
DROP(leaks, leaks)
DROP(phases, phases)
DROP(waits, waits)

static enum gp_status all_begin(struct gp_recording *recording, size_t points,
				const struct gp_phases_options *whole, const struct prepared *p,
				struct gp_analysis analysis[REPORTS])
{
	/* The last two may replay for their answers, so the others come before them. */
	const enum gp_status begun[REPORTS] = {
		gp_phases_analysis(recording, whole, p->phases, &analysis[0]),
		gp_waits_analysis(recording, p->waits, &analysis[1]),
		gp_role_timeline_analysis(recording, points, p->bands, &analysis[2]),
		gp_timeline_analysis(recording, points, p->timeline, &analysis[3]),
		gp_leaks_analysis(recording, p->leaks, &analysis[4]),
	};
	for (unsigned k = 0; k < REPORTS; k++)
		if (begun[k] != GP_OK)
			return begun[k];
	return GP_OK;
}

static void keep_all(struct gp_recording *recording, size_t points, uint64_t warm,
		     const struct prepared *p)
{
	gp_keep(recording, GP_KEPT_TIMELINE, points, p->timeline, timeline_drop);
	gp_keep(recording, GP_KEPT_BANDS, points, p->bands, bands_drop);
	gp_keep(recording, GP_KEPT_LEAKS, 0, p->leaks, leaks_drop);
	gp_keep(recording, GP_KEPT_PHASES, warm, p->phases, phases_drop);
	gp_keep(recording, GP_KEPT_WAITS, 0, p->waits, waits_drop);
}

enum gp_status gp_recording_prepare_reports(struct gp_recording *recording, size_t points)
{
	struct gp_analysis analysis[REPORTS] = { 0 };
	struct gp_phases_options whole;
	struct prepared p = { calloc(1, sizeof *p.timeline), calloc(1, sizeof *p.bands),
			      calloc(1, sizeof *p.leaks), calloc(1, sizeof *p.phases),
			      calloc(1, sizeof *p.waits) };
	const bool has_room = p.timeline && p.bands && p.leaks && p.phases && p.waits;
	enum gp_status status = has_room ? phases_whole(recording, &whole) : GP_E_MEMORY;
	if (status == GP_OK)
		status = all_begin(recording, points, &whole, &p, analysis);
	if (status == GP_OK)
		status = gp_analyse(recording, analysis, REPORTS);
	for (unsigned k = 0; k < REPORTS; k++)
		free(analysis[k].context);
	if (status == GP_OK) {
		keep_all(recording, points, (uint64_t)whole.warm_ns, &p);
		return GP_OK;
	}
	free(p.timeline);
	free(p.bands);
	free(p.leaks);
	free(p.phases);
	free(p.waits);
	return status;
}
