/* Orders the first OOM of each recording by one clock (rank_clock.h). */
#include "oom_ranks.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../input/inputs.h"
#include "../io/amount.h"
#include "../io/message.h"
#include "../report/rank_clock.h"
#include "../report/report.h"
#include "oom_answer.h"

struct gp_oom_rank {
	const char *path;
	struct gp_rank_moment moment; /* of the OOM */
	struct gp_text state;
	size_t times;
	uint64_t number; /* number of its first OOM, from 1 */
	unsigned device;
	struct gp_oom_answer answer;
};

enum { LATER, CAUSE, REQUESTED, MISSING, TRY, OOMS, COLUMNS };

void gp_oom_ranks_begin(struct gp_oom_ranks *ranks)
{
	*ranks = (struct gp_oom_ranks){
		.table = { .columns = COLUMNS,
			   .title = { "later", "cause", "requested", "missing", "try", "OOMs" },
			   .is_text = { [CAUSE] = true, [TRY] = true } },
	};
}

static enum gp_status rank_look(struct gp_oom_rank *rank, const struct gp_oom_report *r, size_t k)
{
	struct gp_oom_case looked;
	enum gp_status status = gp_oom_look(r->recording, &r->ooms, k, &r->settings, -1, &looked);
	if (status == GP_OK)
		status = gp_oom_answer_build(r, k, &looked, &rank->answer);
	gp_oom_case_free(&looked);
	return status;
}

enum gp_status gp_oom_ranks_add(struct gp_oom_ranks *ranks, const struct gp_oom_report *r)
{
	size_t first = 0;
	gp_report_table_see(&ranks->table, r->path, r->info);
	ranks->has_unknown |= !r->shown && !gp_has_all_ooms(r->info);
	if (!r->shown)
		return GP_OK;
	while (!r->row[first].is_shown)
		first++;
	if (ranks->ranks == ranks->capacity) {
		size_t capacity = ranks->capacity ? 2 * ranks->capacity : 16;
		struct gp_oom_rank *rank = realloc(ranks->rank, capacity * sizeof *rank);
		if (!rank)
			return GP_E_MEMORY;
		ranks->rank = rank;
		ranks->capacity = capacity;
	}
	const struct gp_oom *oom = &r->ooms.oom[first];
	struct gp_oom_rank *rank = &ranks->rank[ranks->ranks];
	*rank = (struct gp_oom_rank){
		.path = r->path,
		.moment = { gp_rank_start_of(r->info), oom->at_ns, 0 },
		.state = gp_report_table_state_of(r->info),
		.times = r->shown,
		.number = first + 1,
		.device = oom->device,
	};
	enum gp_status status = rank_look(rank, r, first);
	ranks->ranks += status == GP_OK;
	return status;
}

static int by_clock(const void *a, const void *b)
{
	const struct gp_oom_rank *x = a, *y = b;
	const int64_t a_ns = x->moment.clock_ns, b_ns = y->moment.clock_ns;
	int order = (a_ns > b_ns) - (a_ns < b_ns);
	return order ? order : strverscmp(x->path, y->path);
}

static void print_first(const struct gp_oom_ranks *ranks, FILE *out)
{
	const struct gp_oom_rank *first = ranks->rank;
	fputs("first OOM: ", out);
	gp_report_table_name_print(&ranks->table, first->path, out);
	if (ranks->ranks > 1) {
		fprintf(out, ", %s before ",
			gp_ns_text(first[1].moment.clock_ns - first->moment.clock_ns).s);
		gp_report_table_name_print(&ranks->table, first[1].path, out);
	}
	fprintf(out, ", at %s\n", gp_report_table_moment_text(&first->moment).s);
	gp_oom_answer_print(out, &first->answer);
}

/* Gives cells no numbers, so that there are no outliers: all rows failed. */
static bool oom_ranks_add_row(struct gp_oom_ranks *ranks, const struct gp_oom_rank *rank)
{
	const struct gp_oom_answer *a = &rank->answer;
	struct gp_report_row *row = gp_report_table_append(&ranks->table, rank->path);
	if (!row)
		return false;
	snprintf(row->part, sizeof row->part, "GPU %u", rank->device);
	row->state = rank->state;
	gp_cell_put(&row->cell[LATER], NAN,
		    gp_ns_text(rank->moment.clock_ns - ranks->rank->moment.clock_ns).s);
	gp_cell_put(&row->cell[CAUSE], NAN, gp_verdict_names[a->verdict]);
	gp_cell_put(&row->cell[REQUESTED], NAN, gp_bytes_text(a->requested_bytes).s);
	if (a->missing_bytes != GP_BYTES_UNKNOWN)
		gp_cell_put(&row->cell[MISSING], NAN, gp_at_least_text(a->missing_bytes).s);
	gp_cell_put(&row->cell[TRY], NAN, gp_oom_answer_brief(a));
	gp_cell_put(&row->cell[OOMS], NAN, gp_count_text(rank->times).s);
	return true;
}

/* The next command shows the holders: in all of the directory, else in the first recording. */
static void print_none(const struct gp_oom_ranks *ranks, FILE *out)
{
	const struct gp_report_table *table = &ranks->table;
	const char *directory = gp_inputs_directory();
	const char *what = ranks->has_unknown ? "no OOM was recorded" : "memory did not run out";
	const char *tail = ranks->has_unknown ? ", but events are missing" : "";
	if (!gp_report_table_none_print(table, what, tail, out))
		gp_next_print(out, "peak", directory ? directory : table->first);
}

const char *gp_oom_ranks_print(struct gp_oom_ranks *ranks, FILE *out, uint64_t *number)
{
	struct gp_report_table *table = &ranks->table;
	if (!ranks->ranks) {
		print_none(ranks, out);
		return NULL;
	}
	const bool is_one_clock =
		gp_rank_moments_align(&ranks->rank->moment, ranks->ranks, sizeof *ranks->rank);
	qsort(ranks->rank, ranks->ranks, sizeof *ranks->rank, by_clock);
	gp_report_table_flaws_print(table, out);
	print_first(ranks, out);
	if (!is_one_clock)
		fputs(gp_rank_order_unsure, out);
	fprintf(out, "memory ran out in %zu of %zu recordings:\n", ranks->ranks, table->recordings);
	for (size_t k = 0; k < ranks->ranks; k++)
		if (!oom_ranks_add_row(ranks, &ranks->rank[k]))
			return NULL;
	gp_report_table_rows_print(table, out);
	*number = ranks->rank->number;
	return ranks->rank->path;
}

void gp_oom_ranks_release(struct gp_oom_ranks *ranks)
{
	free(ranks->rank);
	gp_report_table_release(&ranks->table);
	*ranks = (struct gp_oom_ranks){ 0 };
}
