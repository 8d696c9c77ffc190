/* `gpuprof oom --details` for a person: a table of all, then each different one in full. */
#include <inttypes.h>
#include <string.h>

#include "../frag/frag_report.h"
#include "../io/amount.h"
#include "../io/message.h"
#include "../io/screen.h"
#include "../report/again.h"
#include "../report/report.h"
#include "oom_report.h"

#define SET_SHOWN 40u /* blocks that advice refers to: more than a person reads */

static void print_bytes(FILE *out, uint64_t bytes, int width)
{
	fprintf(out, "%*s", width, bytes == GP_BYTES_UNKNOWN ? "-" : gp_bytes_text(bytes).s);
}

static const struct gp_oom *oom_at(const struct gp_oom_report *r, size_t k)
{
	return &r->ooms.oom[k];
}

/* ---- the table ---- */

#define ALL_COLUMNS 90u /* of the list */

static void oom_print_row(const struct gp_oom_report *r, size_t k)
{
	const struct gp_oom *o = oom_at(r, k);
	fprintf(r->out, "%4zu %11s %4u", k + 1, gp_ns_text(o->at_ns).s, o->device);
	print_bytes(r->out, o->bytes, 10);
	if (!gp_screen_is_below(ALL_COLUMNS))
		print_bytes(r->out, o->allocated_bytes, 10);
	print_bytes(r->out, o->reserved_bytes, 10);
	print_bytes(r->out, r->row[k].is_looked ? r->row[k].free_bytes : o->free_bytes, 10);
	fprintf(r->out, "  %-9s  ", o->is_framework ? "PyTorch" : "driver");
	if (r->row[k].is_looked)
		fprintf(r->out, "%s\n", gp_verdict_names[r->row[k].verdict]);
	else if (o->like != k)
		fprintf(r->out, "same as #%zu\n", o->like + 1);
	else
		fprintf(r->out, "see --number %zu\n", k + 1);
}

void gp_oom_top_print(const struct gp_oom_report *r)
{
	gp_headline_print(r->out, r->info);
	if (*r->settings.not_known) {
		fputs("note: ", r->out);
		gp_mask_line(r->out, r->settings.not_known);
	}
	if (r->steps.why)
		fprintf(r->out, "no steps: %s; windows are 10 s, or since the one before\n",
			r->steps.why);
	if (!r->shown)
		fputs(r->ooms.ooms ? "all OOMs were on other devices\n" : "no OOM was recorded\n",
		      r->out);
}

void gp_oom_head_print(const struct gp_oom_report *r)
{
	gp_oom_top_print(r);
	if (!r->shown)
		return;
	const bool is_narrow = gp_screen_is_below(ALL_COLUMNS);
	fprintf(r->out,
		"   #      moment  GPU requested%s  reserved      free  of         verdict\n",
		is_narrow ? "" : " allocated");
	size_t rows = 0, left = 0;
	for (size_t k = 0; k < r->ooms.ooms; k++) {
		if (!r->row[k].is_shown)
			continue;
		/* what is told in full stands in it, too */
		bool is_row = rows < GP_OOM_ROWS || r->row[k].is_looked;
		if (is_row)
			oom_print_row(r, k);
		rows += is_row;
		left += !is_row;
	}
	if (left)
		fprintf(r->out, "and %s; --json lists all\n", gp_plural(left, "time").s);
	if (is_narrow)
		fputs("--wide adds allocated\n", r->out);
	/* of the whole recording */
	if (r->ooms.retries && !r->number)
		fprintf(r->out, "and %s that PyTorch retried with success\n",
			gp_plural(r->ooms.retries, "failed CUDA call").s);
}

/* ---- one ---- */

static size_t count_like(const struct gp_oom_report *r, size_t k)
{
	size_t count = 0;
	for (size_t i = 0; i < r->ooms.ooms; i++)
		count += r->row[i].is_shown && oom_at(r, i)->like == oom_at(r, k)->like;
	return count;
}

static void print_asked(const struct gp_oom_report *r, size_t k)
{
	const struct gp_oom *o = oom_at(r, k);
	size_t count = count_like(r, k);
	fprintf(r->out, "\n%zu: ", k + 1);
	gp_use_device_print(r->out, r->info, o->device);
	fprintf(r->out, ", %s: ", gp_ns_text(o->at_ns).s);
	fprintf(r->out, "%s (%" PRIu64 " bytes) requested from %s", gp_bytes_text(o->bytes).s,
		o->bytes, o->is_framework ? "PyTorch" : "the driver");
	if (o->arena.is_known)
		fprintf(r->out, ", %s", gp_frag_place(&o->arena, o->bytes <= UINT64_C(1) << 20).s);
	if (count > 1)
		fprintf(r->out, "; %s", gp_plural(count, "time").s);
	fputc('\n', r->out);
	if (o->refusals && o->is_framework)
		fprintf(r->out, "  the driver refused %s to PyTorch, %s\n",
			gp_bytes_text(o->driver_bytes).s,
			o->refusals == 1 ? "once" : gp_plural(o->refusals, "time").s);
}

static void print_place(const struct gp_oom_report *r, const struct gp_oom_case *c)
{
	const struct gp_frag *f = &c->frag;
	gp_frag_line_print(r->out, f, &c->owners);
	if (c->facts.limit_bytes != GP_BYTES_UNKNOWN)
		fprintf(r->out, "  limit %s\n", gp_bytes_text(c->facts.limit_bytes).s);
	if (f->reserved_bytes)
		fprintf(r->out,
			"  reserved %s = %s allocated + %s cached, of which %s can be released\n",
			gp_bytes_text(f->reserved_bytes).s, gp_bytes_text(f->allocated_bytes).s,
			gp_bytes_text(c->finding.cached_bytes).s,
			gp_bytes_text(f->releasable_bytes).s);
}

static struct gp_frag_report frag_report(const struct gp_oom_report *r, const struct gp_oom_case *c)
{
	return (struct gp_frag_report){
		.recording = r->recording,
		.info = r->info,
		.path = r->path,
		.memory = c->memory,
		.settings = r->settings,
		.out = r->out,
		.top = r->top,
	};
}

static void print_set(const struct gp_frag_report *r, const struct gp_block_set *set)
{
	for (size_t k = 0; k < set->blocks && k < SET_SHOWN; k++) {
		const struct gp_memory_block *b = &r->memory.block[set->block[k]];
		char who[GP_WHO_MAX];
		gp_frag_who(r, b->stack, b->at_ns, who);
		fprintf(r->out, "             0x%012" PRIx64 " %9s  ", b->address,
			gp_bytes_text(b->bytes).s);
		gp_name_print(r->out, who);
		fprintf(r->out, "%s\n", b->state == GP_STATE_PENDING ? "  (pending)" : "");
	}
	if (set->blocks > SET_SHOWN)
		fprintf(r->out, "             and %s\n",
			gp_plural(set->blocks - SET_SHOWN, "more block").s);
}

static void print_helps(const struct gp_oom_report *whole, const struct gp_frag_report *r,
			const struct gp_oom *o, const struct gp_oom_case *c)
{
	char text[GP_REASON_MAX];
	fputs("  what would have helped:\n", r->out);
	for (size_t k = 0; k < c->helps; k++) {
		const struct gp_oom_help *h = &c->help[k];
		const char *how = !h->is_enough ? "no" : h->is_bound ? "maybe" : "yes";
		gp_oom_help_text(whole, o, c, h, text);
		fprintf(r->out, "    %-7s  %s\n", how, text);
		if (h->help == GP_HELP_FREE_NEIGHBOURS)
			print_set(r, &c->frag.fit.in_place);
		else if (h->help == GP_HELP_FREE_SEGMENTS)
			print_set(r, &c->frag.fit.by_emptying);
	}
}

/* ---- who ---- */

static void print_held(FILE *out, const struct gp_use *use, uint64_t whole)
{
	fprintf(out, "%10s %6.1f%% %8s  ", gp_bytes_text(use->bytes).s,
		whole ? 100.0 * (double)use->bytes / (double)whole : 0.0,
		use->count ? gp_count_text(use->count).s : "-");
}

static void print_grown(FILE *out, const struct gp_use *use, uint64_t whole)
{
	(void)whole;
	fprintf(out, "%10s %10s  ", gp_bytes_text(gp_oom_growth(use)).s,
		gp_bytes_text(use->bytes).s);
}

static const struct gp_use_shape held = { "      live   share    count", print_held, NULL };
static const struct gp_use_shape grown = { "      grew       live", print_grown, NULL };

static enum gp_status print_asker(const struct gp_oom_report *r, const struct gp_oom *o)
{
	const struct gp_grouping how = { .by = GP_BY_STACK };
	const struct gp_use use = { .stack = o->stack,
				    .at_ns = o->at_ns,
				    .without = o->stack ? NULL : "no stack was recorded",
				    .bytes = o->bytes };
	static const struct gp_use_shape shape = { " requested   share    count", print_held,
						   NULL };
	struct gp_use_style style = { .top = 1, .device = -1 };
	struct gp_groups groups;
	if (!o->stack)
		return GP_OK;
	enum gp_status status = gp_groups_build(r->recording, &use, 1, &how, &groups);
	if (status)
		return status;
	gp_use_groups_print(r->out, r->recording, &groups, &style, &shape, o->bytes);
	gp_groups_free(&groups);
	return GP_OK;
}

static uint64_t held_bytes(const struct gp_oom_case *c)
{
	uint64_t bytes = 0;
	for (size_t k = 0; k < c->uses; k++)
		bytes += c->use[k].bytes;
	return bytes;
}

static void print_since(const struct gp_oom_report *r, size_t k, const struct gp_oom_case *c,
			bool has_grown)
{
	fputs(has_grown ? "  Growth since " : "  No growth since ", r->out);
	if (c->from_ns > 0)
		fputs(gp_ns_text(c->from_ns).s, r->out);
	else
		fputs("start", r->out);
	if (r->row[k].step)
		fprintf(r->out, " (step %zu began)", r->row[k].step);
	else if (r->steps.steps)
		fputs(" (no step had begun)", r->out);
	fputs(has_grown ? ":\n" : "\n", r->out);
}

static enum gp_status print_uses(const struct gp_oom_report *r, size_t k,
				 const struct gp_oom_case *c)
{
	/* without stacks the kind of memory is all that is known */
	const struct gp_grouping how = { .by = r->info->has_stacks ? GP_BY_STACK : GP_BY_KIND };
	struct gp_use_style style = { .top = r->top,
				      .device = -1,
				      .by = r->info->has_stacks ? NULL : "kind",
				      .grouping = how };
	struct gp_groups groups;
	size_t grew, all;
	enum gp_status status = gp_groups_build(r->recording, c->use, c->uses, &how, &groups);
	if (status)
		return status;
	all = groups.groups;
	while (groups.groups && !groups.group[groups.groups - 1].use.bytes)
		groups.groups--;
	gp_use_groups_print(r->out, r->recording, &groups, &style, &held, held_bytes(c));
	groups.groups = all;
	gp_oom_by_growth(&groups, &grew);
	print_since(r, k, c, grew > 0);
	groups.groups = grew;
	gp_use_groups_print(r->out, r->recording, &groups, &style, &grown, 0);
	groups.groups = all;
	gp_groups_free(&groups);
	return GP_OK;
}

enum gp_status gp_oom_case_print(const struct gp_oom_report *r, size_t k,
				 const struct gp_oom_case *c)
{
	const struct gp_oom *o = oom_at(r, k);
	struct gp_frag_report f = frag_report(r, c);
	char reason[GP_CAUSE_MAX];
	print_asked(r, k);
	enum gp_status status = print_asker(r, o);
	gp_oom_cause_text(o, c, reason);
	fprintf(r->out, "  verdict: %s\n", reason);
	gp_oom_missing_text(c, reason);
	fprintf(r->out, "  missing: %s\n", reason);
	if (c->memory.doubt) {
		fputs("  note: ", r->out);
		gp_mask_line(r->out, c->memory.doubt);
	}
	print_place(r, c);
	print_helps(r, &f, o, c);
	if (c->frag.reserved_bytes) {
		gp_frag_causes_print(&f, &c->frag);
		gp_frag_pins_print(&f, &c->frag);
	}
	return status ? status : print_uses(r, k, c);
}

void gp_oom_next_print(const struct gp_oom_report *r, const char *otherwise)
{
	/* without details a verdict cannot tell whose the free memory was */
	const unsigned lacks = gp_again_lacks(r->info, GP_LACK_STACKS | GP_LACK_DETAILS);
	if (r->shown && lacks)
		gp_again_print(r->out, r->info, lacks);
	else
		gp_next_print(r->out,
			      r->shown		  ? otherwise :
			      r->info->has_stacks ? "peak" :
						    "timeline",
			      r->path);
}

void gp_oom_end_print(const struct gp_oom_report *r)
{
	char next[64] = "frag --at oom";
	if (r->number)
		snprintf(next, sizeof next, "frag --at oom:%" PRIu64, r->number);
	if (r->is_cut)
		fputs("\nmore OOMs differ; --number N prints one in full\n", r->out);
	gp_oom_next_print(r, next);
}
