/* The open ranges of all threads, and the threads that are inside the engine. */
#include "phase_follow.h"

#include <string.h>

#include "../../read/frames/frame_phase.h"

#define THREADS 4096u
#define WORKER "pt_autograd"

/* True: its thread waits in this range for threads of the engine. */
static bool is_engine(const struct gp_open_range *range)
{
	return range->source == GP_RANGE_ENGINE ||
	       (range->source == GP_RANGE_FRAMES && range->name == GP_FRAME_BACKWARD);
}

static void opened(void *context, struct gp_open_range *range, const struct gp_range_stack *stack)
{
	struct gp_phase_follow *f = context;
	if (f->user != NULL)
		f->user->opened(f->user->context, range, stack);
	if (stack == NULL || !is_engine(range))
		return;
	for (uint32_t k = 0; k < f->engines; k++)
		if (f->engine[k].thread == stack->thread) {
			f->engine[k].depth++;
			return;
		}
	if (f->engines == GP_ENGINES_MOST)
		return;
	f->engine[f->engines].thread = stack->thread;
	f->engine[f->engines++].depth = 1;
}

static void closed(void *context, const struct gp_open_range *range, enum gp_range_end how,
		   const struct gp_record *by)
{
	struct gp_phase_follow *f = context;
	if (f->user != NULL && f->user->closed != NULL)
		f->user->closed(f->user->context, range, how, by);
	if (range->number != 0 || !is_engine(range))
		return;
	for (uint32_t k = 0; k < f->engines; k++) {
		if (f->engine[k].thread != range->thread || --f->engine[k].depth != 0)
			continue;
		f->engine[k] = f->engine[--f->engines];
		return;
	}
}

static bool is_named_worker(const char *name)
{
	return name != NULL && strncmp(name, WORKER, strlen(WORKER)) == 0;
}

static void see_thread(void *context, const struct gp_named *thread)
{
	struct gp_phase_follow *f = context;
	f->has_named |= is_named_worker(thread->text);
}

static enum gp_status load(void *context, const struct gp_record *record)
{
	if (record->kind == GP_RANGE_OPEN)
		gp_open_ranges_apply(context, GP_THREAD_NONE, record);
	return GP_OK;
}

enum gp_status gp_phase_follow_begin(struct gp_phase_follow *f)
{
	struct gp_recording *r = f->recording;
	f->ranges = gp_open_ranges_open(THREADS);
	f->watch = (struct gp_range_watch){ opened, closed, f };
	if (f->ranges == NULL)
		return GP_E_MEMORY;
	gp_open_ranges_watch(f->ranges, &f->watch);
	gp_defined_visit(r->definitions, GP_THREAD, see_thread, f);
	if (f->is_by_frames || r->first >= r->index.segments)
		return GP_OK;
	return gp_merge_visit(r->merge, r->first, GP_BLOCK_CHECKPOINT, load, f->ranges);
}

enum gp_status gp_phase_follow_open(struct gp_phase_follow *f, struct gp_recording *recording,
				    bool is_own_thread, const struct gp_range_watch *user)
{
	*f = (struct gp_phase_follow){ .recording = recording,
				       .user = user,
				       .is_own_thread = is_own_thread };
	return gp_phase_follow_begin(f);
}

enum gp_status gp_phase_follow_prepare(struct gp_phase_follow *f, struct gp_recording *recording,
				       bool is_by_frames, bool is_own_thread,
				       const struct gp_range_watch *user)
{
	*f = (struct gp_phase_follow){ .recording = recording,
				       .user = user,
				       .is_by_frames = is_by_frames,
				       .is_own_thread = is_own_thread };
	return is_by_frames ? gp_frame_ranges_find(recording, &f->frames) :
			      gp_forwards_find(recording, &f->forwards);
}

void gp_phase_follow_close(struct gp_phase_follow *f)
{
	gp_open_ranges_close(f->ranges);
	f->ranges = NULL;
	gp_frame_ranges_release(&f->frames);
	gp_forwards_release(&f->forwards);
}

/* ---- events ---- */

/* Applies the frame ranges that this event ends, or begins. */
static void feed(struct gp_phase_follow *f, bool is_push)
{
	struct gp_record record;
	uint32_t thread;
	while (gp_frame_ranges_next(&f->frames, f->number, is_push, &thread, &record))
		gp_open_ranges_apply(f->ranges, thread, &record);
}

static const struct gp_open_range *innermost(const struct gp_range_stack *s, bool of_engine)
{
	for (uint32_t k = s != NULL ? s->depth : 0; k-- > 0;)
		if (of_engine ? is_engine(&s->range[k]) : s->range[k].source != 0)
			return &s->range[k];
	return NULL;
}

static uint64_t mark_of(const struct gp_open_range *range)
{
	return range != NULL ? range->mark : 0;
}

static uint64_t own_mark(const struct gp_phase_follow *f, uint32_t thread)
{
	return mark_of(innermost(gp_open_ranges_of(f->ranges, thread), false));
}

void gp_phase_follow_end(struct gp_phase_follow *f)
{
	f->number++;
	if (f->is_by_frames)
		feed(f, false);
}

void gp_phase_follow_before(struct gp_phase_follow *f, const struct gp_record *record)
{
	const struct gp_forward *forward;
	while ((forward = gp_forwards_end(&f->forwards, f->number)) != NULL)
		if (f->user->closed != NULL)
			f->user->closed(f->user->context, &forward->range, GP_RANGE_ENDED, record);
}

void gp_phase_follow_apply(struct gp_phase_follow *f, uint32_t thread,
			   const struct gp_record *record)
{
	struct gp_forward *forward;
	if (f->is_by_frames)
		feed(f, true);
	else if (gp_is_range(record->kind))
		gp_open_ranges_apply(f->ranges, thread, record);
	struct gp_named named;
	if (record->kind == GP_THREAD &&
	    gp_defined_get(f->recording->definitions, GP_THREAD, record->aux, &named))
		see_thread(f, &named);
	while ((forward = gp_forwards_begin(&f->forwards, f->number)) != NULL) {
		forward->up = own_mark(f, forward->thread);
		forward->range = (struct gp_open_range){ .time = record->time,
							 .source = GP_RANGE_DERIVED,
							 .thread = forward->thread };
		f->user->opened(f->user->context, &forward->range,
				gp_open_ranges_of(f->ranges, forward->thread));
	}
}

/* Ends the forwards directly inside the range `up` of that stack; NULL: all. */
static void finish_forwards(struct gp_phase_follow *f, const struct gp_range_stack *s, uint64_t up,
			    void (*each)(void *, const struct gp_open_range *), void *context)
{
	uint32_t *open = &f->forwards.open;
	while (*open != 0) {
		struct gp_forward *forward = &f->forwards.forward[*open - 1];
		if (s != NULL && (forward->thread != s->thread || forward->up != up)) {
			open = &forward->next;
			continue;
		}
		*open = forward->next;
		each(context, &forward->range);
	}
}

void gp_phase_follow_finish(struct gp_phase_follow *f,
			    void (*each)(void *, const struct gp_open_range *), void *context)
{
	const struct gp_range_stack *s;
	const struct gp_open_range *started = NULL;
	uint32_t at = 0;
	while ((s = gp_open_ranges_next(f->ranges, &at)) != NULL)
		for (uint32_t k = s->depth; k-- > 0;) {
			finish_forwards(f, s, s->range[k].mark, each, context);
			each(context, &s->range[k]);
		}
	finish_forwards(f, NULL, 0, each, context);
	while ((started = gp_open_ranges_started(f->ranges, started)) != NULL)
		each(context, started);
}

enum gp_status gp_phase_follow_replay(struct gp_phase_follow *f, struct gp_recording *recording,
				      bool is_own_thread, const struct gp_range_watch *user,
				      bool (*see)(void *, uint32_t, const struct gp_record *),
				      void *context)
{
	enum gp_status status = gp_recording_rewind(recording);
	const struct gp_record *record;
	uint32_t thread = 0;
	if (status == GP_OK)
		status = gp_phase_follow_open(f, recording, is_own_thread, user);
	while (status == GP_OK && (record = gp_recording_step(recording, &thread, &status)) != NULL)
		if (!see(context, thread, record))
			status = GP_E_MEMORY;
	gp_phase_follow_close(f);
	return status == GP_END ? GP_OK : status;
}

/* ---- the thread that work belongs to ---- */

bool gp_phase_follow_is_worker(const struct gp_phase_follow *f, uint32_t thread)
{
	if (f->is_by_frames)
		return gp_frame_ranges_is_engine(&f->frames, thread);
	return is_named_worker(gp_defined_text(f->recording->definitions, GP_THREAD, thread));
}

uint64_t gp_phase_follow_engine(const struct gp_phase_follow *f, uint32_t thread,
				bool *is_ambiguous)
{
	*is_ambiguous = false;
	if (f->engines == 0 || f->is_own_thread)
		return 0;
	/* if no thread has a worker's name, any thread without an own range may be one */
	const bool is_known = f->has_named || f->is_by_frames;
	if (is_known && !gp_phase_follow_is_worker(f, thread))
		return 0;
	uint32_t others = 0, which = 0;
	for (uint32_t k = 0; k < f->engines; k++) {
		/* a worker that enters it again works for another thread, as in checkpointing */
		if (f->engine[k].thread == thread ||
		    gp_phase_follow_is_worker(f, f->engine[k].thread))
			continue;
		which = f->engine[k].thread;
		others++;
	}
	*is_ambiguous = others > 1;
	return others == 1 ? mark_of(innermost(gp_open_ranges_of(f->ranges, which), true)) : 0;
}

/* A forward on that thread directly inside `mark` is the inner range. */
static uint64_t mark_within(const struct gp_phase_follow *f, uint32_t thread, uint64_t mark)
{
	const struct gp_forward *forward = gp_forwards_within(&f->forwards, thread, mark);
	return forward != NULL ? forward->range.mark : mark;
}

uint64_t gp_phase_follow_mark(const struct gp_phase_follow *f, uint32_t thread, bool *is_ambiguous)
{
	const uint64_t mark = mark_within(f, thread, own_mark(f, thread));
	*is_ambiguous = false;
	return mark != 0 ? mark : gp_phase_follow_engine(f, thread, is_ambiguous);
}

uint64_t gp_phase_follow_up(const struct gp_phase_follow *f, const struct gp_open_range *range,
			    bool *is_ambiguous)
{
	const struct gp_range_stack *s = gp_open_ranges_of(f->ranges, range->thread);
	*is_ambiguous = false;
	if (range->source == GP_RANGE_DERIVED)
		return own_mark(f, range->thread);
	uint32_t k = s->depth - 1;
	while (k > 0 && s->range[k - 1].source == 0)
		k--;
	const uint64_t around = k > 0 ? s->range[k - 1].mark : 0;
	const uint64_t mark = mark_within(f, range->thread, around);
	if (mark != 0 ||
	    (range->source == GP_RANGE_ENGINE && !gp_phase_follow_is_worker(f, range->thread)))
		return mark;
	return gp_phase_follow_engine(f, range->thread, is_ambiguous);
}
