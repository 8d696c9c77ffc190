/* Rows by line: see wait_rows.h. */
#include "wait_rows.h"

#include <stdlib.h>
#include <string.h>

#include "../../read/file/recording.h"
#include "../groups/group_key.h"

const char *const gp_wait_reason_names[GP_WAIT_REASONS] = {
	"synchronize",	"item",	      "pageable_copy",	  "free",
	"data",		"recompile",  "synchronous_copy", "event_query",
	"stream_query", "allocation", "late_launch",
};
const char *const gp_wait_kind_names[GP_WAIT_REASONS] = {
	"synchronize", "item",	      "pageable_copy", "free",	"data",	 "recompile",
	"other",       "synchronize", "synchronize",   "other", "other",
};

static int costliest_first(const void *left, const void *right)
{
	const struct gp_wait_row *a = left, *c = right;
	if (a->is_repeated != c->is_repeated)
		return a->is_repeated ? -1 : 1;
	if (a->lost_ns != c->lost_ns)
		return a->lost_ns < c->lost_ns ? 1 : -1;
	if (a->blocked_ns != c->blocked_ns)
		return a->blocked_ns < c->blocked_ns ? 1 : -1;
	return strcmp(a->key, c->key);
}

void gp_wait_again_add(struct gp_wait_again *to, const struct gp_wait_again *more)
{
	to->count += more->count;
	to->bytes += more->bytes;
	gp_ns_add(&to->blocked_ns, more->blocked_ns);
	if (more->longest_ns >= to->longest_ns) {
		to->longest_ns = more->longest_ns;
		to->stack = more->stack;
		to->at_ns = more->at_ns;
	}
}

static void row_merge(struct gp_wait_row *to, const struct gp_wait_row *from)
{
	to->count += from->count;
	to->bytes += from->bytes;
	gp_ns_add(&to->blocked_ns, from->blocked_ns);
	gp_ns_add(&to->lost_ns, from->lost_ns);
	if (from->longest_ns > to->longest_ns) {
		to->longest_ns = from->longest_ns;
		to->at_ns = from->at_ns;
		to->stack = from->stack;
	}
	gp_wait_again_add(&to->again, &from->again);
}

/* A row by its reason and text. */
struct wait_line {
	uint64_t key;
	size_t row; /* 1 + index; 0: new */
};
static uint64_t line_key(const struct gp_wait_place *p, const char *text)
{
	return gp_identity_hash(
		gp_text_identity((struct gp_identity){ p->sum.reason + 1u, 0 }, text));
}

/* Adds a place to its row. False: out of memory. */
static bool row_of_place(struct gp_recording *recording, struct gp_read_stack *stack,
			 struct gp_row_table *lines, const struct gp_wait_place *p,
			 struct gp_waits *out)
{
	struct gp_line name;
	gp_line_find(recording, p->sum.stack, p->sum.at_ns, stack, &name);
	struct wait_line *line = gp_row_get_key(lines, sizeof *line, line_key(p, name.key));
	if (line == NULL)
		return false;
	if (line->row != 0) {
		row_merge(&out->row[line->row - 1], &p->sum);
		return true;
	}
	struct gp_wait_row *row = &out->row[out->rows++];
	line->row = out->rows;
	*row = p->sum;
	row->without = name.without;
	row->file = name.file;
	row->line = name.line;
	row->key = strdup(name.key);
	return row->key != NULL;
}

enum gp_status gp_wait_rows_list(struct gp_recording *recording, const struct gp_row_table *places,
				 struct gp_waits *out)
{
	struct gp_read_stack *stack = malloc(sizeof *stack);
	struct gp_row_table lines = { 0 }; /* struct wait_line */
	struct gp_line name;
	out->row = calloc((size_t)places->rows + 1, sizeof *out->row);
	bool has_memory = stack != NULL && out->row != NULL;
	for (uint32_t k = 0; has_memory && k < places->rows; k++) {
		const struct gp_wait_place *p = &((struct gp_wait_place *)places->row)[k];
		if (p->sum.count != 0 || p->sum.lost_ns != 0 || p->sum.again.count != 0)
			has_memory = row_of_place(recording, stack, &lines, p, out);
	}
	for (size_t k = 0; has_memory && k < out->rows; k++) {
		struct gp_wait_row *row = &out->row[k];
		row->is_repeated = row->count >= GP_WAIT_REPEATED;
		if (row->is_repeated)
			gp_ns_add(&out->repeated_lost_ns, row->lost_ns);
		if (row->again.count == 0)
			continue;
		gp_line_find(recording, row->again.stack, row->again.at_ns, stack, &name);
		row->again.key = strdup(name.key);
		has_memory = row->again.key != NULL;
	}
	free(stack);
	gp_row_table_release(&lines);
	if (!has_memory)
		return GP_E_MEMORY;
	qsort(out->row, out->rows, sizeof *out->row, costliest_first);
	return GP_OK;
}

void gp_waits_free(struct gp_waits *waits)
{
	for (size_t k = 0; k < waits->rows; k++) {
		free(waits->row[k].key);
		free(waits->row[k].again.key);
	}
	free(waits->row);
	*waits = (struct gp_waits){ 0 };
}
