/* The live set at a moment as rows of one size, from the state that gp_memory_build makes. */
#include <stdlib.h>

#include "../../gpuprof_batch.h"
#include "../../gpuprof_roles.h"
#include "../../read/file/replay_places.h"

#define NO_ROLE UINT8_MAX

static void arena_fill(const struct gp_memory *m, size_t arena, struct gp_live_row *row)
{
	const struct gp_arena *a = &m->arena[arena];
	row->has_arena = a->is_known;
	row->stream = a->stream;
	row->pool = a->pool;
	row->user_pool = a->user_pool;
}

static size_t segment_rows(const struct gp_memory *m, const struct gp_memory_segment *s,
			   bool has_roles, struct gp_live_row *row, size_t at)
{
	const size_t own = at++;
	row[own] = (struct gp_live_row){
		.address = s->address,
		.bytes = s->bytes,
		.requested_bytes = GP_BYTES_UNKNOWN,
		.at_ns = s->at_ns,
		.segment = GP_ROW_NO_SEGMENT,
		.stack = s->stack,
		.device = (uint8_t)s->device,
		.is = GP_ROW_SEGMENT,
		.role = NO_ROLE,
		.is_expandable = s->is_expandable,
		.is_small = s->is_small,
	};
	arena_fill(m, s->arena, &row[own]);
	for (size_t k = s->first; k < s->first + s->blocks; k++) {
		const struct gp_memory_block *b = &m->block[k];
		if (b->state == GP_STATE_FREE)
			continue;
		row[at] = (struct gp_live_row){
			.address = b->address,
			.bytes = b->bytes,
			.requested_bytes = b->requested_bytes,
			.at_ns = b->at_ns,
			.order = b->order,
			.segment = own,
			.stack = b->stack,
			.device = (uint8_t)s->device,
			.is = GP_ROW_BLOCK,
			.state = (uint8_t)b->state,
			.rule = b->rule,
			.role = has_roles ? (uint8_t)gp_role_rule(b->rule)->role : NO_ROLE,
		};
		arena_fill(m, s->arena, &row[at++]);
	}
	return at;
}

static struct gp_live_row outside_row(const struct gp_memory_outside *o)
{
	return (struct gp_live_row){
		.address = o->address,
		.bytes = o->bytes,
		.requested_bytes = GP_BYTES_UNKNOWN,
		.at_ns = o->at_ns,
		.segment = GP_ROW_NO_SEGMENT,
		.stack = o->stack,
		.device = (uint8_t)o->device,
		.is = GP_ROW_OUTSIDE,
		.space = o->space,
		.role = NO_ROLE,
	};
}

enum gp_status gp_live_rows_build(struct gp_recording *recording, const struct gp_moment_of *moment,
				  bool has_roles, struct gp_live_rows *out)
{
	struct gp_memory m;
	*out = (struct gp_live_rows){ 0 };
	if (!gp_places_begin(recording))
		return GP_E_MEMORY;
	enum gp_status status = gp_memory_build(recording, moment, &m);
	gp_places_end(recording);
	if (status != GP_OK)
		return status;
	if (has_roles)
		status = gp_memory_find_roles(recording, &m);
	const size_t most = m.segments + m.blocks + m.outsides;
	if (status == GP_OK && (out->row = malloc((most + 1) * sizeof *out->row)) == NULL)
		status = GP_E_MEMORY;
	if (status == GP_OK) {
		size_t at = 0;
		for (size_t k = 0; k < m.segments; k++)
			at = segment_rows(&m, &m.segment[k], has_roles, out->row, at);
		for (size_t k = 0; k < m.outsides; k++)
			out->row[at++] = outside_row(&m.outside[k]);
		out->rows = at;
		out->at_ns = m.at_ns;
		out->order = m.order;
		out->is_uncertain = m.is_uncertain;
		out->has_allocator_details = m.has_allocator_details;
		out->caveat = m.caveat;
		m.caveat = NULL;
	}
	gp_memory_free(&m);
	return status;
}

void gp_live_rows_free(struct gp_live_rows *rows)
{
	free(rows->row);
	free(rows->caveat);
	*rows = (struct gp_live_rows){ 0 };
}
