/* The report of `gpuprof idle` for a person. */
#include <string.h>

#include "amount.h"
#include "idle_report.h"
#include "message.h"
#include "report.h"
#include "stack_print.h"

const char *const gp_idle_state_keys[GP_IDLE_STATES] = { "busy", "never",   "early",
							 "late", "between", "unknown" };
const char *const gp_waste_keys[GP_WASTES] = { "early",	  "late",  "never",
					       "between", "churn", "pinned" };

static const char *const state_words[GP_IDLE_STATES] = {
	"in use", "never used", "not used yet", "used up", "between two uses", "not known",
};
static const char *const state_advice[GP_IDLE_STATES] = {
	"",
	"do without it",
	"allocate it later",
	"free it earlier",
	"offload or recompute it",
	"older than the events that are kept",
};
static const char *const waste_titles[GP_WASTES] = {
	"allocated early: long before the first use",
	"freed late: long after the last use",
	"never used",
	"at rest: long between two uses",
	"churn: memory of the driver that is got and given back again and again",
	"pinned memory that grows: got and not given back",
};

size_t gp_idle_rows_shown(const struct gp_idle_report *r, size_t rows)
{
	return r->top && rows > r->top ? (size_t)r->top : rows;
}

bool gp_idle_wants(const struct gp_idle_report *r, unsigned device)
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

static bool has_framework(const struct gp_idle_report *r, unsigned device)
{
	for (size_t k = 0; k < r->idle.devices; k++)
		if (r->idle.device[k].device == device)
			return r->idle.device[k].is_framework;
	return false;
}

/* Beside a framework's blocks it is said what is none: one place often gets both. */
static void print_key(const struct gp_idle_report *r, const char *key, size_t stacks,
		      bool is_beside)
{
	gp_mask(r->out, key, strlen(key));
	if (stacks > 1 || is_beside)
		fprintf(r->out, "  (%s%s%s)", is_beside ? "of the driver" : "",
			stacks > 1 && is_beside ? ", " : "",
			stacks > 1 ? gp_plural(stacks, "stack").s : "");
	fputc('\n', r->out);
}

static void print_rest(const struct gp_idle_report *r, size_t rows)
{
	size_t left = rows - gp_idle_rows_shown(r, rows);
	if (left)
		fprintf(r->out, "  %s; --top 0 shows all\n", gp_plural(left, "more row").s);
}

/* ---- how much was seen ---- */

/* What makes memory look idle that is not. */
static void print_doubt(const struct gp_idle_report *r)
{
	const struct gp_idle *i = &r->idle;
	fputs("memory may be used that seems idle:", r->out);
	const char *comma = " ";
	if (i->lost) {
		fprintf(r->out, "%s%s LOST", comma, gp_plural(i->lost, "event").s);
		comma = ", ";
	}
	if (i->scanned < i->launches) {
		fprintf(r->out, "%s%s not scanned", comma, launches(i->launches - i->scanned).s);
		comma = ", ";
	}
	if (i->graph_resolved < i->graph_launches)
		fprintf(r->out, "%s%s of graphs whose memory is not known", comma,
			launches(i->graph_launches - i->graph_resolved).s);
	fputs(i->is_blind ? "; that is too much to tell\n" : "\n", r->out);
}

static void print_coverage(const struct gp_idle_report *r)
{
	const struct gp_idle *i = &r->idle;
	fprintf(r->out, "uses: %s of %s resolved to live memory", gp_count_text(i->resolved).s,
		launches(i->launches).s);
	if (i->graph_launches)
		fprintf(r->out, "; %s of %s of graphs", gp_count_text(i->graph_resolved).s,
			launches(i->graph_launches).s);
	fprintf(r->out, "; %s of %s copies and fills\n", gp_count_text(i->copies_resolved).s,
		gp_count_text(i->copies).s);
	fputs("not seen: pointers that lie in device memory", r->out);
	if (i->captured)
		fputs(", changes of a graph after its capture, graphs built node by node", r->out);
	if (i->beyond)
		fprintf(r->out, ", %s or more allocations without a place in the map",
			gp_count_text(i->beyond).s);
	fputc('\n', r->out);
	if (i->lost || i->scanned < i->launches || i->graph_resolved < i->graph_launches)
		print_doubt(r);
}

/* ---- at the peak ---- */

static uint64_t idle_bytes(const struct gp_idle_device *d)
{
	return d->bytes - d->state_bytes[GP_IDLE_BUSY] - d->state_bytes[GP_IDLE_UNKNOWN];
}

static void print_states(const struct gp_idle_report *r, const struct gp_idle_device *d)
{
	static const enum gp_idle_state order[] = {
		GP_IDLE_BETWEEN, GP_IDLE_LATE, GP_IDLE_EARLY,
		GP_IDLE_NEVER,	 GP_IDLE_BUSY, GP_IDLE_UNKNOWN
	};
	for (size_t k = 0; k < sizeof order / sizeof *order; k++) {
		enum gp_idle_state s = order[k];
		if (!d->state_count[s])
			continue;
		fprintf(r->out, "%10s %9s  %s%s%s\n", gp_bytes_text(d->state_bytes[s]).s,
			gp_count_text(d->state_count[s]).s, state_words[s],
			*state_advice[s] ? ": " : "", state_advice[s]);
	}
}

static void print_rows(const struct gp_idle_report *r, const struct gp_idle_device *d)
{
	if (!d->rows)
		return;
	fputs("     bytes     count    unused  launches      born first use  last use  next use  "
	      "state             stack\n",
	      r->out);
	for (size_t k = 0; k < gp_idle_rows_shown(r, d->rows); k++) {
		const struct gp_idle_row *row = &d->row[k];
		fprintf(r->out, "%10s %9s %9s %9s %9s %9s %9s %9s  %-16s  ",
			gp_bytes_text(row->bytes).s, gp_count_text(row->count).s,
			gp_ns_text(row->idle_ns).s, gp_count_text(row->idle_launches).s,
			moment(row->born_ns).s, moment(row->first_ns).s, moment(row->last_ns).s,
			moment(row->next_ns).s, state_words[row->state]);
		print_key(r, row->key, row->stacks,
			  d->is_framework && row->space != GP_SPACE_BLOCK);
		print_stack(r, row->stack, row->born_ns);
	}
	print_rest(r, d->rows);
}

static void print_reuses(const struct gp_idle_report *r, const struct gp_idle_device *d)
{
	uint64_t saved = 0;
	for (size_t k = 0; k < d->reuses; k++)
		saved += (d->reuse[k].count - d->reuse[k].needed) * d->reuse[k].each_bytes;
	if (!d->reuses)
		return;
	fprintf(r->out, "buffers of one size whose uses do not overlap: %s less would do\n",
		gp_bytes_text(saved).s);
	for (size_t k = 0; k < gp_idle_rows_shown(r, d->reuses); k++) {
		const struct gp_idle_reuse *u = &d->reuse[k];
		fprintf(r->out, "%10s %9s  of %s, %s would do: ",
			gp_bytes_text((u->count - u->needed) * u->each_bytes).s,
			gp_count_text(u->count).s, gp_bytes_text(u->each_bytes).s,
			gp_count_text(u->needed).s);
		gp_mask(r->out, u->key, strlen(u->key));
		fputs(" in the place of ", r->out);
		print_key(r, u->other_key, 1, false);
	}
	print_rest(r, d->reuses);
}

static void print_device(const struct gp_idle_report *r, const struct gp_idle_device *d)
{
	gp_use_device_print(r->out, r->info, d->device);
	fprintf(r->out, ": %s live at the peak of %s (%s)%s; %s of it unused for %s or longer\n",
		gp_bytes_text(d->bytes).s,
		d->is_framework ? "the framework's blocks" : "the driver's memory",
		gp_ns_text(d->peak_at_ns).s, d->is_overwritten ? ", the highest that is kept" : "",
		gp_bytes_text(idle_bytes(d)).s, launches(r->idle.least_launches).s);
	print_states(r, d);
	print_rows(r, d);
	print_reuses(r, d);
}

/* ---- over the run ---- */

static void print_waste_row(const struct gp_idle_report *r, const struct gp_waste_row *w)
{
	fprintf(r->out, "%10s %9s %9s %9s %9s  ", gp_bytes_text(w->bytes).s,
		gp_count_text(w->count).s, gp_bytes_text(w->largest_bytes).s,
		gp_ns_text(w->idle_ns).s, gp_count_text(w->idle_launches).s);
	if (w->device != GP_DEVICE_UNKNOWN && w->device)
		fprintf(r->out, "GPU %u  ", w->device);
	bool is_of_driver = w->waste == GP_WASTE_CHURN || w->waste == GP_WASTE_PINNED;
	print_key(r, w->key, w->stacks,
		  !is_of_driver && w->space != GP_SPACE_BLOCK && has_framework(r, w->device));
	print_stack(r, w->stack, w->born_ns);
}

static void print_waste(const struct gp_idle_report *r, enum gp_waste waste)
{
	const struct gp_idle *i = &r->idle;
	size_t rows = 0, shown = 0;
	for (size_t k = 0; k < i->wastes; k++)
		rows += i->waste[k].waste == waste && gp_idle_wants(r, i->waste[k].device);
	if (!rows)
		return;
	fprintf(r->out, "over the run, %s\n", waste_titles[waste]);
	fprintf(r->out, "     bytes     count   largest  %s  launches  stack\n",
		waste == GP_WASTE_CHURN || waste == GP_WASTE_PINNED ? "  lived" : " unused");
	for (size_t k = 0; k < i->wastes && shown < gp_idle_rows_shown(r, rows); k++) {
		if (i->waste[k].waste != waste || !gp_idle_wants(r, i->waste[k].device))
			continue;
		print_waste_row(r, &i->waste[k]);
		shown++;
	}
	print_rest(r, rows);
}

void gp_idle_print(const struct gp_idle_report *r)
{
	fprintf(r->out, "%s\n", gp_headline_of(r->info).s);
	if (!r->idle.has_uses) {
		fputs("no uses were recorded", r->out);
		if (r->idle.no_uses) {
			fputs(": ", r->out);
			gp_mask(r->out, r->idle.no_uses, strlen(r->idle.no_uses));
		}
		fputc('\n', r->out);
		gp_again_print(r->out, r->info, "--uses --stacks=all");
		return;
	}
	print_coverage(r);
	for (size_t k = 0; k < r->idle.devices; k++)
		if (gp_idle_wants(r, r->idle.device[k].device))
			print_device(r, &r->idle.device[k]);
	for (unsigned w = 0; w < GP_WASTES; w++)
		print_waste(r, (enum gp_waste)w);
	gp_unnamed_print(r->out, r->recording);
	if (r->info->has_stacks)
		gp_next_print(r->out, "peak", r->path);
	else
		gp_again_print(r->out, r->info, "--uses --stacks=all");
}
