/*
 * Private pools and captures: a pool belongs to the capture that was active when its first segment
 * appeared.
 */
#include <stdlib.h>

#include "../../read/tables/array.h"
#include "memory_view.h"

/* A private pool, and the capture that was active when its first segment appeared. */
struct pool_origin {
	uint64_t pool, user_pool;
	uint64_t graph;
	int64_t at_ns; /* -1: there was none */
};
struct capture {
	uint64_t stream, graph;
	int64_t at_ns;
};
struct captures {
	struct capture *open;
	size_t opens, open_room;
	struct pool_origin *origin;
	size_t origins;
};

static enum gp_status begin_capture(struct captures *c, const struct gp_record *r, int64_t at_ns)
{
	if (!gp_array_reserve(&c->open, &c->open_room, c->opens, 1, sizeof *c->open))
		return GP_E_MEMORY;
	c->open[c->opens++] = (struct capture){ .stream = r->capture_begin.stream,
						.graph = r->capture_begin.graph,
						.at_ns = at_ns };
	return GP_OK;
}

static void end_capture(struct captures *c, uint64_t stream)
{
	for (size_t i = 0; i < c->opens; i++)
		if (c->open[i].stream == stream) {
			c->open[i] = c->open[--c->opens];
			return;
		}
}

static bool is_of(const struct gp_arena *a, uint64_t pool, uint64_t user_pool)
{
	return a->is_known && a->pool == pool && a->user_pool == user_pool;
}

static enum gp_status note_pool(const struct gp_memory_view *v, struct captures *c, unsigned number)
{
	const struct gp_arena arena = gp_memory_arena(v->recording, number);
	if ((arena.pool | arena.user_pool) == 0)
		return GP_OK;
	for (size_t i = 0; i < c->origins; i++)
		if (is_of(&arena, c->origin[i].pool, c->origin[i].user_pool))
			return GP_OK;
	struct pool_origin *origin = gp_array_append(&c->origin, &c->origins, sizeof *origin);
	if (origin == NULL)
		return GP_E_MEMORY;
	*origin = (struct pool_origin){ .pool = arena.pool,
					.user_pool = arena.user_pool,
					.at_ns = -1 };
	for (size_t i = 0; i < c->opens; i++)
		if (c->open[i].stream == arena.stream) {
			origin->graph = c->open[i].graph;
			origin->at_ns = c->open[i].at_ns;
		}
	return GP_OK;
}

static enum gp_status see(const struct gp_memory_view *v, struct captures *c,
			  const struct gp_record *r, int64_t at_ns)
{
	if (r->kind == GP_CAPTURE_BEGIN)
		return begin_capture(c, r, at_ns);
	if (r->kind == GP_CAPTURE_END)
		end_capture(c, r->capture_end.stream);
	else if ((r->kind == GP_SEGMENT_ALLOC || r->kind == GP_SEGMENT_MAP) && r->code != 0 &&
		 r->aux == 0)
		return note_pool(v, c, r->code);
	return GP_OK;
}

/*
 * The time at which the first stream of a private pool with memory was defined; false: there is
 * none.
 */
static bool find_private(const struct gp_memory_view *v, int64_t *from_ns)
{
	bool is_found = false;
	for (unsigned number = 1; number <= UINT16_MAX && v->out->arenas > 1; number++) {
		const struct gp_record *r =
			gp_defined_record(v->recording->definitions, GP_ARENA, number);
		bool is_there = false;
		for (size_t i = 1; r != NULL && i < v->out->arenas; i++)
			is_there |= is_of(&v->out->arena[i], r->arena.pool, r->arena.user_pool);
		if (!is_there || (r->arena.pool | r->arena.user_pool) == 0)
			continue;
		int64_t at_ns = gp_tick_ns(&v->recording->tick, r->time);
		*from_ns = !is_found || at_ns < *from_ns ? at_ns : *from_ns;
		is_found = true;
	}
	return is_found;
}

static void write_arenas(const struct gp_memory_view *v, const struct captures *c)
{
	for (size_t i = 1; i < v->out->arenas; i++) {
		struct gp_arena *a = &v->out->arena[i];
		for (size_t k = 0; k < c->origins; k++)
			if (is_of(a, c->origin[k].pool, c->origin[k].user_pool)) {
				a->graph = c->origin[k].graph;
				a->captured_at_ns = c->origin[k].at_ns;
			}
	}
}

/* A capture may begin one segment before the segment in which its pool begins. */
enum gp_status gp_memory_find_captures(struct gp_memory_view *v)
{
	struct gp_recording *r = v->recording;
	struct captures c = { 0 };
	int64_t from_ns = 0;
	enum gp_status status = GP_OK;
	if (!find_private(v, &from_ns))
		return GP_OK;
	size_t from = gp_segment_by_time(r, from_ns), at = r->segment;
	for (size_t i = from - (from > 0); i <= at && i < r->index.segments; i++) {
		const struct gp_record *record;
		uint32_t thread;
		status = gp_merge_begin(r->merge, i);
		while (status == GP_OK && (record = gp_merge_next(r->merge, &thread)) != NULL)
			status = see(v, &c, record, gp_tick_ns(&r->tick, record->time));
		if (status != GP_OK)
			break;
	}
	write_arenas(v, &c);
	free(c.open);
	free(c.origin);
	return status;
}
