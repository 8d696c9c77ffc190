/*
 * The rows of torch.cuda.memory_summary() at the moment, from segments and blocks. Peaks are shown
 * for curves. `gpuprof top` has the totals of all allocations since the start.
 */
#include <inttypes.h>
#include <string.h>

#include "../io/amount.h"
#include "../io/message.h"
#include "../report/report.h"
#include "../report/use_print.h"
#include "frag_report.h"

enum { ALL, LARGE, SMALL, POOLS };

/* A row's figures; GP_BYTES_UNKNOWN: not recorded. */
struct row {
	uint64_t now[POOLS];
	uint64_t peak; /* of all; GP_BYTES_UNKNOWN: not recorded */
};

struct rows {
	struct row allocated, active, requested, reserved, non_releasable;
	struct row allocations, active_allocations, segments, non_releasable_allocations;
	uint64_t oversize_allocations, oversize_segments; /* at least max_split_size */
};

static void frag_summary_add(struct row *row, bool is_small, uint64_t number)
{
	unsigned pool = is_small ? SMALL : LARGE;
	if (number == GP_BYTES_UNKNOWN || row->now[ALL] == GP_BYTES_UNKNOWN) {
		row->now[ALL] = row->now[LARGE] = row->now[SMALL] = GP_BYTES_UNKNOWN;
		return;
	}
	row->now[ALL] += number;
	row->now[pool] += number;
}

static void add_segment(struct rows *rows, const struct gp_memory *m,
			const struct gp_memory_segment *s, uint64_t max_split_bytes)
{
	frag_summary_add(&rows->reserved, s->is_small, s->bytes);
	frag_summary_add(&rows->segments, s->is_small, 1);
	rows->oversize_segments += s->bytes >= max_split_bytes;
	frag_summary_add(&rows->allocated, s->is_small, s->allocated_bytes);
	frag_summary_add(&rows->active, s->is_small, s->active_bytes);
	frag_summary_add(&rows->requested, s->is_small, s->requested_bytes);
	for (size_t k = s->first; k < s->first + s->blocks; k++) {
		const struct gp_memory_block *b = &m->block[k];
		frag_summary_add(&rows->allocations, s->is_small, b->state == GP_STATE_ALLOCATED);
		frag_summary_add(&rows->active_allocations, s->is_small, b->state != GP_STATE_FREE);
		rows->oversize_allocations +=
			b->state == GP_STATE_ALLOCATED && b->bytes >= max_split_bytes;
		/* as PyTorch: free in a split segment that is not expandable */
		bool is_cut = b->state == GP_STATE_FREE && s->blocks > 1 && !s->is_expandable;
		frag_summary_add(&rows->non_releasable, s->is_small, is_cut ? b->bytes : 0);
		frag_summary_add(&rows->non_releasable_allocations, s->is_small, is_cut);
	}
}

/* Prints a count that has no parts in pools. */
static void print_count(FILE *out, const char *name, uint64_t count)
{
	fprintf(out, "%-22s %12s\n", name, gp_count_text(count).s);
}

static void print_cell(FILE *out, uint64_t number, bool is_count)
{
	if (number == GP_BYTES_UNKNOWN)
		fprintf(out, " %12s", "-");
	else if (is_count)
		fprintf(out, " %12s", gp_count_text(number).s);
	else
		fprintf(out, " %12s", gp_bytes_text(number).s);
}

static void frag_summary_print_row(FILE *out, const char *name, const struct row *row,
				   bool is_count)
{
	/* omit a row without figures */
	bool has_now = row->now[ALL] && row->now[ALL] != GP_BYTES_UNKNOWN;
	if (!has_now && (!row->peak || row->peak == GP_BYTES_UNKNOWN))
		return;
	static const char *const pools[POOLS] = { NULL, "  from large pool", "  from small pool" };
	for (unsigned k = 0; k < POOLS; k++) {
		fprintf(out, "%-22s", k == ALL ? name : pools[k]);
		print_cell(out, row->now[k], is_count);
		print_cell(out, k == ALL ? row->peak : GP_BYTES_UNKNOWN, is_count);
		if (!is_count && row->now[k] != GP_BYTES_UNKNOWN)
			fprintf(out, "   %" PRIu64, row->now[k]);
		fputc('\n', out);
	}
}

/* OOMs of the device up to and including the moment. */
static uint64_t count_ooms(const struct gp_frag_report *r, unsigned device)
{
	uint64_t count = 0;
	for (size_t k = 0; k < r->ooms.ooms; k++) {
		const struct gp_oom *o = &r->ooms.oom[k];
		count += o->device == device && o->order <= r->memory.order;
	}
	return count;
}

static void frag_summary_print_device(const struct gp_frag_report *r,
				      const struct gp_frag_device *d)
{
	struct rows rows = { 0 };
	const struct gp_memory_device *m = d->frag.device;
	for (size_t k = 0; k < m->segments; k++)
		add_segment(&rows, &r->memory, &r->memory.segment[m->first_segment + k],
			    r->settings.max_split_bytes);
	rows.active.peak = rows.requested.peak = rows.non_releasable.peak = GP_BYTES_UNKNOWN;
	rows.allocations.peak = rows.active_allocations.peak = GP_BYTES_UNKNOWN;
	rows.segments.peak = rows.non_releasable_allocations.peak = GP_BYTES_UNKNOWN;
	rows.allocated.peak = d->peak_bytes[GP_CURVE_ALLOCATED];
	rows.reserved.peak = d->peak_bytes[GP_CURVE_RESERVED];
	/* without pending frees the active memory is unknown */
	if (!r->memory.has_allocator_details) {
		frag_summary_add(&rows.active, false, GP_BYTES_UNKNOWN);
		frag_summary_add(&rows.active_allocations, false, GP_BYTES_UNKNOWN);
	}
	gp_use_device_print(r->out, r->info, m->device);
	fprintf(r->out, ", %s\n", gp_frag_moment(r).s);
	if (!m->reserved_bytes && !d->peak_bytes[GP_CURVE_RESERVED]) {
		fputs("no PyTorch memory\n", r->out);
		return;
	}
	fprintf(r->out, "%-22s %12s %12s   %s\n", "", "now", "peak", "now, bytes");
	frag_summary_print_row(r->out, "Allocated memory", &rows.allocated, false);
	frag_summary_print_row(r->out, "Active memory", &rows.active, false);
	frag_summary_print_row(r->out, "Requested memory", &rows.requested, false);
	frag_summary_print_row(r->out, "GPU reserved memory", &rows.reserved, false);
	frag_summary_print_row(r->out, "Non-releasable memory", &rows.non_releasable, false);
	frag_summary_print_row(r->out, "Allocations", &rows.allocations, true);
	frag_summary_print_row(r->out, "Active allocs", &rows.active_allocations, true);
	frag_summary_print_row(r->out, "GPU reserved segments", &rows.segments, true);
	frag_summary_print_row(r->out, "Non-releasable allocs", &rows.non_releasable_allocations,
			       true);
	print_count(r->out, "Oversize allocations", rows.oversize_allocations);
	print_count(r->out, "Oversize GPU segments", rows.oversize_segments);
	print_count(r->out, "OOMs", count_ooms(r, m->device));
}

void gp_frag_summary_print(const struct gp_frag_report *r)
{
	for (size_t k = 0; k < r->devices; k++)
		frag_summary_print_device(r, &r->device[k]);
	gp_frag_note_print(r);
	gp_frag_next_print(r, "");
}
