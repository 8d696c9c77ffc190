/*
 * `gpuprof peak`: what was live at the exact peak of each device, or at another moment, grouped by
 * who asked for it.
 */
#include <stdlib.h>
#include <string.h>

#include "amount.h"
#include "flags.h"
#include "message.h"
#include "report.h"
#include "use_print.h"

extern const struct gp_command gp_command_peak;

#define GROUPS_DEFAULT 10u
#define WITH_FRAMES 5u /* groups under which the user's frames stand */
#define FRAME_COLUMN 31

static const char segments[] = "segments of the framework: its blocks lie in them";

struct peak {
	struct gp_use_style style;
	const char *at, *path;
	bool is_tree, is_forced, is_many;
	struct gp_sink sink;
	struct gp_sheet sheet;
	enum gp_moment moment;
	int64_t at_ns;
	const char *file;
	const struct gp_info *info;
	struct gp_recording *recording;
	struct gp_json json;
	FILE *out;
	size_t matched, shown;
	char libraries[256];
};

/* ---- for a person ---- */

static const char *curve_text(enum gp_curve of)
{
	switch (of) {
	case GP_CURVE_ALLOCATED:
		return "in blocks of the framework";
	case GP_CURVE_RESERVED:
		return "in segments of the framework";
	case GP_CURVE_DRIVER:
	case GP_CURVES:
		break;
	}
	return "of driver memory";
}

/* Where the figures are short of the whole truth. */
static void print_doubts(const struct peak *p, const struct gp_holders *h)
{
	if (h->is_overwritten)
		fprintf(p->out,
			"  at least: the peak, %s at %s, lies before what is kept (from %s); this "
			"is the highest since\n",
			gp_bytes_text(h->peak_bytes).s, gp_ns_text(h->peak_at_ns).s,
			gp_ns_text((int64_t)p->info->kept_from_ns).s);
	else if (p->moment == GP_AT_PEAK && !gp_has_whole_figures(p->info))
		fputs("  at least: events are missing, the peak may have been higher\n", p->out);
}

static void print_head(const struct peak *p, const struct gp_holders *h, uint64_t outside)
{
	gp_use_device_print(p->out, p->info, h->device);
	fprintf(p->out, ": %s%s %s ", h->is_overwritten ? "at least " : "",
		gp_bytes_text(h->live_bytes).s, curve_text(h->of));
	if (p->moment == GP_AT_PEAK)
		fprintf(p->out, "at the peak, %s", gp_ns_text(h->at_ns).s);
	else
		fprintf(p->out, "%sat %s, %.1f%% of the peak",
			p->moment == GP_AT_OOM ? "when it ran out of memory, " : "",
			gp_ns_text(h->at_ns).s,
			h->peak_bytes ? 100.0 * (double)h->live_bytes / (double)h->peak_bytes :
					0.0);
	if (outside != h->live_bytes)
		fprintf(p->out, "; %s outside the framework",
			outside ? gp_bytes_text(outside).s : "nothing");
	fputc('\n', p->out);
	print_doubts(p, h);
}

static void print_row(FILE *out, const struct gp_use *use, uint64_t whole)
{
	fprintf(out, "%10s %6.1f%% %8s  ", gp_bytes_text(use->bytes).s,
		whole ? 100.0 * (double)use->bytes / (double)whole : 0.0,
		use->count ? gp_count_text(use->count).s : "-");
}

static void print_groups(struct peak *p, const struct gp_holders *h, const struct gp_groups *groups)
{
	struct gp_group rest;
	size_t left = gp_use_shown(&p->style, groups, &rest);
	if (!groups->groups)
		return;
	fprintf(p->out, "%10s %7s %8s  %s\n", "bytes", "share", "count",
		p->style.by ? p->style.by : "stack");
	for (size_t k = 0; k < groups->groups - left; k++) {
		const struct gp_group *g = &groups->group[k];
		print_row(p->out, &g->use, h->live_bytes);
		gp_mask(p->out, g->key, strlen(g->key));
		if (g->stacks > 1 && !g->is_rest && p->style.grouping.by != GP_BY_STACK &&
		    p->style.grouping.by != GP_BY_KIND)
			fprintf(p->out, "  (%s)", gp_plural(g->stacks, "stack").s);
		fputc('\n', p->out);
		if (p->style.has_stacks || (k < WITH_FRAMES && p->style.grouping.by == GP_BY_STACK))
			gp_use_frames_print(p->out, p->recording, &g->use, &p->style, FRAME_COLUMN);
	}
	if (!left)
		return;
	print_row(p->out, &rest.use, h->live_bytes);
	fprintf(p->out, "%s; --top 0 shows all\n", gp_plural(left, "more group").s);
}

/* ---- for a program ---- */

static void write_groups(struct peak *p, const struct gp_groups *groups)
{
	struct gp_group rest;
	size_t left = gp_use_shown(&p->style, groups, &rest);
	gp_json_array(&p->json, "groups");
	for (size_t k = 0; k < groups->groups - left; k++) {
		const struct gp_group *g = &groups->group[k];
		gp_json_object(&p->json, NULL);
		gp_json_text(&p->json, "key", g->key);
		gp_json_number(&p->json, "bytes", g->use.bytes);
		gp_json_number(&p->json, "count", g->use.count);
		gp_use_group_write(&p->json, p->recording, g, &p->style);
		gp_json_end(&p->json);
	}
	if (left) {
		rest.use.without = "beyond --top";
		gp_json_object(&p->json, NULL);
		gp_json_text(&p->json, "key", gp_plural(left, "more group").s);
		gp_json_number(&p->json, "bytes", rest.use.bytes);
		gp_json_number(&p->json, "count", rest.use.count);
		gp_use_group_write(&p->json, p->recording, &rest, &p->style);
		gp_json_end(&p->json);
	}
	gp_json_end(&p->json);
}

static void write_head(struct peak *p, const struct gp_holders *h)
{
	gp_json_object(&p->json, NULL);
	gp_json_number(&p->json, "device", h->device);
	gp_json_text(&p->json, "of", gp_curve_keys[h->of]);
	gp_json_signed(&p->json, "at_ns", h->at_ns);
	gp_json_number(&p->json, "live_bytes", h->live_bytes);
	gp_json_number(&p->json, "uncertain_bytes", h->uncertain_bytes);
	gp_json_number(&p->json, "peak_bytes", h->peak_bytes);
	gp_json_signed(&p->json, "peak_at_ns", h->peak_at_ns);
	gp_json_bool(&p->json, "at_least", h->is_overwritten || !gp_has_whole_figures(p->info));
}

/* ---- one curve of one device ---- */

/* What lies in the framework's segments is told by its blocks: added up in one use. */
static uint64_t fold_segments(struct gp_holders *h)
{
	struct gp_use all = { .without = segments, .at_ns = h->at_ns };
	size_t kept = 0;
	for (size_t k = 0; k < h->uses; k++) {
		if (!h->use[k].is_segment) {
			h->use[kept++] = h->use[k];
			continue;
		}
		all.bytes += h->use[k].bytes;
		all.count += h->use[k].count;
	}
	if (kept < h->uses)
		h->use[kept++] = all;
	h->uses = kept;
	return h->live_bytes - all.bytes;
}

static enum gp_status report_tree(struct peak *p, const struct gp_holders *h)
{
	struct gp_tree tree;
	enum gp_status status =
		gp_tree_build(p->recording, h->use, h->uses, &p->style.grouping, &tree);
	if (status)
		return status;
	if (p->style.is_json)
		gp_use_tree_write(&p->json, &tree);
	else
		gp_use_tree_print(p->out, &tree, h->live_bytes);
	gp_tree_free(&tree);
	return status;
}

static enum gp_status report_holders(struct peak *p, struct gp_holders *h)
{
	struct gp_groups groups;
	bool is_folded = !p->style.is_json && !p->style.of_text && h->of == GP_CURVE_DRIVER;
	uint64_t outside = is_folded ? fold_segments(h) : h->live_bytes;
	enum gp_status status =
		gp_groups_build(p->recording, h->use, h->uses, &p->style.grouping, &groups);
	if (status)
		return status;
	p->matched += groups.matched;
	p->shown++;
	if (!p->libraries[0])
		snprintf(p->libraries, sizeof p->libraries, "%s", groups.libraries);
	if (p->style.is_json) {
		write_head(p, h);
		write_groups(p, &groups);
	} else {
		print_head(p, h, outside);
		if (!p->is_tree)
			print_groups(p, h, &groups);
	}
	gp_groups_free(&groups);
	if (p->is_tree)
		status = report_tree(p, h);
	if (p->style.is_json)
		gp_json_end(&p->json);
	return status;
}

/* ---- the recording ---- */

static bool moment_find(struct peak *p)
{
	if (!p->at || strcmp(p->at, "peak") == 0)
		return true;
	p->moment = strcmp(p->at, "oom") == 0 ? GP_AT_OOM : GP_AT_TIME;
	if (!gp_moment_find(p->recording, "at", p->at, &p->at_ns))
		return false;
	if (p->moment == GP_AT_OOM || p->at_ns >= (int64_t)p->info->kept_from_ns)
		return true;
	gp_complain("cannot tell what was live at %s in '%s': events are kept from %s on",
		    gp_ns_text(p->at_ns).s, p->file, gp_ns_text((int64_t)p->info->kept_from_ns).s);
	return false;
}

/* ---- many recordings: a row a device ---- */

static void fill_cell(struct gp_cell *cell, uint64_t bytes, bool is_at_least)
{
	snprintf(cell->text, sizeof cell->text, "%s%.40s", is_at_least ? ">= " : "",
		 gp_bytes_text(bytes).s);
	cell->number = (double)bytes;
}

static enum gp_status add_row(struct peak *p, struct gp_holders *h, struct gp_sheet_row **row)
{
	struct gp_groups groups;
	bool is_driver = h->of == GP_CURVE_DRIVER;
	bool is_at_least = h->is_overwritten || !gp_has_whole_figures(p->info);
	uint64_t outside = is_driver ? fold_segments(h) : 0;
	enum gp_status status =
		gp_groups_build(p->recording, h->use, h->uses, &p->style.grouping, &groups);
	if (status)
		return status;
	p->shown++;
	p->matched += groups.matched;
	const struct gp_group *first = groups.groups ? &groups.group[0] : NULL;
	if (!*row) {
		char more[160];
		snprintf(more, sizeof more, "  GPU %u  %.120s", h->device,
			 first ? first->key : "nothing");
		*row = gp_sheet_add(&p->sheet, p->file, more);
		for (size_t c = 0; *row && c < p->sheet.columns; c++)
			snprintf((*row)->cell[c].text, sizeof(*row)->cell[c].text, "-");
		if (*row && first)
			fill_cell(&(*row)->cell[3], first->use.bytes, false);
	}
	gp_groups_free(&groups);
	if (!*row)
		return GP_E_MEMORY;
	(*row)->is_damaged = p->info->is_damaged;
	fill_cell(&(*row)->cell[is_driver], h->live_bytes, is_at_least);
	if (is_driver)
		fill_cell(&(*row)->cell[2], outside, false);
	return GP_OK;
}

static enum gp_status add_rows(struct peak *p, const struct gp_peak *peak)
{
	struct gp_sheet_row *row = NULL;
	enum gp_status status = GP_OK;
	for (size_t k = 0; k < peak->holders && status == GP_OK; k++) {
		struct gp_holders *h = &peak->holder[k];
		if (k > 0 && h->device != h[-1].device)
			row = NULL;
		if (h->of != GP_CURVE_RESERVED &&
		    gp_use_style_wants(&p->style, h->device, h->of, false))
			status = add_row(p, h, &row);
	}
	return status;
}

/* ---- one recording ---- */

static enum gp_status write_all(struct peak *p, const struct gp_peak *peak)
{
	enum gp_status status = GP_OK;
	gp_json_object(&p->json, NULL);
	gp_use_head_write(&p->json, p->file, p->info);
	gp_json_text(&p->json, "by", p->style.by ? p->style.by : "stack");
	gp_json_array(&p->json, "devices");
	for (size_t k = 0; k < peak->holders && status == GP_OK; k++)
		if (gp_use_style_wants(&p->style, peak->holder[k].device, peak->holder[k].of, true))
			status = report_holders(p, &peak->holder[k]);
	gp_json_end(&p->json);
	gp_json_end(&p->json);
	return status;
}

static enum gp_status print_all(struct peak *p, const struct gp_peak *peak)
{
	enum gp_status status = GP_OK;
	fprintf(p->out, "%s\n", gp_headline_of(p->info).s);
	for (size_t k = 0; k < peak->holders && status == GP_OK; k++)
		if (gp_use_style_wants(&p->style, peak->holder[k].device, peak->holder[k].of,
				       false))
			status = report_holders(p, &peak->holder[k]);
	if (!p->shown)
		fputs("no such memory was live\n", p->out);
	gp_use_next_print(p->out, p->info, p->is_tree ? "top" : "peak --tree", p->file);
	return status;
}

static int report(struct peak *p)
{
	struct gp_peak peak;
	enum gp_status status = gp_peak_build(p->recording, p->moment, p->at_ns, &peak);
	if (status)
		return gp_report_failed("replay", p->file, status);
	p->shown = p->matched = 0;
	p->libraries[0] = '\0';
	status = p->style.is_json ? write_all(p, &peak) :
		 p->is_many	  ? add_rows(p, &peak) :
				    print_all(p, &peak);
	gp_peak_free(&peak);
	if (status)
		return gp_report_failed("report on", p->file, status);
	return gp_use_judge(&p->style, p->file, p->shown, p->matched, p->libraries);
}

static int report_one(struct peak *p, char *path)
{
	int exit_status = GP_EXIT_USAGE;
	p->file = path;
	p->recording = gp_report_open(path, &p->info, &exit_status);
	if (!p->recording)
		return exit_status;
	int result = GP_EXIT_USAGE;
	exit_status = gp_report_exit(path, p->info);
	if (moment_find(p)) {
		p->sink.has_report = true;
		result = report(p);
	}
	gp_recording_close(p->recording);
	return result > exit_status ? result : exit_status;
}

static int report_all(struct peak *p, int words, char **paths)
{
	int worst = GP_EXIT_OK;
	p->out = p->sink.out;
	p->is_many = words > 1;
	gp_json_init(&p->json, p->out, p->is_many ? 5 : 4);
	if (p->is_many && p->style.is_json)
		gp_json_array(&p->json, NULL);
	for (int k = 0; k < words; k++) {
		int exit_status = report_one(p, paths[k]);
		worst = exit_status > worst ? exit_status : worst;
	}
	if (p->is_many && p->style.is_json)
		gp_json_end(&p->json);
	if (p->sheet.rows)
		gp_sheet_print(&p->sheet, p->out);
	gp_sheet_release(&p->sheet);
	return worst;
}

static int run(int argc, char **argv)
{
	struct peak p = {
		.style.top = UINT64_MAX,
		.sheet = { .columns = 4,
			   .next = "peak",
			   .title = { "allocated", "driver", "outside", "largest" } },
	};
	const struct gp_flag flags[] = {
		{ "by", 0, GP_FLAG_TEXT, "WHAT", &p.style.by,
		  "group by stack (default), operator, node, library, line or kind" },
		{ "tree", 0, GP_FLAG_SWITCH, NULL, &p.is_tree,
		  "as a call tree, outermost frame first" },
		{ "stacks", 0, GP_FLAG_SWITCH, NULL, &p.style.has_stacks,
		  "the whole stack under each group" },
		{ "native", 0, GP_FLAG_SWITCH, NULL, &p.style.is_native,
		  "stacks with the interpreter's own frames" },
		{ "top", 0, GP_FLAG_NUMBER, "N", &p.style.top,
		  "at most N groups, 0: all; default 10, with --json all" },
		{ "at", 0, GP_FLAG_TEXT, "TIME", &p.at,
		  "at this moment: peak (default), oom, end, 1.5s, 20ms" },
		{ "of", 0, GP_FLAG_TEXT, "CURVE", &p.style.of_text,
		  "only allocated, reserved or driver memory" },
		{ "library", 0, GP_FLAG_TEXT, "NAME", &p.style.library,
		  "only what this library asked for; the others are one group" },
		{ "device", 0, GP_FLAG_TEXT, "N", &p.style.device_text, "only this device" },
		{ "json", 0, GP_FLAG_SWITCH, NULL, &p.style.is_json, "for a program" },
		{ "output", 'o', GP_FLAG_TEXT, "FILE", &p.path,
		  "write to a new FILE instead of stdout" },
		{ "force", 0, GP_FLAG_SWITCH, NULL, &p.is_forced, "replace FILE" },
		{ 0 },
	};
	int words = gp_flags_parse(&gp_command_peak, flags, argc, argv, false);
	if (words < 0)
		return gp_flags_exit(words);
	if (words == 0)
		return gp_usage(&gp_command_peak, "no recording given");
	if (words > 1 && !p.style.is_json && (p.is_tree || p.style.has_stacks))
		return gp_usage(&gp_command_peak, "'--%s' takes one recording",
				p.is_tree ? "tree" : "stacks");
	if (p.style.top == UINT64_MAX)
		p.style.top = p.style.is_json ? 0 : GROUPS_DEFAULT;
	if (!gp_use_style_read(&p.style, &gp_command_peak))
		return GP_EXIT_USAGE;
	int exit_status = gp_sink_open(&p.sink, p.path, p.is_forced, argv, words);
	return exit_status ? exit_status : gp_sink_close(&p.sink, report_all(&p, words, argv));
}

const struct gp_command gp_command_peak = {
	"peak",
	"peak [--by WHAT] [--tree] [--at TIME] [--of CURVE] [--library NAME] [--json] [options] "
	"RECORDING...",
	"show what was live at the peak, and who asked for it",
	run,
};
