/*
 * One replay over the blocks since the leaks began: finds for each leak whether a backward pass
 * followed.
 */
#include "leak_forward.h"

#include <stdlib.h>

#include "../../read/file/recording.h"
#include "../../read/frames/frame_phase.h"
#include "../../read/tables/row_table.h"

/* The progress of training since a leak began. */
enum backward {
	BACKWARD_NONE,	    /* no block was allocated in a backward pass */
	BACKWARD_UNDER_WAY, /* blocks were allocated in one, and none outside of it afterwards */
	BACKWARD_ENDED,	    /* blocks were allocated after a backward pass */
};

struct suspect {
	const struct gp_leak *leak;
	enum backward within; /* up to the last sample */
	enum backward all;    /* up to the end of the recording */
	bool is_freed;	      /* the backward pass after the last sample freed its newest block */
	bool is_interrupted;  /* after the last sample, a request failed before a backward */
};

struct forward {
	struct gp_recording *recording;
	struct gp_row_table stacks;
	struct suspect *suspect;
	size_t suspects;
	int64_t last_ns; /* time of the last sample */
};

struct stack_row {
	uint64_t id; /* used as the key */
	bool is_looked_up, is_backward;
};

static bool stack_is_backward(struct gp_recording *r, uint32_t id, int64_t at_ns)
{
	struct gp_frame frame[GP_FRAMES_MAX];
	struct gp_stack stack;
	if (id == 0 ||
	    !gp_recording_stack(r, id, at_ns, GP_STACK_SYMBOLS, &stack, frame, GP_FRAMES_MAX))
		return false;
	for (size_t k = 0; k < stack.frames; k++) {
		const enum gp_frame_phase phase = gp_frame_phase(&frame[k]);
		if (phase == GP_FRAME_BACKWARD || phase == GP_FRAME_ENGINE_THREAD)
			return true;
	}
	return false;
}

static void backward_move(enum backward *seen, bool is_backward)
{
	if (*seen != BACKWARD_ENDED && is_backward)
		*seen = BACKWARD_UNDER_WAY;
	else if (*seen == BACKWARD_UNDER_WAY)
		*seen = BACKWARD_ENDED;
}

static enum gp_status see_request(struct forward *f, const struct gp_record *e, int64_t at_ns)
{
	struct stack_row *row = gp_row_get_key(&f->stacks, sizeof *row, e->stack);
	if (row == NULL)
		return GP_E_MEMORY;
	if (!row->is_looked_up)
		row->is_backward = stack_is_backward(f->recording, e->stack, at_ns);
	row->is_looked_up = true;
	for (size_t k = 0; k < f->suspects; k++) {
		struct suspect *s = &f->suspect[k];
		if (at_ns < s->leak->since_ns)
			continue;
		if (at_ns <= f->last_ns)
			backward_move(&s->within, row->is_backward);
		backward_move(&s->all, row->is_backward);
	}
	return GP_OK;
}

static void see_free(struct forward *f, const struct gp_record *e)
{
	for (size_t k = 0; k < f->suspects; k++) {
		struct suspect *s = &f->suspect[k];
		s->is_freed |= s->all == BACKWARD_UNDER_WAY && s->leak->examples > 0 &&
			       s->leak->example[0].address == e->block_free.address;
	}
}

/*
 * Marks suspects before a backward pass as interrupted, by an OOM or a missing end of the
 * recording.
 */
static void interrupt(struct forward *f)
{
	for (size_t k = 0; k < f->suspects; k++)
		f->suspect[k].is_interrupted |= f->suspect[k].all == BACKWARD_NONE;
}

/* True: no further event changes any result. */
static bool is_settled(const struct forward *f)
{
	for (size_t k = 0; k < f->suspects; k++)
		if (f->suspect[k].within != BACKWARD_ENDED)
			return false;
	return true;
}

static enum gp_status leak_forward_replay(struct forward *f)
{
	uint32_t thread;
	enum gp_status status = gp_recording_rewind(f->recording);
	while (status == GP_OK && !is_settled(f)) {
		const struct gp_record *e = gp_recording_step(f->recording, &thread, &status);
		if (e == NULL)
			break;
		const int64_t at_ns = gp_tick_ns(&f->recording->tick, e->time);
		if (e->kind == GP_BLOCK_ALLOC || e->kind == GP_OOM)
			status = see_request(f, e, at_ns);
		else if (e->kind == GP_BLOCK_FREE && at_ns > f->last_ns)
			see_free(f, e);
		if (e->kind == GP_OOM && at_ns >= f->last_ns)
			interrupt(f);
	}
	return status == GP_END ? GP_OK : status;
}

/* True: a backward pass frees the memory. It was running at the end, or came later and freed it. */
static bool is_activation(const struct suspect *s)
{
	if (s->within == BACKWARD_ENDED || s->all == BACKWARD_NONE)
		return false;
	return s->is_freed || s->all == BACKWARD_UNDER_WAY;
}

/* Layers open no ranges that are steps, and allocate blocks of the framework. */
static bool can_be_activation(const struct gp_leaks *leaks, const struct gp_leak *leak)
{
	const enum gp_step_source source = leaks->steps.source;
	return leak->space == GP_SPACE_BLOCK && !leak->is_object && source != GP_STEPS_RANGES &&
	       source != GP_STEPS_UPDATES;
}

static void leak_forward_settle(const struct forward *f, struct gp_leaks *leaks)
{
	size_t kept = 0, next = 0;
	for (size_t k = 0; k < leaks->leaks; k++) {
		const bool is_suspect =
			next < f->suspects && f->suspect[next].leak == &leaks->leak[k];
		const struct suspect *s = is_suspect ? &f->suspect[next++] : NULL;
		if (s != NULL && is_activation(s)) {
			leaks->activations++;
			continue;
		}
		leaks->leak[k].may_be_activations = s != NULL && s->is_interrupted;
		leaks->leak[kept++] = leaks->leak[k];
	}
	leaks->leaks = kept;
}

enum gp_status gp_leak_forward_judge(struct gp_recording *r, struct gp_leaks *leaks)
{
	struct forward f = { .recording = r, .last_ns = leaks->last_ns };
	f.suspect = calloc(leaks->leaks + 1, sizeof *f.suspect);
	if (f.suspect == NULL)
		return GP_E_MEMORY;
	for (size_t k = 0; k < leaks->leaks; k++)
		if (can_be_activation(leaks, &leaks->leak[k]))
			f.suspect[f.suspects++].leak = &leaks->leak[k];
	enum gp_status status = f.suspects > 0 ? leak_forward_replay(&f) : GP_OK;
	if (!r->index.is_sealed)
		interrupt(&f);
	if (status == GP_OK)
		leak_forward_settle(&f, leaks);
	gp_row_table_release(&f.stacks);
	free(f.suspect);
	return status;
}
