/*
 * Finds the steps of a recording in one replay. It follows ranges (step_range.h) and records the
 * order of events. step_repeat.h finds the symbols that mark steps, in a long recording already
 * during the replay.
 */
#include <stdlib.h>
#include <string.h>

#include "../../read/tables/array.h"
#include "../../state/looks.h"
#include "../kept.h"
#include "step_find.h"
#include "step_range.h"
#include "step_repeat.h"

#define LEARNT_MAX (1u << 20) /* capacity: tokens of 64 bytes */
#define TOKENS_A_LOOK 5u      /* capacity: 3 ns each */

const char *const gp_step_source_names[GP_STEP_SOURCES] = { "none", "ranges", "updates",
							    "repetition" };

static const char nothing_recorded[] = "neither launches nor allocations were recorded";
static const char nothing_repeats[] = "launches and allocations do not repeat regularly";
static const char no_allocation_repeats[] =
	"allocations do not repeat regularly, and no launches are recorded";
static const char too_much[] =
	"launches of graphs need more work than the limit for a recording of this size";
static const char no_such_range[] = "no range has the name that was given for steps";

struct finding {
	struct gp_recording *recording;
	bool has_ranges, is_cut; /* is_cut: the beginning of the recording was overwritten */
	struct gp_steps *out;
	struct gp_tokenizer tokenizer;
	struct gp_step_ranges *ranges;
	struct gp_step_token *token; /* the newest ones: number k is at k % LEARNT_MAX */
	size_t tokens;
	struct gp_step_marks marks;
	struct gp_step_cuts cuts; /* at marks */
	struct gp_looks looks;	  /* limits the tokens behind the learnt ones */
	/* The current state of the replay. */
	uint64_t live_bytes, now_bytes[GP_DEVICES], launches, work;
	uint64_t before;	  /* ticks: time of the last launch or allocation */
	struct gp_step_place end; /* the end of all work */
	struct gp_moved moved;
	/* Since the last token. */
	struct gp_step_gap gap;
	bool has_gap;
};

/* ---- the current state of the replay ---- */

static void find_follow_live(struct finding *f, uint64_t moved)
{
	unsigned curve =
		f->tokenizer.alloc_kind == GP_BLOCK_ALLOC ? GP_CURVE_ALLOCATED : GP_CURVE_DRIVER;
	for (; moved != 0; moved &= moved - 1) {
		unsigned device = (unsigned)__builtin_ctzll(moved);
		const struct gp_live_device *d = gp_live_device(f->recording->live, device);
		f->live_bytes += d->curve[curve].now_bytes - f->now_bytes[device];
		f->now_bytes[device] = d->curve[curve].now_bytes;
	}
}

static struct gp_step_place find_here(const struct finding *f, const struct gp_record *record)
{
	return (struct gp_step_place){ gp_tick_ns(&f->recording->tick, record->time), f->work,
				       f->launches, f->live_bytes };
}

/* Call it before a launch or an allocation. */
static void find_see_work(struct finding *f, const struct gp_record *record)
{
	const struct gp_step_moment here = { gp_tick_ns(&f->recording->tick, record->time),
					     f->live_bytes };
	const uint64_t wait = record->time > f->before ? record->time - f->before : 0;
	struct gp_step_gap *gap = &f->gap;
	f->before = record->time;
	if (!f->has_gap || here.live_bytes < gap->lowest.live_bytes)
		gap->lowest = here;
	if (!f->has_gap || wait > gap->wait) {
		gap->late = here;
		gap->wait = wait;
	}
	f->has_gap = true;
}

static bool find_follow_ranges(struct finding *f, uint32_t thread, const struct gp_record *record)
{
	const struct gp_step_place here = find_here(f, record);
	const unsigned work =
		record->kind == GP_GRAPH_LAUNCH ? GP_STEP_GRAPH_WORK : f->tokenizer.is_work;
	f->work += work;
	if (work > 0)
		f->end = find_here(f, record);
	return !f->has_ranges || gp_step_ranges_see(f->ranges, thread, record, &here, work);
}

/* ---- repetition ---- */

/* Cuts before each first mark, at the median distance. */
static enum gp_status find_cut(struct finding *f, uint64_t number)
{
	const struct gp_step_token *token = &f->token[number % LEARNT_MAX];
	const struct gp_row_table *symbols = &f->tokenizer.symbols;
	struct gp_step_cuts *cuts = &f->cuts;
	if (f->marks.first != 0 &&
	    (token->one == f->marks.first || token->three == f->marks.first)) {
		struct gp_step_cut *cut = gp_array_append(&cuts->cut, &cuts->cuts, sizeof *cut);
		if (cut == NULL)
			return GP_E_MEMORY;
		const uint64_t back = f->marks.before < number ? f->marks.before : number;
		const struct gp_step_token *begin = &f->token[(number - back) % LEARNT_MAX];
		const struct gp_step_gap *gap = &begin->gap;
		const uint64_t most = gap->lowest.live_bytes + f->marks.slack_bytes;
		struct gp_step_moment at = gap->late.live_bytes > most ? gap->lowest : gap->late;
		/* before the first step, the job sets up */
		at.at_ns = cuts->cuts == 1 ? begin->at_ns : at.at_ns;
		cut->begin = (struct gp_step_place){ at.at_ns, 0, begin->launches, at.live_bytes };
	}
	const bool is_mark = gp_step_symbol(symbols, token->one)->is_mark ||
			     gp_step_symbol(symbols, token->three)->is_mark;
	if (cuts->cuts > 0 && is_mark)
		cuts->cut[cuts->cuts - 1].end.at_ns = token->at_ns;
	return GP_OK;
}

static enum gp_status find_learn(struct finding *f)
{
	const struct gp_step_sequence sequence = { f->token, f->tokens, &f->tokenizer.symbols };
	enum gp_status status = gp_step_repeat(&sequence, &f->marks);
	for (uint64_t k = 0; status == GP_OK && k < f->tokens; k++)
		status = find_cut(f, k);
	return status;
}

static enum gp_status find_see_token(struct finding *f, const struct gp_symbols *symbols,
				     int64_t at_ns)
{
	struct gp_step_token *token = &f->token[f->tokens % LEARNT_MAX];
	if (f->tokens < LEARNT_MAX)
		token = gp_array_append(&f->token, &f->tokens, sizeof *token);
	else
		f->tokens++;
	if (token == NULL || f->tokenizer.is_out_of_memory)
		return GP_E_MEMORY;
	*token = (struct gp_step_token){ symbols->one, symbols->three, at_ns, f->launches, f->gap };
	f->has_gap = false;
	if (f->tokens == LEARNT_MAX)
		return find_learn(f);
	return f->tokens > LEARNT_MAX ? find_cut(f, f->tokens - 1) : GP_OK;
}

static enum gp_status find_begin(void *context)
{
	struct finding *f = context;
	struct gp_recording *r = f->recording;
	enum gp_status status = GP_OK;
	find_follow_live(f, UINT64_MAX >> (64 - GP_DEVICES));
	f->ranges = gp_step_ranges_open(r, &status);
	if (f->ranges == NULL)
		return GP_E_MEMORY;
	gp_looks_open_bytes(&f->looks, r->file.bytes);
	return status;
}

static enum gp_status find_before(void *context, uint32_t thread, const struct gp_record *record)
{
	struct finding *f = context;
	struct gp_recording *r = f->recording;
	enum gp_status status = GP_OK;
	size_t tokens = gp_tokenizer_next(&f->tokenizer, r, record, f->tokens < LEARNT_MAX);
	if (f->tokenizer.is_work)
		find_see_work(f, record);
	if (f->tokens >= LEARNT_MAX && !gp_looks_take(&f->looks, tokens / TOKENS_A_LOOK))
		tokens = 0;
	const int64_t at_ns = gp_tick_ns(&r->tick, record->time);
	for (size_t k = 0; status == GP_OK && k < tokens; k++) {
		status = find_see_token(f, &f->tokenizer.symbol[k], at_ns);
		f->gap = (struct gp_step_gap){ .lowest = { at_ns, f->live_bytes },
					       .late = { at_ns, f->live_bytes } };
	}
	if (status == GP_OK && !find_follow_ranges(f, thread, record))
		return GP_E_MEMORY;
	f->launches += record->kind == GP_LAUNCH || record->kind == GP_GRAPH_LAUNCH;
	return status;
}

static enum gp_status find_after(void *context, uint32_t thread, const struct gp_record *record)
{
	struct finding *f = context;
	(void)thread;
	(void)record;
	find_follow_live(f, gp_moved_take(&f->moved));
	return GP_OK;
}

/* ---- choice of the rule ---- */

static enum gp_status find_by_repetition(struct finding *f)
{
	enum gp_status status = f->tokens < LEARNT_MAX ? find_learn(f) : GP_OK;
	f->out->why = f->tokens == 0		? nothing_recorded :
		      f->looks.refused > 0	? too_much :
		      f->tokenizer.has_launches ? nothing_repeats :
						  no_allocation_repeats;
	if (f->looks.refused > 0)
		f->cuts.cuts = 0;
	if (f->cuts.cuts > 0)
		f->cuts.cut[f->cuts.cuts - 1].end.launches = f->launches;
	return status;
}

/* A step ends at the begin of the next one. */
static enum gp_status find_fill(struct gp_steps *s, const struct gp_step_cuts *cuts,
				enum gp_step_source source)
{
	s->step = calloc(cuts->cuts, sizeof *s->step);
	if (s->step == NULL)
		return GP_E_MEMORY;
	s->steps = cuts->cuts;
	s->source = source;
	s->why = NULL;
	for (size_t k = 0; k < s->steps; k++) {
		const struct gp_step_cut *cut = &cuts->cut[k];
		const struct gp_step_place *end = k + 1 < s->steps ? &cut[1].begin : &cut->end;
		s->step[k] = (struct gp_step){ cut->begin.at_ns, end->at_ns,
					       end->launches - cut->begin.launches,
					       cut->begin.live_bytes };
	}
	return gp_step_stat(s);
}

static enum gp_status find_answer(void *context, const struct gp_info *info)
{
	struct finding *f = context;
	struct gp_step_cuts cuts = { 0 };
	enum gp_step_source source = GP_STEPS_NONE;
	(void)info;
	enum gp_status status = gp_step_ranges_cut(f->ranges, &f->end, f->is_cut, &cuts, &source);
	if (source == GP_STEPS_NONE && f->recording->step_name != NULL) {
		f->out->why = no_such_range;
	} else if (status == GP_OK && source == GP_STEPS_NONE) {
		status = find_by_repetition(f);
		cuts = f->cuts;
		source = GP_STEPS_REPETITION;
	}
	return status == GP_OK && cuts.cuts > 0 ? find_fill(f->out, &cuts, source) : status;
}

static enum gp_status find_prepare(void *context, const struct gp_info *info)
{
	struct finding *f = context;
	*f = (struct finding){ .recording = f->recording,
			       .out = f->out,
			       .has_ranges = info->has_ranges,
			       .is_cut = info->kept_from_ns > 0 };
	return gp_tokenizer_init(&f->tokenizer, info);
}

static void find_settle(void *context)
{
	struct finding *f = context;
	gp_tokenizer_release(&f->tokenizer);
	gp_step_ranges_close(f->ranges);
	f->ranges = NULL;
	free(f->token);
	f->token = NULL;
	free(f->cuts.cut);
	f->cuts.cut = NULL;
}

static void find_forget(void *context)
{
	gp_steps_free(((struct finding *)context)->out);
}

enum gp_status gp_steps_analysis(struct gp_recording *recording, struct gp_steps *out,
				 struct gp_analysis *analysis)
{
	struct finding *f = calloc(1, sizeof *f);
	*out = (struct gp_steps){ .p50_ns = -1, .p99_ns = -1 };
	*analysis = (struct gp_analysis){
		.context = f,
		.observer = { .begin = find_begin, .before = find_before, .after = find_after },
		.prepare = find_prepare,
		.answer = find_answer,
		.settle = find_settle,
		.forget = find_forget,
		.moved = f != NULL ? &f->moved : NULL
	};
	if (f == NULL)
		return GP_E_MEMORY;
	f->recording = recording;
	f->out = out;
	return GP_OK;
}

/* ---- several reports on one recording ---- */

static void steps_drop(void *steps)
{
	gp_steps_free(steps);
	free(steps);
}

static bool steps_copy(struct gp_steps *out, const struct gp_steps *from)
{
	struct gp_step *step = malloc((from->steps + 1) * sizeof *step);
	if (step == NULL)
		return false;
	if (from->steps > 0)
		memcpy(step, from->step, from->steps * sizeof *step);
	*out = *from;
	out->step = step;
	return true;
}

/* Without memory, the steps are found anew. */
void gp_steps_keep(struct gp_recording *recording, const struct gp_steps *steps)
{
	struct gp_steps *kept = malloc(sizeof *kept);
	if (kept != NULL && steps_copy(kept, steps))
		gp_keep(recording, GP_KEPT_STEPS, 0, kept, steps_drop);
	else
		free(kept);
}

enum gp_status gp_steps_find(struct gp_recording *recording, struct gp_steps *out)
{
	const struct gp_steps *kept = gp_kept_get(recording, GP_KEPT_STEPS, 0);
	if (kept != NULL && steps_copy(out, kept))
		return GP_OK;
	struct gp_analysis analysis;
	enum gp_status status = gp_steps_analysis(recording, out, &analysis);
	if (status == GP_OK)
		status = gp_analyse(recording, &analysis, 1);
	free(analysis.context);
	if (status == GP_OK)
		gp_steps_keep(recording, out);
	else
		gp_steps_free(out);
	return status;
}

void gp_steps_name(struct gp_recording *recording, const char *name)
{
	recording->step_name = name;
	gp_kept_forget(recording, GP_KEPT_STEPS);
	gp_kept_forget(recording, GP_KEPT_LEAKS);
	gp_kept_forget(recording, GP_KEPT_PHASES);
	gp_kept_forget(recording, GP_KEPT_WAITS);
}

void gp_steps_free(struct gp_steps *steps)
{
	free(steps->step);
	*steps = (struct gp_steps){ .p50_ns = -1, .p99_ns = -1 };
}

size_t gp_step_at(const struct gp_steps *steps, int64_t at_ns)
{
	size_t low = 0, high = steps->steps; /* the number of steps that began by then */
	while (low < high) {
		const size_t middle = low + (high - low) / 2;
		if (steps->step[middle].begin_ns <= at_ns)
			low = middle + 1;
		else
			high = middle;
	}
	return low == 0 || at_ns > steps->step[low - 1].end_ns ? steps->steps : low - 1;
}
