/*
 * The front page of a recording: peaks, largest holders, OOMs, leaks, steps.
 */
#include "info_report.h"

#include <math.h>

#include "../report/report.h"

double gp_info_bytes_per_event(const struct gp_info *info)
{
	uint64_t events = 0;
	for (unsigned kind = 0; kind < GP_KINDS; kind++)
		if (gp_is_happening(kind))
			events += info->kept_from_ns ? info->kept[kind] : info->counts[kind];
	return events ? (double)info->kept_bytes / (double)events : (double)NAN;
}

bool gp_info_is_at_least(const struct gp_info *info, const struct gp_holders *h)
{
	return h->is_overwritten || !gp_has_whole_figures(info) ||
	       (h->of == GP_CURVE_PINNED && !gp_has_whole_pinned(info));
}

/* The framework's blocks come before driver memory, which contains them; then most bytes first. */
static const struct gp_holders *front_most(const struct gp_peak *peak)
{
	const struct gp_holders *most = NULL;
	for (size_t k = 0; k < peak->holders; k++) {
		const struct gp_holders *h = &peak->holder[k];
		if (h->of == GP_CURVE_RESERVED || (most && h->of < most->of))
			continue;
		if (!most || h->of > most->of || h->peak_bytes > most->peak_bytes)
			most = h;
	}
	return most;
}

static enum gp_status front_examine(struct gp_recording *recording, const struct gp_ooms *ooms,
				    const struct gp_allocator_settings *settings,
				    struct gp_oom_brief *out)
{
	struct gp_oom_case looked;
	const enum gp_status status = gp_oom_look(recording, ooms, 0, settings, -1, &looked);
	if (status == GP_OK) {
		out->missing_bytes = looked.finding.missing_bytes;
		out->cause = gp_verdict_names[looked.finding.verdict];
	}
	gp_oom_case_free(&looked);
	return status == GP_E_ARGUMENT ? GP_OK : status; /* its device is unknown */
}

static enum gp_status front_find_ooms(struct gp_recording *recording, const struct gp_info *info,
				      bool has_cause, struct gp_info_front *out)
{
	struct gp_ooms ooms;
	struct gp_allocator_settings settings;
	if (!info->counts[GP_OOM] && !info->counts[GP_ALLOC_FAILED])
		return GP_OK;
	gp_allocator_settings_read(info->alloc_conf, &settings);
	enum gp_status status = gp_ooms_build(recording, &settings, &ooms);
	if (status)
		return status;
	out->ooms = ooms.ooms;
	for (size_t k = 0; k < ooms.ooms; k++)
		out->driver_ooms += !ooms.oom[k].is_framework;
	out->failed_calls = ooms.failed_calls;
	if (ooms.ooms)
		out->first_oom = (struct gp_oom_brief){ .at_ns = ooms.oom[0].at_ns,
							.requested_bytes = ooms.oom[0].bytes };
	if (ooms.ooms && has_cause)
		status = front_examine(recording, &ooms, &settings, &out->first_oom);
	gp_ooms_free(&ooms);
	return status;
}

/* An inference job has weights, and a cache or graphs; it makes no gradients. */
static bool front_is_inference(const struct gp_role_bands *d)
{
	const struct gp_role_top *top = d->top;
	return top[GP_HOLDS_WEIGHTS].bytes && !top[GP_HOLDS_GRADIENTS].bytes &&
	       !top[GP_HOLDS_OPTIMIZER].bytes &&
	       (top[GP_HOLDS_KV_CACHE].bytes || top[GP_HOLDS_GRAPH_POOL].bytes);
}

static const struct gp_role_sums *front_highest(const struct gp_role_bands *d)
{
	const struct gp_role_sums *highest = d->band;
	uint64_t most = 0;
	for (size_t k = 0; k < d->bands; k++) {
		uint64_t sum = 0;
		for (unsigned role = 0; role < GP_MEMORY_ROLES; role++)
			sum += d->band[k].bytes[role];
		if (sum > most)
			highest = &d->band[k];
		most = sum > most ? sum : most;
	}
	return highest;
}

static enum gp_status front_find_roles(struct gp_recording *recording, const struct gp_info *info,
				       struct gp_info_front *out)
{
	if (gp_phases_by(info) == GP_PHASES_BY_NOTHING || !out->most ||
	    out->most->of != GP_CURVE_ALLOCATED)
		return GP_OK;
	const enum gp_status status =
		gp_role_timeline_build(recording, GP_TIMELINE_POINTS, 0, INT64_MAX, &out->roles);
	for (size_t k = 0; k < out->roles.devices; k++) {
		const struct gp_role_bands *d = &out->roles.device[k];
		if (d->device == out->most->device && d->bands)
			out->at_peak = front_highest(d);
		out->is_inference |=
			info->has_stacks && !info->has_backward && front_is_inference(d);
	}
	if (status || !out->is_inference || info->counts[GP_CAPTURE_BEGIN] == 0)
		return status;
	return gp_graphs_report_build(recording, &out->graphs);
}

enum gp_status gp_info_front_build(struct gp_recording *recording, const struct gp_info *info,
				   const char *path, bool has_holders, struct gp_info_front *out)
{
	const struct gp_grouping by_stack = { .by = GP_BY_STACK }, by_line = { .by = GP_BY_LINE };
	*out = (struct gp_info_front){ 0 };
	enum gp_status status = gp_peak_build(recording, GP_AT_PEAK, 0, &out->peak);
	if (!status)
		out->most = front_most(&out->peak);
	const bool is_grouped = out->most && info->has_stacks && has_holders;
	if (!status && is_grouped)
		status = gp_groups_build(recording, out->most->use, out->most->uses, &by_stack,
					 &out->groups);
	if (!status && is_grouped)
		status = gp_groups_build(recording, out->most->use, out->most->uses, &by_line,
					 &out->lines);
	if (!status)
		status = front_find_ooms(recording, info, has_holders, out);
	if (!status && has_holders)
		status = front_find_roles(recording, info, out);
	out->leaks = (struct gp_leaks_report){
		.recording = recording, .info = info, .path = path, .device = -1
	};
	if (!status)
		status = gp_leaks_build(recording, INT64_MIN, INT64_MAX, &out->leaks.leaks);
	if (status)
		return status;
	const struct gp_leak_total total = gp_leak_total_of(&out->leaks);
	out->answer = gp_leak_answer_of(&out->leaks, &total);
	if (out->most && out->most->device < GP_DEVICES && has_holders)
		status = gp_number_line_build(recording, out->most->device, &out->line);
	return status;
}

void gp_info_front_release(struct gp_info_front *front)
{
	gp_number_line_free(&front->line);
	gp_leaks_free(&front->leaks.leaks);
	gp_groups_free(&front->groups);
	gp_groups_free(&front->lines);
	gp_peak_free(&front->peak);
	gp_role_timeline_free(&front->roles);
	gp_graphs_report_free(&front->graphs);
	*front = (struct gp_info_front){ 0 };
}
