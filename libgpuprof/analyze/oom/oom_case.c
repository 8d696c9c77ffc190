/*
 * One out-of-memory in detail: the state just before it, and the holders of memory since a moment.
 */
#include <stdlib.h>

#include "../../read/file/recording.h"
#include "../../read/tables/array.h"
#include "../frag/frag_rule.h"

#define WINDOW_NS 10000000000

/* ---- holders ---- */

static bool add_use(struct gp_oom_case *c, size_t *room, uint32_t stack, int64_t at_ns,
		    uint8_t space, uint64_t bytes, bool is_now)
{
	if (!gp_array_reserve(&c->use, room, c->uses, 1, sizeof *c->use))
		return false;
	struct gp_use *use = &c->use[c->uses++];
	*use = (struct gp_use){ 0 };
	use->stack = stack;
	use->at_ns = at_ns;
	use->space = space;
	use->without = stack != 0 ? NULL : "no stack was recorded";
	*(is_now ? &use->bytes : &use->live_bytes) = bytes;
	*(is_now ? &use->count : &use->live_count) = 1;
	return true;
}

static bool add_uses(struct gp_oom_case *c, size_t *room, const struct gp_memory *m,
		     unsigned device, bool is_now)
{
	bool is_fine = true;
	for (size_t k = 0; k < m->segments && is_fine; k++) {
		const struct gp_memory_segment *s = &m->segment[k];
		for (size_t i = s->first; i < s->first + s->blocks && is_fine; i++) {
			const struct gp_memory_block *b = &m->block[i];
			if (s->device == device && b->state != GP_STATE_FREE)
				is_fine = add_use(c, room, b->stack, b->at_ns, GP_SPACE_BLOCK,
						  b->bytes, is_now);
		}
	}
	for (size_t k = 0; k < m->outsides && is_fine; k++) {
		const struct gp_memory_outside *o = &m->outside[k];
		if (o->device == device)
			is_fine = add_use(c, room, o->stack, o->at_ns, o->space, o->bytes, is_now);
	}
	return is_fine;
}

static int oom_case_compare(const void *left, const void *right)
{
	const struct gp_use *a = left, *b = right;
	if (a->stack != b->stack)
		return a->stack < b->stack ? -1 : 1;
	if (a->space != b->space)
		return a->space < b->space ? -1 : 1;
	return (a->at_ns > b->at_ns) - (a->at_ns < b->at_ns);
}

static void merge_uses(struct gp_oom_case *c)
{
	size_t kept = 0;
	if (c->uses > 1)
		qsort(c->use, c->uses, sizeof *c->use, oom_case_compare);
	for (size_t k = 0; k < c->uses; k++) {
		struct gp_use *u = &c->use[k], *last = kept != 0 ? &c->use[kept - 1] : NULL;
		if (last == NULL || last->stack != u->stack || last->space != u->space) {
			c->use[kept++] = *u;
			continue;
		}
		last->bytes += u->bytes;
		last->count += u->count;
		last->live_bytes += u->live_bytes;
		last->live_count += u->live_count;
	}
	c->uses = kept;
}

/* The beginning of the window: its own, or the previous out-of-memory. */
static int64_t window_from(const struct gp_ooms *ooms, size_t k, int64_t window_ns)
{
	const struct gp_oom *o = &ooms->oom[k];
	int64_t from = o->at_ns - (window_ns < 0 ? WINDOW_NS : window_ns);
	for (size_t i = 0; window_ns < 0 && i < k; i++) {
		const struct gp_oom *p = &ooms->oom[i];
		if (p->device == o->device && p->at_ns > from && p->at_ns < o->at_ns)
			from = p->at_ns;
	}
	return from;
}

static enum gp_status list_uses(struct gp_recording *r, const struct gp_oom *o,
				struct gp_oom_case *out)
{
	const struct gp_info *info;
	size_t room = 0;
	struct gp_memory then = { 0 };
	enum gp_status status = gp_recording_info(r, &info);
	if (status != GP_OK)
		return status;
	if (out->from_ns < (int64_t)info->kept_from_ns)
		out->from_ns = (int64_t)info->kept_from_ns;
	/* before the first event no memory was live */
	if (out->from_ns > 0) {
		struct gp_moment_of moment = { .when = GP_WHEN_TIME, .at_ns = out->from_ns };
		status = gp_memory_build(r, &moment, &then);
		status = status == GP_END ? GP_OK : status;
	}
	if (status == GP_OK && (!add_uses(out, &room, &out->memory, o->device, true) ||
				!add_uses(out, &room, &then, o->device, false)))
		status = GP_E_MEMORY;
	gp_memory_free(&then);
	merge_uses(out);
	return status;
}

/* ---- the state ---- */

static uint64_t grown(uint64_t now, uint64_t before)
{
	if (now == GP_BYTES_UNKNOWN || before == GP_BYTES_UNKNOWN)
		return GP_BYTES_UNKNOWN;
	return now > before ? now - before : 0;
}

/* The bytes that a new place for the request takes from the driver. */
static uint64_t driver_bytes(const struct gp_oom *o, const struct gp_allocator_settings *settings)
{
	if (!o->is_framework)
		return o->bytes;
	if (!settings->is_expandable)
		return gp_rule_segment(settings, o->bytes);
	uint64_t page = gp_rule_page(settings, o->bytes <= GP_SMALL_MOST);
	return (o->bytes + page - 1) / page * page;
}

/* True: one pool on two streams. */
static bool is_other_stream(const struct gp_arena *a, const struct gp_arena *needed)
{
	return a->is_known && needed->is_known && a->pool == needed->pool &&
	       a->user_pool == needed->user_pool && a->stream != needed->stream;
}

static bool is_better(const struct gp_frag_pool *a, const struct gp_frag_pool *b)
{
	if (b == NULL || a->largest_request_bytes != b->largest_request_bytes)
		return b == NULL || a->largest_request_bytes > b->largest_request_bytes;
	return a->free_bytes > b->free_bytes;
}

/*
 * For pools of its size: the largest request that they serve. For the other pools: the bytes that
 * stay cached.
 */
static void see_pools(const struct gp_oom *o, struct gp_oom_case *c)
{
	const struct gp_frag *f = &c->frag;
	struct gp_oom_facts *out = &c->facts;
	const struct gp_arena *needed = &c->memory.arena[f->home];
	for (size_t k = 0; k < f->pools; k++) {
		const struct gp_frag_pool *p = &f->pool[k];
		const struct gp_arena *a = &c->memory.arena[p->arena];
		bool is_home = p->arena == f->home;
		uint64_t cached = p->free_bytes + p->pending_bytes;
		uint64_t kept = cached > p->releasable_bytes ? cached - p->releasable_bytes : 0;
		if (!is_home && (gp_arena_is_private(a) || (a->is_known && needed->is_known)))
			out->elsewhere_bytes += kept;
		if (p->is_small != (o->bytes <= GP_SMALL_MOST))
			continue;
		if (p->largest_request_bytes > out->largest_any_bytes)
			out->largest_any_bytes = p->largest_request_bytes;
		if (is_home)
			out->largest_bytes = p->largest_request_bytes;
		else if (out->has_arena && is_other_stream(a, needed) && is_better(p, c->other))
			c->other = p;
	}
}

/*
 * The framework gave up without a call of the driver, although the device and the limit had room.
 * So the limit has changed since it was reported.
 */
static void forget_old_limit(struct gp_oom_facts *f)
{
	uint64_t limit = f->limit_bytes, reserved = f->reserved_bytes;
	if (!f->is_framework || f->was_refused || f->free_bytes == GP_BYTES_UNKNOWN ||
	    f->free_bytes < f->driver_bytes)
		return;
	if (limit != GP_BYTES_UNKNOWN && (limit < reserved || limit - reserved < f->limited_bytes))
		return;
	f->is_limit_reported = false;
	f->limit_bytes = GP_BYTES_UNKNOWN;
}

static void gather(const struct gp_oom *o, const struct gp_allocator_settings *settings,
		   struct gp_oom_case *c)
{
	const struct gp_frag *f = &c->frag;
	uint64_t limit = f->device->limit_bytes;
	bool is_of_device = o->space != GP_SPACE_HOST && o->space != GP_SPACE_HOST_REGISTER &&
			    o->space != GP_SPACE_RESERVATION && o->space != GP_SPACE_MANAGED;
	c->facts = (struct gp_oom_facts){
		.is_framework = o->is_framework,
		.is_uncertain = c->memory.is_uncertain,
		.is_of_device = o->is_framework || is_of_device,
		.has_arena = o->arena.is_known,
		.was_refused = o->refusals != 0,
		.is_limit_reported = limit != GP_BYTES_UNKNOWN,
		.bytes = o->bytes,
		.driver_bytes = driver_bytes(o, settings),
		.limited_bytes = o->is_framework ? gp_rule_segment(settings, o->bytes) : o->bytes,
		.free_bytes = f->driver_free_bytes,
		.limit_bytes = limit < f->device->total_bytes ? limit : GP_BYTES_UNKNOWN,
		.reserved_bytes = f->reserved_bytes,
		.allocated_bytes = f->allocated_bytes,
		.releasable_bytes = f->releasable_bytes,
		.other_grown_bytes = grown(o->other_bytes, o->other_before_bytes),
		.outside_grown_bytes = grown(o->outside_bytes, o->outside_before_bytes),
	};
	see_pools(o, c);
	forget_old_limit(&c->facts);
}

static enum gp_status look(struct gp_recording *r, const struct gp_oom *o,
			   const struct gp_allocator_settings *settings, struct gp_oom_case *out)
{
	struct gp_frag_question q = { .settings = settings,
				      .fit_bytes = o->is_framework ? o->bytes : 0 };
	enum gp_status status = gp_oom_memory_build(r, o, &out->memory, &q.arena);
	if (status != GP_OK)
		return status;
	q.has_arena = q.arena != 0;
	status = gp_frag_build(&out->memory, o->device, &q, &out->frag);
	if (status == GP_OK)
		status = gp_owners_build(r, &out->frag, &out->owners);
	if (status != GP_OK)
		return status;
	gather(o, settings, out);
	gp_oom_judge(&out->facts, &out->finding);
	gp_oom_help_list(o, settings, out);
	return list_uses(r, o, out);
}

enum gp_status gp_oom_look(struct gp_recording *recording, const struct gp_ooms *ooms, size_t k,
			   const struct gp_allocator_settings *settings, int64_t window_ns,
			   struct gp_oom_case *out)
{
	*out = (struct gp_oom_case){ .from_ns = window_from(ooms, k, window_ns) };
	return look(recording, &ooms->oom[k], settings, out);
}

void gp_oom_case_free(struct gp_oom_case *c)
{
	gp_frag_free(&c->frag);
	gp_owners_free(&c->owners);
	gp_memory_free(&c->memory);
	free(c->use);
	*c = (struct gp_oom_case){ 0 };
}
