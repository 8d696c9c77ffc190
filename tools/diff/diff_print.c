/* `gpuprof diff` for a person: what was compared, figures side by side, groups that changed. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "../io/message.h"
#include "../io/screen.h"
#include "../report/report.h"
#include "../report/stack_print.h"
#include "diff_report.h"

static char letter(size_t side)
{
	return (char)('A' + side);
}

/* ---- what was compared ---- */

static void print_sides(const struct gp_diff_report *r)
{
	for (size_t k = 0; k < r->sides; k++) {
		const struct gp_diff_source *s = &r->side[k];
		fprintf(r->out, "%c  ", letter(k));
		gp_name_print(r->out, s->path);
		if (!s->is_peak)
			fprintf(r->out, " at %s", gp_ns_text(s->at_ns).s);
		fputs(": ", r->out);
		gp_headline_print(r->out, s->info);
	}
}

static void print_settings(const struct gp_diff_report *r)
{
	for (size_t setting = 0; setting < GP_DIFF_SETTINGS; setting++) {
		if (!gp_diff_setting_differs(r, setting))
			continue;
		fprintf(r->out, "%s differ:", gp_diff_settings[setting].title);
		for (size_t k = 0; k < r->sides; k++) {
			const char *text = gp_diff_setting_of(r->side[k].info, setting);
			text = text ? text : "not known";
			fprintf(r->out, "%s %c ", k ? "," : "", letter(k));
			gp_mask(r->out, text, strlen(text));
		}
		fputc('\n', r->out);
	}
}

/* Stacks match only if both recordings have the same kinds of frames. */
static void print_stacks_caveat(const struct gp_diff_report *r)
{
	for (size_t k = 1; k < r->sides; k++) {
		const struct gp_info *a = r->side[0].info, *b = r->side[k].info;
		if (!a->has_stacks || !b->has_stacks) {
			if (a->has_stacks != b->has_stacks)
				fprintf(r->out, "%c has no stacks\n",
					letter(a->has_stacks ? k : 0));
			continue;
		}
		if (a->has_native != b->has_native)
			fprintf(r->out,
				"%c has no native frames: its stacks are not those of the others; "
				"--by line compares them\n",
				letter(a->has_native ? k : 0));
		if (a->has_python != b->has_python)
			fprintf(r->out,
				"%c has no frames of Python: its stacks are not those of the "
				"others; --by operator compares them\n",
				letter(a->has_python ? k : 0));
	}
}

/* ---- figures ---- */

static void value_text(const struct gp_diff_row *row, size_t side, char *out, size_t room)
{
	if (!row->is_known[side])
		snprintf(out, room, "-");
	else
		snprintf(out, room, "%s",
			 row->unit == GP_UNIT_COUNT ? gp_count_text(row->number[side]).s :
						      gp_bytes_text(row->number[side]).s);
}

static void change_text(enum gp_diff_unit unit, uint64_t from, uint64_t to, char *out, size_t room)
{
	uint64_t d = from > to ? from - to : to - from;
	const char *sign = from > to ? "-" : "+";
	if (!d)
		snprintf(out, room, "=");
	else
		snprintf(out, room, "%s%s", sign,
			 unit == GP_UNIT_COUNT ? gp_count_text(d).s : gp_bytes_text(d).s);
}

#define SHARE_MOST 10.0 /* of the first value: for greater changes bytes are easier to read */

/*
 * Two sides: both values and the change. More: the first value and the change of each other side.
 */
static void diff_print_row(const struct gp_diff_report *r, const struct gp_diff_row *row)
{
	char text[64];
	value_text(row, 0, text, sizeof text);
	fprintf(r->out, "  %-30s %10s", row->label, text);
	if (r->sides == 2) {
		value_text(row, 1, text, sizeof text);
		fprintf(r->out, " %10s", text);
	}
	for (size_t k = 1; k < r->sides; k++) {
		change_text(row->unit, row->number[0], row->number[k], text, sizeof text);
		fprintf(r->out, " %11s", row->is_known[0] && row->is_known[k] ? text : "-");
	}
	bool has_share = r->sides == 2 && row->unit == GP_UNIT_BYTES && row->number[0] &&
			 row->is_known[1] && row->number[0] != row->number[1];
	double share = has_share ? (double)row->number[1] / (double)row->number[0] - 1.0 : 0.0;
	if (has_share && share > SHARE_MOST)
		fprintf(r->out, " %9c", '-');
	else if (has_share)
		fprintf(r->out, " %+8.1f%%", 100.0 * share);
	fputc('\n', r->out);
}

static void print_titles(const struct gp_diff_report *r)
{
	fprintf(r->out, "  %-30s %10c", "", letter(0));
	if (r->sides == 2)
		fprintf(r->out, " %10c %11s", letter(1), "change");
	for (size_t k = 1; k < r->sides && r->sides > 2; k++)
		fprintf(r->out, "      A to %c", letter(k));
	fputc('\n', r->out);
}

static void diff_print_device(const struct gp_diff_report *r, unsigned device)
{
	struct gp_diff_row row[GP_DIFF_ROWS];
	size_t rows = gp_diff_rows(r, device, row), side = 0;
	while (side + 1 < r->sides && device >= r->side[side].info->devices)
		side++;
	gp_use_device_print(r->out, r->side[side].info, device);
	fputs(":\n", r->out);
	print_titles(r);
	for (size_t k = 0; k < rows; k++)
		diff_print_row(r, &row[k]);
}

/* ---- events ---- */

/* Prints a row if the numbers differ, and the title before the first row. */
static void print_count(const struct gp_diff_report *r, const char *label,
			uint64_t (*of)(const struct gp_info *, unsigned), unsigned kind,
			bool *is_first)
{
	struct gp_diff_row row = { .label = label, .unit = GP_UNIT_COUNT };
	bool has_changed = false;
	for (size_t k = 0; k < r->sides; k++) {
		row.is_known[k] = true;
		row.number[k] = of(r->side[k].info, kind);
		has_changed |= row.number[k] != row.number[0];
	}
	if (!has_changed)
		return;
	if (*is_first)
		fputs("Event counts that differ:\n", r->out);
	*is_first = false;
	diff_print_row(r, &row);
}

static uint64_t count_of(const struct gp_info *info, unsigned kind)
{
	return info->counts[kind];
}

static uint64_t launches_of(const struct gp_info *info, unsigned launched)
{
	return launched == GP_LAUNCHED_KERNEL	? info->launches :
	       launched == GP_LAUNCHED_CAPTURED ? info->captured_launches :
						  info->graph_launches;
}

/* Totals of whole runs. Moments of one run have the same totals. */
static void print_events(const struct gp_diff_report *r)
{
	bool is_first = true;
	for (unsigned kind = 0; kind < GP_KINDS; kind++)
		if (gp_is_happening(kind) && kind != GP_LAUNCH && kind != GP_GRAPH_LAUNCH)
			print_count(r, gp_event_infos[kind].name, count_of, kind, &is_first);
	print_count(r, "launches", launches_of, GP_LAUNCHED_KERNEL, &is_first);
	print_count(r, "captured launches", launches_of, GP_LAUNCHED_CAPTURED, &is_first);
	print_count(r, "graph launches", launches_of, GP_LAUNCHED_GRAPH, &is_first);
}

/* ---- groups ---- */

static void print_cells(const struct gp_diff_report *r, const struct gp_diff_part *part)
{
	char text[64];
	for (size_t k = 1; k < r->sides; k++) {
		change_text(GP_UNIT_BYTES, part[0].bytes, part[k].bytes, text, sizeof text);
		fprintf(r->out, "%11s", text);
	}
	for (size_t k = 0; k < (r->sides == 2 ? 2 : 1); k++)
		fprintf(r->out, " %10s", part[k].stacks ? gp_bytes_text(part[k].bytes).s : "-");
	if (r->sides == 2) {
		change_text(GP_UNIT_COUNT, part[0].count, part[1].count, text, sizeof text);
		fprintf(r->out, " %8s", text);
	}
	fputs("  ", r->out);
}

static void print_group_titles(const struct gp_diff_report *r, size_t shown)
{
	const bool has_callers = r->style.grouping.by == GP_BY_STACK && !r->style.has_stacks &&
				 !r->style.is_native && shown > GP_USE_WITH_FRAMES;
	if (r->sides == 2)
		fputs("     change          A          B    count", r->out);
	for (size_t k = 1; k < r->sides && r->sides > 2; k++)
		fprintf(r->out, "     A to %c", letter(k));
	if (r->sides > 2)
		fputs("           A", r->out);
	fprintf(r->out, "  %s", r->style.by ? r->style.by : "stack");
	if (has_callers)
		gp_use_callers_print(r->out);
	fputc('\n', r->out);
}

/* Prints a line for the groups that are not shown. */
static void print_rest(const struct gp_diff_report *r, const struct gp_diff_table *t, size_t from)
{
	struct gp_diff_part sum[GP_DIFF_SIDES] = { 0 };
	if (from == t->shown)
		return;
	for (size_t g = from; g < t->shown; g++)
		for (size_t k = 0; k < r->sides; k++) {
			sum[k].bytes += t->diff.group[g].part[k].bytes;
			sum[k].count += t->diff.group[g].part[k].count;
			sum[k].stacks += t->diff.group[g].part[k].stacks;
		}
	print_cells(r, sum);
	fprintf(r->out, "%s; --top 0 shows all\n", gp_plural(t->shown - from, "more group").s);
}

/* The figures cover the whole run even if the groups do not. */
static void print_overwritten(const struct gp_diff_report *r, const struct gp_diff_table *t)
{
	for (size_t k = 0; k < r->sides; k++) {
		const struct gp_holders *h = t->holders[k];
		if (h && h->is_overwritten)
			fprintf(r->out,
				"%c: its peak, %s at %s, is before the kept events; groups are of "
				"the "
				"highest moment since, %s\n",
				letter(k), gp_bytes_text(h->peak_bytes).s,
				gp_ns_text(h->peak_at_ns).s, gp_bytes_text(h->live_bytes).s);
	}
}

static void print_table(const struct gp_diff_report *r, const struct gp_diff_table *t)
{
	const struct gp_use_style *style = &r->style;
	size_t shown = style->top && style->top + 1 < t->shown ? (size_t)style->top : t->shown;
	int indent = r->sides == 2 ? 45 : 15 + 11 * (int)(r->sides - 1);
	if (!t->shown)
		return;
	char where[24] = "Host";
	if (t->device != GP_DEVICE_UNKNOWN)
		snprintf(where, sizeof where, "GPU %u", t->device);
	fprintf(r->out, "%s, %s%s:\n", where, gp_curve_keys[t->of],
		r->is_of_moments ? "" : ", each at its peak");
	print_overwritten(r, t);
	print_group_titles(r, shown);
	for (size_t g = 0; g < shown; g++) {
		const struct gp_diff_group *group = &t->diff.group[g];
		const struct gp_use use = { .stack = group->stack, .at_ns = group->at_ns };
		bool has_frames = style->has_stacks || style->is_native ||
				  (g < GP_USE_WITH_FRAMES && style->grouping.by == GP_BY_STACK);
		print_cells(r, group->part);
		gp_name_print(r->out, group->key);
		fputc('\n', r->out);
		if (has_frames && group->stack)
			gp_use_frames_print(r->out, r->side[group->shown].recording, &use, style,
					    indent);
	}
	print_rest(r, t, shown);
	if (t->diff.renamed)
		fprintf(r->out,
			"%s compared although their callers differ: the innermost frames are "
			"alike\n",
			gp_plural(t->diff.renamed, "group").s);
	if (t->diff.moved)
		fprintf(r->out, "%s %s like others but for line numbers: see --ignore-lines\n",
			gp_plural(t->diff.moved, "group").s, t->diff.moved == 1 ? "is" : "are");
}

bool gp_diff_phases_differ(const struct gp_diff_report *r)
{
	for (size_t k = 1; k < r->sides && gp_use_has_ranges(&r->style); k++)
		if (gp_phases_by(r->side[k].info) != gp_phases_by(r->side[0].info))
			return true;
	return false;
}

static void print_ranges_caveat(const struct gp_diff_report *r)
{
	static const char *const has[] = {
		[GP_PHASES_BY_NOTHING] = "no ranges",
		[GP_PHASES_BY_RANGES] = "ranges",
		[GP_PHASES_BY_FRAMES] = "phases by frames alone",
	};
	const bool differ = gp_diff_phases_differ(r);
	for (size_t k = 0; k < r->sides && differ; k++)
		fprintf(r->out, "%s %c has %s",
			k ? "," : "memory of ranges cannot be compared:", letter(k),
			has[gp_phases_by(r->side[k].info)]);
	fputs(differ ? "\n" : "", r->out);
	for (size_t k = 0; k < r->sides; k++) {
		const char side[] = { letter(k), ':', ' ', '\0' };
		if (k > 0 && r->side[k].path == r->side[k - 1].path)
			continue; /* another moment of it */
		if (!differ)
			gp_use_no_ranges_print(r->out, side, r->side[k].info, &r->style);
		else
			gp_no_ranges_print(r->out, side, r->side[k].info);
	}
}

/* ---- the answer ---- */

/* The first table with a changed group. Allocated memory comes before driver memory. */
static const struct gp_diff_table *first_changed(const struct gp_diff_report *r)
{
	for (size_t k = 0; k < r->tables; k++)
		if (r->table[k].shown)
			return &r->table[k];
	return NULL;
}

/* Groups are lines of code. If some sides have no stacks, each group would look like a change. */
static bool lacks_stacks(const struct gp_diff_report *r)
{
	const enum gp_by by = r->style.grouping.by;
	for (size_t k = 1;
	     k < r->sides && by != GP_BY_KIND && by != GP_BY_RANGE && by != GP_BY_ROLE; k++)
		if (r->side[k].info->has_stacks != r->side[0].info->has_stacks)
			return true;
	return false;
}

/* Bytes of the table's curve that a side holds. */
static uint64_t held_by(const struct gp_diff_table *t, size_t side)
{
	return t->holders[side] ? t->holders[side]->live_bytes : 0;
}

/* By how many bytes the last side differs from A. */
static uint64_t held_change(const struct gp_diff_report *r, const struct gp_diff_table *t)
{
	const uint64_t a = held_by(t, 0), b = held_by(t, r->sides - 1);
	return a > b ? a - b : b - a;
}

/* Omits pinned memory if it is small, not requested and not the only change. */
static bool is_without_host(const struct gp_diff_report *r)
{
	const struct gp_diff_table *first = first_changed(r);
	const bool is_selected = r->style.has_of[GP_CURVE_PINNED];
	if (is_selected || r->style.library || r->style.range ||
	    (first && first->device == GP_DEVICE_UNKNOWN))
		return false;
	for (size_t k = 0; k < r->sides; k++)
		if (r->side[k].peak.host && r->side[k].peak.host->peak_bytes >= GP_PINNED_LEAST)
			return false;
	return true;
}

/* The shown table with the greatest change in bytes; the first of equal ones. */
static const struct gp_diff_table *most_changed(const struct gp_diff_report *r)
{
	const struct gp_diff_table *most = first_changed(r);
	for (size_t k = 0; k < r->tables; k++) {
		const struct gp_diff_table *t = &r->table[k];
		/* PyTorch's segments follow from what it allocates */
		if ((t->device == GP_DEVICE_UNKNOWN && is_without_host(r)) ||
		    (t->diff.groups && gp_use_is_segments(t->diff.group[0].key)))
			continue;
		if (t->shown && held_change(r, t) > held_change(r, most))
			most = t;
	}
	return most;
}

/* The group with the greatest change between side 0 and `side`; the first of equal ones. */
static const struct gp_diff_group *diff_group_between(const struct gp_diff *diff, size_t side)
{
	const struct gp_diff_group *most = &diff->group[0];
	uint64_t most_bytes = 0;
	for (size_t k = 0; k < diff->groups; k++) {
		const struct gp_diff_group *g = &diff->group[k];
		const uint64_t from = g->part[0].bytes, to = g->part[side].bytes;
		const uint64_t bytes = to > from ? to - from : from - to;
		if (bytes > most_bytes) {
			most_bytes = bytes;
			most = g;
		}
	}
	return most;
}

/* "B holds 188 KiB more than A (33.1 MiB to 33.3 MiB allocated on GPU 0). Greatest change: ..." */
static void print_change(const struct gp_diff_report *r, const struct gp_diff_table *t)
{
	static const char *const verbs[GP_CURVE_KEYS] = {
		[GP_CURVE_DRIVER] = "of driver memory",
		[GP_CURVE_RESERVED] = "reserved",
		[GP_CURVE_ALLOCATED] = "allocated",
		[GP_CURVE_PINNED] = "pinned",
	};
	const size_t b = r->sides - 1;
	const struct gp_diff_group *g = diff_group_between(&t->diff, b);
	const uint64_t from = held_by(t, 0), to = held_by(t, b);
	char text[64];
	if (to == from)
		fprintf(r->out, "%c holds as much as A (", letter(b));
	else
		fprintf(r->out, "%c holds %s %s than A (%s to ", letter(b),
			gp_bytes_text(to > from ? to - from : from - to).s,
			to > from ? "more" : "less", gp_bytes_text(from).s);
	fprintf(r->out, "%s %s", gp_bytes_text(to).s, verbs[t->of]);
	if (t->device != GP_DEVICE_UNKNOWN)
		fprintf(r->out, " on GPU %u", t->device);
	if (lacks_stacks(r)) {
		fputs("). Without stacks of all sides no lines can be compared.\n", r->out);
		return;
	}
	change_text(GP_UNIT_BYTES, g->part[0].bytes, g->part[b].bytes, text, sizeof text);
	fprintf(r->out, "). Greatest change: %s  ", text);
	gp_name_print(r->out, gp_use_is_segments(g->key) ? "PyTorch's segments" : g->key);
	fputc('\n', r->out);
}

static void print_answer(const struct gp_diff_report *r, size_t devices)
{
	const struct gp_diff_table *first = first_changed(r), *most = most_changed(r);
	if (!r->is_different)
		fputs(!devices		       ? "no memory was live\n" :
		      gp_diff_phases_differ(r) ? "no difference in figures of devices\n" :
						 "no difference in memory\n",
		      r->out);
	else if (most)
		print_change(r, most);
	else
		fputs("The figures of devices differ.\n", r->out);
	/* allocated memory has the program's lines; driver memory follows from it */
	if (first != most)
		print_change(r, first);
}

static bool is_leaking(const struct gp_diff_report *r, size_t side)
{
	return !r->is_of_moments && gp_leak_is_suspected(&r->side[side].leak);
}

/* A small change of the peak may be a leak. If one side leaks, print the verdicts of all. */
static void print_leaks(const struct gp_diff_report *r)
{
	bool is_any = false;
	for (size_t k = 0; k < r->sides; k++)
		is_any |= is_leaking(r, k);
	for (size_t k = 0; k < r->sides && is_any; k++)
		fprintf(r->out, "leaks of %c: %s\n", letter(k), r->side[k].leak.s);
}

static void diff_print_next(const struct gp_diff_report *r)
{
	const struct gp_diff_source *s = &r->side[r->sides - 1];
	const char *next = s->info->has_stacks ? "peak --tree" : NULL;
	for (size_t k = r->sides; k-- > 0;) {
		if (!is_leaking(r, k))
			continue;
		s = &r->side[k];
		next = "leaks";
		break;
	}
	if (r->is_different)
		gp_next_print(r->out, gp_next_of(s->recording, s->info, next), s->path);
}

void gp_diff_print(const struct gp_diff_report *r)
{
	unsigned device[GP_DIFF_DEVICES];
	size_t devices = gp_diff_devices(r, device);
	const bool has_host = !is_without_host(r);
	print_answer(r, devices);
	print_leaks(r);
	print_sides(r);
	if (!r->is_of_moments || r->side[0].path != r->side[1].path)
		print_settings(r);
	print_stacks_caveat(r);
	print_ranges_caveat(r);
	for (size_t k = 0; k < devices && r->is_different; k++)
		if (has_host || device[k] != GP_DEVICE_UNKNOWN)
			diff_print_device(r, device[k]);
	print_events(r);
	for (size_t k = 0; k < r->tables; k++)
		if (has_host || r->table[k].device != GP_DEVICE_UNKNOWN)
			print_table(r, &r->table[k]);
	for (size_t k = 0; k < r->sides; k++)
		if (!k || r->side[k].recording != r->side[k - 1].recording)
			gp_unnamed_print(r->out, r->side[k].recording);
	diff_print_next(r);
}
