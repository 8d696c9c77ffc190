/*
 * To the moment that is asked for, event by event, with an eye on captures: a private pool belongs
 * to the one under way when its first segment appeared.
 */
#include <stdlib.h>

#include "memory_view.h"

#define CUDA_ERROR_OUT_OF_MEMORY 2u

struct way {
	struct gp_memory_view *view;
	const struct gp_moment_of *moment;
	uint64_t met;	   /* OOM, SNAPSHOT: so far */
	bool is_there;	   /* a moment that an event marks was met */
	int64_t marked_ns; /* of that event */
};

static bool is_out_of_memory(const struct gp_record *r)
{
	return r->kind == GP_OOM ||
	       (r->kind == GP_ALLOC_FAILED && r->code == CUDA_ERROR_OUT_OF_MEMORY);
}

static bool is_marked(struct way *w, bool is_kind)
{
	w->is_there |= is_kind && w->met == w->moment->number;
	w->met += is_kind;
	return w->is_there;
}

/* Does the way end before this event? */
static bool is_over(struct way *w, const struct gp_record *r, int64_t at_ns)
{
	bool is_memory = r->kind < GP_KINDS && gp_event_infos[r->kind].class == GP_CLASS_MEMORY;
	switch (w->moment->when) {
	case GP_WHEN_TIME:
		return at_ns > w->moment->at_ns;
	case GP_WHEN_ORDER:
		w->is_there |= is_memory && r->order >= w->moment->number;
		break;
	case GP_WHEN_OOM:
		is_marked(w, is_out_of_memory(r));
		break;
	case GP_WHEN_SNAPSHOT:
		is_marked(w, r->kind == GP_SNAPSHOT);
		break;
	case GP_WHEN_END:
	case GP_WHEN_PEAK:
		break;
	}
	w->marked_ns = at_ns;
	return w->is_there;
}

/* ---- captures ---- */

static enum gp_status begin_capture(struct gp_captures *c, const struct gp_record *r, int64_t at_ns)
{
	struct gp_capture *grown = gp_array_grow(c->open, c->opens, &c->open_room, sizeof *grown);
	if (grown == NULL)
		return GP_E_MEMORY;
	c->open = grown;
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
	const struct gp_record *arena =
		gp_meanings_record(v->recording->meanings, GP_ARENA, number);
	struct gp_captures *c = &v->captures;
	if (arena == NULL || (arena->arena.pool | arena->arena.user_pool) == 0)
		return GP_OK;
	for (size_t i = 0; i < c->origins; i++)
		if (c->origin[i].pool == arena->arena.pool &&
		    c->origin[i].user_pool == arena->arena.user_pool)
			return GP_OK;
	struct gp_pool_origin *grown =
		gp_array_grow(c->origin, c->origins, &c->origin_room, sizeof *grown);
	if (grown == NULL)
		return GP_E_MEMORY;
	c->origin = grown;
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

static enum gp_status see_capture(struct gp_memory_view *v, const struct gp_record *r,
				  int64_t at_ns)
{
	if (r->kind == GP_CAPTURE_BEGIN)
		return begin_capture(&v->captures, r, at_ns);
	if (r->kind == GP_CAPTURE_END)
		end_capture(&v->captures, r->capture_end.stream);
	else if ((r->kind == GP_SEGMENT_ALLOC || r->kind == GP_SEGMENT_MAP) && r->code != 0)
		return note_pool(v, r->code);
	return GP_OK;
}

static enum gp_status go(struct way *w)
{
	struct gp_recording *r = w->view->recording;
	enum gp_status status = gp_recording_rewind(r);
	int64_t at_ns = 0;
	while (status == GP_OK) {
		uint32_t thread;
		const struct gp_record *record = gp_recording_fetch(r, &thread, &status);
		if (record == NULL)
			break;
		int64_t now_ns = gp_tick_ns(&r->tick, record->time);
		if (is_over(w, record, now_ns))
			break;
		at_ns = now_ns;
		status = gp_recording_apply(r, record);
		if (status == GP_OK)
			status = see_capture(w->view, record, now_ns);
	}
	bool is_mark = w->moment->when != GP_WHEN_END && w->moment->when != GP_WHEN_TIME;
	if (status != GP_OK && status != GP_END)
		return status;
	if (is_mark && !w->is_there)
		return GP_END;
	w->view->out->at_ns = w->is_there ? w->marked_ns : at_ns;
	if (w->moment->when == GP_WHEN_TIME)
		w->view->out->at_ns = w->moment->at_ns;
	uint64_t newest = gp_live_count(r->live, GP_COUNT_NEWEST_ORDER);
	w->view->out->order = newest + 1;
	return GP_OK;
}

enum gp_status gp_memory_reach(struct gp_memory_view *v, const struct gp_moment_of *moment)
{
	struct way w = { .view = v, .moment = moment };
	return go(&w);
}
