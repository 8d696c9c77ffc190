/*
 * `gpuprof top`: who asked for memory most over a span: bytes, allocations, those that lived
 * shortly, those that are still there.
 */
#include <stdlib.h>
#include <string.h>

#include "amount.h"
#include "flags.h"
#include "message.h"
#include "report.h"
#include "use_print.h"

extern const struct gp_command gp_command_top;

#define GROUPS_DEFAULT 10u
#define WITH_FRAMES 5u /* groups under which the user's frames stand */
#define FRAME_COLUMN 61
#define SHORT_NS 1000000

struct order;

struct top {
	struct gp_use_style style;
	const char *sort, *within, *from, *to, *path, *file;
	bool is_forced, is_many;
	struct gp_sink sink;
	struct gp_sheet sheet;
	const struct order *order;
	int64_t from_ns, to_ns, short_ns;
	const struct gp_info *info;
	struct gp_recording *recording;
	struct gp_json json;
	FILE *out;
	size_t matched, shown;
	char libraries[256];
};

/* ---- in which order ---- */

static uint64_t by_bytes(const struct gp_use *use)
{
	return use->bytes;
}

static uint64_t by_count(const struct gp_use *use)
{
	return use->count;
}

static uint64_t by_churn(const struct gp_use *use)
{
	return use->short_lived;
}

static uint64_t by_live(const struct gp_use *use)
{
	return use->live_bytes;
}

static const struct order {
	const char *name;
	uint64_t (*weight)(const struct gp_use *use);
} orders[] = {
	{ "bytes", by_bytes },
	{ "count", by_count },
	{ "churn", by_churn },
	{ "live", by_live },
};

static const struct order *order_find(const char *name)
{
	const char *names[sizeof orders / sizeof *orders];
	for (size_t k = 0; k < sizeof orders / sizeof *orders; k++) {
		names[k] = orders[k].name;
		if (!name || strcmp(name, names[k]) == 0)
			return &orders[k];
	}
	const char *near = gp_nearest(name, names, sizeof orders / sizeof *orders);
	gp_usage(&gp_command_top, "bad value of '--sort': '%s'", name);
	if (near)
		gp_hint("did you mean '%s'?", near);
	return NULL;
}

/* What has no stack stays last; equal ones stay by bytes. */
static int compare(const void *left, const void *right, void *order)
{
	const struct gp_group *a = left, *b = right;
	const struct order *by = order;
	uint64_t x = by->weight(&a->use), y = by->weight(&b->use);
	if (a->is_rest != b->is_rest)
		return a->is_rest ? 1 : -1;
	if (x != y)
		return x < y ? 1 : -1;
	if (a->use.bytes != b->use.bytes)
		return a->use.bytes < b->use.bytes ? 1 : -1;
	int text = strcmp(a->key, b->key);
	return text ? text : (a->use.stack > b->use.stack) - (a->use.stack < b->use.stack);
}

/* ---- for a person ---- */

static void print_head(const struct top *t, const struct gp_asked *a)
{
	bool is_block = a->of == GP_CURVE_ALLOCATED;
	gp_use_device_print(t->out, t->info, a->device);
	fprintf(t->out, ": %s, %s; ",
		gp_plural(a->count, is_block ? "framework block" : "driver allocation").s,
		gp_bytes_text(a->bytes).s);
	fprintf(t->out, "%s freed, ", gp_count_text(a->freed).s);
	fprintf(t->out, "%s of them within %s; ", gp_count_text(a->short_lived).s,
		gp_ns_text(t->short_ns).s);
	fprintf(t->out, "%s live at the end\n", gp_bytes_text(a->live_bytes).s);
}

static void print_row(const struct top *t, const struct gp_use *use, const struct gp_asked *a)
{
	int64_t median_ns = gp_use_median_ns(use);
	fprintf(t->out, "%10s %6.1f%% %9s %9s %9s %10s  ", gp_bytes_text(use->bytes).s,
		a->bytes ? 100.0 * (double)use->bytes / (double)a->bytes : 0.0,
		gp_count_text(use->count).s, gp_count_text(use->short_lived).s,
		median_ns < 0 ? "-" : gp_ns_text(median_ns).s,
		use->live_bytes ? gp_bytes_text(use->live_bytes).s : "-");
}

static void print_groups(const struct top *t, const struct gp_asked *a,
			 const struct gp_groups *groups)
{
	struct gp_group rest;
	size_t left = gp_use_shown(&t->style, groups, &rest);
	print_head(t, a);
	fprintf(t->out, "%10s %7s %9s %9s %9s %10s  %s\n", "bytes", "share", "count", "churn",
		"life", "live", t->style.by ? t->style.by : "stack");
	for (size_t k = 0; k < groups->groups - left; k++) {
		const struct gp_group *g = &groups->group[k];
		print_row(t, &g->use, a);
		gp_mask(t->out, g->key, strlen(g->key));
		if (g->stacks > 1 && !g->is_rest && t->style.grouping.by != GP_BY_STACK &&
		    t->style.grouping.by != GP_BY_KIND)
			fprintf(t->out, "  (%s)", gp_plural(g->stacks, "stack").s);
		fputc('\n', t->out);
		if (t->style.has_stacks || (k < WITH_FRAMES && t->style.grouping.by == GP_BY_STACK))
			gp_use_frames_print(t->out, t->recording, &g->use, &t->style, FRAME_COLUMN);
	}
	if (!left)
		return;
	print_row(t, &rest.use, a);
	fprintf(t->out, "%s; --top 0 shows all\n", gp_plural(left, "more group").s);
}

/* ---- for a program ---- */

static void write_sums(struct gp_json *json, const struct gp_use *use)
{
	gp_json_number(json, "bytes", use->bytes);
	gp_json_number(json, "count", use->count);
	gp_json_number(json, "freed", use->freed);
	gp_json_number(json, "short_lived", use->short_lived);
	gp_json_number(json, "live_bytes", use->live_bytes);
	gp_json_number(json, "live_count", use->live_count);
}

static void write_group(struct top *t, const struct gp_group *g, const char *key)
{
	int64_t median_ns = gp_use_median_ns(&g->use);
	gp_json_object(&t->json, NULL);
	gp_json_text(&t->json, "key", key);
	write_sums(&t->json, &g->use);
	if (median_ns < 0)
		gp_json_null(&t->json, "median_life_ns");
	else
		gp_json_signed(&t->json, "median_life_ns", median_ns);
	gp_use_group_write(&t->json, t->recording, g, &t->style);
	gp_json_end(&t->json);
}

static void write_asked(struct top *t, const struct gp_asked *a, const struct gp_groups *groups)
{
	struct gp_group rest;
	size_t left = gp_use_shown(&t->style, groups, &rest);
	gp_json_object(&t->json, NULL);
	gp_json_number(&t->json, "device", a->device);
	gp_json_text(&t->json, "of", gp_curve_keys[a->of]);
	write_sums(&t->json, &(struct gp_use){ .bytes = a->bytes,
					       .count = a->count,
					       .freed = a->freed,
					       .short_lived = a->short_lived,
					       .live_bytes = a->live_bytes,
					       .live_count = a->live_count });
	gp_json_array(&t->json, "groups");
	for (size_t k = 0; k < groups->groups - left; k++)
		write_group(t, &groups->group[k], groups->group[k].key);
	if (left) {
		rest.use.without = "beyond --top";
		write_group(t, &rest, gp_plural(left, "more group").s);
	}
	gp_json_end(&t->json);
	gp_json_end(&t->json);
}

/* ---- the recording ---- */

static void fill_cell(struct gp_cell *cell, const char *text, uint64_t number)
{
	snprintf(cell->text, sizeof cell->text, "%s", text);
	cell->number = (double)number;
}

/* Of many recordings: a row a device. */
static bool add_row(struct top *t, const struct gp_asked *a, const struct gp_groups *groups)
{
	char more[200];
	snprintf(more, sizeof more, "  GPU %u %s  %.120s", a->device, gp_curve_keys[a->of],
		 groups->groups ? groups->group[0].key : "nothing");
	struct gp_sheet_row *row = gp_sheet_add(&t->sheet, t->file, more);
	if (!row)
		return false;
	row->is_damaged = t->info->is_damaged;
	fill_cell(&row->cell[0], gp_bytes_text(a->bytes).s, a->bytes);
	fill_cell(&row->cell[1], gp_count_text(a->count).s, a->count);
	fill_cell(&row->cell[2], gp_count_text(a->short_lived).s, a->short_lived);
	fill_cell(&row->cell[3], gp_bytes_text(a->live_bytes).s, a->live_bytes);
	return true;
}

static enum gp_status report_asked(struct top *t, const struct gp_asked *a)
{
	struct gp_groups groups;
	enum gp_status status =
		gp_groups_build(t->recording, a->use, a->uses, &t->style.grouping, &groups);
	if (status)
		return status;
	if (groups.groups > 1)
		qsort_r(groups.group, groups.groups, sizeof *groups.group, compare,
			(void *)t->order);
	t->matched += groups.matched;
	t->shown++;
	if (!t->libraries[0])
		snprintf(t->libraries, sizeof t->libraries, "%s", groups.libraries);
	if (t->style.is_json)
		write_asked(t, a, &groups);
	else if (!t->is_many)
		print_groups(t, a, &groups);
	else if (!add_row(t, a, &groups))
		status = GP_E_MEMORY;
	gp_groups_free(&groups);
	return status;
}

/* What a flight recorder forgot is not in the counts. */
static void print_begin(const struct top *t)
{
	fprintf(t->out, "%s\n", gp_headline_of(t->info).s);
	if (t->info->kept_from_ns)
		fprintf(t->out, "counted from %s on: what came before is overwritten\n",
			gp_ns_text((int64_t)t->info->kept_from_ns).s);
}

static void write_begin(struct top *t)
{
	int64_t kept_ns = (int64_t)t->info->kept_from_ns, end_ns = (int64_t)t->info->duration_ns;
	gp_json_object(&t->json, NULL);
	gp_use_head_write(&t->json, t->file, t->info);
	gp_json_signed(&t->json, "from_ns", t->from_ns > kept_ns ? t->from_ns : kept_ns);
	gp_json_signed(&t->json, "to_ns", t->to_ns < end_ns ? t->to_ns : end_ns);
	gp_json_signed(&t->json, "short_ns", t->short_ns);
	gp_json_text(&t->json, "by", t->style.by ? t->style.by : "stack");
	gp_json_array(&t->json, "devices");
}

static void finish(struct top *t)
{
	if (t->style.is_json) {
		gp_json_end(&t->json);
		gp_json_end(&t->json);
		return;
	}
	if (t->is_many)
		return;
	if (!t->shown)
		fputs("no such memory was asked for\n", t->out);
	gp_use_next_print(t->out, t->info, "peak", t->file);
}

/* Rows of many recordings are compared: they show the framework's blocks where there are any. */
static bool is_wanted(const struct top *t, const struct gp_top *top, size_t which)
{
	const struct gp_asked *a = &top->asked[which];
	bool has_blocks = which > 0 && a[-1].device == a->device;
	if (t->is_many && !t->style.is_json && !t->style.of_text && has_blocks)
		return false;
	return gp_use_style_wants(&t->style, a->device, a->of, false);
}

static int report(struct top *t)
{
	struct gp_top top;
	enum gp_status status = gp_top_build(t->recording, t->from_ns, t->to_ns, t->short_ns, &top);
	if (status)
		return gp_report_failed("replay", t->file, status);
	t->shown = t->matched = 0;
	t->libraries[0] = '\0';
	if (t->style.is_json)
		write_begin(t);
	else if (!t->is_many)
		print_begin(t);
	for (size_t k = 0; k < top.askeds && status == GP_OK; k++)
		if (is_wanted(t, &top, k))
			status = report_asked(t, &top.asked[k]);
	gp_top_free(&top);
	if (status)
		return gp_report_failed("report on", t->file, status);
	finish(t);
	return gp_use_judge(&t->style, t->file, t->shown, t->matched, t->libraries);
}

static int report_one(struct top *t, const char *path)
{
	int exit_status = GP_EXIT_USAGE;
	t->file = path;
	t->from_ns = INT64_MIN;
	t->to_ns = INT64_MAX;
	t->recording = gp_report_open(path, &t->info, &exit_status);
	if (!t->recording)
		return exit_status;
	int result = GP_EXIT_USAGE;
	exit_status = gp_report_exit(path, t->info);
	if (gp_span_find(t->recording, t->from, t->to, &t->from_ns, &t->to_ns)) {
		t->sink.has_report = true;
		result = report(t);
	}
	gp_recording_close(t->recording);
	return result > exit_status ? result : exit_status;
}

static int report_all(struct top *t, int words, char **paths)
{
	int worst = GP_EXIT_OK;
	t->out = t->sink.out;
	t->is_many = words > 1;
	gp_json_init(&t->json, t->out, t->is_many ? 5 : 4);
	if (t->is_many && t->style.is_json)
		gp_json_array(&t->json, NULL);
	for (int k = 0; k < words; k++) {
		int exit_status = report_one(t, paths[k]);
		worst = exit_status > worst ? exit_status : worst;
	}
	if (t->is_many && t->style.is_json)
		gp_json_end(&t->json);
	if (t->sheet.rows)
		gp_sheet_print(&t->sheet, t->out);
	gp_sheet_release(&t->sheet);
	return worst;
}

static int run(int argc, char **argv)
{
	struct top t = {
		.style.top = UINT64_MAX,
		.short_ns = SHORT_NS,
		.sheet = { .columns = 4,
			   .next = "top",
			   .title = { "bytes", "count", "churn", "live" } },
	};
	const struct gp_flag flags[] = {
		{ "sort", 0, GP_FLAG_TEXT, "WHAT", &t.sort,
		  "most bytes (default), count, churn (freed soon) or live (at the end) first" },
		{ "by", 0, GP_FLAG_TEXT, "WHAT", &t.style.by,
		  "group by stack (default), operator, node, library, line or kind" },
		{ "within", 0, GP_FLAG_TEXT, "TIME", &t.within,
		  "what is freed so soon counts as churn; default 1ms" },
		{ "stacks", 0, GP_FLAG_SWITCH, NULL, &t.style.has_stacks,
		  "the whole stack under each group" },
		{ "native", 0, GP_FLAG_SWITCH, NULL, &t.style.is_native,
		  "stacks with the interpreter's own frames" },
		{ "top", 0, GP_FLAG_NUMBER, "N", &t.style.top,
		  "at most N groups, 0: all; default 10, with --json all" },
		{ "from", 0, GP_FLAG_TEXT, "TIME", &t.from,
		  "from this moment: 1.5s, 20ms, start, end, peak, oom" },
		{ "to", 0, GP_FLAG_TEXT, "TIME", &t.to, "up to this moment" },
		{ "of", 0, GP_FLAG_TEXT, "CURVE", &t.style.of_text,
		  "only allocated (blocks of the framework) or driver memory" },
		{ "library", 0, GP_FLAG_TEXT, "NAME", &t.style.library,
		  "only what this library asked for; the others are one group" },
		{ "device", 0, GP_FLAG_TEXT, "N", &t.style.device_text, "only this device" },
		{ "json", 0, GP_FLAG_SWITCH, NULL, &t.style.is_json, "for a program" },
		{ "output", 'o', GP_FLAG_TEXT, "FILE", &t.path,
		  "write to a new FILE instead of stdout" },
		{ "force", 0, GP_FLAG_SWITCH, NULL, &t.is_forced, "replace FILE" },
		{ 0 },
	};
	int words = gp_flags_parse(&gp_command_top, flags, argc, argv, false);
	if (words < 0)
		return gp_flags_exit(words);
	if (words == 0)
		return gp_usage(&gp_command_top, "no recording given");
	if (t.within && !gp_ns_parse(t.within, &t.short_ns))
		return gp_usage(&gp_command_top, "bad value of '--within': '%s' is no time",
				t.within);
	t.order = order_find(t.sort);
	if (!t.order || !gp_use_style_read(&t.style, &gp_command_top))
		return GP_EXIT_USAGE;
	if (t.style.top == UINT64_MAX)
		t.style.top = t.style.is_json ? 0 : GROUPS_DEFAULT;
	int exit_status = gp_sink_open(&t.sink, t.path, t.is_forced, argv, words);
	return exit_status ? exit_status : gp_sink_close(&t.sink, report_all(&t, words, argv));
}

const struct gp_command gp_command_top = {
	"top",
	"top [--sort WHAT] [--by WHAT] [--library NAME] [--json] [options] RECORDING...",
	"show who asked for most memory, and what lived shortly",
	run,
};
