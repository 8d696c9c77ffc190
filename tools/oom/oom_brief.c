/*
 * `gpuprof oom` for a person: the full answer for the first OOM, and a row for each different one.
 */
#include <inttypes.h>
#include <string.h>

#include "../io/amount.h"
#include "../io/message.h"
#include "../io/screen.h"
#include "../report/report.h"
#include "oom_answer.h"

#define ALL_COLUMNS 96u /* of the table, enough for most texts in column `try` */

static void brief_row_print(const struct gp_oom_report *r, size_t k)
{
	const struct gp_oom *o = &r->ooms.oom[k];
	const struct gp_oom_answer *a = r->row[k].answer;
	fprintf(r->out, "%4zu %11s", k + 1, gp_ns_text(o->at_ns).s);
	if (r->info->devices > 1)
		fprintf(r->out, " %4u", o->device);
	fprintf(r->out, " %10s", gp_bytes_text(o->bytes).s);
	if (!gp_screen_is_below(ALL_COLUMNS))
		fprintf(r->out, " %10s %6zu",
			a->missing_bytes == GP_BYTES_UNKNOWN ? "-" :
							       gp_at_least_text(a->missing_bytes).s,
			r->row[k].times);
	fprintf(r->out, "  %-15s  ", gp_verdict_names[a->verdict]);
	gp_mask(r->out, gp_oom_answer_brief(a), strlen(gp_oom_answer_brief(a)));
	fputc('\n', r->out);
}

/* Whether two rows would read the same. */
static bool brief_is_alike(const struct gp_oom_report *r, size_t a, size_t b)
{
	const struct gp_oom_answer *x = r->row[a].answer, *y = r->row[b].answer;
	return r->ooms.oom[a].device == r->ooms.oom[b].device && x->verdict == y->verdict &&
	       x->requested_bytes == y->requested_bytes &&
	       strcmp(x->requester, y->requester) == 0 &&
	       strcmp(gp_at_least_text(x->missing_bytes).s, gp_at_least_text(y->missing_bytes).s) ==
		       0 &&
	       strcmp(gp_oom_answer_brief(x), gp_oom_answer_brief(y)) == 0;
}

/* Merges rows that read the same and adds up their times. */
static void brief_merge(struct gp_oom_report *r)
{
	for (size_t k = 0; k < r->ooms.ooms; k++) {
		for (size_t i = 0; i < k && r->row[k].is_row; i++) {
			if (!r->row[i].is_row || !brief_is_alike(r, i, k))
				continue;
			r->row[i].times += r->row[k].times;
			r->row[k].times = 0;
			r->row[k].is_row = false;
		}
	}
}

static void brief_table_print(struct gp_oom_report *r)
{
	size_t left = 0;
	brief_merge(r);
	fputs("\neach different request, at its first time; --number N answers for another:\n",
	      r->out);
	const bool is_narrow = gp_screen_is_below(ALL_COLUMNS);
	fprintf(r->out, "   #      moment%s  requested%s  cause            try\n",
		r->info->devices > 1 ? "  GPU" : "", is_narrow ? "" : "    missing  times");
	for (size_t k = 0; k < r->ooms.ooms; k++) {
		if (!r->row[k].times)
			continue;
		if (r->row[k].is_row)
			brief_row_print(r, k);
		left += !r->row[k].is_row;
	}
	if (left)
		fprintf(r->out, "and %s; --json lists all\n", gp_plural(left, "different one").s);
	if (is_narrow)
		fputs("--wide adds missing and times\n", r->out);
}

void gp_oom_brief_print(struct gp_oom_report *r, size_t first)
{
	char next[64] = "oom --details";
	gp_oom_top_print(r);
	if (r->shown > 1)
		fprintf(r->out, "memory ran out %s; the first time, --number %zu:\n",
			gp_plural(r->shown, "time").s, first + 1);
	if (r->shown)
		gp_oom_answer_print(r->out, r->row[first].answer);
	if (r->shown > 1)
		brief_table_print(r);
	if (r->ooms.ooms > 1)
		snprintf(next, sizeof next, "oom --number %zu --details", first + 1);
	gp_oom_next_print(r, next);
}
