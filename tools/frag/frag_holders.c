/*
 * Prints the groups that hold memory at the moment, before the report of `frag`. Meant for a
 * running job, where the code is the first question. The groups are those of `gpuprof peak`.
 */
#include "../io/amount.h"
#include "../leaks/leaks_report.h"
#include "../report/report.h"
#include "../report/use_print.h"
#include "frag_report.h"

#define HOLDERS_SHOWN 5u

/* Omits small amounts of pinned memory if there is a device. */
static enum gp_status print_holders(const struct gp_frag_report *r, struct gp_holders *h)
{
	const struct gp_use_style style = { .top = HOLDERS_SHOWN,
					    .all_text = "gpuprof peak --at end --top 0" };
	const char *of = h->of == GP_CURVE_ALLOCATED ? "allocated by PyTorch" :
			 h->of == GP_CURVE_PINNED    ? "of pinned memory" :
						       "of driver memory";
	struct gp_groups groups;
	uint64_t outside = h->of == GP_CURVE_DRIVER ? gp_use_fold_segments(h) : h->live_bytes;
	const bool is_negligible =
		h->of == GP_CURVE_PINNED && r->devices && outside < GP_PINNED_LEAST;
	if (!outside || is_negligible) /* memory in segments is shown by blocks */
		return GP_OK;
	enum gp_status status =
		gp_groups_build(r->recording, h->use, h->uses, &style.grouping, &groups);
	if (status)
		return status;
	gp_use_device_print(r->out, r->info, h->device);
	fprintf(r->out, ": %s %s now\n", gp_bytes_text(h->live_bytes).s, of);
	gp_use_groups_print(r->out, r->recording, &groups, &style, &gp_use_held_shape,
			    h->live_bytes);
	gp_groups_free(&groups);
	return GP_OK;
}

static enum gp_status write_holders(const struct gp_frag_report *r, struct gp_holders *h)
{
	const struct gp_use_style style = { .top = r->top };
	struct gp_groups groups;
	enum gp_status status =
		gp_groups_build(r->recording, h->use, h->uses, &style.grouping, &groups);
	if (status)
		return status;
	gp_json_object(r->json, NULL);
	gp_use_device_write(r->json, h->device);
	gp_json_text(r->json, "of", gp_curve_keys[h->of]);
	gp_json_number(r->json, "live_bytes", h->live_bytes);
	gp_use_groups_write(r->json, r->recording, &groups, &style, &gp_use_held_shape);
	gp_json_end(r->json);
	gp_groups_free(&groups);
	return GP_OK;
}

static bool frag_holders_is_shown(const struct gp_frag_report *r, unsigned device)
{
	bool is_there = false;
	for (size_t k = 0; k < r->devices; k++)
		is_there |= r->device[k].frag.device->device == device;
	return is_there;
}

/* Visits each curve except reserved, which the rest of the report covers. */
static enum gp_status visit_holders(const struct gp_frag_report *r,
				    enum gp_status (*visit)(const struct gp_frag_report *,
							    struct gp_holders *))
{
	struct gp_peak peak;
	enum gp_status status = gp_peak_build(r->recording, GP_AT_TIME, r->memory.at_ns, &peak);
	if (status)
		return status;
	for (size_t k = 0; k < peak.holders && status == GP_OK; k++) {
		struct gp_holders *h = &peak.holder[k];
		if (h->of != GP_CURVE_RESERVED && frag_holders_is_shown(r, h->device))
			status = visit(r, h);
	}
	if (peak.host && status == GP_OK)
		status = visit(r, peak.host);
	gp_peak_free(&peak);
	return status;
}

/* One moment shows no growth, so this adds the verdict of `leaks` on the events so far. */
enum gp_status gp_frag_holders_print(const struct gp_frag_report *r)
{
	struct gp_leak_answer leak;
	enum gp_status status = visit_holders(r, print_holders);
	if (status == GP_OK)
		status = gp_leak_answer_build(r->recording, r->info, r->path, &leak);
	if (status == GP_OK)
		fprintf(r->out, "so far: %s\n", leak.s);
	return status;
}

enum gp_status gp_frag_holders_write(const struct gp_frag_report *r)
{
	struct gp_leak_answer leak;
	gp_json_array(r->json, "holders");
	enum gp_status status = visit_holders(r, write_holders);
	gp_json_end(r->json);
	if (status == GP_OK)
		status = gp_leak_answer_build(r->recording, r->info, r->path, &leak);
	if (status == GP_OK)
		gp_leak_answer_write(r->json, &leak);
	return status;
}
