/*
 * One replay follows the open ranges of each thread and cuts the work of a thread into stretches.
 * Where the thread enters autograd's engine, the stretch before it that has launches is its forward
 * pass. A fence (phase_kind.h) is a range of PyTorch that no forward pass spans.
 */
#include "phase_forward.h"

#include <stdlib.h>
#include <string.h>

#include "../../read/tables/array.h"
#include "../../read/tables/row_table.h"
#include "phase_follow.h"
#include "phase_kind.h"

#define NAMES_MOST 65536u /* only ranges whose name has a lower number can be found to be steps */
/* launches: a loss that is scaled or divided between zero_grad() and backward() has no more */
#define FEW 4u

/* The end or the push of a range with which a stretch begins. */
enum begin { BY_PUSH, BY_FENCE, BY_ENGINE };

/*
 * What a thread does between two such moments, in one range and in its inner ranges without a fence
 * or the engine.
 */
struct stretch {
	uint64_t from;	/* number of the event behind which it begins; 0: unknown */
	uint64_t epoch; /* of the search, then */
	int64_t from_ns;
	enum begin by;
	uint64_t launches, named; /* named: those in ranges with "forward" in their name */
};

/* An open range of a thread. */
struct level {
	uint64_t mark; /* of the range */
	uint32_t name;
	enum gp_phase_kind kind;
	uint64_t at;	      /* number of the event that pushed it */
	struct stretch outer; /* that it interrupts */
	bool is_touched;      /* it is a fence or the engine, or has held one */
	bool is_nested;	      /* an engine inside another */
};

/* The work before a backward pass, or before a zero_grad. */
enum verdict {
	NONE,	/* no launches */
	FOUND,	/* a forward pass */
	NAMED,	/* a forward pass that the job itself put into a range */
	UNCLEAR /* launches, but where the forward pass begins is unknown */
};
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
	uint32_t engines;   /* open ones */
	struct stretch now; /* in the innermost range */
	struct judged
		before; /* before the last zero_grad; NONE: another fence or the engine came */
};

struct forward_search {
	struct gp_recording *recording;
	const struct gp_info *info;
	struct gp_forwards *out;
	struct gp_phase_follow follow;
	struct gp_row_table threads;
	uint64_t marks;
	uint64_t number; /* of the event at hand, from 1 */
	uint64_t epoch;	 /* rises with each hole: older stretches have lost events */
	int64_t now_ns;
	uint64_t time;
	bool has_launches;
	bool is_out_of_memory;
	uint64_t is_step[NAMES_MOST / 64]; /* a bit for each name: such ranges hold fences */
};

static struct thread *thread_find(struct forward_search *f, uint32_t number)
{
	return gp_row_of_key(&f->threads, sizeof(struct thread), number);
}

/* ---- stretches ---- */

static void begin_stretch(struct forward_search *f, struct thread *t, enum begin by)
{
	t->now = (struct stretch){
		.from = f->number, .epoch = f->epoch, .from_ns = f->now_ns, .by = by
	};
}

/* Where the stretch begins, and that no event of it is missing. */
static bool is_known(const struct forward_search *f, const struct stretch *s)
{
	return s->from != 0 && s->epoch == f->epoch;
}

/* Damage of the file between the begin of the stretch and now. */
static bool has_hole(const struct forward_search *f, const struct stretch *s)
{
	for (size_t k = 0; k < f->info->uncertains; k++)
		if (f->info->uncertain[k].to_ns >= s->from_ns &&
		    f->info->uncertain[k].from_ns <= f->now_ns)
			return true;
	return false;
}

/* A fence begins: the open ranges of the job around it are steps, or parts of them. */
static void note_steps(struct forward_search *f, const struct thread *t)
{
	for (size_t k = 0; k < t->depth; k++)
		if (t->level[k].kind == GP_PHASE_OTHER && t->level[k].name < NAMES_MOST)
			f->is_step[t->level[k].name / 64] |= 1ull << t->level[k].name % 64;
}

static bool is_step(const struct forward_search *f, uint32_t name)
{
	return name != 0 && name < NAMES_MOST && (f->is_step[name / 64] >> name % 64 & 1) != 0;
}

/* A fence or the engine begins inside all open ranges. */
static void touch(struct thread *t)
{
	for (size_t k = t->depth; k-- > 0 && !t->level[k].is_touched;)
		t->level[k].is_touched = true;
}

/* ---- what lies before the engine, or before a zero_grad ---- */

/* The outermost level from which on no open range has held a fence or the engine. */
static size_t first_untouched(const struct thread *t)
{
	size_t k = t->depth;
	while (k > 0 && !t->level[k - 1].is_touched)
		k--;
	return k;
}

/* The stretch of the range in which `depth` ranges are open. */
static const struct stretch *stretch_at(const struct thread *t, size_t depth)
{
	return depth == t->depth ? &t->now : &t->level[depth].outer;
}

/*
 * The ranges around the forward pass may have launches before them that belong to it, unless they
 * are steps, which only the end of the replay shows: so their names are listed in `forward`.
 * False: too many, or one without a name.
 */
static bool list_step_likes(const struct forward_search *f, const struct thread *t, size_t depth,
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

/* A stretch whose begin is unknown includes set-up: there one named launch is enough. */
static bool is_named_by_job(const struct forward_search *f, const struct stretch *s)
{
	return is_known(f, s) ? s->named * 2 >= s->launches : s->named != 0;
}

static struct judged judge_stretch(const struct forward_search *f, const struct thread *t,
				   size_t depth)
{
	const struct stretch *s = stretch_at(t, depth);
	struct judged j = { .verdict = FOUND, .by = s->by, .launches = s->launches };
	j.forward.thread = (uint32_t)t->number;
	j.forward.from = s->from;
	j.forward.to = depth == t->depth ? f->number : t->level[depth].at;
	if (!is_known(f, s) || has_hole(f, s) || !list_step_likes(f, t, depth, &j.forward))
		j.verdict = UNCLEAR;
	if (is_named_by_job(f, s) || is_inside_of(t, depth, GP_PHASE_FORWARD))
		j.verdict = NAMED;
	return j;
}

/*
 * Before the event at hand: of the stretches that it interrupts, the innermost one with launches.
 * A range named "backward" belongs to the backward pass, so the search begins outside of it.
 */
static struct judged judge_before(const struct forward_search *f, const struct thread *t)
{
	const size_t first = first_untouched(t);
	size_t depth = first;
	if (is_inside_of(t, first, GP_PHASE_BACKWARD))
		return (struct judged){ 0 };
	while (depth < t->depth && t->level[depth].kind != GP_PHASE_BACKWARD)
		depth++;
	for (;; depth--) {
		const struct stretch *s = stretch_at(t, depth);
		if (s->launches != 0)
			return judge_stretch(f, t, depth);
		if (!is_known(f, s))
			return (struct judged){ .verdict = UNCLEAR };
		if (depth == first)
			return (struct judged){ 0 };
	}
}

/* `now`: of what lies before the engine; `before`: of what lies before the last zero_grad. */
static struct judged judge_both(struct judged now, const struct judged *before)
{
	if (now.verdict == NONE && before->verdict != NONE) {
		now = *before;
		/* between a backward pass and zero_grad() the gradients may be clipped */
		if (now.verdict == FOUND && now.by == BY_ENGINE)
			now.verdict = UNCLEAR;
	} else if (now.verdict == FOUND && now.launches <= FEW && before->verdict != NONE) {
		now.verdict = before->verdict == NAMED ? NAMED : UNCLEAR;
	}
	return now;
}

static void count_verdict(struct forward_search *f, const struct judged *j)
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

static void enter_engine(struct forward_search *f, struct thread *t)
{
	const struct judged j = judge_both(judge_before(f, t), &t->before);
	count_verdict(f, &j);
	t->before = (struct judged){ 0 };
}

static void enter_fence(struct forward_search *f, struct thread *t, enum gp_phase_kind kind)
{
	const struct judged j = judge_before(f, t);
	if (kind != GP_PHASE_ZERO_GRAD)
		t->before = (struct judged){ 0 };
	else if (j.verdict != NONE)
		t->before = j;
	note_steps(f, t);
}

/* ---- ranges ---- */

/* The thread is a worker of autograd, for which another thread waits inside the engine. */
static bool works_for_another(struct forward_search *f, uint32_t thread)
{
	bool is_ambiguous;
	return gp_phase_follow_engine(&f->follow, thread, &is_ambiguous) != 0 || is_ambiguous;
}

/* The range below the innermost one was lost: the depth of the others cannot be trusted. */
static bool has_lost_range(const struct gp_range_stack *stack)
{
	const struct gp_open_range *below =
		stack->depth > 1 ? &stack->range[stack->depth - 2] : NULL;
	return below != NULL && below->source == 0 && !below->is_gone;
}

/* The thread with room for one more level; NULL: no memory. */
static struct thread *thread_get(struct forward_search *f, uint32_t number)
{
	struct thread *t = gp_row_get_key(&f->threads, sizeof *t, number);
	if (t != NULL && gp_array_reserve(&t->level, &t->room, t->depth, 1, sizeof *t->level))
		return t;
	f->is_out_of_memory = true;
	return NULL;
}

static void phase_forward_opened(void *context, struct gp_open_range *range,
				 const struct gp_range_stack *stack)
{
	struct forward_search *f = context;
	struct thread *t = stack != NULL ? thread_get(f, stack->thread) : NULL;
	if (t == NULL)
		return;
	if (has_lost_range(stack))
		f->epoch++;
	const enum gp_phase_kind kind =
		gp_phase_kind_of(range->source, gp_defined_text(f->recording->definitions,
								GP_RANGE_NAME, range->name));
	struct level l = { .name = range->name, .kind = kind, .at = f->number };
	range->mark = l.mark = ++f->marks;
	if (kind == GP_PHASE_ENGINE) {
		l.is_nested = t->engines++ != 0 || works_for_another(f, stack->thread);
		if (!l.is_nested && f->number != 0)
			enter_engine(f, t);
	} else if (gp_is_fence(kind) && t->engines == 0) {
		enter_fence(f, t, kind);
	}
	l.is_touched = kind == GP_PHASE_ENGINE || gp_is_fence(kind);
	if (l.is_touched)
		touch(t);
	l.outer = t->now;
	t->level[t->depth++] = l;
	begin_stretch(f, t, BY_PUSH);
	if (range->time != f->time)
		t->now.from = 0; /* the range began before the recording */
}

/* The range had neither fence nor engine: what it interrupted goes on, with its launches. */
static void resume_stretch(struct thread *t, const struct level *l)
{
	const struct stretch in = t->now;
	t->now = l->outer;
	t->now.launches += in.launches;
	t->now.named += l->kind == GP_PHASE_FORWARD ? in.launches : in.named;
}

/* False: the thread has no such range. */
static bool level_remove(struct thread *t, uint64_t mark, struct level *out, bool *was_innermost)
{
	size_t k = t->depth;
	while (k > 0 && t->level[k - 1].mark != mark)
		k--;
	if (k-- == 0)
		return false;
	*out = t->level[k];
	memmove(&t->level[k], &t->level[k + 1], (--t->depth - k) * sizeof *out);
	*was_innermost = k == t->depth;
	return true;
}

static void phase_forward_closed(void *context, const struct gp_open_range *range,
				 enum gp_range_end how, const struct gp_record *by)
{
	struct forward_search *f = context;
	struct thread *t = range->number == 0 ? thread_find(f, range->thread) : NULL;
	struct level l;
	bool was_innermost;
	(void)by;
	if (t == NULL || !level_remove(t, range->mark, &l, &was_innermost))
		return;
	t->engines -= l.kind == GP_PHASE_ENGINE;
	if (!was_innermost) { /* ranges cross: which one lies in which is unknown */
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
		resume_stretch(t, &l);
	if (how != GP_RANGE_ENDED || l.is_nested)
		t->now.from = 0;
}

/* ---- events ---- */

static bool is_work(const struct forward_search *f, const struct gp_record *r)
{
	if (r->kind == GP_LAUNCH)
		return (r->launch.block >> 48 & GP_LAUNCH_CAPTURED) == 0;
	if (f->has_launches || r->kind == GP_GRAPH_LAUNCH)
		return r->kind == GP_GRAPH_LAUNCH;
	/* without recorded launches, allocations show where the thread works */
	return r->kind == (f->info->framework_events > 0 ? GP_BLOCK_ALLOC : GP_ALLOC);
}

static bool is_hole(const struct gp_record *r)
{
	return r->kind == GP_GAP || r->kind == GP_SCOPE ||
	       (r->kind == GP_LOST && r->lost.other != 0);
}

static bool phase_forward_see(void *context, uint32_t thread, const struct gp_record *r)
{
	struct forward_search *f = context;
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

/* ---- the result ---- */

static int phase_forward_compare(const void *left, const void *right)
{
	const struct gp_forward *a = left, *b = right;
	return (a->from > b->from) - (a->from < b->from);
}

/* Keeps the forward passes whose outer ranges turned out to be steps. */
static void drop_unclear(struct forward_search *f)
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
	/* without PyTorch's ranges, optimizers would count as parts of forward passes */
	if (!info->has_backward || info->torch_why != NULL)
		return GP_OK;
	struct forward_search *f = calloc(1, sizeof *f);
	if (f == NULL)
		return GP_E_MEMORY;
	f->recording = recording;
	f->info = info;
	f->out = out;
	f->has_launches = info->kept[GP_LAUNCH] + info->kept[GP_GRAPH_LAUNCH] > 0;
	const struct gp_range_watch watch = { phase_forward_opened, phase_forward_closed, f };
	enum gp_status status =
		gp_phase_follow_replay(&f->follow, recording, false, &watch, phase_forward_see, f);
	if (status == GP_OK)
		drop_unclear(f);
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
