/* `gpuprof diff` for a program; gpuprof-diff(1) documents the keys. */
#include "../report/report.h"
#include "diff_report.h"

static void write_side(struct gp_json *json, const struct gp_diff_source *s,
		       const struct gp_use_style *style)
{
	const struct gp_info *i = s->info;
	gp_json_object(json, NULL);
	gp_use_head_write(json, s->path, i);
	gp_use_phases_by_write(json, i, style);
	gp_json_signed_if(json, "at_ns", !s->is_peak, s->at_ns);
	for (size_t k = 0; k < GP_DIFF_SETTINGS; k++)
		gp_json_text(json, gp_diff_settings[k].key, gp_diff_setting_of(i, k));
	gp_json_object(json, "events");
	for (unsigned kind = 0; kind < GP_KINDS; kind++)
		if (gp_is_happening(kind) && i->counts[kind])
			gp_json_number(json, gp_event_infos[kind].name, i->counts[kind]);
	gp_json_end(json);
	gp_json_number(json, "launches", i->launches);
	gp_json_number(json, "captured_launches", i->captured_launches);
	gp_json_number(json, "graph_launches", i->graph_launches);
	if (s->leak.s[0])
		gp_leak_answer_write(json, &s->leak);
	else
		gp_json_null(json, "leaks");
	gp_json_end(json);
}

/* A list, one value a side. */
static void write_row(struct gp_json *json, const struct gp_diff_report *r,
		      const struct gp_diff_row *row)
{
	gp_json_array(json, row->key);
	for (size_t k = 0; k < r->sides; k++)
		gp_json_number_if(json, NULL, row->is_known[k], row->number[k]);
	gp_json_end(json);
}

static void diff_json_write_device(struct gp_json *json, const struct gp_diff_report *r,
				   unsigned device)
{
	struct gp_diff_row row[GP_DIFF_ROWS];
	size_t rows = gp_diff_rows(r, device, row);
	gp_json_object(json, NULL);
	gp_use_device_write(json, device);
	for (size_t k = 0; k < rows; k++)
		write_row(json, r, &row[k]);
	gp_json_end(json);
}

static const char *state_of(const struct gp_diff_report *r, const struct gp_diff_group *g)
{
	bool is_elsewhere = false;
	for (size_t k = 1; k < r->sides; k++)
		is_elsewhere |= g->part[k].stacks > 0;
	return !g->part[0].stacks ? "added" : is_elsewhere ? "changed" : "removed";
}

static void write_parts(struct gp_json *json, const struct gp_diff_report *r,
			const struct gp_diff_group *g)
{
	gp_json_array(json, "bytes");
	for (size_t k = 0; k < r->sides; k++)
		gp_json_number(json, NULL, g->part[k].bytes);
	gp_json_end(json);
	gp_json_array(json, "change_bytes");
	for (size_t k = 0; k < r->sides; k++)
		gp_json_signed(json, NULL, (int64_t)(g->part[k].bytes - g->part[0].bytes));
	gp_json_end(json);
	gp_json_array(json, "count");
	for (size_t k = 0; k < r->sides; k++)
		gp_json_number(json, NULL, g->part[k].count);
	gp_json_end(json);
}

static void write_group(struct gp_json *json, const struct gp_diff_report *r,
			const struct gp_diff_group *g)
{
	const struct gp_use use = {
		.stack = g->stack,
		.at_ns = g->at_ns,
		.without = g->is_rest ? g->key : NULL,
	};
	gp_json_object(json, NULL);
	gp_json_text(json, "key", g->key);
	gp_json_text(json, "state", state_of(r, g));
	gp_json_bool(json, "moved", g->is_moved);
	gp_json_bool(json, "renamed", g->is_renamed);
	if (r->style.grouping.by == GP_BY_RANGE)
		gp_use_ranges_write(json, g->is_rest ? NULL : g->range);
	write_parts(json, r, g);
	gp_json_number(json, "side", g->shown);
	gp_use_stack_write(json, r->side[g->shown].recording, &use, g->part[g->shown].stacks,
			   &r->style);
	gp_json_end(json);
}

static void write_table(struct gp_json *json, const struct gp_diff_report *r,
			const struct gp_diff_table *t)
{
	uint64_t top = r->style.top ? r->style.top : UINT64_MAX;
	gp_json_object(json, NULL);
	gp_use_device_write(json, t->device);
	gp_json_text(json, "of", gp_curve_keys[t->of]);
	gp_json_array(json, "live_bytes");
	for (size_t k = 0; k < r->sides; k++)
		gp_json_number(json, NULL, t->holders[k] ? t->holders[k]->live_bytes : 0);
	gp_json_end(json);
	gp_json_array(json, "overwritten");
	for (size_t k = 0; k < r->sides; k++)
		gp_json_bool(json, NULL, t->holders[k] && t->holders[k]->is_overwritten);
	gp_json_end(json);
	gp_json_number(json, "changed", t->shown);
	gp_json_number(json, "unchanged", t->diff.groups - t->shown);
	gp_json_number(json, "moved", t->diff.moved);
	gp_json_number(json, "renamed", t->diff.renamed);
	gp_json_array(json, "groups");
	for (size_t g = 0; g < t->shown && g < top; g++)
		write_group(json, r, &t->diff.group[g]);
	gp_json_end(json);
	gp_json_end(json);
}

void gp_diff_write(const struct gp_diff_report *r)
{
	struct gp_json json;
	unsigned device[GP_DIFF_DEVICES];
	size_t devices = gp_diff_devices(r, device);
	gp_json_init(&json, r->out, 5);
	gp_json_object(&json, NULL);
	if (gp_diff_phases_differ(r) && !r->is_different)
		gp_json_null(&json, "different");
	else
		gp_json_bool(&json, "different", r->is_different);
	gp_json_text(&json, "by", r->style.by ? r->style.by : "stack");
	gp_json_array(&json, "sides");
	for (size_t k = 0; k < r->sides; k++)
		write_side(&json, &r->side[k], &r->style);
	gp_json_end(&json);
	gp_json_array(&json, "devices");
	for (size_t k = 0; k < devices; k++)
		diff_json_write_device(&json, r, device[k]);
	gp_json_end(&json);
	if (gp_diff_phases_differ(r)) {
		gp_json_null(&json, "curves");
	} else {
		gp_json_array(&json, "curves");
		for (size_t k = 0; k < r->tables; k++)
			write_table(&json, r, &r->table[k]);
		gp_json_end(&json);
	}
	gp_json_end(&json);
}
