/*
 * The steps of a recording. A first replay takes down what ranges say (step_range.h), what came in
 * which order and how much memory was live then; from that is learnt which symbols mark steps, and
 * before which of them the least is live: there one step ends and the next begins. A second replay
 * cuts there, however long the recording is.
 */
#include <stdlib.h>
#include <string.h>

#include "../state/looks.h"
#include "settle.h"
#include "step_begin.h"
#include "step_find.h"
#include "step_learn.h"
#include "step_loop.h"
#include "step_range.h"
#include "step_stat.h"
#include "step_token.h"
#include "step_weigh.h"

#define LEARNT_MAX (6u << 20) /* tokens: more tell nothing new */
#define TOKENS_A_LOOK 5u      /* 3 ns each */
#define PLACES_MAX 65536u     /* tokens from the begin of a step to its first marker */

const char *const gp_step_source_names[GP_STEP_SOURCES] = { "none", "ranges", "repetition" };

static const char nothing_recorded[] = "neither launches nor allocations were recorded";
static const char nothing_repeats[] = "launches and allocations do not repeat regularly";
static const char no_allocation_repeats[] =
	"allocations do not repeat regularly, and no launches are recorded";
static const char too_much[] =
	"launches of graphs need more work than the limit for a recording of this size";
static const char too_few[] = "what the job launches and allocates comes too seldom to be steps";

/* The moment before a token: a step may begin there. */
struct place {
	int64_t at_ns;
	uint64_t launches, live_bytes;
	uint64_t wait; /* ticks since the token before */
	uint32_t one;  /* the token's symbol */
};

struct finding {
	struct gp_recording *recording;
	struct gp_step_view view;
	struct gp_steps *out;
	struct gp_tokenizer tokenizer;
	struct gp_step_ranges *ranges;
	struct gp_step_place end; /* of all work */
	/* learnt */
	uint32_t *one, *three;
	float *live, *wait; /* before each token: the least bytes, and the wait, since the last */
	size_t tokens, room;
	struct gp_step_markers markers;
	struct gp_step_begin begin;
	struct gp_looks looks; /* of the second replay: for tokens of graphs */
	/* of the replay under way */
	uint64_t live_bytes, low_bytes, now_bytes[GP_DEVICES], launches, token;
	uint64_t before; /* ticks */
	uint64_t first;	 /* the token behind the last first marker: a step begins no sooner */
	/* 1 + the token before which this step begins, as its edge says; 0: none came */
	uint64_t edge;
	int64_t marked_ns;
	size_t marks;	      /* markers of the step under way */
	struct place *places; /* a ring of the last ones */
};

/* ---- what is live ---- */

/* Before a token the least since the one before it has had its effect. */
static void see_live(struct finding *f, bool is_token)
{
	unsigned curve = f->tokenizer.has_blocks ? GP_CURVE_ALLOCATED : GP_CURVE_DRIVER;
	uint64_t moved = gp_live_take_moved(f->recording->live);
	for (; moved != 0; moved &= moved - 1) {
		unsigned device = (unsigned)__builtin_ctzll(moved);
		const struct gp_live_device *d = gp_live_device(f->recording->live, device);
		f->live_bytes += d->curve[curve].now_bytes - f->now_bytes[device];
		f->now_bytes[device] = d->curve[curve].now_bytes;
	}
	if (is_token || f->live_bytes < f->low_bytes)
		f->low_bytes = f->live_bytes;
}

static enum gp_status begin_replay(struct finding *f)
{
	enum gp_status status = gp_recording_rewind(f->recording);
	gp_tokenizer_rewind(&f->tokenizer);
	f->live_bytes = f->launches = f->token = f->first = f->edge = 0;
	memset(f->now_bytes, 0, sizeof f->now_bytes);
	if (status != GP_OK)
		return status;
	for (unsigned device = 0; device < GP_DEVICES; device++) {
		const struct gp_live_device *d = gp_live_device(f->recording->live, device);
		unsigned curve = f->tokenizer.has_blocks ? GP_CURVE_ALLOCATED : GP_CURVE_DRIVER;
		f->now_bytes[device] = d->curve[curve].now_bytes;
		f->live_bytes += f->now_bytes[device];
	}
	gp_live_take_moved(f->recording->live);
	f->low_bytes = f->live_bytes;
	return GP_OK;
}

static bool is_launch(const struct gp_record *r)
{
	return r->kind == GP_LAUNCH || r->kind == GP_GRAPH_LAUNCH;
}

/* ---- the first replay: what comes in which order ---- */

static bool grow(struct finding *f)
{
	size_t room = f->room ? f->room * 2 : 1u << 14;
	uint32_t *one = realloc(f->one, room * sizeof *one);
	f->one = one != NULL ? one : f->one;
	uint32_t *three = realloc(f->three, room * sizeof *three);
	f->three = three != NULL ? three : f->three;
	float *live = realloc(f->live, room * sizeof *live);
	f->live = live != NULL ? live : f->live;
	float *wait = realloc(f->wait, room * sizeof *wait);
	f->wait = wait != NULL ? wait : f->wait;
	bool has_all = one != NULL && three != NULL && live != NULL && wait != NULL;
	f->room = has_all ? room : f->room;
	return f->room == room;
}

/* Those of one event: they come at once. */
static bool keep_tokens(struct finding *f, size_t tokens, uint64_t wait)
{
	for (size_t k = 0; k < tokens; k++) {
		if (f->tokens == f->room && !grow(f))
			return false;
		f->one[f->tokens] = f->tokenizer.symbol[k].one;
		f->three[f->tokens] = f->tokenizer.symbol[k].three;
		f->live[f->tokens] = (float)f->low_bytes;
		f->low_bytes = f->live_bytes;
		f->wait[f->tokens++] = k == 0 ? (float)wait : 0;
	}
	return !f->tokenizer.is_out_of_memory;
}

/* Where the replay is, before the event. */
static struct gp_step_place place_of(const struct finding *f, const struct gp_record *record)
{
	return (struct gp_step_place){ gp_tick_ns(&f->recording->tick, record->time), f->token,
				       f->launches, f->live_bytes };
}

/* To the end where there are ranges, else as long as there is something to learn. */
static enum gp_status take_down(struct finding *f)
{
	struct gp_recording *r = f->recording;
	enum gp_status status = begin_replay(f);
	uint64_t before = 0;
	f->end = (struct gp_step_place){ 0 };
	if (status == GP_OK)
		status = gp_step_ranges_open(f->ranges, r);
	while (status == GP_OK && (f->tokens < LEARNT_MAX || f->ranges->has_any)) {
		uint32_t thread;
		const struct gp_record *record = gp_recording_fetch(r, &thread, &status);
		if (record == NULL)
			break;
		bool can_learn = f->tokens < LEARNT_MAX;
		size_t tokens = gp_tokenizer_next(&f->tokenizer, r, record, can_learn);
		if (can_learn && !keep_tokens(f, tokens, record->time - before))
			return GP_E_MEMORY;
		before = tokens > 0 ? record->time : before;
		const struct gp_step_place here = place_of(f, record);
		bool is_unknown = record->kind == GP_GRAPH_LAUNCH && tokens == 1;
		/* stacks may be those of a captured part alone: work is all there is */
		const size_t work = tokens > 0 ? tokens : f->tokenizer.is_work;
		if (!f->view.has_no_ranges &&
		    !gp_step_ranges_see(f->ranges, thread, record, &here,
					is_unknown ? GP_LOOP_GRAPH_WORK : (unsigned)work))
			return GP_E_MEMORY;
		f->token += work;
		f->launches += is_launch(record);
		f->end = work > 0 ? place_of(f, record) : f->end;
		status = gp_recording_apply(r, record);
		see_live(f, tokens > 0);
	}
	return status == GP_END ? GP_OK : status;
}

static enum gp_status learn(struct finding *f)
{
	struct gp_step_sequence sequence = { .one = f->one,
					     .three = f->three,
					     .tokens = f->tokens,
					     .symbols = f->tokenizer.table.symbols,
					     .trait = f->tokenizer.table.trait,
					     .live = f->live };
	f->markers.is_marker = calloc(GP_SYMBOLS_MAX, sizeof *f->markers.is_marker);
	if (f->markers.is_marker == NULL)
		return GP_E_MEMORY;
	enum gp_status status = gp_step_learn(&sequence, &f->markers);
	if (status == GP_OK && f->markers.leader != 0)
		status = gp_step_begin_find(&sequence, f->wait, &f->markers, &f->begin);
	free(f->one);
	free(f->three);
	free(f->live);
	free(f->wait);
	f->one = f->three = NULL;
	f->live = f->wait = NULL;
	return status;
}

/* ---- the second replay: cutting ---- */

/* A step has much of what all have: what has little was begun by chance. */
static void drop_chance(struct finding *f)
{
	if (f->out->steps > 0 && f->marks * 4 < f->markers.markers)
		f->out->steps--;
	f->marks = 0;
}

static bool add_step(struct finding *f, const struct place *begin)
{
	struct gp_steps *s = f->out;
	drop_chance(f);
	if ((s->steps & (s->steps - 1)) == 0) {
		size_t room = s->steps ? s->steps * 2 : 1;
		struct gp_step *step = realloc(s->step, room * sizeof *step);
		if (step == NULL)
			return false;
		s->step = step;
	}
	s->step[s->steps++] = (struct gp_step){ .begin_ns = begin->at_ns,
						.launches = begin->launches,
						.live_bytes = begin->live_bytes };
	return true;
}

static const struct place *find_place(const struct finding *f, uint64_t before)
{
	return &f->places[(f->token - before) % PLACES_MAX];
}

static bool is_opening(const struct finding *f, uint64_t before)
{
	for (unsigned k = 0; k < GP_STEP_OPENING; k++)
		if (find_place(f, before - k)->one != f->begin.opening[k])
			return false;
	return true;
}

/* The first step does once what others need not do: it begins with what others begin with. */
static uint64_t find_opening(const struct finding *f, uint64_t from, uint64_t to)
{
	for (uint64_t before = from; before <= to && before > GP_STEP_OPENING; before++)
		if (is_opening(f, before))
			return before;
	return from;
}

/* Less is live, or as little, and the wait was longer. */
static bool is_lower(const struct place *here, const struct place *than)
{
	bool is_alike = here->live_bytes == than->live_bytes;
	return is_alike ? here->wait > than->wait : here->live_bytes < than->live_bytes;
}

/*
 * As far before its first marker as the others begin. Where that is not always the same: where the
 * least is live, after the longest wait.
 */
static const struct place *find_begin(const struct finding *f)
{
	uint64_t most = f->token - f->first < PLACES_MAX - 1 ? f->token - f->first : PLACES_MAX - 1;
	uint64_t from = f->begin.nearest < most ? f->begin.nearest : most;
	uint64_t to = f->begin.farthest < most ? f->begin.farthest : most;
	if (f->out->steps == 0 && from == to)
		return find_place(f, find_opening(f, from, from * 2 < most ? from * 2 : most));
	if (f->edge > 0 && f->token + 1 - f->edge <= most)
		return find_place(f, f->token + 1 - f->edge);
	const struct place *found = find_place(f, from);
	for (uint64_t before = from; before <= to; before++) {
		const struct place *here = find_place(f, before);
		if (is_lower(here, found))
			found = here;
	}
	return found;
}

/* One token; its event is not applied yet. */
static bool see_token(struct finding *f, const struct gp_symbols *symbols, uint64_t time)
{
	int64_t at_ns = gp_tick_ns(&f->recording->tick, time);
	f->places[f->token % PLACES_MAX] = (struct place){
		.at_ns = at_ns,
		.launches = f->launches,
		.live_bytes = f->low_bytes,
		.wait = time > f->before ? time - f->before : 0,
		.one = symbols->one,
	};
	f->before = time;
	f->low_bytes = f->live_bytes;
	bool is_first = symbols->one == f->begin.first || symbols->three == f->begin.first;
	if (f->begin.edge != 0 && symbols->three == f->begin.edge &&
	    f->token >= f->begin.edge_distance)
		f->edge = f->token - f->begin.edge_distance + 1;
	if (is_first && !add_step(f, find_begin(f)))
		return false;
	f->edge = is_first ? 0 : f->edge;
	f->first = is_first ? f->token + 1 : f->first;
	const size_t marks =
		f->markers.is_marker[symbols->one] + f->markers.is_marker[symbols->three];
	f->marks += marks;
	f->marked_ns = marks > 0 ? at_ns : f->marked_ns;
	return true;
}

static enum gp_status cut(struct finding *f)
{
	struct gp_recording *r = f->recording;
	enum gp_status status = begin_replay(f);
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
		for (size_t k = 0; k < tokens; k++, f->token++)
			if (!see_token(f, &f->tokenizer.symbol[k], record->time))
				return GP_E_MEMORY;
		f->launches += is_launch(record);
		status = gp_recording_apply(r, record);
		see_live(f, tokens > 0);
	}
	return status == GP_END ? GP_OK : status;
}

static void finish(struct finding *f)
{
	struct gp_steps *s = f->out;
	for (size_t k = 0; k < s->steps; k++) {
		bool is_last = k + 1 == s->steps;
		s->step[k].end_ns = is_last ? f->marked_ns : s->step[k + 1].begin_ns;
		s->step[k].launches =
			(is_last ? f->launches : s->step[k + 1].launches) - s->step[k].launches;
	}
}

static enum gp_status find_by_repetition(struct finding *f)
{
	if (f->tokens == 0) {
		f->out->why = nothing_recorded;
		return GP_OK;
	}
	enum gp_status status = learn(f);
	if (status == GP_OK && f->begin.first == 0)
		f->out->why = f->tokenizer.has_launches ? nothing_repeats : no_allocation_repeats;
	if (status != GP_OK || f->begin.first == 0)
		return status;
	status = cut(f);
	if (status != GP_OK)
		return status;
	drop_chance(f);
	if (f->out->steps < 2 || f->looks.refused > 0) {
		f->out->steps = 0;
		f->out->why = f->looks.refused > 0 ? too_much : too_few;
		return GP_OK;
	}
	f->out->source = GP_STEPS_REPETITION;
	f->out->why = NULL;
	finish(f);
	return GP_OK;
}

/* ---- ranges ---- */

static void take_cuts(const struct gp_step_cuts *cuts, struct gp_step *step)
{
	for (size_t k = 0; k < cuts->cuts; k++) {
		const struct gp_step_place *begin = &cuts->cut[k].begin;
		const struct gp_step_place *end =
			k + 1 == cuts->cuts ? &cuts->cut[k].end : &cuts->cut[k + 1].begin;
		step[k] = (struct gp_step){ .begin_ns = begin->at_ns,
					    .end_ns = end->at_ns,
					    .launches = end->launches - begin->launches,
					    .live_bytes = begin->live_bytes };
	}
}

/* Steps by repetition that account for more of the job. */
static enum gp_status is_more(const struct finding *f, const struct gp_step *told, size_t steps,
			      bool *out)
{
	double of_told = 0, of_found = 0;
	const struct gp_steps *s = f->out;
	enum gp_status status = gp_step_share(told, steps, f->end.launches, f->end.at_ns, &of_told);
	if (status == GP_OK)
		status = gp_step_share(s->step, s->steps, f->end.launches, f->end.at_ns, &of_found);
	*out = of_found > of_told;
	return status;
}

/*
 * Ranges that account for the job are believed. Little ones are not, where more repeats itself; nor
 * are updates of which each step has several: two models have two optimizers.
 */
static enum gp_status find_beside(struct finding *f, enum gp_step_told told,
				  const struct gp_step_cuts *cuts)
{
	struct gp_step *step = calloc(cuts->cuts + 1, sizeof *step);
	enum gp_status status = step != NULL ? GP_OK : GP_E_MEMORY;
	bool is_repetition = cuts->cuts == 0;
	if (status == GP_OK && told != GP_TOLD_STEPS)
		status = find_by_repetition(f);
	if (status == GP_OK)
		take_cuts(cuts, step);
	if (status == GP_OK && told == GP_TOLD_LITTLE && f->out->steps > 0)
		status = is_more(f, step, cuts->cuts, &is_repetition);
	if (status == GP_OK && told == GP_TOLD_UPDATES && f->out->steps > 0)
		status = gp_step_have_several(f->out->step, f->out->steps, cuts, &is_repetition);
	if (status != GP_OK || is_repetition) {
		free(step);
		return status;
	}
	free(f->out->step);
	f->out->step = step;
	f->out->steps = cuts->cuts;
	f->out->source = GP_STEPS_RANGES;
	f->out->why = NULL;
	return GP_OK;
}

static enum gp_status find(struct finding *f)
{
	enum gp_step_told told = GP_TOLD_NOTHING;
	struct gp_step_cuts cuts = { 0 };
	enum gp_status status = take_down(f);
	if (status == GP_OK)
		status = gp_step_ranges_settle(f->ranges, &f->end);
	if (status == GP_OK)
		status = gp_step_weigh(f->ranges, &f->end, &told, &cuts);
	if (status == GP_OK)
		status = find_beside(f, told, &cuts);
	free(cuts.cut);
	return status;
}

/* What is seen of the recording in f->view. */
static enum gp_status look(struct finding *f, const struct gp_info *info)
{
	f->ranges = calloc(1, sizeof *f->ranges);
	enum gp_status status = GP_E_MEMORY;
	if (f->ranges != NULL) {
		f->ranges->updates.is_cut = info->kept_from_ns > 0;
		status = gp_tokenizer_init(&f->tokenizer, info, &f->view);
	}
	if (status == GP_OK)
		status = find(f);
	gp_tokenizer_release(&f->tokenizer);
	if (f->ranges != NULL)
		gp_step_ranges_close(f->ranges);
	free(f->ranges);
	free(f->one);
	free(f->three);
	free(f->live);
	free(f->wait);
	free(f->markers.is_marker);
	free(f->places);
	return status;
}

/* Sizes may vary from step to step: they are looked at where nothing else tells. */
static enum gp_status attempt(void *context, const struct gp_info *info)
{
	struct finding *f = context;
	const struct finding fresh = { .recording = f->recording, .view = f->view, .out = f->out };
	*f = fresh;
	enum gp_status status = look(f, info);
	bool is_all = f->out->steps > 0 || f->tokenizer.has_launches || f->tokenizer.has_sizes;
	if (status == GP_OK && !is_all) {
		*f = fresh;
		f->view.has_sizes = true;
		status = look(f, info);
		f->view = fresh.view;
	}
	return status == GP_OK ? gp_step_stat(f->out) : status;
}

static void forget(void *context)
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
	enum gp_status status = gp_retry_if_overwritten(recording, attempt, forget, f);
	free(f);
	if (status != GP_OK)
		gp_steps_free(out);
	return status;
}

void gp_steps_free(struct gp_steps *steps)
{
	free(steps->step);
	*steps = (struct gp_steps){ .p50_ns = -1, .p99_ns = -1 };
}
