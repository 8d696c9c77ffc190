/* Private pools and captures: a pool is of the one under way when its first segment appeared. */
#include <stdlib.h>

#include "../../read/tables/array.h"
#include "memory_view.h"

static enum gp_status begin_capture(struct gp_captures *c, const struct gp_record *r, int64_t at_ns)
{
	if (!gp_array_reserve(&c->open, &c->open_room, c->opens, 1, sizeof *c->open))
		return GP_E_MEMORY;
	c->open[c->opens++] = (struct gp_capture){ .stream = r->capture_begin.stream,
						   .graph = r->capture_begin.graph,
						   .at_ns = at_ns };
	return GP_OK;
}

static void end_capture(struct gp_captures *c, uint64_t stream)
{
	for (size_t i = 0; i < c->opens; i++)
		if (c->open[i].stream == stream) {
			c->open[i] = c->open[--c->opens];
			return;
		}
}

static enum gp_status note_pool(struct gp_memory_view *v, unsigned number)
{
	const struct gp_record *arena = gp_defined_record(v->recording->meanings, GP_ARENA, number);
	struct gp_captures *c = &v->captures;
	if (arena == NULL || (arena->arena.pool | arena->arena.user_pool) == 0)
		return GP_OK;
	for (size_t i = 0; i < c->origins; i++)
		if (c->origin[i].pool == arena->arena.pool &&
		    c->origin[i].user_pool == arena->arena.user_pool)
			return GP_OK;
	if (!gp_array_reserve(&c->origin, &c->origin_room, c->origins, 1, sizeof *c->origin))
		return GP_E_MEMORY;
	struct gp_pool_origin *origin = &c->origin[c->origins++];
	*origin = (struct gp_pool_origin){ .pool = arena->arena.pool,
					   .user_pool = arena->arena.user_pool,
					   .at_ns = -1 };
	for (size_t i = 0; i < c->opens; i++)
		if (c->open[i].stream == arena->arena.stream) {
			origin->graph = c->open[i].graph;
			origin->at_ns = c->open[i].at_ns;
		}
	return GP_OK;
}

enum gp_status gp_captures_see(struct gp_memory_view *v, const struct gp_record *r, int64_t at_ns)
{
	if (r->kind == GP_CAPTURE_BEGIN)
		return begin_capture(&v->captures, r, at_ns);
	if (r->kind == GP_CAPTURE_END)
		end_capture(&v->captures, r->capture_end.stream);
	else if ((r->kind == GP_SEGMENT_ALLOC || r->kind == GP_SEGMENT_MAP) && r->code != 0 &&
		 r->aux == 0)
		return note_pool(v, r->code);
	return GP_OK;
}

void gp_captures_release(struct gp_captures *c)
{
	free(c->open);
	free(c->origin);
	*c = (struct gp_captures){ 0 };
}

static bool memory_capture_is_of(const struct gp_arena *a, uint64_t pool, uint64_t user_pool)
{
	return a->is_known && a->pool == pool && a->user_pool == user_pool;
}

/* It has memory, and where its first segment appeared was not seen. */
static bool is_unseen(const struct gp_memory_view *v, uint64_t pool, uint64_t user_pool)
{
	const struct gp_captures *c = &v->captures;
	for (size_t k = 0; k < c->origins; k++)
		if (c->origin[k].pool == pool && c->origin[k].user_pool == user_pool)
			return false;
	for (size_t i = 1; i < v->out->arenas; i++)
		if (memory_capture_is_of(&v->out->arena[i], pool, user_pool))
			return true;
	return false;
}

/*
 * When the first stream of such pools was defined, whether it has memory still or not; false: each
 * was seen.
 */
static bool find_unseen(const struct gp_memory_view *v, int64_t *from_ns)
{
	bool is_found = false, has_private = false;
	for (size_t i = 1; i < v->out->arenas; i++)
		has_private |= (v->out->arena[i].pool | v->out->arena[i].user_pool) != 0;
	for (unsigned number = 1; number <= UINT16_MAX && has_private; number++) {
		const struct gp_record *r =
			gp_defined_record(v->recording->meanings, GP_ARENA, number);
		if (r == NULL || (r->arena.pool | r->arena.user_pool) == 0 ||
		    !is_unseen(v, r->arena.pool, r->arena.user_pool))
			continue;
		int64_t at_ns = gp_tick_ns(&v->recording->tick, r->time);
		*from_ns = !is_found || at_ns < *from_ns ? at_ns : *from_ns;
		is_found = true;
	}
	return is_found;
}

static void memory_capture_fill(struct gp_memory_view *v)
{
	const struct gp_captures *c = &v->captures;
	for (size_t i = 1; i < v->out->arenas; i++) {
		struct gp_arena *a = &v->out->arena[i];
		for (size_t k = 0; k < c->origins; k++)
			if (memory_capture_is_of(a, c->origin[k].pool, c->origin[k].user_pool)) {
				a->graph = c->origin[k].graph;
				a->captured_at_ns = c->origin[k].at_ns;
			}
	}
}

/* A capture may have begun in the segment before the one in which its pool did. */
enum gp_status gp_captures_search(struct gp_memory_view *v)
{
	struct gp_recording *r = v->recording;
	size_t at = r->segment;
	int64_t from_ns = 0, ignored;
	enum gp_status status = GP_OK;
	if (find_unseen(v, &from_ns)) {
		size_t from = gp_segment_by_time(r, from_ns);
		gp_captures_release(&v->captures);
		for (size_t i = from - (from > 0); i <= at && i < r->index.segments; i++) {
			const struct gp_record *record;
			uint32_t thread;
			status = gp_merge_begin(r->merge, i);
			while (status == GP_OK &&
			       (record = gp_merge_next(r->merge, &thread)) != NULL)
				status = gp_captures_see(v, record,
							 gp_tick_ns(&r->tick, record->time));
			if (status != GP_OK || !find_unseen(v, &ignored))
				break;
		}
	}
	memory_capture_fill(v);
	return status;
}
