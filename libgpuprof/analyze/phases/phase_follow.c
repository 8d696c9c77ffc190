/* The open ranges of all threads, and who of them is inside the engine. */
#include "phase_follow.h"

#include <string.h>

#include "../../read/frames/frame_phase.h"
#include "phase_frames.h"

#define THREADS 4096u
#define WORKER "pt_autograd"

/* Its thread waits there for what threads of the engine do. */
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
	if (f->user != NULL)
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

enum gp_status gp_phase_follow_open(struct gp_phase_follow *f, struct gp_recording *recording,
				    bool is_own_thread, struct gp_frame_ranges *frames,
				    const struct gp_range_watch *user)
{
	*f = (struct gp_phase_follow){ .recording = recording,
				       .frames = frames,
				       .ranges = gp_open_ranges_open(THREADS),
				       .watch = { opened, closed, f },
				       .user = user,
				       .is_own_thread = is_own_thread };
	if (f->ranges == NULL)
		return GP_E_MEMORY;
	gp_open_ranges_watch(f->ranges, &f->watch);
	gp_defined_visit(recording->meanings, GP_THREAD, see_thread, f);
	if (frames != NULL || recording->first >= recording->index.segments)
		return GP_OK;
	return gp_merge_visit(recording->merge, recording->first, GP_BLOCK_CHECKPOINT, load,
			      f->ranges);
}

void gp_phase_follow_close(struct gp_phase_follow *f)
{
	gp_open_ranges_close(f->ranges);
	f->ranges = NULL;
}

/* Of those that this event ends, or begins. */
static void feed(struct gp_phase_follow *f, bool is_push)
{
	struct gp_record record;
	uint32_t thread;
	while (gp_frame_ranges_next(f->frames, f->number, is_push, &thread, &record))
		gp_open_ranges_apply(f->ranges, thread, &record);
}

void gp_phase_follow_end(struct gp_phase_follow *f)
{
	f->number++;
	if (f->frames != NULL)
		feed(f, false);
}

void gp_phase_follow_apply(struct gp_phase_follow *f, uint32_t thread,
			   const struct gp_record *record)
{
	if (f->frames != NULL)
		feed(f, true);
	else if (gp_is_range(record->kind))
		gp_open_ranges_apply(f->ranges, thread, record);
	struct gp_named named;
	if (record->kind == GP_THREAD &&
	    gp_defined_get(f->recording->meanings, GP_THREAD, record->aux, &named))
		see_thread(f, &named);
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
		status = gp_phase_follow_open(f, recording, is_own_thread, NULL, user);
	while (status == GP_OK && (record = gp_recording_step(recording, &thread, &status)) != NULL)
		if (!see(context, thread, record))
			status = GP_E_MEMORY;
	gp_phase_follow_close(f);
	return status == GP_END ? GP_OK : status;
}

bool gp_phase_follow_is_worker(const struct gp_phase_follow *f, uint32_t thread)
{
	if (f->frames != NULL)
		return gp_frame_ranges_is_engine(f->frames, thread);
	return f->has_named &&
	       is_named_worker(gp_defined_text(f->recording->meanings, GP_THREAD, thread));
}

static const struct gp_open_range *innermost(const struct gp_range_stack *s, bool of_engine)
{
	for (uint32_t k = s != NULL ? s->depth : 0; k-- > 0;)
		if (of_engine ? is_engine(&s->range[k]) : s->range[k].source != 0)
			return &s->range[k];
	return NULL;
}

const struct gp_open_range *gp_phase_follow_engine(struct gp_phase_follow *f, uint32_t thread,
						   bool *is_ambiguous)
{
	*is_ambiguous = false;
	if (f->engines == 0 || f->is_own_thread)
		return NULL;
	/* where no thread has a worker's name, any that has no range of its own may be one */
	const bool is_known = f->has_named || f->frames != NULL;
	if (is_known && !gp_phase_follow_is_worker(f, thread))
		return NULL;
	uint32_t others = 0, which = 0;
	for (uint32_t k = 0; k < f->engines; k++) {
		/* a worker that enters it again does so for another, as checkpoints do */
		if (f->engine[k].thread == thread ||
		    gp_phase_follow_is_worker(f, f->engine[k].thread))
			continue;
		which = k;
		others++;
	}
	*is_ambiguous = others > 1;
	return others == 1 ?
		       innermost(gp_open_ranges_of(f->ranges, f->engine[which].thread), true) :
		       NULL;
}

const struct gp_open_range *gp_phase_follow_engine_of(struct gp_phase_follow *f,
						      const struct gp_open_range *range,
						      uint32_t thread, bool *is_ambiguous)
{
	*is_ambiguous = false;
	if (range->source == GP_RANGE_ENGINE && !gp_phase_follow_is_worker(f, thread))
		return NULL;
	return gp_phase_follow_engine(f, thread, is_ambiguous);
}

const struct gp_open_range *gp_phase_follow_around(const struct gp_range_stack *s)
{
	for (uint32_t k = s->depth - 1; k-- > 0;)
		if (s->range[k].source != 0)
			return &s->range[k];
	return NULL;
}

const struct gp_open_range *gp_phase_follow_own(const struct gp_phase_follow *f, uint32_t thread)
{
	return innermost(gp_open_ranges_of(f->ranges, thread), false);
}
