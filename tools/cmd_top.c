/*
 * `gpuprof top`: groups by the memory that they requested in a span: bytes, allocations,
 * short-lived ones, and those still live.
 */
#include <stdlib.h>
#include <string.h>

#include "io/message.h"
#include "io/screen.h"
#include "report/role_print.h"
#include "report/stack_print.h"
#include "report/use_report.h"

#define SHORT_NS 1000000

struct order;

struct top {
	struct gp_use_report u;
	const char *sort, *within;
	const struct order *order;
	int64_t from_ns, to_ns, short_ns;
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

#define ORDER_WORDS "bytes|count|churn|live"

static const struct order {
	uint64_t (*weight)(const struct gp_use *use);
} orders[] = { { by_bytes }, { by_count }, { by_churn }, { by_live } };

/*
 * Requested groups come before others, and groups without a stack last. Then by weight, then by
 * bytes.
 */
static int top_compare(const void *left, const void *right, void *order)
{
	const struct gp_group *a = left, *b = right;
	const struct order *by = order;
	uint64_t x = by->weight(&a->use), y = by->weight(&b->use);
	if (a->is_rest != b->is_rest)
		return a->is_rest ? 1 : -1;
	if (a->is_selected != b->is_selected)
		return a->is_selected ? -1 : 1;
	if (x != y)
		return x < y ? 1 : -1;
	if (a->use.bytes != b->use.bytes)
		return a->use.bytes < b->use.bytes ? 1 : -1;
	int text = strcmp(a->key, b->key);
	return text ? text : (a->use.stack > b->use.stack) - (a->use.stack < b->use.stack);
}

/* ---- for a person ---- */

static void print_head(const struct top *t, const struct gp_top_curve *a)
{
	bool is_block = a->of == GP_CURVE_ALLOCATED;
	gp_use_device_print(t->u.r.out, t->u.r.info, a->device);
	fprintf(t->u.r.out, ": %s, %s; ",
		gp_plural(a->count, is_block		     ? "PyTorch block" :
				    a->of == GP_CURVE_PINNED ? "pinned allocation" :
							       "driver allocation")
			.s,
		gp_bytes_text(a->bytes).s);
	fprintf(t->u.r.out, "%s freed, ", gp_count_text(a->freed).s);
	fprintf(t->u.r.out, "%s of them within %s; ", gp_count_text(a->short_lived).s,
		gp_ns_text(t->short_ns).s);
	fprintf(t->u.r.out, "%s %slive at the end\n", gp_bytes_text(a->live_bytes).s,
		t->u.r.from ? "of them " : "");
}

#define ALL_COLUMNS 100u /* with a short stack */

static void top_print_row(FILE *out, const struct gp_use *use, uint64_t whole)
{
	int64_t median_ns = gp_use_median_ns(use);
	if (gp_screen_is_below(ALL_COLUMNS)) {
		fprintf(out, "%10s %9s %9s %10s  ", gp_bytes_text(use->bytes).s,
			gp_count_text(use->count).s, gp_count_text(use->short_lived).s,
			use->live_bytes ? gp_bytes_text(use->live_bytes).s : "-");
		return;
	}
	fprintf(out, "%10s %6.1f%% %9s %9s %9s %10s  ", gp_bytes_text(use->bytes).s,
		whole ? 100.0 * (double)use->bytes / (double)whole : 0.0,
		gp_count_text(use->count).s, gp_count_text(use->short_lived).s,
		median_ns < 0 ? "-" : gp_ns_text(median_ns).s,
		use->live_bytes ? gp_bytes_text(use->live_bytes).s : "-");
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

static void write_group_sums(struct gp_json *json, const struct gp_use *use)
{
	int64_t median_ns = gp_use_median_ns(use);
	write_sums(json, use);
	gp_json_signed_if(json, "median_life_ns", median_ns >= 0, median_ns);
}

static const struct gp_use_shape shape = {
	"     bytes   share     count     churn      life       live", top_print_row,
	write_group_sums
};
static const struct gp_use_shape narrow_shape = { "     bytes     count     churn       live",
						  top_print_row, write_group_sums };

static void write_curve(struct top *t, const struct gp_top_curve *a, const struct gp_groups *groups)
{
	gp_json_object(&t->u.r.json, NULL);
	gp_use_device_write(&t->u.r.json, a->device);
	gp_json_text(&t->u.r.json, "of", gp_curve_keys[a->of]);
	write_sums(&t->u.r.json, &(struct gp_use){ .bytes = a->bytes,
						   .count = a->count,
						   .freed = a->freed,
						   .short_lived = a->short_lived,
						   .live_bytes = a->live_bytes,
						   .live_count = a->live_count });
	gp_use_groups_write(&t->u.r.json, t->u.r.recording, groups, &t->u.style, &shape);
	gp_json_end(&t->u.r.json);
}

/* ---- the recording ---- */

/* With many recordings: one row a device. */
static bool top_add_row(struct top *t, const struct gp_top_curve *a, const struct gp_groups *groups)
{
	const struct gp_group *first = gp_use_largest(groups);
	char gpu[32] = "Host pinned";
	if (a->of != GP_CURVE_PINNED)
		snprintf(gpu, sizeof gpu, "GPU %u %s", a->device, gp_curve_keys[a->of]);
	struct gp_report_row *row = gp_report_table_add(&t->u.r.table, gpu);
	if (!row || (first && !gp_report_table_note(row, first->key)))
		return false;
	gp_cell_put_bytes(&row->cell[0], a->bytes);
	gp_cell_put_bytes(&row->cell[1], a->live_bytes);
	gp_cell_put_count(&row->cell[2], a->count);
	gp_cell_put_count(&row->cell[3], a->short_lived);
	return true;
}

static enum gp_status report_curve(struct top *t, const struct gp_top_curve *a)
{
	struct gp_groups groups;
	enum gp_status status = gp_use_report_groups(&t->u, a->use, a->uses, &groups);
	if (status)
		return status;
	if (groups.groups > 1)
		qsort_r(groups.group, groups.groups, sizeof *groups.group, top_compare,
			(void *)t->order);
	if (t->u.r.is_json) {
		write_curve(t, a, &groups);
	} else if (!t->u.r.is_many) {
		print_head(t, a);
		gp_use_groups_print(t->u.r.out, t->u.r.recording, &groups, &t->u.style,
				    gp_screen_is_below(ALL_COLUMNS) ? &narrow_shape : &shape,
				    a->bytes);
	} else if ((t->u.style.library || t->u.style.range) && !groups.matched) {
		/* another curve may have some of it */
	} else if (!top_add_row(t, a, &groups)) {
		status = GP_E_MEMORY;
	}
	gp_groups_free(&groups);
	return status;
}

/* The counts exclude what the flight recorder overwrote. */
static void print_begin(const struct top *t)
{
	gp_headline_print(t->u.r.out, t->u.r.info);
	if (t->u.r.info->kept_from_ns && t->from_ns < (int64_t)t->u.r.info->kept_from_ns)
		fprintf(t->u.r.out, "counted from %s on; earlier events are overwritten\n",
			gp_ns_text((int64_t)t->u.r.info->kept_from_ns).s);
}

static void write_begin(struct top *t)
{
	int64_t kept_ns = (int64_t)t->u.r.info->kept_from_ns,
		end_ns = (int64_t)t->u.r.info->duration_ns;
	gp_json_object(&t->u.r.json, NULL);
	gp_use_head_write(&t->u.r.json, t->u.r.path, t->u.r.info);
	gp_use_phases_by_write(&t->u.r.json, t->u.r.info, &t->u.style);
	gp_json_signed(&t->u.r.json, "from_ns", t->from_ns > kept_ns ? t->from_ns : kept_ns);
	gp_json_signed(&t->u.r.json, "to_ns", t->to_ns < end_ns ? t->to_ns : end_ns);
	gp_json_signed(&t->u.r.json, "short_ns", t->short_ns);
	gp_json_text(&t->u.r.json, "by", t->u.style.by ? t->u.style.by : "stack");
	gp_json_array(&t->u.r.json, "curves");
}

static void top_finish(struct top *t)
{
	if (t->u.r.is_json) {
		gp_json_end(&t->u.r.json);
		gp_json_end(&t->u.r.json);
		return;
	}
	if (t->u.r.is_many)
		return;
	if (!t->u.shown)
		fputs("No memory was allocated in this span.\n", t->u.r.out);
	else if (gp_screen_is_below(ALL_COLUMNS))
		fputs("--wide adds share and life\n", t->u.r.out);
	gp_use_no_ranges_print(t->u.r.out, "", t->u.r.info, &t->u.style);
	if (t->u.style.grouping.by == GP_BY_ROLE)
		gp_no_roles_print(t->u.r.out, t->u.r.info);
	gp_unnamed_print(t->u.r.out, t->u.r.recording);
	gp_use_next_print(t->u.r.out, t->u.r.recording, t->u.r.info, "peak", t->u.r.path);
}

/*
 * Rows of many recordings are compared, so they show the framework's blocks where it has any. With
 * --library both kinds are shown: cuBLAS has no blocks of the framework.
 */
static bool is_selected(const struct top *t, const struct gp_top *top, const struct gp_top_curve *a)
{
	bool has_blocks = a > top->curve && (a[-1].device == a->device || a == top->host);
	if (t->u.r.is_many && !t->u.r.is_json && !t->u.style.of_text && !t->u.style.library &&
	    !t->u.style.range && has_blocks)
		return false;
	/* text output omits small amounts of pinned memory if there is a device */
	const bool has_filter = t->u.style.of_text || t->u.style.library || t->u.style.range;
	if (a == top->host && a->bytes < GP_PINNED_LEAST && t->u.shown && !has_filter &&
	    !t->u.r.is_json)
		return false;
	return gp_use_report_selects(&t->u, a->device, a->of, false);
}

static enum gp_status top_show(struct top *t)
{
	struct gp_use_report *u = &t->u;
	struct gp_recording *recording = u->r.recording;
	struct gp_top top;
	enum gp_status status = gp_top_build_with(recording, t->from_ns, t->to_ns, t->short_ns,
						  gp_use_with(&u->style), &top);
	if (status)
		return status;
	if (u->r.is_json)
		write_begin(t);
	else if (!u->r.is_many)
		print_begin(t);
	else if (!gp_report_table_begin(&u->r.table, u->r.path, u->r.info))
		status = GP_E_MEMORY;
	/* the host's comes last */
	for (size_t k = 0; k < top.curves + (top.host != NULL) && status == GP_OK; k++)
		if (is_selected(t, &top, &top.curve[k]))
			status = report_curve(t, &top.curve[k]);
	for (size_t k = 0; k < top.curves && status == GP_OK && u->style.library; k++)
		if (!u->matched)
			status = gp_use_report_note(u, top.curve[k].use, top.curve[k].uses);
	gp_top_free(&top);
	if (status == GP_OK)
		top_finish(t);
	return status;
}

static int top_one(struct gp_reading *r)
{
	struct top *t = (struct top *)r;
	t->from_ns = INT64_MIN;
	t->to_ns = INT64_MAX;
	if (!gp_span_find(r->recording, r->from, r->to, &t->from_ns, &t->to_ns))
		return GP_EXIT_USAGE;
	gp_use_report_begin(&t->u);
	return gp_use_report_done(&t->u, top_show(t));
}

static int top_check(struct gp_reading *r, int recordings)
{
	struct top *t = (struct top *)r;
	gp_use_report_read(&t->u);
	if (!gp_use_report_may_explain(&t->u))
		return GP_EXIT_USAGE;
	if (t->u.style.has_stacks && !r->is_json &&
	    !gp_inputs_is_one(r->command, "--stacks", recordings))
		return GP_EXIT_USAGE;
	if (t->within && !gp_duration_parse(t->within, &t->short_ns)) {
		gp_flags_wrong_value("within", t->within, GP_FLAGS_TIME);
		return GP_EXIT_USAGE;
	}
	t->order = &orders[t->sort ? gp_choice_find(ORDER_WORDS, t->sort) : 0];
	return GP_EXIT_OK;
}

static int top_run(const struct gp_command *command, int argc, char **argv)
{
	struct top t = {
		.u.r = { .command = command,
			 .table = { .columns = 4,
				    .next = "top",
				    .title = { "bytes", "live", "count", "churn" } } },
		.short_ns = SHORT_NS,
	};
	struct gp_flag flags[4 + GP_USE_FLAGS] = {
		{ "sort", 0, GP_FLAG_CHOICE, "WHAT=" ORDER_WORDS, &t.sort,
		  "order, default bytes (churn: freed soon; live: left at the end)" },
		{ "within", 0, GP_FLAG_TEXT, "SECONDS", &t.within,
		  "memory freed within this time is churn; default 1ms" },
		{ "of", 0, GP_FLAG_CHOICE, "CURVE=allocated|driver|pinned", &t.u.style.of_text,
		  "only memory of this curve" },
		{ "why", 0, GP_FLAG_SWITCH, NULL, &t.u.style.has_why,
		  "with --by role: the rules that decided" },
	};
	gp_use_report_flags(&t.u, &flags[4]);
	return gp_reading_run(&t.u.r, flags, argc, argv);
}

const struct gp_command gp_command_top = {
	.name = "top",
	.synopsis =
		"top [--sort WHAT] [--by WHAT] [--library NAME] [--range NAME] [--why] [--json] "
		"[options] RECORDING...",
	.text = "show the code that allocates most, and short-lived memory",
	.run = top_run,
	.options = GP_USE_OPTIONS | GP_OPTION_SPAN,
	.json_levels = 4,
	.top = GP_USE_TOP,
	.check = top_check,
	.one = top_one,
	.end = gp_use_report_end,
};
