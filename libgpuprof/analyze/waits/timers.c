/* The job's own timers: results of cudaEventElapsedTime by the line that read them. */
#include <stdlib.h>
#include <string.h>

#include "../../read/file/recording.h"
#include "../../read/tables/row_table.h"
#include "../groups/group_key.h"
#include "../settle.h"

/* Results read with one stack; later the row of a line. */
struct timer {
	uint64_t key;
	struct gp_timer sum;
};

static void timer_add(struct gp_timer *to, const struct gp_timer *from)
{
	if (to->count == 0 || from->least_ns < to->least_ns)
		to->least_ns = from->least_ns;
	if (from->most_ns > to->most_ns)
		to->most_ns = from->most_ns;
	if (__builtin_add_overflow(to->total_ns, from->total_ns, &to->total_ns))
		to->total_ns = UINT64_MAX;
	to->count += from->count;
}

static enum gp_status timers_read(struct gp_recording *recording, int64_t from_ns, int64_t to_ns,
				  struct gp_row_table *stacks)
{
	struct gp_event e;
	if (!gp_recording_keeps(recording, GP_ELAPSED))
		return gp_recording_end(recording);
	enum gp_status status = gp_recording_rewind(recording);
	while (status == GP_OK && (status = gp_recording_next(recording, &e)) == GP_OK) {
		const struct gp_record *r = &e.record;
		if (r->kind != GP_ELAPSED || e.at_ns < from_ns || e.at_ns > to_ns)
			continue;
		/* a key of 0 is free */
		struct timer *t = gp_row_get_key(stacks, sizeof *t, 1ull + r->stack);
		if (t == NULL)
			return GP_E_MEMORY;
		const uint64_t ns = r->elapsed.elapsed_ns;
		const struct gp_timer one = {
			.count = 1, .total_ns = ns, .least_ns = ns, .most_ns = ns
		};
		timer_add(&t->sum, &one);
		t->sum.stack = r->stack;
		t->sum.at_ns = e.at_ns;
	}
	return status == GP_END ? GP_OK : status;
}

static int most_total_first(const void *left, const void *right)
{
	const struct gp_timer *a = left, *b = right;
	if (a->total_ns != b->total_ns)
		return a->total_ns < b->total_ns ? 1 : -1;
	return strcmp(a->key, b->key);
}

static bool timer_name(struct gp_timer *row, const struct gp_timer *sum, const struct gp_line *name)
{
	row->stack = sum->stack;
	row->at_ns = sum->at_ns;
	row->without = name->without;
	row->file = name->file;
	row->line = name->line;
	row->key = strdup(name->key);
	return row->key != NULL;
}

/* Stacks of one line become one row. */
static enum gp_status timers_list(struct gp_recording *recording, const struct gp_row_table *stacks,
				  struct gp_timers *out)
{
	struct gp_row_table lines = { 0 };
	struct gp_read_stack *buffer = malloc(sizeof *buffer);
	struct gp_line name;
	enum gp_status status = GP_OK;
	out->row = calloc((size_t)stacks->rows + 1, sizeof *out->row);
	if (buffer == NULL || out->row == NULL)
		status = GP_E_MEMORY;
	for (uint32_t k = 0; status == GP_OK && k < stacks->rows; k++) {
		const struct gp_timer *sum = &((const struct timer *)stacks->row)[k].sum;
		gp_line_find(recording, sum->stack, sum->at_ns, buffer, &name);
		const struct gp_identity identity =
			gp_text_identity((struct gp_identity){ 1, 0 }, name.key);
		struct timer *line =
			gp_row_get_key(&lines, sizeof *line, gp_identity_hash(identity));
		/* `count` of a line is 1 + the index of its row */
		if (line == NULL) {
			status = GP_E_MEMORY;
		} else if (line->sum.count == 0) {
			line->sum.count = out->rows + 1;
			if (!timer_name(&out->row[out->rows++], sum, &name))
				status = GP_E_MEMORY;
		}
		if (status == GP_OK)
			timer_add(&out->row[line->sum.count - 1], sum);
	}
	gp_row_table_release(&lines);
	free(buffer);
	if (status == GP_OK && out->rows)
		qsort(out->row, out->rows, sizeof *out->row, most_total_first);
	return status;
}

enum gp_status gp_timers_build(struct gp_recording *recording, int64_t from_ns, int64_t to_ns,
			       struct gp_timers *out)
{
	struct gp_row_table stacks = { 0 };
	*out = (struct gp_timers){ 0 };
	enum gp_status status = timers_read(recording, from_ns, to_ns, &stacks);
	if (status == GP_OK)
		status = timers_list(recording, &stacks, out);
	gp_row_table_release(&stacks);
	if (status != GP_OK)
		gp_timers_free(out);
	return status;
}

void gp_timers_free(struct gp_timers *timers)
{
	for (size_t k = 0; k < timers->rows; k++)
		free(timers->row[k].key);
	free(timers->row);
	*timers = (struct gp_timers){ 0 };
}
