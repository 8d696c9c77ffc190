/* The report of `gpuprof idle` for a person. */
#include <string.h>

#include "../io/amount.h"
#include "../io/message.h"
#include "../io/screen.h"
#include "../report/again.h"
#include "../report/report.h"
#include "../report/stack_print.h"
#include "idle_report.h"

const char *const gp_idle_state_keys[GP_IDLE_STATES] = { "busy", "never",   "early",
							 "late", "between", "unknown" };
const char *const gp_waste_keys[GP_WASTES] = { "early",	  "late",  "never",
					       "between", "churn", "pinned" };

static const char *const state_words[GP_IDLE_STATES] = {
	"in use", "never used", "before first use", "after last use", "between two uses", "unknown",
};
static const char *const state_advice[GP_IDLE_STATES] = {
	"", "remove it", "allocate it later", "free it earlier", "offload or recompute it", "",
};
/* other memory: beside the driver's memory, beside the framework's blocks */
static const char *const beside_words[] = { "other processes", "outside PyTorch" };
static const char *const waste_titles[GP_WASTES] = {
	"allocated early: long before the first use",
	"freed late: long after the last use",
	"never used",
	"long between two uses",
	"churn: driver memory allocated and freed again and again",
	"pinned memory that grows: allocated and not freed",
};

size_t gp_idle_rows_shown(const struct gp_idle_report *r, size_t rows)
{
	return r->top && rows > r->top ? (size_t)r->top : rows;
}

bool gp_idle_selects(const struct gp_idle_report *r, unsigned device)
{
	return r->device < 0 || device == (uint64_t)r->device;
}

static struct gp_text moment(int64_t at_ns)
{
	struct gp_text none = { "-" };
	return at_ns < 0 ? none : gp_ns_text(at_ns);
}

static struct gp_text launches(uint64_t number)
{
	struct gp_text text;
	snprintf(text.s, sizeof text.s, "%.32s launch%s", gp_count_text(number).s,
		 number == 1 ? "" : "es");
	return text;
}

static void print_stack(const struct gp_idle_report *r, uint32_t stack, int64_t at_ns)
{
	if (r->has_stacks && stack)
		gp_stack_print(r->out, r->recording, stack, at_ns, GP_STACK_FOLDED);
}

/* The owner as text; NULL: the rest of the line shows it already. */
static const char *owner_text(const struct gp_idle_holder *holder, bool is_beside)
{
	static const char *const words[GP_IDLE_OWNERS] = {
		NULL,  "workspace of ",	  "outside PyTorch",
		"of ", "another process", "outside PyTorch"
	};
	bool is_shown = holder->owner == GP_IDLE_PROGRAM || holder->owner == GP_IDLE_ANYBODY;
	return is_shown && !is_beside ? NULL : words[holder->owner];
}

static bool has_framework(const struct gp_idle_report *r, unsigned device)
{
	for (size_t k = 0; k < r->idle.devices; k++)
		if (r->idle.device[k].device == device)
			return r->idle.device[k].is_framework;
	return false;
}

/* Beside a framework's blocks, marks memory outside of them: the same line often requests both. */
static void print_key(const struct gp_idle_report *r, const char *key, size_t stacks,
		      const struct gp_idle_holder *holder, bool is_beside)
{
	const char *owner = holder ? owner_text(holder, is_beside) : NULL;
	gp_name_print(r->out, key);
	if (owner || stacks > 1) {
		fprintf(r->out, "  (%s", owner ? owner : "");
		if (owner)
			gp_mask(r->out, holder->library, strlen(holder->library));
		fprintf(r->out, "%s%s)", owner && stacks > 1 ? ", " : "",
			stacks > 1 ? gp_plural(stacks, "stack").s : "");
	}
	fputc('\n', r->out);
}

static void print_rest(const struct gp_idle_report *r, size_t rows)
{
	size_t left = rows - gp_idle_rows_shown(r, rows);
	if (left)
		fprintf(r->out, "  %s; --top 0 shows all\n", gp_plural(left, "more row").s);
}

/* ---- coverage ---- */

/* Prints how many uses were not seen. Memory that these may have used is never called unused. */
static void print_unseen(const struct gp_idle_report *r)
{
	const struct gp_idle *i = &r->idle;
	const char *comma = "";
	if (i->lost) {
		fprintf(r->out, "%s LOST", gp_plural(i->lost, "event").s);
		comma = ", ";
	}
	if (i->scanned < i->launches + i->captured_launches) {
		fprintf(r->out, "%s%s not scanned", comma,
			launches(i->launches + i->captured_launches - i->scanned).s);
		comma = ", ";
	}
	if (i->graph_unknown)
		fprintf(r->out, "%s%s of graphs with unknown nodes", comma,
			launches(i->graph_unknown).s);
	fputs(i->is_blind ? ": too many to find unused memory\n" :
			    ": memory live then counts as used\n",
	      r->out);
}

static void print_coverage(const struct gp_idle_report *r)
{
	const struct gp_idle *i = &r->idle;
	fprintf(r->out, "uses: %s of %s", gp_count_text(i->resolved).s,
		launches(i->launches + i->captured_launches).s);
	if (i->captured_launches)
		fprintf(r->out, " (%s captured)", gp_count_text(i->captured_launches).s);
	fputs(" resolved to live memory", r->out);
	if (i->graph_launches)
		fprintf(r->out, "; %s of %s of graphs", gp_count_text(i->graph_resolved).s,
			launches(i->graph_launches).s);
	fprintf(r->out, "; %s of %s copies and fills\n", gp_count_text(i->copies_resolved).s,
		gp_count_text(i->copies).s);
	fputs("not seen: pointers stored in device memory", r->out);
	if (i->has_managed)
		fputs(", host accesses of managed memory", r->out);
	if (i->captured_launches)
		fputs(", changes of a graph after its capture", r->out);
	if (i->beyond)
		fprintf(r->out, ", %s or more allocations beyond the map",
			gp_count_text(i->beyond).s);
	fputc('\n', r->out);
	if (i->lost || i->scanned < i->launches + i->captured_launches || i->graph_unknown)
		print_unseen(r);
}

/* ---- at the peak ---- */

/* For the owners whose memory makes up the peak, or for the others. */
struct gp_idle_sum gp_idle_state_sum(const struct gp_idle_device *d, bool is_of_peak,
				     enum gp_idle_state state)
{
	struct gp_idle_sum sum = { 0 };
	for (unsigned o = 0; o < GP_IDLE_OWNERS; o++) {
		if (gp_idle_is_of_peak(d, (enum gp_idle_owner)o) != is_of_peak)
			continue;
		sum.bytes += d->sum[o][state].bytes;
		sum.count += d->sum[o][state].count;
	}
	return sum;
}

struct gp_idle_sum gp_idle_total(const struct gp_idle_device *d, bool is_of_peak)
{
	struct gp_idle_sum total = { 0 };
	for (unsigned s = 0; s < GP_IDLE_STATES; s++) {
		const struct gp_idle_sum sum =
			gp_idle_state_sum(d, is_of_peak, (enum gp_idle_state)s);
		total.bytes += sum.bytes;
		total.count += sum.count;
	}
	return total;
}

uint64_t gp_idle_unused_bytes(const struct gp_idle_device *d, bool is_of_peak)
{
	return gp_idle_total(d, is_of_peak).bytes -
	       gp_idle_state_sum(d, is_of_peak, GP_IDLE_BUSY).bytes -
	       gp_idle_state_sum(d, is_of_peak, GP_IDLE_UNKNOWN).bytes;
}

static void print_sum(const struct gp_idle_report *r, const struct gp_idle_sum *sum)
{
	fprintf(r->out, "%10s %9s  ", gp_bytes_text(sum->bytes).s, gp_count_text(sum->count).s);
}

/* In a PyTorch job it is mostly a library's, and seldom the program's own. */
static const char *unknown_owner_advice(const struct gp_idle_device *d, enum gp_idle_state s)
{
	return d->is_framework && s == GP_IDLE_NEVER ?
		       "likely a library workspace (such as cuBLAS)" :
		       "owner unknown (no stacks)";
}

/* Prints advice by owner: a program cannot offload a workspace of cuBLAS. */
static void print_idle_state(const struct gp_idle_report *r, const struct gp_idle_device *d,
			     enum gp_idle_state s)
{
	const char *const beside = d->is_framework ? ", outside PyTorch" : "";
	const char *const owner_words[GP_IDLE_OWNERS] = {
		"",    ", a library's workspace", beside, ", a library's", ", of another process",
		beside
	};
	for (unsigned o = 0; o < GP_IDLE_OWNERS; o++) {
		bool is_library = o == GP_IDLE_WORKSPACE || o == GP_IDLE_LIBRARY;
		if (!d->sum[o][s].count)
			continue;
		print_sum(r, &d->sum[o][s]);
		fprintf(r->out, "%s%s: %s\n", state_words[s], owner_words[o],
			is_library	     ? "change its settings" :
			o == GP_IDLE_PROCESS ? "change that process" :
			o == GP_IDLE_ANYBODY ? unknown_owner_advice(d, s) :
					       state_advice[s]);
	}
}

static void print_states(const struct gp_idle_report *r, const struct gp_idle_device *d)
{
	static const enum gp_idle_state idle[] = { GP_IDLE_BETWEEN, GP_IDLE_LATE, GP_IDLE_EARLY,
						   GP_IDLE_NEVER };
	static const enum gp_idle_state others[] = { GP_IDLE_BUSY, GP_IDLE_UNKNOWN };
	fputs("     bytes     count  state at the peak: what helps\n", r->out);
	for (size_t k = 0; k < sizeof idle / sizeof *idle; k++)
		print_idle_state(r, d, idle[k]);
	for (size_t k = 0; k < 2 * sizeof others / sizeof *others; k++) {
		enum gp_idle_state s = others[k / 2];
		const struct gp_idle_sum sum = gp_idle_state_sum(d, k % 2 == 0, s);
		if (!sum.count)
			continue;
		print_sum(r, &sum);
		fprintf(r->out, "%s%s%s%s\n", state_words[s], k % 2 ? ", " : "",
			k % 2 ? beside_words[d->is_framework] : "",
			s == GP_IDLE_UNKNOWN ? ": older than the kept events" : "");
	}
}

#define ALL_COLUMNS 128u /* with a short stack */

static void print_rows(const struct gp_idle_report *r, const struct gp_idle_device *d)
{
	if (!d->rows)
		return;
	const bool is_narrow = gp_screen_is_below(ALL_COLUMNS);
	fprintf(r->out, "     bytes %s   unused  launches %s state             stack\n",
		is_narrow ? "" : "    count ",
		is_narrow ? "" : "allocated first use  last use  next use ");
	for (size_t k = 0; k < gp_idle_rows_shown(r, d->rows); k++) {
		const struct gp_idle_row *row = &d->row[k];
		fprintf(r->out, "%10s ", gp_bytes_text(row->bytes).s);
		if (!is_narrow)
			fprintf(r->out, "%9s ", gp_count_text(row->count).s);
		fprintf(r->out, "%9s %9s ", gp_ns_text(row->idle_ns).s,
			gp_count_text(row->idle_launches).s);
		if (!is_narrow)
			fprintf(r->out, "%9s %9s %9s %9s ", moment(row->born_ns).s,
				moment(row->first_ns).s, moment(row->last_ns).s,
				moment(row->next_ns).s);
		fprintf(r->out, " %-16s  ", state_words[row->kind]);
		print_key(r, row->key, row->stacks, &row->holder, d->is_framework);
		print_stack(r, row->stack, row->born_ns);
	}
	print_rest(r, d->rows);
	if (is_narrow)
		fputs("--wide adds count, allocated, first use, last use and next use\n", r->out);
}

static void print_reuses(const struct gp_idle_report *r, const struct gp_idle_device *d)
{
	uint64_t saved = 0;
	for (size_t k = 0; k < d->reuses; k++)
		saved += (d->reuse[k].count - d->reuse[k].needed) * d->reuse[k].each_bytes;
	if (!d->reuses)
		return;
	fprintf(r->out, "buffers of one size whose uses do not overlap: sharing them saves %s\n",
		gp_bytes_text(saved).s);
	for (size_t k = 0; k < gp_idle_rows_shown(r, d->reuses); k++) {
		const struct gp_idle_reuse *u = &d->reuse[k];
		const bool is_alike = strcmp(u->key, u->other_key) == 0;
		fprintf(r->out, "%10s %9s  of %s, %s needed%s: ",
			gp_bytes_text((u->count - u->needed) * u->each_bytes).s,
			gp_count_text(u->count).s, gp_bytes_text(u->each_bytes).s,
			gp_count_text(u->needed).s, is_alike ? ", each can reuse the other" : "");
		if (!is_alike) {
			gp_name_print(r->out, u->key);
			fputs(" can reuse ", r->out);
		}
		print_key(r, u->other_key, 1, NULL, false);
	}
	print_rest(r, d->reuses);
}

static void idle_print_device(const struct gp_idle_report *r, const struct gp_idle_device *d)
{
	const struct gp_idle_sum own = gp_idle_total(d, true), beside = gp_idle_total(d, false);
	gp_use_device_print(r->out, r->info, d->device);
	fprintf(r->out, ", peak of %s at %s%s:\n",
		d->is_framework ? "allocated memory" : "driver memory", gp_ns_text(d->peak_at_ns).s,
		d->is_overwritten ? ", the highest kept" : "");
	fprintf(r->out, "  %s of %s was unused for %s or longer",
		gp_bytes_text(gp_idle_unused_bytes(d, true)).s, gp_bytes_text(own.bytes).s,
		launches(r->idle.least_launches).s);
	if (beside.count)
		fprintf(r->out, "; %s: %s of %s", beside_words[d->is_framework],
			gp_bytes_text(gp_idle_unused_bytes(d, false)).s,
			gp_bytes_text(beside.bytes).s);
	fputc('\n', r->out);
	print_states(r, d);
	print_rows(r, d);
	print_reuses(r, d);
}

/* ---- over the run ---- */

static void print_waste_row(const struct gp_idle_report *r, const struct gp_idle_row *w)
{
	fprintf(r->out, "%10s %9s %9s %9s %9s  ", gp_bytes_text(w->bytes).s,
		gp_count_text(w->count).s, gp_bytes_text(w->largest_bytes).s,
		gp_ns_text(w->idle_ns).s, gp_count_text(w->idle_launches).s);
	if (w->device != GP_DEVICE_UNKNOWN && w->device)
		fprintf(r->out, "GPU %u  ", w->device);
	bool is_of_driver = w->kind == GP_WASTE_CHURN || w->kind == GP_WASTE_PINNED;
	print_key(r, w->key, w->stacks, &w->holder, !is_of_driver && has_framework(r, w->device));
	print_stack(r, w->stack, w->born_ns);
}

static void print_waste(const struct gp_idle_report *r, enum gp_waste waste)
{
	const struct gp_idle *i = &r->idle;
	size_t rows = 0, shown = 0;
	for (size_t k = 0; k < i->wastes; k++)
		rows += i->waste[k].kind == waste && gp_idle_selects(r, i->waste[k].device);
	if (!rows)
		return;
	fprintf(r->out, "over the run, %s\n", waste_titles[waste]);
	fprintf(r->out, "     bytes     count   largest  %s  launches  stack\n",
		waste == GP_WASTE_CHURN || waste == GP_WASTE_PINNED ? "  lived" : " unused");
	for (size_t k = 0; k < i->wastes && shown < gp_idle_rows_shown(r, rows); k++) {
		if (i->waste[k].kind != waste || !gp_idle_selects(r, i->waste[k].device))
			continue;
		print_waste_row(r, &i->waste[k]);
		shown++;
	}
	print_rest(r, rows);
}

/* An OOM is more urgent than a second run. */
static void idle_print_next(const struct gp_idle_report *r, const char *otherwise)
{
	const unsigned lacks = gp_again_lacks(r->info, GP_LACK_USES | GP_LACK_STACKS);
	if (gp_next_has_oom(r->recording, r->info))
		gp_next_print(r->out, "oom", r->path);
	else if (lacks)
		gp_again_print(r->out, r->info, lacks);
	else
		gp_next_print(r->out, gp_next_of(r->recording, r->info, otherwise), r->path);
}

void gp_idle_print(const struct gp_idle_report *r)
{
	gp_headline_print(r->out, r->info);
	if (!r->idle.has_uses) {
		fputs("Idle memory is unknown: the recording has no memory uses", r->out);
		if (r->idle.no_uses) {
			fputs(": ", r->out);
			gp_mask(r->out, r->idle.no_uses, strlen(r->idle.no_uses));
		} else if (gp_next_has_oom(r->recording, r->info)) {
			fputs("; gpuprof run --track-access records them", r->out);
		}
		fputc('\n', r->out);
		idle_print_next(r, "info");
		return;
	}
	for (size_t k = 0; k < r->idle.devices; k++)
		if (gp_idle_selects(r, r->idle.device[k].device))
			idle_print_device(r, &r->idle.device[k]);
	for (unsigned w = 0; w < GP_WASTES; w++)
		print_waste(r, (enum gp_waste)w);
	print_coverage(r);
	gp_unnamed_print(r->out, r->recording);
	idle_print_next(r, "peak");
}
