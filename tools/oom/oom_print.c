/*
 * `gpuprof oom --details` for a person: a table of all OOMs, then each different one in full.
 */
#include <inttypes.h>
#include <string.h>

#include "../frag/frag_report.h"
#include "../io/amount.h"
#include "../io/message.h"
#include "../io/screen.h"
#include "../report/again.h"
#include "../report/number_line.h"
#include "../report/report.h"
#include "oom_report.h"

#define SET_SHOWN 40u /* limit on the blocks listed for advice */
#define SET_INDENT 13

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
		fprintf(r->out, "%s%s\n",
			r->ooms.ooms ? "all OOMs were on other devices" : "no OOM was recorded",
			gp_has_all_ooms(r->info) ? "" : ", but events are missing");
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
		/* OOMs reported in full always have a row */
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
	/* retries are counted for the whole recording */
	if (r->ooms.retries && !r->number)
		fprintf(r->out, "and %s that PyTorch retried with success\n",
			gp_plural(r->ooms.retries, "failed CUDA call").s);
}

/* ---- one OOM ---- */

static size_t count_like(const struct gp_oom_report *r, size_t k)
{
	size_t count = 0;
	for (size_t i = 0; i < r->ooms.ooms; i++)
		count += r->row[i].is_shown && oom_at(r, i)->like == oom_at(r, k)->like;
	return count;
}

static void print_requested(const struct gp_oom_report *r, size_t k)
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
	gp_number_line_print(r->out, f, &c->owners);
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

static void print_helps(const struct gp_frag_report *r, const struct gp_oom_case *c)
{
	fputs("  what would have helped:\n", r->out);
	for (size_t k = 0; k < c->helps; k++) {
		const struct gp_oom_help *h = &c->help[k];
		const char *how = !h->is_enough ? "no" : h->is_bound ? "maybe" : "yes";
		fprintf(r->out, "    %-7s  %s\n", how, gp_oom_help_text(h).s);
		if (h->help == GP_HELP_FREE_NEIGHBOURS)
			gp_frag_set_print(r, &c->frag.fit.in_place, SET_SHOWN, SET_INDENT);
		else if (h->help == GP_HELP_FREE_SEGMENTS)
			gp_frag_set_print(r, &c->frag.fit.by_emptying, SET_SHOWN, SET_INDENT);
	}
}

enum gp_status gp_oom_case_print(const struct gp_oom_report *r, size_t k,
				 const struct gp_oom_case *c)
{
	const struct gp_oom *o = oom_at(r, k);
	struct gp_frag_report f = frag_report(r, c);
	char reason[GP_CAUSE_MAX];
	print_requested(r, k);
	enum gp_status status = gp_oom_requester_show(r, NULL, o);
	gp_oom_cause_text(o, c, reason);
	fprintf(r->out, "  verdict: %s\n", reason);
	gp_oom_missing_text(c, reason);
	fprintf(r->out, "  missing: %s\n", reason);
	if (c->memory.caveat) {
		fputs("  note: ", r->out);
		gp_mask_line(r->out, c->memory.caveat);
	}
	print_place(r, c);
	print_helps(&f, c);
	if (c->frag.reserved_bytes) {
		gp_frag_causes_print(&f, &c->frag);
		gp_frag_pins_print(&f, &c->frag);
	}
	return status ? status : gp_oom_uses_show(r, NULL, k, c);
}

void gp_oom_next_print(const struct gp_oom_report *r, const char *otherwise)
{
	/* without allocator details, the owner of the free memory is unknown */
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
