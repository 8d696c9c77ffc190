/*
 * A replay that follows the ranges of each thread: of every stretch between two ends or beginnings
 * it is known what was launched in it, and when the engine is entered they are looked at from the
 * innermost outward.
 */
#include "phase_forward.h"

#include <stdlib.h>
#include <string.h>

#include "../../read/tables/array.h"
#include "../../read/tables/row_table.h"
#include "phase_follow.h"
#include "phase_kind.h"

#define NAMES_MOST 65536u /* of which it is known whether they are steps */
/* launches: so few may be a loss that is scaled or divided before backward() */
#define FEW 4u

/* What a stretch began with. */
enum begin { BY_PUSH, BY_FENCE, BY_ENGINE };

/* What a thread does in no range deeper than the one it lies in. */
struct stretch {
	uint64_t from; /* the event behind which it begins; 0: that is not known */
	uint64_t epoch;
	int64_t from_ns;
	enum begin by;
	uint64_t launches, named; /* of them: in ranges that are called "forward" */
};

struct level {
	uint64_t mark; /* of its range */
	uint32_t name;
	enum gp_phase_kind kind;
	uint64_t at; /* the event that pushed it */
	struct stretch outer;
	bool is_touched; /* it is a fence or the engine, or one was in it */
	bool is_nested;	 /* an engine inside another */
};

enum verdict { NONE, FOUND, NAMED, UNCLEAR };
struct judged {
	enum verdict verdict;
	enum begin by;
	uint64_t launches;
	struct gp_forward forward;
};

struct thread {
	uint64_t number; /* the key */
	struct level *level;
	size_t depth, room;
	uint32_t engines; /* open ones */
	struct stretch now;
	struct judged before; /* the zero_grad that came last, if nothing else has */
};

struct finding {
	struct gp_recording *recording;
	const struct gp_info *info;
	struct gp_forwards *out;
	struct gp_phase_follow follow;
	struct gp_row_table threads;
	uint64_t marks;
	uint64_t number; /* of the event */
	uint64_t epoch;	 /* holes that were met */
	int64_t now_ns;
	uint64_t time;
	bool has_launches;
	bool is_out_of_memory;
	uint64_t is_step[NAMES_MOST / 64]; /* bits: ranges of that name hold fences */
};

static struct thread *thread_find(struct finding *f, uint32_t number)
{
	return gp_row_of_key(&f->threads, sizeof(struct thread), number);
}

/* ---- stretches ---- */

static void begin_stretch(struct finding *f, struct thread *t, enum begin by)
{
	t->now = (struct stretch){
		.from = f->number, .epoch = f->epoch, .from_ns = f->now_ns, .by = by
	};
}

static bool is_known(const struct finding *f, const struct stretch *s)
{
	return s->from != 0 && s->epoch == f->epoch;
}

static bool has_hole(const struct finding *f, const struct stretch *s)
{
	for (size_t k = 0; k < f->info->uncertains; k++)
		if (f->info->uncertain[k].to_ns >= s->from_ns &&
		    f->info->uncertain[k].from_ns <= f->now_ns)
			return true;
	return false;
}

static void note_step(struct finding *f, const struct thread *t)
{
	for (size_t k = 0; k < t->depth; k++)
		if (t->level[k].kind == GP_PHASE_OTHER && t->level[k].name < NAMES_MOST)
			f->is_step[t->level[k].name / 64] |= 1ull << t->level[k].name % 64;
}

static bool is_step(const struct finding *f, uint32_t name)
{
	return name != 0 && name < NAMES_MOST && (f->is_step[name / 64] >> name % 64 & 1) != 0;
}

static void touch(struct thread *t)
{
	for (size_t k = t->depth; k-- > 0 && !t->level[k].is_touched;)
		t->level[k].is_touched = true;
}

/* ---- where the engine, or a zero_grad, is entered ---- */

/* Levels from here on hold nothing that ended yet. */
static size_t first_untouched(const struct thread *t)
{
	size_t k = t->depth;
	while (k > 0 && !t->level[k - 1].is_touched)
		k--;
	return k;
}

static const struct stretch *inside(const struct thread *t, size_t depth)
{
	return depth == t->depth ? &t->now : &t->level[depth].outer;
}

/* What lies before the ranges around it makes it uncertain, unless they are steps. */
static bool ask_for_steps(const struct finding *f, const struct thread *t, size_t depth,
			  struct gp_forward *forward)
{
	for (size_t k = depth; k-- > first_untouched(t);) {
		const struct level *l = &t->level[k];
		if (is_known(f, &l->outer) && l->outer.launches == 0)
			continue;
		if (l->name == 0 || forward->step_likes == GP_STEP_LIKE_MOST)
			return false;
		forward->step_like[forward->step_likes++] = l->name;
	}
	return true;
}

static bool is_inside_of(const struct thread *t, size_t depth, enum gp_phase_kind kind)
{
	for (size_t k = 0; k < depth; k++)
		if (t->level[k].kind == kind)
			return true;
	return false;
}

/* Before the first fence the job set itself up. */
static bool is_named_by_job(const struct finding *f, const struct stretch *s)
{
	return is_known(f, s) ? s->named * 2 >= s->launches : s->named != 0;
}

static struct judged judge_stretch(const struct finding *f, const struct thread *t, size_t depth)
{
	const struct stretch *s = inside(t, depth);
	struct judged j = { .verdict = FOUND, .by = s->by, .launches = s->launches };
	j.forward.thread = (uint32_t)t->number;
	j.forward.from = s->from;
	j.forward.to = depth == t->depth ? f->number : t->level[depth].at;
	if (!is_known(f, s) || has_hole(f, s) || !ask_for_steps(f, t, depth, &j.forward))
		j.verdict = UNCLEAR;
	if (is_named_by_job(f, s) || is_inside_of(t, depth, GP_PHASE_FORWARD))
		j.verdict = NAMED;
	return j;
}

/* What lies before the event that is met. */
static struct judged judge(const struct finding *f, const struct thread *t)
{
	const size_t first = first_untouched(t);
	size_t depth = first;
	if (is_inside_of(t, first, GP_PHASE_BACKWARD))
		return (struct judged){ 0 };
	while (depth < t->depth && t->level[depth].kind != GP_PHASE_BACKWARD)
		depth++;
	for (;; depth--) {
		const struct stretch *s = inside(t, depth);
		if (s->launches != 0)
			return judge_stretch(f, t, depth);
		if (!is_known(f, s))
			return (struct judged){ .verdict = UNCLEAR };
		if (depth == first)
			return (struct judged){ 0 };
	}
}

static void count_verdict(struct finding *f, const struct judged *j)
{
	struct gp_forwards *out = f->out;
	out->named += j->verdict == NAMED;
	out->none += j->verdict == NONE;
	out->unclear += j->verdict == UNCLEAR;
	if (j->verdict != FOUND)
		return;
	struct gp_forward *added = gp_array_append(&out->forward, &out->forwards, sizeof *added);
	f->is_out_of_memory |= added == NULL;
	if (added != NULL)
		*added = j->forward;
}

static void enter_engine(struct finding *f, struct thread *t)
{
	struct judged j = judge(f, t);
	const struct judged *before = &t->before;
	if (j.verdict == NONE && before->verdict != NONE) {
		j = *before;
		/* what follows a backward, and no more, may be what clips its gradients */
		if (j.verdict == FOUND && j.by == BY_ENGINE)
			j.verdict = UNCLEAR;
	} else if (j.verdict == FOUND && j.launches <= FEW && before->verdict != NONE) {
		j.verdict = before->verdict == NAMED ? NAMED : UNCLEAR;
	}
	count_verdict(f, &j);
	t->before = (struct judged){ 0 };
}

/* ---- ranges ---- */

static bool works_for_another(struct finding *f, uint32_t thread)
{
	bool is_ambiguous;
	return gp_phase_follow_engine(&f->follow, thread, &is_ambiguous) != 0 || is_ambiguous;
}

static void see_opened(void *context, struct gp_open_range *range,
		       const struct gp_range_stack *stack)
{
	struct finding *f = context;
	if (stack == NULL)
		return;
	struct thread *t = gp_row_get_key(&f->threads, sizeof *t, stack->thread);
	if (t == NULL || !gp_array_reserve(&t->level, &t->room, t->depth, 1, sizeof *t->level)) {
		f->is_out_of_memory = true;
		return;
	}
	const struct gp_open_range *below =
		stack->depth > 1 ? &stack->range[stack->depth - 2] : NULL;
	if (below != NULL && below->source == 0 && !below->is_gone)
		f->epoch++; /* ranges around it were lost */
	const enum gp_phase_kind kind = gp_phase_kind_of(
		range->source, gp_defined_text(f->recording->meanings, GP_RANGE_NAME, range->name));
	struct level l = { .name = range->name, .kind = kind, .at = f->number };
	range->mark = l.mark = ++f->marks;
	if (kind == GP_PHASE_ENGINE) {
		l.is_nested = t->engines++ != 0 || works_for_another(f, stack->thread);
		if (!l.is_nested && f->number != 0)
			enter_engine(f, t);
	} else if (gp_is_fence(kind) && t->engines == 0) {
		const struct judged j = judge(f, t);
		if (kind != GP_PHASE_ZERO_GRAD || j.verdict != NONE)
			t->before = kind == GP_PHASE_ZERO_GRAD ? j : (struct judged){ 0 };
		note_step(f, t);
	}
	l.is_touched = kind == GP_PHASE_ENGINE || gp_is_fence(kind);
	if (l.is_touched)
		touch(t);
	l.outer = t->now;
	t->level[t->depth++] = l;
	begin_stretch(f, t, BY_PUSH);
	if (range->time != f->time)
		t->now.from = 0; /* it is older than what is recorded */
}

static void go_on(struct thread *t, const struct level *l)
{
	const struct stretch in = t->now;
	t->now = l->outer;
	t->now.launches += in.launches;
	t->now.named += l->kind == GP_PHASE_FORWARD ? in.launches : in.named;
}

static void see_closed(void *context, const struct gp_open_range *range, enum gp_range_end how,
		       const struct gp_record *by)
{
	struct finding *f = context;
	struct thread *t = range->number == 0 ? thread_find(f, range->thread) : NULL;
	size_t k = t != NULL ? t->depth : 0;
	(void)by;
	while (k > 0 && t->level[k - 1].mark != range->mark)
		k--;
	if (k-- == 0)
		return;
	const struct level l = t->level[k];
	memmove(&t->level[k], &t->level[k + 1], (--t->depth - k) * sizeof l);
	t->engines -= l.kind == GP_PHASE_ENGINE;
	if (k < t->depth) { /* it was not on top: nobody can tell which range lies in which */
		f->epoch++;
		return;
	}
	if (gp_is_fence(l.kind) && l.kind != GP_PHASE_ZERO_GRAD)
		t->before = (struct judged){ 0 };
	if (l.kind == GP_PHASE_ENGINE || gp_is_fence(l.kind))
		begin_stretch(f, t, l.kind == GP_PHASE_ENGINE ? BY_ENGINE : BY_FENCE);
	else if (l.is_touched)
		begin_stretch(f, t, t->now.by);
	else
		go_on(t, &l);
	if (how != GP_RANGE_ENDED || l.is_nested)
		t->now.from = 0;
}

/* ---- events ---- */

static bool is_work(const struct finding *f, const struct gp_record *r)
{
	if (r->kind == GP_LAUNCH)
		return (r->launch.block >> 48 & GP_LAUNCH_CAPTURED) == 0;
	if (f->has_launches || r->kind == GP_GRAPH_LAUNCH)
		return r->kind == GP_GRAPH_LAUNCH;
	/* where launches are not recorded memory has to do */
	return r->kind == (f->info->framework_events > 0 ? GP_BLOCK_ALLOC : GP_ALLOC);
}

static bool is_hole(const struct gp_record *r)
{
	return r->kind == GP_GAP || r->kind == GP_SCOPE ||
	       (r->kind == GP_LOST && r->lost.other != 0);
}

static bool phase_forward_see(void *context, uint32_t thread, const struct gp_record *r)
{
	struct finding *f = context;
	f->number++;
	f->time = r->time;
	f->now_ns = gp_tick_ns(&f->recording->tick, r->time);
	gp_phase_follow_apply(&f->follow, thread, r);
	if (is_work(f, r)) {
		struct thread *t = thread_find(f, thread);
		if (t != NULL)
			t->now.launches++;
	} else if (is_hole(r)) {
		f->epoch++;
	}
	return !f->is_out_of_memory;
}

/* ---- the answer ---- */

static int phase_forward_compare(const void *left, const void *right)
{
	const struct gp_forward *a = left, *b = right;
	return (a->from > b->from) - (a->from < b->from);
}

static void settle_steps(struct finding *f)
{
	struct gp_forwards *out = f->out;
	size_t kept = 0;
	for (size_t k = 0; k < out->forwards; k++) {
		const struct gp_forward *forward = &out->forward[k];
		bool is_sure = true;
		for (uint32_t i = 0; i < forward->step_likes; i++)
			is_sure &= is_step(f, forward->step_like[i]);
		out->unclear += !is_sure;
		if (is_sure)
			out->forward[kept++] = *forward;
	}
	out->forwards = kept;
	if (kept > 1)
		qsort(out->forward, kept, sizeof *out->forward, phase_forward_compare);
}

enum gp_status gp_forwards_find(struct gp_recording *recording, struct gp_forwards *out)
{
	const struct gp_info *info = &recording->info;
	*out = (struct gp_forwards){ 0 };
	/* without PyTorch's ranges its optimizers would lie in forwards */
	if (!info->has_backward || info->torch_why != NULL)
		return GP_OK;
	struct finding *f = calloc(1, sizeof *f);
	if (f == NULL)
		return GP_E_MEMORY;
	f->recording = recording;
	f->info = info;
	f->out = out;
	f->has_launches = info->kept[GP_LAUNCH] + info->kept[GP_GRAPH_LAUNCH] > 0;
	const struct gp_range_watch watch = { see_opened, see_closed, f };
	enum gp_status status =
		gp_phase_follow_replay(&f->follow, recording, false, &watch, phase_forward_see, f);
	if (status == GP_OK)
		settle_steps(f);
	for (uint32_t k = 0; k < f->threads.rows; k++)
		free(((struct thread *)f->threads.row)[k].level);
	gp_row_table_release(&f->threads);
	free(f);
	return status;
}

void gp_forwards_release(struct gp_forwards *forwards)
{
	free(forwards->forward);
	*forwards = (struct gp_forwards){ 0 };
}

/* ---- along a replay ---- */

struct gp_forward *gp_forwards_end(struct gp_forwards *f, uint64_t number)
{
	for (uint32_t *open = &f->open; *open != 0; open = &f->forward[*open - 1].next)
		if (f->forward[*open - 1].to == number) {
			struct gp_forward *forward = &f->forward[*open - 1];
			*open = forward->next;
			return forward;
		}
	return NULL;
}

struct gp_forward *gp_forwards_begin(struct gp_forwards *f, uint64_t number)
{
	if (f->begun == f->forwards || f->forward[f->begun].from != number)
		return NULL;
	struct gp_forward *forward = &f->forward[f->begun++];
	forward->next = f->open;
	f->open = f->begun;
	return forward;
}

const struct gp_forward *gp_forwards_within(const struct gp_forwards *f, uint32_t thread,
					    uint64_t up)
{
	for (uint32_t k = f->open; k != 0; k = f->forward[k - 1].next)
		if (f->forward[k - 1].thread == thread && f->forward[k - 1].up == up)
			return &f->forward[k - 1];
	return NULL;
}
