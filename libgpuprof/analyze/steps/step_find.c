/*
 * The steps of a recording. A first replay follows its ranges (step_range.h) and takes down what
 * comes in which order; where no range says what a step is, step_repeat.h learns from that which
 * symbols mark steps. A second replay cuts there, however long the recording is.
 */
#include "step_find.h"

#include <stdlib.h>
#include <string.h>

#include "../../state/looks.h"
#include "../settle.h"
#include "step_range.h"
#include "step_repeat.h"
#include "step_stat.h"
#include "step_token.h"

#define LEARNT_MAX (2u << 20) /* capacity: tokens of 16 bytes */
#define PLACES_MAX 65536u     /* capacity: tokens from the begin of a step to its first mark */
#define TOKENS_A_LOOK 5u      /* 3 ns each */

const char *const gp_step_source_names[GP_STEP_SOURCES] = { "none", "ranges", "updates",
							    "repetition" };

static const char nothing_recorded[] = "neither launches nor allocations were recorded";
static const char nothing_repeats[] = "launches and allocations do not repeat regularly";
static const char no_allocation_repeats[] =
	"allocations do not repeat regularly, and no launches are recorded";
static const char too_much[] =
	"launches of graphs need more work than the limit for a recording of this size";
static const char no_such_range[] = "no range has the name that was given for steps";

/* What lies between two tokens: a step may begin there, behind the longest wait. */
struct place {
	uint64_t time, launches, live_bytes; /* before what comes behind the wait */
	uint64_t wait;			     /* ticks */
	uint64_t least_bytes;		     /* that are live between the tokens */
	uint64_t end;			     /* time of the second one */
};

struct finding {
	struct gp_recording *recording;
	struct gp_step_view view;
	bool is_cut; /* the recording no longer has its begin */
	struct gp_steps *out;
	struct gp_tokenizer tokenizer;
	struct gp_step_ranges *ranges;
	struct gp_step_token *token; /* as they came */
	size_t tokens;
	struct gp_step_marks marks;
	struct gp_looks looks; /* of the second replay: for tokens of graphs */
	/* of the replay under way */
	uint64_t live_bytes, now_bytes[GP_DEVICES], launches, work;
	uint64_t slack_bytes;	  /* places of as much memory */
	uint64_t before;	  /* ticks: of the last launch or allocation */
	struct place here;	  /* since the last token */
	struct gp_step_place end; /* of all work */
	struct place *places;	  /* a ring */
	uint64_t marked;	  /* the token behind the last mark */
	int64_t marked_ns;
};

/* ---- where a replay is ---- */

static void find_follow_live(struct finding *f)
{
	unsigned curve = f->tokenizer.has_blocks ? GP_CURVE_ALLOCATED : GP_CURVE_DRIVER;
	uint64_t moved = gp_live_take_moved(f->recording->live);
	for (; moved != 0; moved &= moved - 1) {
		unsigned device = (unsigned)__builtin_ctzll(moved);
		const struct gp_live_device *d = gp_live_device(f->recording->live, device);
		f->live_bytes += d->curve[curve].now_bytes - f->now_bytes[device];
		f->now_bytes[device] = d->curve[curve].now_bytes;
	}
}

static enum gp_status find_rewind(struct finding *f)
{
	enum gp_status status = gp_recording_rewind(f->recording);
	unsigned curve = f->tokenizer.has_blocks ? GP_CURVE_ALLOCATED : GP_CURVE_DRIVER;
	gp_tokenizer_rewind(&f->tokenizer);
	f->live_bytes = f->launches = f->work = f->before = 0;
	for (unsigned device = 0; status == GP_OK && device < GP_DEVICES; device++) {
		const struct gp_live_device *d = gp_live_device(f->recording->live, device);
		f->now_bytes[device] = d->curve[curve].now_bytes;
		f->live_bytes += f->now_bytes[device];
	}
	gp_live_take_moved(f->recording->live);
	f->here = (struct place){ .least_bytes = f->live_bytes };
	return status;
}

/* Before a launch or an allocation: is the place here lower, or as low behind a longer wait? */
static void find_see_work(struct finding *f, uint64_t time)
{
	const uint64_t wait = time > f->before ? time - f->before : 0;
	struct place *found = &f->here;
	bool is_lower = f->live_bytes + f->slack_bytes < found->live_bytes,
	     is_as_low = f->live_bytes <= found->live_bytes + f->slack_bytes;
	f->before = time;
	if (found->time != 0 && !is_lower && (!is_as_low || wait <= found->wait))
		return;
	found->time = time;
	found->launches = f->launches;
	found->live_bytes = f->live_bytes;
	found->wait = wait;
}

/* Applies an event that gave so many tokens. */
static enum gp_status find_apply(struct finding *f, const struct gp_record *record, size_t tokens)
{
	f->launches += record->kind == GP_LAUNCH || record->kind == GP_GRAPH_LAUNCH;
	enum gp_status status = gp_recording_apply(f->recording, record);
	find_follow_live(f);
	if (tokens > 0)
		f->here = (struct place){ .least_bytes = f->live_bytes };
	if (f->live_bytes < f->here.least_bytes)
		f->here.least_bytes = f->live_bytes;
	return status;
}

/* ---- the first replay: what comes in which order ---- */

static bool find_keep(struct finding *f, size_t tokens)
{
	for (size_t k = 0; k < tokens; k++) {
		struct gp_step_token *token = gp_step_grow(f->token, f->tokens, sizeof *token);
		if (token == NULL)
			return false;
		f->token = token;
		f->token[f->tokens++] = (struct gp_step_token){
			f->tokenizer.symbol[k].one, f->tokenizer.symbol[k].three,
			(float)(k == 0 ? f->here.least_bytes : f->live_bytes),
			k == 0 ? (float)f->here.wait : 0
		};
	}
	return !f->tokenizer.is_out_of_memory;
}

static bool find_follow_ranges(struct finding *f, uint32_t thread, const struct gp_record *record,
			       size_t tokens)
{
	const struct gp_step_place here = { gp_tick_ns(&f->recording->tick, record->time), f->work,
					    f->launches, f->live_bytes };
	bool is_unknown = record->kind == GP_GRAPH_LAUNCH && tokens == 1;
	const size_t work = is_unknown ? GP_STEP_GRAPH_WORK :
			    tokens > 0 ? tokens :
					 f->tokenizer.is_work;
	bool is_done = f->view.has_no_ranges ||
		       gp_step_ranges_see(f->ranges, thread, record, &here, (unsigned)work);
	f->work += tokens > 0 ? tokens : work;
	if (work > 0)
		f->end = (struct gp_step_place){ here.at_ns, f->work, f->launches, f->live_bytes };
	return is_done;
}

/* To the end where there are ranges, else as long as there is something to learn. */
static enum gp_status find_take_down(struct finding *f)
{
	struct gp_recording *r = f->recording;
	enum gp_status status = find_rewind(f);
	f->slack_bytes = UINT64_MAX / 2; /* nothing is known of it */
	if (status == GP_OK)
		status = gp_step_ranges_open(f->ranges, r);
	while (status == GP_OK && (f->tokens < LEARNT_MAX || f->ranges->has_any)) {
		uint32_t thread;
		const struct gp_record *record = gp_recording_fetch(r, &thread, &status);
		if (record == NULL)
			break;
		bool can_learn = f->tokens < LEARNT_MAX;
		size_t tokens = gp_tokenizer_next(&f->tokenizer, r, record, can_learn);
		if (tokens > 0 || f->tokenizer.is_work)
			find_see_work(f, record->time);
		if ((can_learn && !find_keep(f, tokens)) ||
		    !find_follow_ranges(f, thread, record, tokens))
			return GP_E_MEMORY;
		status = find_apply(f, record, tokens);
	}
	return status == GP_END ? GP_OK : status;
}

/* ---- the second replay: cutting ---- */

/* As far before its first mark as most others; else the lowest place since the last mark. */
static const struct place *cut_find_begin(const struct finding *f)
{
	/* before the first one the job sets up */
	const bool is_fixed = f->marks.is_fixed || f->out->steps == 0;
	const uint64_t since = is_fixed ? f->work : f->work - f->marked,
		       most = since < PLACES_MAX - 1 ? since : PLACES_MAX - 1;
	uint64_t before = f->marks.before < most ? f->marks.before : most;
	const struct place *found = &f->places[(f->work - (is_fixed ? before : 0)) % PLACES_MAX];
	for (before = 1; !is_fixed && before <= most; before++) {
		const struct place *here = &f->places[(f->work - before) % PLACES_MAX];
		bool is_alike = here->least_bytes == found->least_bytes;
		if (here->least_bytes < found->least_bytes ||
		    (is_alike && here->wait > found->wait))
			found = here;
	}
	return found;
}

static bool cut_add_step(struct finding *f)
{
	struct gp_steps *s = f->out;
	const struct place *begin = cut_find_begin(f);
	struct gp_step *step = gp_step_grow(s->step, s->steps, sizeof *step);
	if (step == NULL)
		return false;
	s->step = step;
	s->step[s->steps] = (struct gp_step){
		.begin_ns =
			gp_tick_ns(&f->recording->tick, s->steps == 0 ? begin->end : begin->time),
		.launches = begin->launches,
		.live_bytes = begin->live_bytes,
	};
	s->steps++;
	return true;
}

/* One token; its event is not applied yet. */
static bool cut_see_token(struct finding *f, const struct gp_symbols *symbols, uint64_t time)
{
	const uint32_t first = f->marks.first;
	f->here.end = time;
	f->places[f->work % PLACES_MAX] = f->here;
	f->here = (struct place){ time, f->launches, f->live_bytes, 0, f->live_bytes, time };
	if ((symbols->one == first || symbols->three == first) && !cut_add_step(f))
		return false;
	f->work++;
	if (f->marks.is_mark[symbols->one] || f->marks.is_mark[symbols->three]) {
		f->marked = f->work;
		f->marked_ns = gp_tick_ns(&f->recording->tick, time);
	}
	return true;
}

static void cut_finish(struct finding *f)
{
	struct gp_steps *s = f->out;
	for (size_t k = 0; k < s->steps; k++) {
		bool is_last = k + 1 == s->steps;
		s->step[k].end_ns = is_last ? f->marked_ns : s->step[k + 1].begin_ns;
		s->step[k].launches =
			(is_last ? f->launches : s->step[k + 1].launches) - s->step[k].launches;
	}
}

static enum gp_status cut_replay(struct finding *f)
{
	struct gp_recording *r = f->recording;
	enum gp_status status = find_rewind(f);
	f->slack_bytes = f->marks.slack_bytes;
	f->places = calloc(PLACES_MAX, sizeof *f->places);
	if (f->places == NULL)
		return GP_E_MEMORY;
	gp_looks_open_bytes(&f->looks, r->file.bytes);
	while (status == GP_OK) {
		uint32_t thread;
		const struct gp_record *record = gp_recording_fetch(r, &thread, &status);
		if (record == NULL)
			break;
		size_t tokens = gp_tokenizer_next(&f->tokenizer, r, record, false);
		if (!gp_looks_take(&f->looks, tokens / TOKENS_A_LOOK))
			return GP_OK;
		if (tokens > 0 || f->tokenizer.is_work)
			find_see_work(f, record->time);
		for (size_t k = 0; k < tokens; k++)
			if (!cut_see_token(f, &f->tokenizer.symbol[k], record->time))
				return GP_E_MEMORY;
		status = find_apply(f, record, tokens);
	}
	cut_finish(f);
	return status == GP_END ? GP_OK : status;
}

/* ---- which rule finds steps ---- */

static enum gp_status find_by_repetition(struct finding *f)
{
	const struct gp_step_sequence sequence = { f->token, f->tokens, f->tokenizer.table.symbols,
						   f->tokenizer.table.is_graph };
	f->out->why = f->tokens == 0		? nothing_recorded :
		      f->tokenizer.has_launches ? nothing_repeats :
						  no_allocation_repeats;
	f->marks.is_mark = calloc(GP_SYMBOLS_MAX, sizeof *f->marks.is_mark);
	if (f->marks.is_mark == NULL)
		return GP_E_MEMORY;
	enum gp_status status = gp_step_repeat(&sequence, &f->marks);
	free(f->token);
	f->token = NULL;
	if (status != GP_OK || f->marks.first == 0)
		return status;
	status = cut_replay(f);
	if (f->looks.refused > 0) {
		f->out->steps = 0;
		f->out->why = too_much;
	} else if (f->out->steps > 0) {
		f->out->source = GP_STEPS_REPETITION;
		f->out->why = NULL;
	}
	return status;
}

static enum gp_status find_by_ranges(struct finding *f, const struct gp_step_cuts *cuts,
				     enum gp_step_source source)
{
	struct gp_steps *s = f->out;
	s->step = calloc(cuts->cuts, sizeof *s->step);
	if (s->step == NULL)
		return GP_E_MEMORY;
	s->steps = cuts->cuts;
	s->source = source;
	for (size_t k = 0; k < s->steps; k++) {
		const struct gp_step_place *begin = &cuts->cut[k].begin;
		const struct gp_step_place *end =
			k + 1 == s->steps ? &cuts->cut[k].end : &cuts->cut[k + 1].begin;
		s->step[k] = (struct gp_step){ .begin_ns = begin->at_ns,
					       .end_ns = end->at_ns,
					       .launches = end->launches - begin->launches,
					       .live_bytes = begin->live_bytes };
	}
	return GP_OK;
}

static enum gp_status find(struct finding *f)
{
	struct gp_step_cuts named = { 0 }, updates = { 0 };
	enum gp_status status = find_take_down(f);
	if (status == GP_OK)
		status = gp_step_ranges_cut(f->ranges, &f->end, f->is_cut, &named, &updates);
	if (status != GP_OK || named.cuts > 0)
		status = status == GP_OK ? find_by_ranges(f, &named, GP_STEPS_RANGES) : status;
	else if (f->recording->step_name != NULL)
		f->out->why = no_such_range;
	else if (updates.cuts > 0)
		status = find_by_ranges(f, &updates, GP_STEPS_UPDATES);
	else
		status = find_by_repetition(f);
	free(named.cut);
	free(updates.cut);
	return status;
}

static enum gp_status find_attempt(void *context, const struct gp_info *info)
{
	struct finding *f = context;
	*f = (struct finding){ .recording = f->recording,
			       .view = f->view,
			       .out = f->out,
			       .is_cut = info->kept_from_ns > 0 };
	f->ranges = calloc(1, sizeof *f->ranges);
	enum gp_status status = GP_E_MEMORY;
	if (f->ranges != NULL)
		status = gp_tokenizer_init(&f->tokenizer, info, &f->view);
	if (status == GP_OK)
		status = find(f);
	gp_tokenizer_release(&f->tokenizer);
	if (f->ranges != NULL)
		gp_step_ranges_close(f->ranges);
	free(f->ranges);
	free(f->token);
	free(f->marks.is_mark);
	free(f->places);
	return status == GP_OK ? gp_step_stat(f->out) : status;
}

static void find_forget(void *context)
{
	gp_steps_free(((struct finding *)context)->out);
}

enum gp_status gp_steps_find(struct gp_recording *recording, struct gp_steps *out)
{
	return gp_step_find(recording, &(struct gp_step_view){ 0 }, out);
}

enum gp_status gp_step_find(struct gp_recording *recording, const struct gp_step_view *view,
			    struct gp_steps *out)
{
	*out = (struct gp_steps){ .p50_ns = -1, .p99_ns = -1 };
	struct finding *f = calloc(1, sizeof *f);
	if (f == NULL)
		return GP_E_MEMORY;
	f->recording = recording;
	f->out = out;
	f->view = *view;
	enum gp_status status = gp_retry_if_overwritten(recording, find_attempt, find_forget, f);
	free(f);
	if (status != GP_OK)
		gp_steps_free(out);
	return status;
}

void gp_steps_name(struct gp_recording *recording, const char *name)
{
	recording->step_name = name;
}

void gp_steps_free(struct gp_steps *steps)
{
	free(steps->step);
	*steps = (struct gp_steps){ .p50_ns = -1, .p99_ns = -1 };
}
