/*
 * Phases, in one replay. The curve's steps, launches and the ends of ranges are counted for the
 * range that they belong to. The retained bytes of a call and its highest value are known when it
 * ends. An earlier replay finds unnamed forwards, or the ranges that frames show instead.
 */
#include <stdlib.h>
#include <string.h>

#include "../kept.h"
#include "phase.h"
#include "phase_calls.h"
#include "phase_follow.h"
#include "phase_high.h"
#include "phase_tree.h"

/*
 * A started range, which is outside of the tree of calls: the counts at its beginning. In the
 * range's mark, the lower half is its call, the upper half its place here.
 */
struct started {
	struct gp_phase before; /* bytes and launches */
	uint64_t births;
	uint32_t free; /* 1 + the next free place */
};
#define STARTED_BITS 32u

struct counting {
	struct gp_recording *recording;
	struct gp_phases_options requested;
	enum gp_curve of;
	struct gp_phases *out;
	struct gp_phase_follow follow;
	struct gp_range_watch watch;
	struct gp_phase_tree tree;
	struct gp_phase_calls calls;
	struct gp_high high;
	struct started started[GP_RANGES_STARTED];
	uint32_t starts; /* places [0, starts) were used at least once */
	uint32_t free;	 /* 1 + the first free place */
	uint64_t now_bytes[GP_DEVICES], total_bytes;
	uint64_t before_bytes;	     /* all bytes before the event */
	struct gp_phase sums;	     /* since the start of the interval */
	size_t loaded;		     /* the segment of the checkpoint that the state is from */
	uint32_t outside, ambiguous; /* calls of the whole interval; 0: not needed yet */
	uint64_t opens;		     /* open nested ranges on all threads */
	uint64_t between_bytes;	     /* the highest value while none was open */
	uint64_t since;		     /* number of the curve's value at the start of the interval */
	bool is_inside, is_over;     /* the event under way: within the interval; behind it */
	struct gp_moved moved;
	int64_t end_ns; /* the end of the interval, once it is over */
	bool is_out_of_memory;
};

static bool phase_is_selected(const struct counting *c, unsigned device)
{
	return c->requested.device == GP_DEVICE_UNKNOWN || device == c->requested.device;
}

/* ---- ranges ---- */

static struct gp_phase_node *node_of(struct counting *c, uint32_t call)
{
	return gp_phase_node_at(&c->tree, c->calls.call[call].node);
}

/*
 * False: work outside of ranges, or for one of several threads. Ranges are open at the
 * same time, so the peak of such a node counts only its own events.
 */
static bool is_range(const struct gp_phase_node *node)
{
	return node->style != GP_PHASE_OUTSIDE && node->style != GP_PHASE_AMBIGUOUS;
}

static void note_high(struct gp_phase_node *node, uint64_t bytes)
{
	if (bytes > node->own.peak_bytes)
		node->own.peak_bytes = bytes;
}

static uint32_t begin_call(struct counting *c, uint32_t up, const struct gp_open_range *range,
			   enum gp_phase_style style)
{
	uint32_t node = gp_phase_tree_get(&c->tree, up != 0 ? c->calls.call[up].node : 0,
					  range->name, range->domain, range->source, style);
	uint32_t call = node != 0 ? gp_phase_call_begin(&c->calls, node, up) : 0;
	c->is_out_of_memory |= call == 0;
	if (call == 0)
		return 0;
	c->calls.call[call].from_ns = gp_tick_ns(&c->recording->tick, range->time);
	c->calls.call[call].since = c->high.number;
	c->calls.call[call].is_nested = style == GP_PHASE_NESTED;
	c->opens += style == GP_PHASE_NESTED;
	return call;
}

/*
 * The call for events outside of ranges, or of ambiguous ranges. It lasts as long as the interval.
 */
static uint32_t call_of_style(struct counting *c, enum gp_phase_style style)
{
	uint32_t *call = style == GP_PHASE_OUTSIDE ? &c->outside : &c->ambiguous;
	if (*call == 0)
		*call = begin_call(c, 0, &(struct gp_open_range){ 0 }, style);
	return *call;
}

/* Returns 1 + its place. */
static uint64_t begin_started(struct counting *c)
{
	uint32_t place = c->free;
	if (place != 0)
		c->free = c->started[place - 1].free;
	else if (c->starts < GP_RANGES_STARTED)
		place = ++c->starts;
	else
		return 0;
	c->started[place - 1] = (struct started){ c->sums, c->calls.number, 0 };
	return place;
}

static void see_opened(void *context, struct gp_open_range *range,
		       const struct gp_range_stack *stack)
{
	struct counting *c = context;
	if (stack == NULL && range->source != GP_RANGE_DERIVED) {
		range->mark = begin_call(c, 0, range, GP_PHASE_STARTED);
		if (range->mark != 0)
			range->mark |= begin_started(c) << STARTED_BITS;
		return;
	}
	bool is_ambiguous;
	uint32_t up = (uint32_t)gp_phase_follow_up(&c->follow, range, &is_ambiguous);
	if (is_ambiguous)
		up = call_of_style(c, GP_PHASE_AMBIGUOUS);
	range->mark = begin_call(c, up, range, GP_PHASE_NESTED);
}

static int64_t clipped_from(const struct counting *c, const struct gp_phase_call *call)
{
	return call->from_ns > c->requested.from_ns ? call->from_ns : c->requested.from_ns;
}

static uint64_t clipped_ns(const struct counting *c, const struct gp_phase_call *call,
			   int64_t to_ns)
{
	int64_t from_ns = clipped_from(c, call);
	return to_ns > from_ns ? (uint64_t)to_ns - (uint64_t)from_ns : 0;
}

/*
 * True: most of the call lies after the warm-up. A step begins with a launch, its ranges a little
 * earlier.
 */
static bool is_steady(const struct counting *c, const struct gp_phase_call *call, int64_t to_ns)
{
	return clipped_from(c, call) / 2 + to_ns / 2 >= c->requested.warm_ns;
}

/* Ends a call, at its own end or at that of the interval. */
static void finish_call(struct counting *c, uint32_t number, int64_t at_ns)
{
	const struct gp_phase_call call = c->calls.call[number];
	struct gp_phase_node *node = node_of(c, number);
	uint64_t left = gp_phase_call_end(&c->calls, number);
	c->opens -= call.is_nested;
	if (!c->is_inside)
		return;
	node->own.retained_bytes += left;
	if (!is_range(node))
		return;
	gp_phase_node_add(node, clipped_ns(c, &call, at_ns), is_steady(c, &call, at_ns));
	*(node->source == GP_RANGE_DERIVED ? &c->out->forwards : &c->out->ranges) += 1;
	note_high(node, gp_high_since(&c->high, call.since > c->since ? call.since : c->since));
	if (call.up != 0 && !is_range(node_of(c, call.up)))
		note_high(node_of(c, call.up), node->own.peak_bytes);
}

/* Started ranges count all threads: the difference to the counts at their beginning. */
static void finish_started(struct counting *c, uint64_t mark, int64_t at_ns)
{
	const uint32_t call = (uint32_t)mark, place = (uint32_t)(mark >> STARTED_BITS);
	struct gp_phase_node *node = node_of(c, call);
	if (place != 0) {
		struct started *s = &c->started[place - 1];
		node->own.allocated_bytes += c->sums.allocated_bytes - s->before.allocated_bytes;
		node->own.freed_bytes += c->sums.freed_bytes - s->before.freed_bytes;
		node->own.launches += c->sums.launches - s->before.launches;
		node->own.captured_launches +=
			c->sums.captured_launches - s->before.captured_launches;
		node->own.graph_launches += c->sums.graph_launches - s->before.graph_launches;
		node->own.retained_bytes += gp_phase_calls_born_since(&c->calls, s->births);
		s->free = c->free;
		c->free = place;
	}
	finish_call(c, call, at_ns);
}

static void finish_range(struct counting *c, const struct gp_open_range *range, int64_t at_ns)
{
	if (range->mark != 0 && range->number != 0)
		finish_started(c, range->mark, at_ns);
	else if (range->mark != 0)
		finish_call(c, (uint32_t)range->mark, at_ns);
}

static void see_closed(void *context, const struct gp_open_range *range, enum gp_range_end how,
		       const struct gp_record *by)
{
	struct counting *c = context;
	(void)how;
	finish_range(c, range, gp_tick_ns(&c->recording->tick, by->time));
}

/* ---- events ---- */

/* The node that counts the thread's current events. */
static struct gp_phase_node *node_of_thread(struct counting *c, uint32_t thread, uint32_t *call)
{
	bool is_ambiguous;
	*call = (uint32_t)gp_phase_follow_mark(&c->follow, thread, &is_ambiguous);
	if (*call == 0)
		*call = call_of_style(c, is_ambiguous ? GP_PHASE_AMBIGUOUS : GP_PHASE_OUTSIDE);
	struct gp_phase_node *node = *call != 0 ? node_of(c, *call) : NULL;
	if (node != NULL && !is_range(node)) {
		note_high(node, c->before_bytes);
		note_high(node, c->total_bytes);
	}
	return node;
}

/* Notes the highest value while no range is open, whatever thread the event is of. */
static void see_between(struct counting *c)
{
	if (c->is_inside && c->opens == 0 && c->total_bytes > c->between_bytes)
		c->between_bytes = c->total_bytes;
}

static bool is_counted_alloc(const struct counting *c, const struct gp_record *r)
{
	if (c->of == GP_CURVE_ALLOCATED || r->kind == GP_BLOCK_ALLOC)
		return c->of == GP_CURVE_ALLOCATED && r->kind == GP_BLOCK_ALLOC;
	return r->kind == GP_ALLOC &&
	       gp_live_is_driver(&(struct gp_live_entry){
		       .space = r->space, .flags = (uint16_t)(r->aux & ~GP_LIVE_FLAGS) });
}

/* Call it before the event is applied. */
static void end_birth(struct counting *c, const struct gp_record *r)
{
	const struct gp_live_entry *e = gp_live_ended_by(c->recording->live, r);
	if (e != NULL)
		gp_phase_calls_dead(&c->calls, e->space, e->address);
}

static void begin_birth(struct counting *c, const struct gp_record *r, uint32_t call)
{
	const bool is_block = r->kind == GP_BLOCK_ALLOC;
	const struct gp_phase_birth birth = {
		.address = is_block ? r->block_alloc.address : r->alloc.address,
		.bytes = is_block ? r->block_alloc.bytes : r->alloc.bytes,
		.call = call,
		.space = is_block ? GP_SPACE_BLOCK : r->space,
		.device = r->device,
	};
	c->is_out_of_memory |= !gp_phase_calls_born(&c->calls, &birth);
}

/* By how much the curves of the selected devices rose and fell since the last call. */
static void take_steps(struct counting *c, uint64_t *up, uint64_t *down)
{
	*up = *down = 0;
	c->before_bytes = c->total_bytes;
	for (uint64_t moved = gp_moved_take(&c->moved); moved != 0; moved &= moved - 1) {
		unsigned device = (unsigned)__builtin_ctzll(moved);
		uint64_t now = gp_live_device(c->recording->live, device)->curve[c->of].now_bytes;
		uint64_t before = c->now_bytes[device];
		c->now_bytes[device] = now;
		if (!phase_is_selected(c, device) || now == before)
			continue;
		c->total_bytes += now - before;
		*(now > before ? up : down) += now > before ? now - before : before - now;
	}
	if (*up != 0 || *down != 0)
		c->is_out_of_memory |= !gp_high_put(&c->high, c->total_bytes);
}

static void add_steps(struct gp_phase *to, const struct gp_record *r, uint64_t up, uint64_t down)
{
	/* a free that the driver refused does not count */
	if (r->kind == GP_FREE_FAILED || r->kind == GP_UNMAP_FAILED)
		to->freed_bytes -= up < to->freed_bytes ? up : to->freed_bytes;
	else
		to->allocated_bytes += up;
	to->freed_bytes += down;
}

static void add_launch(struct gp_phase *to, enum gp_launched launched)
{
	to->launches += launched == GP_LAUNCHED_KERNEL;
	to->captured_launches += launched == GP_LAUNCHED_CAPTURED;
	to->graph_launches += launched == GP_LAUNCHED_GRAPH;
}

static void add_mark(struct counting *c, const struct gp_record *r, uint32_t thread)
{
	uint32_t call;
	const struct gp_phase_node *above = node_of_thread(c, thread, &call);
	uint32_t up =
		above == NULL || above->style == GP_PHASE_OUTSIDE ? 0 : c->calls.call[call].node;
	uint32_t node = gp_phase_tree_get(&c->tree, up, r->aux, (uint32_t)r->range_push.domain,
					  (uint32_t)r->range_push.source, GP_PHASE_MARK);
	if (node != 0)
		gp_phase_node_at(&c->tree, node)->own.calls++;
	c->out->marks += node != 0;
	c->is_out_of_memory |= node == 0;
}

/* Call it after the event was applied. */
static void count(struct counting *c, const struct gp_record *r, uint32_t thread)
{
	uint64_t up, down;
	take_steps(c, &up, &down);
	if (!c->is_inside)
		return;
	if (r->kind == GP_MARK && !c->follow.is_by_frames)
		add_mark(c, r, thread);
	const bool is_birth = is_counted_alloc(c, r) && phase_is_selected(c, r->device);
	const enum gp_launched launched =
		phase_is_selected(c, r->device) ? gp_launched_as(r) : GP_LAUNCHED_NOT;
	if (!is_birth && launched == GP_LAUNCHED_NOT && up == 0 && down == 0)
		return;
	uint32_t call;
	struct gp_phase_node *node = node_of_thread(c, thread, &call);
	if (node == NULL)
		return;
	add_steps(&node->own, r, up, down);
	add_steps(&c->sums, r, up, down);
	add_launch(&node->own, launched);
	add_launch(&c->sums, launched);
	if (is_birth)
		begin_birth(c, r, call);
}

/* The state is from a checkpoint: its steps belong to no range. */
static void look_at_curves(struct counting *c)
{
	c->loaded = c->recording->loaded;
	c->total_bytes = 0;
	for (unsigned device = 0; device < GP_DEVICES; device++) {
		c->now_bytes[device] =
			gp_live_device(c->recording->live, device)->curve[c->of].now_bytes;
		c->total_bytes += phase_is_selected(c, device) ? c->now_bytes[device] : 0;
	}
	c->moved = (struct gp_moved){ 0 };
	c->is_out_of_memory |= !gp_high_put(&c->high, c->total_bytes);
}

static enum gp_status phase_begin(void *context)
{
	struct counting *c = context;
	enum gp_status status = gp_phase_follow_begin(&c->follow);
	if (status == GP_OK)
		look_at_curves(c);
	return status;
}

static enum gp_status phase_before(void *context, uint32_t thread, const struct gp_record *record)
{
	struct counting *c = context;
	const int64_t at_ns = gp_tick_ns(&c->recording->tick, record->time);
	(void)thread;
	gp_phase_follow_end(&c->follow);
	const bool is_moment = gp_has_moment(record->kind);
	if (is_moment && at_ns > c->requested.to_ns) {
		c->is_over = true;
		return GP_END;
	}
	if (is_moment && !c->is_inside && at_ns >= c->requested.from_ns) {
		c->is_inside = true;
		c->since = c->high.number;
		see_between(c);
	}
	gp_phase_follow_before(&c->follow, record);
	end_birth(c, record);
	return GP_OK;
}

static enum gp_status phase_after(void *context, uint32_t thread, const struct gp_record *record)
{
	struct counting *c = context;
	if (c->recording->loaded != c->loaded)
		look_at_curves(c);
	gp_phase_follow_apply(&c->follow, thread, record);
	count(c, record, thread);
	see_between(c);
	return c->is_out_of_memory ? GP_E_MEMORY : GP_OK;
}

static enum gp_status phase_end(void *context)
{
	struct counting *c = context;
	if (!c->is_over)
		gp_phase_follow_end(&c->follow);
	return GP_OK;
}

/* ---- the end of the interval ---- */

static void finish_open(void *context, const struct gp_open_range *range)
{
	struct counting *c = context;
	if (range->mark != 0)
		node_of(c, (uint32_t)range->mark)->own.open += c->is_inside;
	finish_range(c, range, c->end_ns);
}

static void finish(struct counting *c, const struct gp_info *info)
{
	const int64_t end_ns = (int64_t)info->duration_ns;
	const int64_t at_ns = c->requested.to_ns < end_ns ? c->requested.to_ns : end_ns;
	c->end_ns = at_ns;
	gp_phase_follow_finish(&c->follow, finish_open, c);
	if (c->ambiguous != 0)
		finish_call(c, c->ambiguous, at_ns);
	if (c->outside != 0) {
		note_high(node_of(c, c->outside), c->between_bytes);
		finish_call(c, c->outside, at_ns);
	}
	const struct gp_range_counts counts = gp_open_ranges_counts(c->follow.ranges);
	c->out->launches = c->sums.launches;
	c->out->captured_launches = c->sums.captured_launches;
	c->out->graph_launches = c->sums.graph_launches;
	c->out->unbalanced = counts.unbalanced;
	c->out->unseen = counts.unseen;
	c->out->unkept = counts.unkept;
	c->out->forwards_named = c->follow.forwards.named;
	c->out->forwards_none = c->follow.forwards.none;
	c->out->forwards_unclear = c->follow.forwards.unclear;
	c->out->is_by_frames = c->follow.is_by_frames;
	c->out->frames_shown = c->follow.frames.shown;
	c->out->frames_none = c->follow.frames.none;
	c->out->frames_unclear = c->follow.frames.unclear;
	c->out->bare_launches = c->follow.frames.bare_launches;
}

static enum gp_status phase_prepare(void *context, const struct gp_info *info)
{
	struct counting *c = context;
	const bool has_blocks = info->framework_events > 0;
	*c = (struct counting){ .recording = c->recording,
				.requested = c->requested,
				.out = c->out };
	c->of = c->requested.of < GP_CURVES ? c->requested.of :
		has_blocks		    ? GP_CURVE_ALLOCATED :
					      GP_CURVE_DRIVER;
	c->out->of = c->of;
	c->watch = (struct gp_range_watch){ see_opened, see_closed, c };
	const bool is_by_frames =
		c->requested.is_by_frames ||
		(!c->requested.is_recorded_only && gp_phases_by(info) == GP_PHASES_BY_FRAMES);
	const bool is_own = c->requested.is_own_thread;
	if (is_by_frames || !c->requested.is_recorded_only)
		return gp_phase_follow_prepare(&c->follow, c->recording, is_by_frames, is_own,
					       &c->watch);
	c->follow = (struct gp_phase_follow){ .recording = c->recording,
					      .user = &c->watch,
					      .is_own_thread = is_own };
	return GP_OK;
}

static enum gp_status phase_answer(void *context, const struct gp_info *info)
{
	struct counting *c = context;
	finish(c, info);
	return gp_phase_tree_list(&c->tree, c->recording, c->requested.fold, c->out);
}

static void phase_settle(void *context)
{
	struct counting *c = context;
	gp_phase_follow_close(&c->follow);
	gp_phase_tree_release(&c->tree);
	gp_phase_calls_release(&c->calls);
	gp_high_release(&c->high);
}

static void phase_forget(void *context)
{
	gp_phases_free(((struct counting *)context)->out);
}

enum gp_status gp_phases_analysis(struct gp_recording *recording,
				  const struct gp_phases_options *requested, struct gp_phases *out,
				  struct gp_analysis *analysis)
{
	struct counting *c = calloc(1, sizeof *c);
	*out = (struct gp_phases){ 0 };
	*analysis = (struct gp_analysis){ .context = c,
					  .observer = { phase_begin, phase_before, phase_after,
							phase_end },
					  .prepare = phase_prepare,
					  .answer = phase_answer,
					  .settle = phase_settle,
					  .forget = phase_forget,
					  .moved = c != NULL ? &c->moved : NULL };
	if (c == NULL)
		return GP_E_MEMORY;
	c->recording = recording;
	c->requested = *requested;
	c->out = out;
	return GP_OK;
}

/* Of all devices and the whole recording, apart from the warm-up. */
static bool phases_is_whole(const struct gp_phases_options *o)
{
	return o->device == GP_DEVICE_UNKNOWN && o->of == GP_CURVES && o->from_ns == INT64_MIN &&
	       o->to_ns == INT64_MAX && !o->is_own_thread && !o->is_recorded_only &&
	       !o->is_by_frames && o->fold == 0;
}

enum gp_status gp_phases_build(struct gp_recording *recording,
			       const struct gp_phases_options *requested, struct gp_phases *out)
{
	struct gp_phases *kept =
		phases_is_whole(requested) ?
			gp_kept_take(recording, GP_KEPT_PHASES, (uint64_t)requested->warm_ns) :
			NULL;
	struct gp_analysis analysis = { 0 };
	enum gp_status status = GP_OK;
	if (kept != NULL)
		*out = *kept;
	else
		status = gp_phases_analysis(recording, requested, out, &analysis);
	if (kept == NULL && status == GP_OK)
		status = gp_analyse(recording, &analysis, 1);
	free(analysis.context);
	free(kept);
	return status;
}

void gp_phases_free(struct gp_phases *phases)
{
	for (size_t k = 0; k < phases->foldeds; k++)
		free(phases->folded[k]);
	free(phases->folded);
	free(phases->phase);
	*phases = (struct gp_phases){ 0 };
}

const char *gp_range_source_name(unsigned source)
{
	static const char *const names[GP_RANGE_SOURCES] = { [GP_RANGE_NVTX] = "nvtx",
							     [GP_RANGE_TORCH] = "torch",
							     [GP_RANGE_ENGINE] = "engine",
							     [GP_RANGE_CONTROL] = "control" };
	if (source == GP_RANGE_DERIVED)
		return "derived";
	if (source == GP_RANGE_FRAMES)
		return "frames";
	return source < GP_RANGE_SOURCES ? names[source] : NULL;
}
