/*
 * A replay that looks each stack up once. Each thread has a current path. An event continues those
 * calls of it that are also the beginning of the event's path.
 */
#include "phase_frames.h"

#include <stdlib.h>
#include <string.h>

#include "../../read/frames/frame_phase.h"
#include "../../read/tables/array.h"
#include "../../read/tables/row_table.h"
#include "phase_follow.h"

struct path {
	uint8_t phase[GP_FRAME_PATH_MOST];
	uint32_t depth;
};

struct known_stack {
	uint64_t id; /* used as the key */
	struct path path;
	bool is_read;
	bool is_whole; /* no outer frames are missing */
	bool is_engine_thread;
};

struct thread {
	uint64_t number; /* used as the key */
	bool is_engine_thread;
	bool has_shown; /* it showed a phase, and is not a thread of the engine */
	uint32_t next;	/* 1 + the next thread in its list; 0: the end */
	struct path path;
	/* By depth, the last event that showed it: its number and its time. */
	uint64_t last[GP_FRAME_PATH_MOST], time[GP_FRAME_PATH_MOST];
};

struct reading {
	struct gp_recording *recording;
	struct gp_frame_ranges *out;
	struct gp_phase_follow follow; /* finds threads of the engine by name */
	struct gp_row_table stacks;
	uint32_t shown, engines; /* 1 + the first thread of each list */
	uint64_t number, time;	 /* of the event */
	bool is_out_of_memory;
};

enum gp_phases_by gp_phases_by(const struct gp_info *info)
{
	if (info->has_ranges && (info->has_named || !info->has_backward || !info->has_stacks))
		return GP_PHASES_BY_RANGES;
	return info->has_stacks ? GP_PHASES_BY_FRAMES : GP_PHASES_BY_NOTHING;
}

/* ---- rows ---- */

static struct thread *thread_at(const struct reading *f, uint32_t k)
{
	return (struct thread *)f->out->threads.row + k;
}

/*
 * If a thread runs Python and its Python frames are missing, a phase such as the forward may be
 * missing.
 */
static bool phase_frames_is_whole(const struct reading *f, const struct gp_stack *stack,
				  const struct gp_frame *frame)
{
	if (stack->has_python)
		return stack->is_python_whole;
	for (size_t k = 0; f->recording->info.has_python && k < stack->frames; k++)
		if (frame[k].is_interpreter)
			return false;
	return stack->is_native_whole;
}

static void read_stack(struct reading *f, struct known_stack *known)
{
	struct gp_frame frame[GP_FRAMES_MAX];
	struct gp_stack stack;
	struct path *path = &known->path;
	known->is_read = true;
	if (!gp_recording_stack(f->recording, (uint32_t)known->id,
				gp_tick_ns(&f->recording->tick, f->time), GP_STACK_SYMBOLS, &stack,
				frame, GP_FRAMES_MAX))
		return;
	known->is_whole = phase_frames_is_whole(f, &stack, frame);
	for (size_t k = stack.frames; k-- > 0 && path->depth < GP_FRAME_PATH_MOST;) {
		enum gp_frame_phase phase = gp_frame_phase(&frame[k]);
		known->is_engine_thread |= phase == GP_FRAME_ENGINE_THREAD;
		if (phase == GP_FRAME_ENGINE_THREAD)
			phase = GP_FRAME_BACKWARD;
		if (phase != GP_FRAME_NONE &&
		    (path->depth == 0 || path->phase[path->depth - 1] != phase))
			path->phase[path->depth++] = (uint8_t)phase;
	}
}

/* NULL: out of memory. */
static const struct known_stack *stack_get(struct reading *f, uint32_t id)
{
	struct known_stack *known = gp_row_get_key(&f->stacks, sizeof *known, id);
	if (known != NULL && id != 0 && !known->is_read)
		read_stack(f, known);
	return known;
}

static void list(const struct reading *f, struct thread *t, uint32_t *first)
{
	t->next = *first;
	*first = 1 + (uint32_t)(t - thread_at(f, 0));
}

static void unlist(const struct reading *f, const struct thread *t, uint32_t *first)
{
	while (*first != 0 && thread_at(f, *first - 1) != t)
		first = &thread_at(f, *first - 1)->next;
	if (*first != 0)
		*first = t->next;
}

/* ---- calls ---- */

static void phase_frames_put(struct reading *f, const struct gp_frame_range *range)
{
	struct gp_frame_ranges *out = f->out;
	struct gp_frame_range *added = gp_array_append(&out->range, &out->ranges, sizeof *added);
	f->is_out_of_memory |= added == NULL;
	if (added == NULL)
		return;
	*added = *range;
	added->made = out->ranges - 1;
}

static void end_deeper(struct reading *f, struct thread *t, uint32_t depth)
{
	while (t->path.depth > depth) {
		const uint32_t k = --t->path.depth;
		const uint8_t phase = t->path.phase[k];
		/* ranges of threads of the engine lie in a backward */
		uint32_t at = phase == GP_FRAME_BACKWARD && !t->is_engine_thread ? f->engines : 0;
		for (; at != 0; at = thread_at(f, at - 1)->next)
			end_deeper(f, thread_at(f, at - 1), 0);
		phase_frames_put(f, &(struct gp_frame_range){ .number = t->last[k] + 1,
							      .time = t->time[k],
							      .thread = (uint32_t)t->number,
							      .phase = phase,
							      .depth = (uint8_t)k });
	}
}

/* This event continues the calls down to that depth. */
static void go_on(const struct reading *f, struct thread *t, uint32_t depth)
{
	for (uint32_t k = 0; k < depth; k++) {
		t->last[k] = f->number;
		t->time[k] = f->time;
	}
}

static void enter(struct reading *f, struct thread *t, const struct path *path)
{
	uint32_t same = 0;
	while (same < path->depth && same < t->path.depth &&
	       path->phase[same] == t->path.phase[same])
		same++;
	end_deeper(f, t, same);
	for (uint32_t k = same; k < path->depth; k++) {
		t->path.phase[t->path.depth++] = path->phase[k];
		phase_frames_put(f, &(struct gp_frame_range){ .number = f->number,
							      .time = f->time,
							      .thread = (uint32_t)t->number,
							      .phase = path->phase[k],
							      .depth = (uint8_t)k,
							      .is_push = true });
	}
	go_on(f, t, path->depth);
}

/* The depth of its innermost backward; 0: none. */
static uint32_t backward_of(const struct thread *t)
{
	uint32_t depth = t->path.depth;
	while (depth > 0 && t->path.phase[depth - 1] != GP_FRAME_BACKWARD)
		depth--;
	return depth;
}

/*
 * Continues the backward of the thread that the engine works for. False: several threads are in
 * one, or no thread is and the caller is ambiguous.
 */
static bool go_on_for_caller(struct reading *f)
{
	static const struct path backward = { { GP_FRAME_BACKWARD }, 1 };
	struct thread *any = NULL;
	uint32_t in_backward = 0;
	for (uint32_t at = f->shown; at != 0; at = any->next) {
		any = thread_at(f, at - 1);
		in_backward += backward_of(any) != 0;
		go_on(f, any, backward_of(any));
	}
	const bool is_sole = in_backward == 0 && any != NULL && any == thread_at(f, f->shown - 1);
	if (is_sole)
		enter(f, any, &backward);
	return in_backward == 1 || is_sole;
}

/* Enters the path inside the backward of the caller. */
static void enter_within(struct reading *f, struct thread *t, const struct path *path)
{
	struct path within = { .depth = 0 };
	const bool has_own = path->depth > 0 && path->phase[0] == GP_FRAME_BACKWARD;
	for (uint32_t k = has_own; k < path->depth; k++)
		within.phase[within.depth++] = path->phase[k];
	enter(f, t, &within);
}

static bool ends_with(const struct path *path, const struct path *end)
{
	return path->depth >= end->depth &&
	       memcmp(&path->phase[path->depth - end->depth], end->phase, end->depth) == 0;
}

/* False: the stack does not decide. */
static bool enter_own(struct reading *f, struct thread *t, const struct known_stack *known)
{
	if (known->is_whole)
		enter(f, t, &known->path);
	else if (known->path.depth != 0 && ends_with(&t->path, &known->path))
		go_on(f, t, t->path.depth);
	else
		return false;
	if (known->path.depth != 0 && !t->has_shown) {
		t->has_shown = true;
		list(f, t, &f->shown);
	}
	return true;
}

static void be_of_engine(struct reading *f, struct thread *t)
{
	if (t->is_engine_thread)
		return;
	end_deeper(f, t, 0);
	unlist(f, t, &f->shown);
	t->has_shown = false;
	t->is_engine_thread = true;
	list(f, t, &f->engines);
}

/* ---- events ---- */

static bool is_looked_at(const struct gp_record *r)
{
	return r->stack != 0 || r->kind == GP_LAUNCH || r->kind == GP_GRAPH_LAUNCH ||
	       (r->kind < GP_KINDS && gp_event_infos[r->kind].class == GP_CLASS_MEMORY);
}

static void look_at(struct reading *f, uint32_t number, const struct gp_record *r)
{
	const bool is_named = gp_phase_follow_is_worker(&f->follow, number);
	if (r->stack == 0 && !is_named) {
		f->out->bare_launches += r->kind == GP_LAUNCH || r->kind == GP_GRAPH_LAUNCH;
		return;
	}
	struct thread *t = gp_row_get_key(&f->out->threads, sizeof *t, number);
	const struct known_stack *known = stack_get(f, r->stack);
	f->is_out_of_memory |= t == NULL || known == NULL;
	if (f->is_out_of_memory)
		return;
	if (is_named || known->is_engine_thread)
		be_of_engine(f, t);
	const bool is_clear = t->is_engine_thread ? go_on_for_caller(f) : enter_own(f, t, known);
	if (r->stack == 0)
		return;
	if (is_clear && t->is_engine_thread)
		enter_within(f, t, &known->path);
	f->out->shown += is_clear && (t->is_engine_thread || known->path.depth != 0);
	f->out->none += is_clear && !t->is_engine_thread && known->path.depth == 0;
	f->out->unclear += !is_clear;
}

static bool phase_frames_see(void *context, uint32_t thread, const struct gp_record *r)
{
	struct reading *f = context;
	f->number++;
	f->time = r->time;
	gp_phase_follow_apply(&f->follow, thread, r);
	if (is_looked_at(r))
		look_at(f, thread, r);
	return !f->is_out_of_memory;
}

/* Before an event, all ranges that end come in order; then those that it begins. */
static int phase_frames_compare(const void *left, const void *right)
{
	const struct gp_frame_range *a = left, *b = right;
	if (a->number != b->number)
		return a->number > b->number ? 1 : -1;
	if (a->is_push != b->is_push)
		return a->is_push ? 1 : -1;
	return (a->made > b->made) - (a->made < b->made);
}

enum gp_status gp_frame_ranges_find(struct gp_recording *recording, struct gp_frame_ranges *out)
{
	*out = (struct gp_frame_ranges){ 0 };
	struct reading f = { .recording = recording, .out = out };
	enum gp_status status =
		gp_phase_follow_replay(&f.follow, recording, true, NULL, phase_frames_see, &f);
	for (uint32_t k = 0; status == GP_OK && k < out->threads.rows; k++)
		end_deeper(&f, thread_at(&f, k), 0);
	if (f.is_out_of_memory)
		status = GP_E_MEMORY;
	if (status == GP_OK && out->ranges > 1)
		qsort(out->range, out->ranges, sizeof *out->range, phase_frames_compare);
	gp_row_table_release(&f.stacks);
	return status;
}

void gp_frame_ranges_release(struct gp_frame_ranges *ranges)
{
	free(ranges->range);
	gp_row_table_release(&ranges->threads);
	*ranges = (struct gp_frame_ranges){ 0 };
}

bool gp_frame_ranges_is_engine(const struct gp_frame_ranges *ranges, uint32_t number)
{
	const struct thread *t = gp_row_of_key(&ranges->threads, sizeof *t, number);
	return t != NULL && t->is_engine_thread;
}

bool gp_frame_ranges_next(struct gp_frame_ranges *f, uint64_t number, bool is_push,
			  uint32_t *thread, struct gp_record *out)
{
	const struct gp_frame_range *range = f->next < f->ranges ? &f->range[f->next] : NULL;
	if (range == NULL || range->number != number || range->is_push != is_push)
		return false;
	f->next++;
	*thread = range->thread;
	*out = (struct gp_record){ .kind = is_push ? GP_RANGE_PUSH : GP_RANGE_POP,
				   .time = range->time,
				   .device = GP_DEVICE_UNKNOWN };
	if (is_push) {
		out->aux = range->phase;
		out->range_push.source = GP_RANGE_FRAMES;
		out->range_push.depth = range->depth;
	} else {
		out->range_pop.source = GP_RANGE_FRAMES;
		out->range_pop.depth = range->depth;
	}
	return true;
}
