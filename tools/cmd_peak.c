/*
 * `gpuprof peak`: memory that was live at the exact peak of each device, or at another moment, by
 * group.
 */
#include <stdlib.h>
#include <string.h>

#include "io/message.h"
#include "io/terminal_width.h"
#include "report/number_line.h"
#include "report/role_print.h"
#include "report/stack_print.h"
#include "report/tree_print.h"
#include "report/use_report.h"

/* columns for many recordings; pinned memory is of the process and stands in its first row */
enum { ALLOCATED, DRIVER, OUTSIDE, PINNED, LARGEST, COLUMNS };

struct peak {
	struct gp_use_report u;
	const char *at;
	bool is_tree;
	bool has_lines, has_no_names; /* lines were printed; no group had a name */
	enum gp_moment moment;
	int64_t at_ns;
};

/* ---- for a program ---- */

static void write_head(struct peak *p, const struct gp_holders *h)
{
	gp_json_object(&p->u.r.json, NULL);
	gp_use_device_write(&p->u.r.json, h->device);
	gp_json_text(&p->u.r.json, "of", gp_curve_keys[h->of]);
	gp_json_signed(&p->u.r.json, "at_ns", h->at_ns);
	gp_json_number(&p->u.r.json, "live_bytes", h->live_bytes);
	if (h->of == GP_CURVE_RESERVED)
		gp_json_number(&p->u.r.json, "unmapped_bytes", h->unmapped_bytes);
	if (h->of == GP_CURVE_PINNED)
		gp_json_number(&p->u.r.json, "registered_bytes", gp_use_registered(h));
	gp_json_number(&p->u.r.json, "uncertain_bytes", h->uncertain_bytes);
	gp_json_number(&p->u.r.json, "peak_bytes", h->peak_bytes);
	gp_json_signed(&p->u.r.json, "peak_at_ns", h->peak_at_ns);
	gp_json_bool(&p->u.r.json, "at_least",
		     h->is_overwritten || !gp_has_whole_figures(p->u.r.info) ||
			     (h->of == GP_CURVE_PINNED && !gp_has_whole_pinned(p->u.r.info)));
	if (gp_use_has_ranges(&p->u.style))
		gp_use_phase_write(&p->u.r.json,
				   p->moment != GP_AT_TIME ? gp_use_phase_of(h) : NULL);
}

/* ---- one curve of one device ---- */

static enum gp_status report_tree(struct peak *p, const struct gp_holders *h)
{
	struct gp_tree tree;
	const struct gp_grouping *how = &p->u.style.grouping;
	enum gp_status status = gp_tree_build(p->u.r.recording, h->use, h->uses, how, &tree);
	if (status)
		return status;
	if (p->u.r.is_json)
		gp_tree_write(&p->u.r.json, &tree);
	else
		gp_tree_print(p->u.r.out, &tree, h->live_bytes, gp_columns(0, p->u.r.sink.out),
			      how->is_native);
	gp_tree_free(&tree);
	return status;
}

/* Memory without a stack is in the heading already. */
static void print_groups(struct peak *p, const struct gp_holders *h, const struct gp_groups *groups)
{
	const struct gp_use_style *style = &p->u.style;
	const bool by_stacks = style->grouping.by != GP_BY_KIND &&
			       style->grouping.by != GP_BY_RANGE &&
			       style->grouping.by != GP_BY_ROLE;
	if (p->is_tree)
		return;
	if (by_stacks && !p->u.r.info->has_stacks && !gp_use_has_names(groups)) {
		p->has_no_names = true;
		return;
	}
	p->has_lines |= gp_use_lines_print(p->u.r.out, p->u.r.recording, h, groups, style);
	gp_use_groups_print(p->u.r.out, p->u.r.recording, groups, style, &gp_use_held_shape,
			    h->live_bytes);
}

static enum gp_status report_holders(struct peak *p, struct gp_holders *h)
{
	struct gp_groups groups;
	const struct gp_use_style *style = &p->u.style;
	bool is_folded = !style->is_json && !style->of_text && h->of == GP_CURVE_DRIVER;
	uint64_t outside = is_folded ? gp_use_fold_segments(h) : h->live_bytes;
	enum gp_status status = gp_use_report_groups(&p->u, h->use, h->uses, &groups);
	if (status)
		return status;
	struct gp_number_line line = { 0 };
	const bool has_line = h->of == GP_CURVE_DRIVER && p->moment == GP_AT_PEAK;
	if (has_line)
		status = gp_number_line_build(p->u.r.recording, h->device, &line);
	if (style->is_json) {
		write_head(p, h);
		if (h->of == GP_CURVE_DRIVER)
			gp_number_line_write(&p->u.r.json, &line);
		gp_use_groups_write(&p->u.r.json, p->u.r.recording, &groups, style,
				    &gp_use_held_shape);
	} else {
		gp_use_moment_print(p->u.r.out, p->u.r.info, h, p->moment, outside);
		gp_number_line_print_known(p->u.r.out, "", &line);
		print_groups(p, h, &groups);
	}
	gp_number_line_free(&line);
	gp_groups_free(&groups);
	if (p->is_tree && !status)
		status = report_tree(p, h);
	if (style->is_json)
		gp_json_end(&p->u.r.json);
	return status;
}

/* ---- the recording ---- */

static bool find_moment(struct peak *p)
{
	const struct gp_reading *r = &p->u.r;
	p->moment = GP_AT_PEAK;
	if (!p->at || strcmp(p->at, "peak") == 0)
		return true;
	p->moment = strcmp(p->at, "oom") == 0 ? GP_AT_OOM : GP_AT_TIME;
	if (!gp_moment_find(r->recording, "at", p->at, &p->at_ns))
		return false;
	if (p->moment == GP_AT_OOM || p->at_ns >= (int64_t)r->info->kept_from_ns)
		return true;
	gp_error("cannot show %s of '%s': events are kept from %s on", gp_ns_text(p->at_ns).s,
		 r->path, gp_ns_text((int64_t)r->info->kept_from_ns).s);
	return false;
}

/* ---- many recordings: a row a device ---- */

static struct gp_report_row *begin_row(struct peak *p, unsigned device)
{
	char gpu[24] = "Host";
	if (device != GP_DEVICE_UNKNOWN)
		snprintf(gpu, sizeof gpu, "GPU %u", device);
	return gp_report_table_add(&p->u.r.table, gpu);
}

static enum gp_status peak_add_row(struct peak *p, struct gp_holders *h, struct gp_report_row **row)
{
	struct gp_groups groups;
	bool is_driver = h->of == GP_CURVE_DRIVER, is_pinned = h->of == GP_CURVE_PINNED;
	bool is_at_least = h->is_overwritten || !gp_has_whole_figures(p->u.r.info);
	uint64_t outside = is_driver ? gp_use_fold_segments(h) : 0;
	enum gp_status status = gp_use_report_groups(&p->u, h->use, h->uses, &groups);
	if (status)
		return status;
	const struct gp_group *first = gp_use_largest(&groups);
	*row = *row ? *row : begin_row(p, h->device);
	bool is_fine = *row;
	/* a row's note is the largest group of its first curve that has groups */
	if (is_fine && first && !(*row)->note) {
		gp_cell_put_bytes(&(*row)->cell[LARGEST], first->use.bytes);
		is_fine = gp_report_table_note(*row, first->key);
	}
	gp_groups_free(&groups);
	if (!is_fine)
		return GP_E_MEMORY;
	gp_cell_put_least(&(*row)->cell[is_pinned ? PINNED :
					is_driver ? DRIVER :
						    ALLOCATED],
			  h->live_bytes, is_at_least);
	if (is_driver)
		gp_cell_put_bytes(&(*row)->cell[OUTSIDE], outside);
	return GP_OK;
}

static enum gp_status add_rows(struct peak *p, const struct gp_peak *peak)
{
	struct gp_report_row *row = NULL;
	enum gp_status status = GP_OK;
	if (!gp_report_table_begin(&p->u.r.table, p->u.r.path, p->u.r.info))
		return GP_E_MEMORY;
	const size_t first = p->u.r.table.rows - 1;
	for (size_t k = 0; k < peak->holders && status == GP_OK; k++) {
		struct gp_holders *h = &peak->holder[k];
		if (k > 0 && h->device != h[-1].device)
			row = NULL;
		if (h->of != GP_CURVE_RESERVED &&
		    gp_use_report_selects(&p->u, h->device, h->of, false))
			status = peak_add_row(p, h, &row);
	}
	if (!peak->host || status ||
	    !gp_use_report_selects(&p->u, GP_DEVICE_UNKNOWN, GP_CURVE_PINNED, false))
		return status;
	row = NULL;
	if (p->u.r.table.is_begun)
		return peak_add_row(p, peak->host, &row);
	bool is_at_least = peak->host->is_overwritten || !gp_has_whole_pinned(p->u.r.info);
	gp_cell_put_least(&p->u.r.table.row[first].cell[PINNED], peak->host->live_bytes,
			  is_at_least);
	return status;
}

/* ---- one recording ---- */

/* Pinned memory belongs to no device, so it comes last. Text output omits small amounts. */
static enum gp_status report_host(struct peak *p, const struct gp_peak *peak)
{
	const struct gp_holders *host = peak->host;
	const bool is_negligible = host && host->peak_bytes < GP_PINNED_LEAST && p->u.shown &&
				   !p->u.r.is_json && !p->u.style.of_text;
	if (!host || is_negligible || !gp_use_report_selects(&p->u, host->device, host->of, false))
		return GP_OK;
	return report_holders(p, peak->host);
}

static enum gp_status write_all(struct peak *p, const struct gp_peak *peak)
{
	enum gp_status status = GP_OK;
	gp_json_object(&p->u.r.json, NULL);
	gp_use_head_write(&p->u.r.json, p->u.r.path, p->u.r.info);
	gp_use_phases_by_write(&p->u.r.json, p->u.r.info, &p->u.style);
	gp_json_text(&p->u.r.json, "by", p->u.style.by ? p->u.style.by : "stack");
	gp_json_array(&p->u.r.json, "curves");
	for (size_t k = 0; k < peak->holders && status == GP_OK; k++)
		if (gp_use_report_selects(&p->u, peak->holder[k].device, peak->holder[k].of, true))
			status = report_holders(p, &peak->holder[k]);
	if (status == GP_OK)
		status = report_host(p, peak);
	gp_json_end(&p->u.r.json);
	gp_json_end(&p->u.r.json);
	return status;
}

static void print_end(const struct peak *p)
{
	FILE *out = p->u.r.out;
	const struct gp_info *info = p->u.r.info;
	const char *next = p->is_tree ? "top" : p->has_lines ? "peak --by line" : "peak --tree";
	if (p->has_no_names)
		fprintf(out, "No stacks were recorded, so no line is named%s.\n",
			gp_phases_by(info) == GP_PHASES_BY_NOTHING ?
				"" :
				"; --by range groups memory by phase");
	if (p->u.style.grouping.by == GP_BY_LIBRARY && p->u.shown)
		fputs("Not included: what the driver takes for itself (contexts, modules).\n", out);
	gp_use_no_ranges_print(out, "", info, &p->u.style);
	if (p->u.style.grouping.by == GP_BY_ROLE)
		gp_no_roles_print(out, info);
	gp_unnamed_print(out, p->u.r.recording);
	gp_use_next_print(out, p->u.r.recording, info, next, p->u.r.path);
}

static enum gp_status print_all(struct peak *p, const struct gp_peak *peak)
{
	enum gp_status status = GP_OK;
	gp_headline_print(p->u.r.out, p->u.r.info);
	for (size_t k = 0; k < peak->holders && status == GP_OK; k++)
		if (gp_use_report_selects(&p->u, peak->holder[k].device, peak->holder[k].of, false))
			status = report_holders(p, &peak->holder[k]);
	if (status == GP_OK)
		status = report_host(p, peak);
	if (!p->u.shown)
		fputs("no such memory was live\n", p->u.r.out);
	print_end(p);
	return status;
}

static enum gp_status peak_show(struct peak *p)
{
	struct gp_use_report *u = &p->u;
	struct gp_recording *recording = u->r.recording;
	struct gp_peak peak;
	enum gp_status status =
		gp_peak_build_with(recording, p->moment, p->at_ns, gp_use_with(&u->style), &peak);
	if (status)
		return status;
	status = u->r.is_json ? write_all(p, &peak) :
		 u->r.is_many ? add_rows(p, &peak) :
				print_all(p, &peak);
	for (size_t k = 0; k < peak.holders && status == GP_OK && u->style.library; k++)
		if (!u->matched)
			status = gp_use_report_note(u, peak.holder[k].use, peak.holder[k].uses);
	gp_peak_free(&peak);
	return status;
}

static int peak_one(struct gp_reading *r)
{
	struct peak *p = (struct peak *)r;
	if (!find_moment(p))
		return GP_EXIT_USAGE;
	gp_use_report_begin(&p->u);
	return gp_use_report_done(&p->u, peak_show(p));
}

/* With --json the output has groups beside the tree, with their stacks. */
static int peak_check(struct gp_reading *r, int recordings)
{
	struct peak *p = (struct peak *)r;
	const struct gp_use_style *s = &p->u.style;
	gp_use_report_read(&p->u);
	const bool is_of_modules = p->is_tree && s->grouping.by == GP_BY_MODULE;
	const char *of_tables = s->by && !is_of_modules ? "by" :
				s->has_stacks		? "stacks" :
				r->is_top_given		? "top" :
							  NULL;
	const char *of_one = p->is_tree			  ? "--tree" :
			     s->has_stacks		  ? "--stacks" :
			     s->has_of[GP_CURVE_RESERVED] ? "--of reserved" :
							    NULL;
	if (!gp_use_report_may_explain(&p->u))
		return GP_EXIT_USAGE;
	if (r->is_json)
		return GP_EXIT_OK;
	if (p->is_tree && of_tables)
		return gp_usage(r->command, "'--tree' and '--%s' exclude each other", of_tables);
	return !of_one || gp_inputs_is_one(r->command, of_one, recordings) ? GP_EXIT_OK :
									     GP_EXIT_USAGE;
}

static int peak_run(const struct gp_command *command, int argc, char **argv)
{
	struct peak p = { .u.r = { .command = command,
				   .table = { .columns = COLUMNS,
					      .next = "peak",
					      .title = { "allocated", "driver", "outside", "pinned",
							 "largest" } } } };
	struct gp_flag flags[4 + GP_USE_FLAGS] = {
		{ "tree", 0, GP_FLAG_SWITCH, NULL, &p.is_tree,
		  "as a call tree, outermost frame first; of modules with --by module" },
		{ "at", 0, GP_FLAG_TEXT, "TIME", &p.at,
		  "at this moment, default peak: " GP_FLAGS_MOMENTS },
		{ "of", 0, GP_FLAG_CHOICE, "CURVE=allocated|reserved|driver|pinned",
		  &p.u.style.of_text, "only memory of this curve" },
		{ "why", 0, GP_FLAG_SWITCH, NULL, &p.u.style.has_why,
		  "with --by role: the rules that decided" },
	};
	gp_use_report_flags(&p.u, &flags[4]);
	return gp_reading_run(&p.u.r, flags, argc, argv);
}

const struct gp_command gp_command_peak = {
	.name = "peak",
	.synopsis = "peak [--by WHAT] [--tree] [--at TIME] [--of CURVE] [--library NAME] [--range "
		    "NAME] "
		    "[--why] [--json] [options] RECORDING...",
	.text = "show live memory at the peak, and the code that allocated it",
	.run = peak_run,
	.options = GP_USE_OPTIONS,
	.json_levels = 4,
	.top = GP_USE_TOP,
	.check = peak_check,
	.one = peak_one,
	.end = gp_use_report_end,
};
