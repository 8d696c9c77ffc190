/*
 * The steps of a recording. A first replay takes down what ranges say (step_range.h), what came in
 * which order and how much memory was live then; from that is learnt which symbols mark steps, and
 * before which of them the least is live: there one step ends and the next begins. A second replay
 * cuts there, however long the recording is.
 */
#include <stdlib.h>
#include <string.h>

#include "settle.h"
#include "step_learn.h"
#include "step_range.h"
#include "step_stat.h"
#include "step_token.h"
#include "step_weigh.h"

#define LEARNT_MAX (6u << 20) /* tokens: more tell nothing new */
#define LEAST_BYTES 512u      /* so little more is the least, too: a figure that is kept */
#define OPENERS_MAX 8u	      /* steps before the first that is cut */
#define LITTLE 0.75	      /* of a share: not told from all of it */
#define GRAPH_WORK 256u	      /* launches that a graph is taken for */
#define EARLY_MAX 65536u      /* tokens before the first step's end, of which one began it */

const char *const gp_step_source_names[GP_STEP_SOURCES] = { "none", "ranges", "repetition" };

static const char nothing_recorded[] =
	"nothing that repeats is recorded: neither launches nor allocations";
static const char nothing_repeats[] =
	"nothing that the job launches or allocates repeats itself from step to step";
static const char too_few[] = "what the job launches and allocates comes too seldom to be steps";

/* The moment before a token: a step may begin there. */
struct place {
	int64_t at_ns;
	uint64_t token, launches, live_bytes;
};

struct finding {
	struct gp_recording *recording;
	struct gp_steps *out;
	struct gp_tokenizer tokenizer;
	struct gp_step_ranges *ranges;
	struct gp_step_place end; /* of all work */
	/* learnt */
	uint32_t *one, *three;
	float *live, *wait; /* before each token: the least bytes, and the wait, since the last */
	size_t tokens, room;
	uint8_t *is_marker;
	uint32_t first; /* the marker behind which a step begins; 0: none */
	/* of the replay under way */
	uint64_t live_bytes, low_bytes, now_bytes[GP_DEVICES], launches, token;
	struct place least; /* since the last marker: where the least is live, after a wait */
	uint64_t least_bytes, longest_wait, before; /* ticks */
	bool is_open;				    /* a marker came: `least` is since then */
	int64_t marked_ns;
	struct place *early;		   /* a ring of the places before the first step is cut */
	uint64_t first_token, begin_token; /* of the first cut; of the step under way */
	uint32_t opener;		   /* the first marker that came at all */
	uint64_t opener_token[OPENERS_MAX];
	/* markers that came by then, by the first cut, and at all */
	uint64_t opener_marked[OPENERS_MAX], first_marked, marked;
	unsigned early_openers; /* how often it came before the first cut */
	bool has_opener;	/* it came in the step under way */
	/* in tokens, from the begins of steps to the marker with which they are cut, and to the
	 * opener */
	uint64_t *distance, *opener_distance;
	size_t opener_distances;
};

/* ---- what is live ---- */

static void see_live(struct finding *f)
{
	unsigned curve = f->tokenizer.has_blocks ? GP_CURVE_ALLOCATED : GP_CURVE_DRIVER;
	uint64_t moved = gp_live_take_moved(f->recording->live);
	for (; moved != 0; moved &= moved - 1) {
		unsigned device = (unsigned)__builtin_ctzll(moved);
		const struct gp_live_device *d = gp_live_device(f->recording->live, device);
		f->live_bytes += d->curve[curve].now_bytes - f->now_bytes[device];
		f->now_bytes[device] = d->curve[curve].now_bytes;
	}
	f->low_bytes = f->live_bytes < f->low_bytes ? f->live_bytes : f->low_bytes;
}

static enum gp_status begin_replay(struct finding *f)
{
	enum gp_status status = gp_recording_rewind(f->recording);
	gp_tokenizer_rewind(&f->tokenizer);
	f->live_bytes = f->launches = f->token = 0;
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

static bool keep_token(struct finding *f, const struct gp_symbols *symbols, uint64_t wait)
{
	if (f->tokens == f->room && !grow(f))
		return false;
	f->one[f->tokens] = symbols->one;
	f->three[f->tokens] = symbols->three;
	f->live[f->tokens] = (float)f->low_bytes;
	f->low_bytes = f->live_bytes;
	f->wait[f->tokens++] = (float)wait;
	return true;
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
		struct gp_symbols symbols;
		const struct gp_record *record = gp_recording_fetch(r, &thread, &status);
		if (record == NULL)
			break;
		bool can_learn = f->tokens < LEARNT_MAX;
		bool is_token = gp_tokenizer_next(&f->tokenizer, r, record, can_learn, &symbols);
		if (is_token && can_learn && !keep_token(f, &symbols, record->time - before))
			return GP_E_MEMORY;
		before = is_token ? record->time : before;
		const struct gp_step_place here = place_of(f, record);
		unsigned work = record->kind == GP_GRAPH_LAUNCH ? GRAPH_WORK : 1;
		if (!gp_step_ranges_see(f->ranges, thread, record, &here, is_token ? work : 0))
			return GP_E_MEMORY;
		f->token += is_token;
		f->launches += is_launch(record);
		f->end = is_token ? place_of(f, record) : f->end;
		status = gp_recording_apply(r, record);
		see_live(f);
	}
	return status == GP_END ? GP_OK : status;
}

/* ---- where in the loop a step begins ---- */

/* What was between a marker and the one before it. */
struct ebb {
	float least, wait;
	uint32_t marker; /* 0: none yet */
};

/* Less was live; or as little, and the job waited longer: for data, or for the device. */
static bool is_lower(const struct ebb *a, const struct ebb *b)
{
	bool is_alike = a->least <= b->least + LEAST_BYTES && b->least <= a->least + LEAST_BYTES;
	return b->marker == 0 || (is_alike ? a->wait > b->wait : a->least < b->least);
}

static uint32_t marker_at(const struct finding *f, size_t at)
{
	if (f->is_marker[f->three[at]])
		return f->three[at];
	return f->is_marker[f->one[at]] ? f->one[at] : 0;
}

/*
 * Each turn of the loop has a lowest ebb: the marker behind it that most turns agree on. The first
 * half of the turns has less than is usual: what they make is not there yet.
 */
static enum gp_status find_first(struct finding *f)
{
	uint32_t *votes = calloc((size_t)f->tokenizer.table.symbols + 1, sizeof *votes);
	uint32_t turn = 0; /* a marker: turns are counted by it */
	struct ebb lowest = { 0 }, now = { 0 };
	bool is_open = false;
	if (votes == NULL)
		return GP_E_MEMORY;
	for (size_t k = 0; k < f->tokens; k++) {
		now.least = !is_open || f->live[k] < now.least ? f->live[k] : now.least;
		now.wait = !is_open || f->wait[k] > now.wait ? f->wait[k] : now.wait;
		now.marker = marker_at(f, k);
		is_open = now.marker == 0;
		if (is_open || k * 2 < f->tokens)
			continue;
		lowest = is_lower(&now, &lowest) ? now : lowest;
		turn = turn == 0 ? now.marker : turn;
		if (now.marker != turn)
			continue;
		votes[lowest.marker]++;
		if (votes[lowest.marker] > votes[f->first])
			f->first = lowest.marker;
		lowest.marker = 0;
	}
	free(votes);
	return GP_OK;
}

static enum gp_status learn(struct finding *f)
{
	struct gp_step_sequence sequence = { .one = f->one,
					     .three = f->three,
					     .tokens = f->tokens,
					     .symbols = f->tokenizer.table.symbols,
					     .trait = f->tokenizer.table.trait };
	size_t markers = 0;
	f->is_marker = calloc(GP_SYMBOLS_MAX, 1);
	if (f->is_marker == NULL)
		return GP_E_MEMORY;
	enum gp_status status = gp_step_learn(&sequence, f->is_marker, &markers);
	if (status == GP_OK && markers > 0)
		status = find_first(f);
	free(f->one);
	free(f->three);
	free(f->live);
	free(f->wait);
	f->one = f->three = NULL;
	f->live = f->wait = NULL;
	return status;
}

/* ---- the second replay: cutting ---- */

static bool add_step(struct finding *f, const struct place *begin)
{
	struct gp_steps *s = f->out;
	if ((s->steps & (s->steps - 1)) == 0) {
		size_t room = s->steps ? s->steps * 2 : 1;
		/* more: see place_first */
		struct gp_step *step = realloc(s->step, (room + OPENERS_MAX) * sizeof *step);
		s->step = step != NULL ? step : s->step;
		uint64_t *distance = realloc(f->distance, room * sizeof *distance);
		f->distance = distance != NULL ? distance : f->distance;
		uint64_t *opener = realloc(f->opener_distance, room * sizeof *opener);
		f->opener_distance = opener != NULL ? opener : f->opener_distance;
		if (step == NULL || distance == NULL || opener == NULL)
			return false;
	}
	f->distance[s->steps] = f->token - begin->token;
	f->begin_token = begin->token;
	f->has_opener = false;
	s->step[s->steps++] = (struct gp_step){ .begin_ns = begin->at_ns,
						.launches = begin->launches,
						.live_bytes = begin->live_bytes };
	return true;
}

static void see_opener(struct finding *f, const struct gp_symbols *symbols)
{
	if (f->opener == 0) {
		f->opener = f->is_marker[symbols->one] ? symbols->one : symbols->three;
	}
	bool is_opener = symbols->one == f->opener || symbols->three == f->opener;
	if (is_opener && f->out->steps == 0 && f->early_openers < OPENERS_MAX) {
		f->opener_marked[f->early_openers] = f->marked;
		f->opener_token[f->early_openers++] = f->token;
	}
	if (!is_opener || f->has_opener || f->out->steps < 2)
		return;
	f->opener_distance[f->opener_distances++] = f->token - f->begin_token;
	f->has_opener = true;
}

/* Of places with as little live the last one that comes after about the longest wait. */
static void see_place(struct finding *f, const struct place *here, uint64_t time)
{
	uint64_t wait = time > f->before ? time - f->before : 0;
	f->before = time;
	if (!f->is_open || here->live_bytes + LEAST_BYTES < f->least_bytes)
		f->longest_wait = 0;
	if (!f->is_open || here->live_bytes < f->least_bytes)
		f->least_bytes = here->live_bytes;
	f->is_open = true;
	if (here->live_bytes - f->least_bytes > LEAST_BYTES || wait * 2 < f->longest_wait)
		return;
	f->longest_wait = wait > f->longest_wait ? wait : f->longest_wait;
	f->least = *here;
}

/* One token; its event is not applied yet. */
static bool see_token(struct finding *f, const struct gp_symbols *symbols, uint64_t time)
{
	int64_t at_ns = gp_tick_ns(&f->recording->tick, time);
	const struct place here = { at_ns, f->token, f->launches, f->low_bytes };
	see_place(f, &here, time);
	f->low_bytes = f->live_bytes;
	if (f->out->steps == 0)
		f->early[f->token % EARLY_MAX] = here;
	bool is_first = symbols->one == f->first || symbols->three == f->first;
	bool is_marker = f->is_marker[symbols->one] || f->is_marker[symbols->three];
	if (is_first && f->out->steps == 0) {
		f->first_token = f->token;
		f->first_marked = f->marked;
	}
	if (is_first && !add_step(f, &f->least))
		return false;
	if (is_marker) {
		f->marked++;
		f->is_open = false;
		f->marked_ns = at_ns;
		see_opener(f, symbols);
	}
	return true;
}

static enum gp_status cut(struct finding *f)
{
	struct gp_recording *r = f->recording;
	enum gp_status status = begin_replay(f);
	f->early = calloc(EARLY_MAX, sizeof *f->early);
	if (f->early == NULL)
		return GP_E_MEMORY;
	f->is_open = false;
	while (status == GP_OK) {
		uint32_t thread;
		struct gp_symbols symbols;
		const struct gp_record *record = gp_recording_fetch(r, &thread, &status);
		if (record == NULL)
			break;
		bool is_token = gp_tokenizer_next(&f->tokenizer, r, record, false, &symbols);
		if (is_token && !see_token(f, &symbols, record->time))
			return GP_E_MEMORY;
		f->token += is_token;
		f->launches += is_launch(record);
		status = gp_recording_apply(r, record);
		see_live(f);
	}
	return status == GP_END ? GP_OK : status;
}

/* So many tokens before `token`, or as many as are known. */
static const struct place *find_early(const struct finding *f, uint64_t token, uint64_t before)
{
	uint64_t oldest = f->first_token >= EARLY_MAX ? f->first_token - (EARLY_MAX - 1) : 0;
	uint64_t at = token >= oldest + before ? token - before : oldest;
	return &f->early[at % EARLY_MAX];
}

static void begin_at(struct gp_step *step, const struct place *begin)
{
	step->begin_ns = begin->at_ns;
	step->launches = begin->launches;
	step->live_bytes = begin->live_bytes;
}

/*
 * Before the first step the job set itself up: no less is live then than in any step. It begins as
 * far before its first marker as the others do. That by which steps are cut may be missing in it,
 * since it says what came before, too: then another marker came once more.
 */
static void place_first(struct finding *f)
{
	struct gp_steps *s = f->out;
	uint64_t cut = gp_step_median(f->distance + 1, s->steps - 1);
	uint64_t opener = gp_step_median(f->opener_distance, f->opener_distances);
	begin_at(&s->step[0], find_early(f, f->first_token, cut));
	if (f->opener_distances == 0)
		return;
	uint64_t usual = (f->marked - f->first_marked) / s->steps, next = f->first_marked;
	for (size_t k = f->early_openers - (f->early_openers > 0 && opener < cut); k-- > 0;) {
		/* what the job did to set itself up has few markers */
		if ((next - f->opener_marked[k]) * 4 < usual)
			break;
		next = f->opener_marked[k];
		memmove(s->step + 1, s->step, s->steps++ * sizeof *s->step);
		begin_at(&s->step[0], find_early(f, f->opener_token[k], opener));
	}
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
	if (status == GP_OK && f->first == 0)
		f->out->why = nothing_repeats;
	if (status != GP_OK || f->first == 0)
		return status;
	status = cut(f);
	if (status != GP_OK)
		return status;
	if (f->out->steps < 2) {
		f->out->steps = 0;
		f->out->why = too_few;
		return GP_OK;
	}
	f->out->source = GP_STEPS_REPETITION;
	place_first(f);
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
	*out = of_found * LITTLE > of_told;
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

static enum gp_status attempt(void *context, const struct gp_info *info)
{
	struct finding *f = context, fresh = { .recording = f->recording, .out = f->out };
	*f = fresh;
	f->ranges = calloc(1, sizeof *f->ranges);
	enum gp_status status = GP_E_MEMORY;
	if (f->ranges != NULL) {
		f->ranges->updates.is_cut = info->kept_from_ns > 0;
		status = gp_tokenizer_init(&f->tokenizer, info);
	}
	if (status == GP_OK)
		status = find(f);
	if (status == GP_OK)
		status = gp_step_stat(f->out);
	gp_tokenizer_release(&f->tokenizer);
	if (f->ranges != NULL)
		gp_step_ranges_close(f->ranges);
	free(f->ranges);
	free(f->one);
	free(f->three);
	free(f->live);
	free(f->wait);
	free(f->is_marker);
	free(f->early);
	free(f->distance);
	free(f->opener_distance);
	return status;
}

static void forget(void *context)
{
	gp_steps_free(((struct finding *)context)->out);
}

enum gp_status gp_steps_find(struct gp_recording *recording, struct gp_steps *out)
{
	*out = (struct gp_steps){ .p50_ns = -1, .p99_ns = -1 };
	struct finding *f = calloc(1, sizeof *f);
	if (f == NULL)
		return GP_E_MEMORY;
	f->recording = recording;
	f->out = out;
	enum gp_status status = gp_settle(recording, attempt, forget, f);
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
