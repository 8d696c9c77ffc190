/*
 * Roles of suspects. The role of a suspect is that of most of its memory at the last sample, as
 * `gpuprof peak --by role` groups it.
 */
#include "../io/amount.h"
#include "../report/use_print.h"
#include "leaks_report.h"

enum gp_status gp_leak_roles_find(struct gp_leaks_report *r)
{
	if (!r->by)
		return GP_OK;
	return gp_peak_build_with(r->recording, GP_AT_TIME, r->leaks.last_ns, GP_WITH_ROLES,
				  &r->held);
}

static bool is_of_leak(const struct gp_leak *leak, const struct gp_use *use)
{
	bool is_there = use->stack == leak->stack;
	for (size_t k = 0; k < leak->parts; k++)
		is_there |= use->stack == leak->part[k].stack;
	return is_there && use->space == leak->space;
}

const struct gp_role_rule *gp_leak_rule(const struct gp_leaks_report *r, const struct gp_leak *leak)
{
	const struct gp_role_rule *rules;
	const size_t count = gp_role_rules(&rules);
	const enum gp_curve of =
		leak->space == GP_SPACE_BLOCK ? GP_CURVE_ALLOCATED : GP_CURVE_DRIVER;
	uint64_t bytes[UINT8_MAX + 1] = { 0 };
	size_t most = count - 1; /* the last rule: unknown */
	for (size_t k = 0; k < r->held.holders; k++) {
		const struct gp_holders *h = &r->held.holder[k];
		if (h->device != leak->device || h->of != of)
			continue;
		for (size_t i = 0; i < h->uses; i++)
			if (h->use[i].rule && is_of_leak(leak, &h->use[i]))
				bytes[h->use[i].rule - 1] += h->use[i].bytes;
	}
	for (size_t k = 0; k < count; k++)
		if (bytes[k] > bytes[most])
			most = k;
	return &rules[most];
}

/* Sums of the suspects of memory that pass the filters. */
struct sum {
	uint64_t bytes, count;
	double bytes_per_step;
	size_t suspects;
};

static void sum_roles(const struct gp_leaks_report *r, struct sum sum[GP_MEMORY_ROLES])
{
	for (size_t k = 0; k < r->leaks.leaks; k++) {
		const struct gp_leak *leak = &r->leaks.leak[k];
		struct gp_leak_view view;
		gp_leak_look_up(r, leak->stack, leak->at_ns, &view);
		if (leak->is_object || !gp_leak_is_selected(r, leak, &view))
			continue;
		struct sum *s = &sum[gp_leak_rule(r, leak)->role];
		s->bytes += leak->live_bytes;
		s->count += leak->live_count;
		s->bytes_per_step += leak->bytes_per_step;
		s->suspects++;
	}
}

void gp_leak_roles_print(const struct gp_leaks_report *r)
{
	struct sum sum[GP_MEMORY_ROLES] = { 0 };
	const char *comma = "by role: ";
	if (!r->by)
		return;
	sum_roles(r, sum);
	for (unsigned role = 0; role < GP_MEMORY_ROLES; role++) {
		if (!sum[role].suspects)
			continue;
		const int64_t bytes = gp_rate_bytes(sum[role].bytes_per_step);
		fprintf(r->out, "%s%s %s a %s", comma, gp_role_keys[role],
			gp_bytes_text(bytes > 0 ? (uint64_t)bytes : 0).s, gp_leak_unit(r));
		comma = ", ";
	}
	if (*comma == ',')
		fputc('\n', r->out);
}

void gp_leak_roles_write(const struct gp_leaks_report *r)
{
	struct sum sum[GP_MEMORY_ROLES] = { 0 };
	if (!r->by)
		return;
	sum_roles(r, sum);
	gp_json_array(r->json, "groups");
	for (unsigned role = 0; role < GP_MEMORY_ROLES; role++) {
		if (!sum[role].suspects)
			continue;
		gp_json_object(r->json, NULL);
		gp_json_text(r->json, "key", gp_role_keys[role]);
		gp_json_number(r->json, "bytes", sum[role].bytes);
		gp_json_number(r->json, "count", sum[role].count);
		gp_json_signed(r->json, "bytes_per_step", gp_rate_bytes(sum[role].bytes_per_step));
		gp_json_end(r->json);
	}
	gp_json_end(r->json);
}
