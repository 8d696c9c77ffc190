/*
 * Private pools and captures: a pool belongs to the first capture that allocated in it. A warm-up
 * may have made its segments before, as in torch.compile.
 */
#include <stdlib.h>
#include <string.h>

#include "../../read/tables/array.h"
#include "memory_view.h"

/* A private pool, and the first capture that allocated in it. */
struct pool_origin {
	uint64_t pool, user_pool;
	uint64_t graph;
	int64_t at_ns; /* -1: none so far */
};
struct capture {
	uint64_t stream, graph;
	int64_t at_ns;
};
/* A process captures on few streams at once. Beyond this number the oldest capture is given up. */
#define CAPTURES_MOST 64u
struct captures {
	struct capture open[CAPTURES_MOST]; /* oldest first */
	size_t opens;
	struct pool_origin *origin;
	size_t origins;
	uint32_t of_arena[UINT16_MAX + 1]; /* 1 + index of its origin; 0: not known yet */
};

static void remove_capture(struct captures *c, size_t at)
{
	c->opens--;
	memmove(&c->open[at], &c->open[at + 1], (c->opens - at) * sizeof c->open[0]);
}

static void begin_capture(struct captures *c, const struct gp_record *r, int64_t at_ns)
{
	if (c->opens == CAPTURES_MOST)
		remove_capture(c, 0);
	c->open[c->opens++] = (struct capture){ .stream = r->capture_begin.stream,
						.graph = r->capture_begin.graph,
						.at_ns = at_ns };
}

static void end_capture(struct captures *c, uint64_t stream)
{
	for (size_t i = 0; i < c->opens; i++)
		if (c->open[i].stream == stream) {
			remove_capture(c, i);
			return;
		}
}

static bool is_of(const struct gp_arena *a, uint64_t pool, uint64_t user_pool)
{
	return a->is_known && a->pool == pool && a->user_pool == user_pool;
}

/* The origin of the arena's private pool; NULL: out of memory. */
static struct pool_origin *origin_get(struct captures *c, unsigned number,
				      const struct gp_arena *arena)
{
	for (size_t i = 0; i < c->origins && c->of_arena[number] == 0; i++)
		if (is_of(arena, c->origin[i].pool, c->origin[i].user_pool))
			c->of_arena[number] = (uint32_t)i + 1;
	if (c->of_arena[number] != 0)
		return &c->origin[c->of_arena[number] - 1];
	struct pool_origin *origin = gp_array_append(&c->origin, &c->origins, sizeof *origin);
	if (origin == NULL)
		return NULL;
	*origin = (struct pool_origin){ .pool = arena->pool,
					.user_pool = arena->user_pool,
					.at_ns = -1 };
	c->of_arena[number] = (uint32_t)c->origins;
	return origin;
}

/* A capture that is under way may have allocated in the arena. */
static enum gp_status note_pool(const struct gp_memory_view *v, struct captures *c, unsigned number)
{
	const struct gp_arena arena = gp_memory_arena(v->recording, number);
	if ((arena.pool | arena.user_pool) == 0)
		return GP_OK;
	struct pool_origin *origin = origin_get(c, number, &arena);
	if (origin == NULL)
		return GP_E_MEMORY;
	for (size_t i = 0; i < c->opens && origin->at_ns < 0; i++)
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
		begin_capture(c, r, at_ns);
	else if (r->kind == GP_CAPTURE_END)
		end_capture(c, r->capture_end.stream);
	else if ((r->kind == GP_BLOCK_ALLOC ||
		  ((r->kind == GP_SEGMENT_ALLOC || r->kind == GP_SEGMENT_MAP) && r->aux == 0)) &&
		 r->code != 0 && c->opens != 0)
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
	int64_t from_ns = 0;
	enum gp_status status = GP_OK;
	if (!find_private(v, &from_ns))
		return GP_OK;
	struct captures *c = calloc(1, sizeof *c);
	if (c == NULL)
		return GP_E_MEMORY;
	size_t from = gp_segment_by_time(r, from_ns), at = r->segment;
	for (size_t i = from - (from > 0); i <= at && i < r->index.segments; i++) {
		const struct gp_record *record;
		uint32_t thread;
		status = gp_merge_begin(r->merge, i);
		while (status == GP_OK && (record = gp_merge_next(r->merge, &thread)) != NULL)
			status = see(v, c, record, gp_tick_ns(&r->tick, record->time));
		if (status != GP_OK)
			break;
	}
	write_arenas(v, c);
	free(c->origin);
	free(c);
	return status;
}
