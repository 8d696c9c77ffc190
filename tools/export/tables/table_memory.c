/*
 * Lives are written in the order of their ends, as the library hands them out. Their groups come
 * after the last one, when texts are known.
 */
#include "table_memory.h"

#include "../../io/message.h"

static const char *const of_names[] = {
	[GP_LIVES_OF_BLOCK] = "block",	     [GP_LIVES_OF_SEGMENT] = "segment",
	[GP_LIVES_OF_DRIVER] = "driver",     [GP_LIVES_OF_PINNED] = "pinned",
	[GP_LIVES_OF_UNMAPPED] = "unmapped", [GP_LIVES_OF_PENDING] = "pending",
};

struct memory_rows {
	const struct gp_export *e;
	struct gp_rows *rows;
};

static enum gp_status life_write(void *context, const struct gp_lives_life *life)
{
	struct memory_rows *m = context;
	struct gp_rows *rows = m->rows;
	if (!life)
		return rows->sink->lives_void(rows->sink);
	if (life->from_ns > m->e->to_ns || (!life->is_live && life->to_ns < m->e->from_ns))
		return GP_OK;
	if (m->e->device != GP_DEVICE_UNKNOWN && life->device != m->e->device)
		return GP_OK;
	gp_row_begin(rows, GP_TABLE_lives);
	gp_row_number(rows, life->number);
	gp_row_signed(rows, life->from_ns);
	gp_row_signed_if(rows, !life->is_live, life->to_ns);
	gp_row_number(rows, life->bytes);
	gp_row_number_if(rows, life->requested_bytes != GP_BYTES_UNKNOWN, life->requested_bytes);
	gp_row_number(rows, life->address);
	gp_row_number(rows, life->order);
	gp_row_number(rows, life->from_order);
	gp_row_number_if(rows, !life->is_live, life->to_order);
	gp_row_end(rows);
	return rows->status;
}

static const char *group_text(const struct gp_lives *lives, uint32_t number)
{
	return number ? lives->text[number] : NULL;
}

static void group_write(struct memory_rows *m, const struct gp_lives *lives, size_t number,
			struct gp_table_stacks *stacks)
{
	struct gp_rows *rows = m->rows;
	const struct gp_lives_number *n = &lives->number[number];
	const struct gp_lives_group *g = &lives->group[n->group];
	if (m->e->device != GP_DEVICE_UNKNOWN && g->device != m->e->device)
		return;
	const uint32_t stack = gp_table_stacks_find(stacks, n->stack, n->stack_at_ns);
	gp_row_begin(rows, GP_TABLE_groups);
	gp_row_number(rows, number);
	gp_row_device(rows, g->device);
	gp_row_text(rows, of_names[g->of]);
	gp_row_number(rows, g->is_part);
	gp_row_text(rows, group_text(lives, g->pool));
	gp_row_text(rows, group_text(lives, g->role));
	gp_row_text(rows, group_text(lives, g->phase));
	gp_row_text(rows, group_text(lives, g->line));
	gp_row_text(rows, group_text(lives, g->operator));
	gp_row_text(rows, group_text(lives, g->module));
	gp_row_text(rows, group_text(lives, g->library));
	gp_row_text(rows, group_text(lives, g->range));
	gp_row_number_if(rows, stack != 0, stack);
	gp_row_text(rows, n->without);
	gp_row_end(rows);
}

void gp_table_memory_write(struct gp_export *e, struct gp_rows *rows,
			   struct gp_table_stacks *stacks)
{
	struct memory_rows m = { e, rows };
	const struct gp_lives_sink sink = { .context = &m, .life = life_write };
	struct gp_lives lives;
	if (!gp_rows_want(rows, GP_TABLE_lives) && !gp_rows_want(rows, GP_TABLE_groups))
		return;
	const enum gp_status status = gp_lives_build(e->recording, NULL, &sink, &lives);
	if (!rows->status)
		rows->status = status;
	for (size_t k = 0; k < lives.numbers && !rows->status; k++)
		group_write(&m, &lives, k, stacks);
	gp_lives_free(&lives);
}
