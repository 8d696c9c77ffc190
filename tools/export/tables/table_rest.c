/*
 * Recordings, devices, steps, graphs, roles, OOMs and losses: each from the function that other
 * commands call for it.
 */
#include "table_rest.h"

#include <stdlib.h>
#include <string.h>

#include "../../io/message.h"
#include "../../report/report.h"

/* Whether a span overlaps the exported one. */
static bool is_in(const struct gp_export *e, int64_t from_ns, int64_t to_ns)
{
	return to_ns >= e->from_ns && from_ns <= e->to_ns;
}

/* ---- the recording ---- */

static void recording_write(const struct gp_export *e, struct gp_rows *rows)
{
	const struct gp_info *info = e->info;
	char format[32];
	snprintf(format, sizeof format, "%u.%u", info->format_major, info->format_minor);
	gp_row_begin(rows, GP_TABLE_recordings);
	gp_row_text(rows, e->recording_path);
	gp_row_text(rows, info->command);
	gp_row_text(rows, info->hostname);
	gp_row_number(rows, info->pid);
	gp_row_number(rows, info->start_unix_ns);
	gp_row_signed(rows, e->apart_ns);
	gp_row_number(rows, info->duration_ns);
	gp_row_signed_if(rows, e->from_ns != INT64_MIN, e->from_ns);
	gp_row_signed_if(rows, e->to_ns != INT64_MAX, e->to_ns);
	gp_row_number(rows, info->is_complete);
	gp_row_number(rows, info->is_damaged);
	gp_row_text(rows, info->driver);
	gp_row_text(rows, info->pytorch);
	gp_row_text(rows, info->alloc_conf);
	gp_row_text(rows, format);
	gp_row_text(rows, GP_VERSION);
	gp_row_end(rows);
}

static void devices_write(const struct gp_export *e, struct gp_rows *rows)
{
	for (size_t k = 0; k < e->info->devices; k++) {
		const struct gp_info_device *d = &e->info->device[k];
		if (!gp_export_has(e, d->device))
			continue;
		gp_row_begin(rows, GP_TABLE_devices);
		gp_row_number(rows, d->device);
		gp_row_text(rows, d->name);
		gp_row_text(rows, d->uuid[0] ? d->uuid : NULL);
		gp_row_number_if(rows, d->total_bytes != 0, d->total_bytes);
		gp_row_end(rows);
	}
}

/* ---- losses ---- */

static void loss_write(struct gp_rows *rows, const char *kind, const struct gp_span *span,
		       uint64_t count, const char *text)
{
	gp_row_begin(rows, GP_TABLE_losses);
	gp_row_text(rows, kind);
	gp_row_signed_if(rows, span != NULL, span ? span->from_ns : 0);
	gp_row_signed_if(rows, span && span->to_ns >= span->from_ns, span ? span->to_ns : 0);
	gp_row_number_if(rows, count != 0, count);
	gp_row_text(rows, text);
	gp_row_end(rows);
}

static void lost_write(struct gp_rows *rows, const char *kind, uint64_t count)
{
	if (count)
		loss_write(rows, kind, NULL, count, NULL);
}

static void losses_write(const struct gp_export *e, struct gp_rows *rows)
{
	const struct gp_info *info = e->info;
	lost_write(rows, "lost memory events", info->lost_memory);
	lost_write(rows, "lost launches", info->lost_launch);
	lost_write(rows, "lost other events", info->lost_other);
	lost_write(rows, "stacks cut", info->stacks_cut);
	lost_write(rows, "unnamed ranges", info->ranges_unnamed);
	lost_write(rows, "blocks not written", info->failed_blocks);
	for (size_t k = 0; k < info->gaps; k++) {
		const struct gp_span gap = { info->gap_ns[k], INT64_MIN };
		loss_write(rows, "gap", &gap, 0, "recording begins late or resumes here");
	}
	for (size_t k = 0; k < info->uncertains; k++)
		loss_write(rows, "uncertain", &info->uncertain[k], 0,
			   "events are missing: memory may be freed already");
	for (size_t k = 0; k < info->damages; k++)
		loss_write(rows, "damage", NULL, info->damage[k].offset, info->damage[k].what);
	if (info->kept_from_ns) {
		const struct gp_span before = { 0, (int64_t)info->kept_from_ns };
		loss_write(rows, "overwritten", &before, 0, "kept events begin later");
	}
	if (info->has_hole)
		loss_write(rows, "hole", NULL, 0, "blocks could not be written");
	if (info->is_running)
		loss_write(rows, "running", NULL, 0, "the job runs: its later events are missing");
	else if (!info->is_sealed)
		loss_write(rows, "not sealed", NULL, 0, "the end is missing");
	if (info->is_captured_in_part)
		loss_write(rows, "captured in part", NULL, info->captures, info->capture_rule);
}

/* ---- what other reports list ---- */

static void steps_write(const struct gp_export *e, struct gp_rows *rows)
{
	struct gp_steps steps = { 0 };
	if (!gp_rows_want(rows, GP_TABLE_steps))
		return;
	rows->status = gp_steps_find(e->recording, &steps);
	for (size_t k = 0; k < steps.steps; k++) {
		const struct gp_step *s = &steps.step[k];
		if (!is_in(e, s->begin_ns, s->end_ns))
			continue;
		gp_row_begin(rows, GP_TABLE_steps);
		gp_row_number(rows, k + 1);
		gp_row_signed(rows, s->begin_ns);
		gp_row_signed(rows, s->end_ns);
		gp_row_number(rows, s->launches);
		gp_row_number(rows, s->live_bytes);
		gp_row_number(rows, k < steps.warmup);
		gp_row_end(rows);
	}
	gp_steps_free(&steps);
}

static void graphs_write(const struct gp_export *e, struct gp_rows *rows,
			 struct gp_table_stacks *stacks)
{
	struct gp_graphs_report report = { 0 };
	const uint64_t *kept = e->info->kept;
	if (!gp_rows_want(rows, GP_TABLE_graphs) ||
	    !(kept[GP_CAPTURE_BEGIN] + kept[GP_GRAPH_INSTANTIATE] + kept[GP_GRAPH_LAUNCH] +
	      kept[GP_GRAPH_ADD_NODE]))
		return;
	rows->status = gp_graphs_report_build(e->recording, &report);
	for (size_t k = 0; k < report.graphs && !rows->status; k++) {
		const struct gp_graph *g = &report.graph[k];
		const uint32_t stack = gp_table_stacks_find(stacks, g->stack, g->at_ns);
		const bool has_pool = g->pool != GP_GRAPH_NO_POOL;
		gp_row_begin(rows, GP_TABLE_graphs);
		gp_row_text(rows, gp_graph_origin_names[g->origin]);
		gp_row_number_if(rows, g->handle != 0, g->handle);
		gp_row_signed(rows, g->at_ns);
		gp_row_signed_if(rows, g->took_ns >= 0, g->took_ns);
		gp_row_signed_if(rows, g->gone_ns >= 0, g->gone_ns);
		gp_row_text(rows, g->without ? NULL : g->key);
		gp_row_number(rows, g->nodes);
		gp_row_number(rows, g->kernel_launches);
		gp_row_number(rows, g->launches);
		gp_row_signed(rows, g->host_ns);
		gp_row_number_if(rows, g->gpu_launches != 0, g->gpu_ns);
		gp_row_number_if(rows, has_pool, g->pool_bytes);
		gp_row_number_if(rows, has_pool, g->pool_allocated_bytes);
		gp_row_number(rows, g->node_bytes);
		gp_row_number_if(rows, stack != 0, stack);
		gp_row_end(rows);
	}
	gp_graphs_report_free(&report);
}

static void roles_write(struct gp_rows *rows)
{
	const struct gp_role_rule *rule;
	const size_t count = gp_role_rules(&rule);
	for (size_t k = 0; k < count; k++) {
		gp_row_begin(rows, GP_TABLE_roles);
		gp_row_text(rows, gp_role_keys[rule[k].role]);
		gp_row_text(rows, rule[k].name);
		gp_row_text(rows, rule[k].why);
		gp_row_end(rows);
	}
}

static void oom_write(const struct gp_oom *oom, struct gp_rows *rows,
		      struct gp_table_stacks *stacks)
{
	const uint32_t stack = gp_table_stacks_find(stacks, oom->stack, oom->at_ns);
	gp_row_begin(rows, GP_TABLE_ooms);
	gp_row_number(rows, oom->order);
	gp_row_signed(rows, oom->at_ns);
	gp_row_device(rows, oom->device);
	gp_row_number(rows, oom->bytes);
	gp_row_number(rows, oom->is_framework);
	gp_row_number(rows, oom->allocated_bytes);
	gp_row_number(rows, oom->reserved_bytes);
	gp_row_number_if(rows, oom->used_by_job_bytes != GP_BYTES_UNKNOWN, oom->used_by_job_bytes);
	gp_row_number_if(rows, oom->free_bytes != GP_BYTES_UNKNOWN, oom->free_bytes);
	gp_row_number_if(rows, oom->limit_bytes != GP_BYTES_UNKNOWN, oom->limit_bytes);
	gp_row_number_if(rows, stack != 0, stack);
	gp_row_end(rows);
}

static void ooms_write(const struct gp_export *e, struct gp_rows *rows,
		       struct gp_table_stacks *stacks)
{
	struct gp_ooms ooms = { 0 };
	if (!gp_rows_want(rows, GP_TABLE_ooms) ||
	    !(e->info->kept[GP_OOM] + e->info->kept[GP_ALLOC_FAILED]))
		return;
	rows->status = gp_ooms_build(e->recording, NULL, &ooms);
	for (size_t k = 0; k < ooms.ooms && !rows->status; k++)
		if (is_in(e, ooms.oom[k].at_ns, ooms.oom[k].at_ns) &&
		    (e->device == GP_DEVICE_UNKNOWN || ooms.oom[k].device == e->device))
			oom_write(&ooms.oom[k], rows, stacks);
	gp_ooms_free(&ooms);
}

void gp_table_rest_write(struct gp_export *e, struct gp_rows *rows, struct gp_table_stacks *stacks)
{
	recording_write(e, rows);
	devices_write(e, rows);
	losses_write(e, rows);
	roles_write(rows);
	steps_write(e, rows);
	graphs_write(e, rows, stacks);
	ooms_write(e, rows, stacks);
}
