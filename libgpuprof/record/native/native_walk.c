/*
 * One loop: a rule, the caller's registers, the next rule. It notes what it reads, so that the memo
 * has every word that the stack depends on.
 */
#include "native_walk.h"

#include <string.h>
#include <ucontext.h>

#include "../process/fork_gate.h"
#include "../record.h"
#include "native_bounds.h"
#include "native_follow.h"
#include "native_learn.h"
#include "native_memo.h"
#include "native_own.h"
#include "native_rule.h"

struct gp_native_thread {
	struct gp_native_bounds bounds;
	struct gp_native_own_way own[GP_NATIVE_OWN_WAYS];
	struct gp_native_counts counts;
	uint32_t epoch;
	volatile uint32_t is_busy;
	unsigned walks;
	uintptr_t up_to;		   /* of the last walk: as `up_to_sp` of a walk */
	struct gp_native_walked walked[2]; /* results of the last walk and of the one before */
	struct gp_native_memo memo;
};

static struct {
	struct gp_native_text own;
	unsigned depth;
	bool is_open;
} walker GP_HOT_DATA;

const char *gp_native_open(const struct gp_native_setup *setup)
{
	if (walker.is_open)
		return NULL;
	const char *why = gp_native_learn_open(setup->lookup, setup->context);
	if (why)
		return why;
	walker.own = (struct gp_native_text){ setup->own_from, setup->own_to - setup->own_from };
	walker.depth =
		setup->depth && setup->depth < GP_NATIVE_DEPTH ? setup->depth : GP_NATIVE_DEPTH;
	walker.is_open = true;
	return NULL;
}

struct gp_native_thread *gp_native_thread_open(struct gp_thread_pieces *pieces)
{
	struct gp_native_thread *thread = gp_thread_piece(pieces, sizeof *thread, false);
	if (thread)
		gp_native_memo_init(&thread->memo, pieces);
	return thread;
}

static void forget_walks(struct gp_native_thread *t)
{
	t->walked[0].steady_from = t->walked[1].steady_from = GP_NATIVE_DEPTH;
}

void gp_native_thread_left(struct gp_native_thread *thread)
{
	gp_native_memo_forget(&thread->memo);
	forget_walks(thread);
	memset(thread->own, 0, sizeof thread->own);
	thread->bounds = (struct gp_native_bounds){ 0, 0, 0, 0 };
	thread->is_busy = 0;
}

const struct gp_native_counts *gp_native_thread_counts(const struct gp_native_thread *thread)
{
	return &thread->counts;
}

/* ---- walking ---- */

struct walk {
	struct gp_native_reach reach;
	struct gp_native_walked *out;
	uintptr_t pc, sp, frame;
	uintptr_t start;      /* sp of the start, from which places are counted */
	uintptr_t frame_from; /* where `frame` was read; 0: it is the start's */
	uintptr_t up_to_sp;   /* a frame that ends here or beyond is the last but one */
	uintptr_t key_more;   /* 1: the pc was interrupted, not called from */
	unsigned leaving;     /* index of this frame, for noted words */
	bool is_frame_noted, is_refused;
	bool is_memorable; /* every place is on the thread's own stack and all fit */
	struct gp_native_thread *thread;
	struct gp_native_meeting meeting;
};

GP_HOT void note(struct walk *w, uintptr_t at, uint64_t value)
{
	struct gp_native_walked *out = w->out;
	if (gp_unlikely(out->words >= GP_NATIVE_WORDS_MOST || at < w->start ||
			at - w->start > UINT32_MAX)) {
		w->is_memorable = false;
		return;
	}
	out->word[out->words++] =
		(struct gp_native_word){ value, (uint32_t)(at - w->start), w->leaving };
}

/* The walk depends on the frame pointer from here on. */
GP_HOT void note_frame(struct walk *w)
{
	/* this frame has no word that shows that to the next walk */
	if (gp_unlikely(w->is_frame_noted || !w->frame_from))
		w->out->steady_from = w->leaving + 1;
	if (w->is_frame_noted)
		return;
	w->is_frame_noted = true;
	if (w->frame_from)
		note(w, w->frame_from, w->frame);
	else
		w->out->entry.needs_frame = 1;
}

GP_HOT bool take_frame(struct walk *w, uintptr_t at)
{
	uint64_t value;
	if (!gp_native_read(&w->reach, at, &value))
		return false;
	w->frame = value;
	w->frame_from = at;
	w->out->frame_by = w->leaving;
	w->is_frame_noted = false;
	return true;
}

/* Moves to the frame with the given CFA; false: it is inconsistent. */
GP_HOT bool step_to(struct walk *w, uintptr_t cfa, uintptr_t frame_base, int64_t frame_at)
{
	uint64_t pc;
	if (gp_unlikely(cfa <= w->sp || !gp_native_read(&w->reach, cfa - 8, &pc)))
		return false;
	if (frame_at && !take_frame(w, frame_base + (uintptr_t)frame_at))
		return false;
	w->sp = cfa;
	w->pc = pc;
	w->key_more = 0;
	return true;
}

#define SAVED(number) (offsetof(ucontext_t, uc_mcontext.gregs) + 8 * (size_t)(number))

/* Leaves a signal handler: moves to the interrupted place, maybe on another stack. */
GP_COLD static bool leave_signal(struct walk *w)
{
	uint64_t pc, sp;
	const uintptr_t at = w->sp;
	if (!gp_native_read(&w->reach, at + SAVED(REG_RIP), &pc) ||
	    !gp_native_read(&w->reach, at + SAVED(REG_RSP), &sp) ||
	    !take_frame(w, at + SAVED(REG_RBP)))
		return false;
	note(w, at + SAVED(REG_RIP), pc);
	note(w, at + SAVED(REG_RSP), sp);
	w->pc = pc;
	w->sp = sp;
	w->key_more = 1;
	return true;
}

GP_COLD static bool step_rarely(struct walk *w, uint32_t rule, enum gp_native_end *end)
{
	uint64_t cfa;
	*end = GP_NATIVE_BROKEN;
	switch ((enum gp_native_kind)gp_native_kind(rule)) {
	case GP_NATIVE_OUTERMOST:
		*end = GP_NATIVE_WHOLE;
		return false;
	case GP_NATIVE_BY_FRAME_AT: {
		const uintptr_t frame = w->frame, at = frame + (uintptr_t)gp_native_cfa(rule);
		note_frame(w);
		if (!gp_native_read(&w->reach, at, &cfa))
			return false;
		note(w, at, cfa);
		return step_to(w, cfa, at, gp_native_frame(rule));
	}
	case GP_NATIVE_SIGNAL:
		return leave_signal(w);
	case GP_NATIVE_NONE:
	case GP_NATIVE_BY_STACK:
	case GP_NATIVE_BY_FRAME:
		break;
	}
	*end = GP_NATIVE_FOREIGN;
	return false;
}

GP_COLD static uint32_t native_walk_learn(struct walk *w)
{
	uint32_t rule = gp_native_learn(w->pc + w->key_more);
	w->is_refused = rule == 0;
	return rule;
}

/* Leaves the frame at w->pc; false: that was the last. */
GP_HOT bool step(struct walk *w, enum gp_native_end *end)
{
	uint32_t rule = 0;
	*end = GP_NATIVE_FOREIGN;
	if (gp_likely(w->pc >> GP_NATIVE_KEY_BITS == 0))
		rule = gp_native_rule_find(w->pc + w->key_more);
	else
		return false;
	if (gp_unlikely(rule == 0) && (rule = native_walk_learn(w)) == 0)
		return false;
	const unsigned kind = gp_native_kind(rule);
	if (gp_unlikely(kind != GP_NATIVE_BY_STACK && kind != GP_NATIVE_BY_FRAME))
		return step_rarely(w, rule, end);
	*end = GP_NATIVE_BROKEN;
	uintptr_t cfa = w->sp;
	if (kind == GP_NATIVE_BY_FRAME) {
		note_frame(w);
		cfa = w->frame;
	}
	cfa += (uintptr_t)gp_native_cfa(rule);
	return step_to(w, cfa, cfa, gp_native_frame(rule));
}

/* Limit up to which words may be read directly and rows can store places. */
GP_HOT uintptr_t plain_end(const struct walk *w)
{
	const uintptr_t most = w->start + 8u * UINT16_MAX;
	return w->reach.high < most ? w->reach.high : most;
}

GP_HOT uintptr_t plain_words(const struct walk *w)
{
	const uintptr_t low = w->reach.low, end = plain_end(w);
	return w->sp >= w->start && end > low ? (end - low) / 8 : 0;
}

/*
 * The fast loop, for nearly all frames: left by a rule of the common kinds, on the thread's own
 * stack, with places that fit. At any other frame it stops before it changes state, and step()
 * continues. It also stops where it may have met the previous walk. Returns the number of frames so
 * far.
 */
GP_HOT unsigned walk_plainly(struct walk *w, unsigned depth, uint64_t *sum)
{
	struct gp_native_entry *e = &w->out->entry;
	const unsigned most = walker.depth;
	const uintptr_t start = w->start, low = w->reach.low, words = plain_words(w);
	const uintptr_t until = w->meeting.sp < w->up_to_sp ? w->meeting.sp : w->up_to_sp;
	uintptr_t pc = w->pc, sp = w->sp;
	uint64_t pcs = *sum;
	while (depth < most && pc >> GP_NATIVE_KEY_BITS == 0 && sp < until) {
		const uint32_t rule = gp_native_rule_find(pc);
		const unsigned kind = gp_native_kind(rule);
		if (gp_unlikely(kind - GP_NATIVE_BY_STACK >
				GP_NATIVE_BY_FRAME - GP_NATIVE_BY_STACK))
			break;
		const uintptr_t cfa = (kind == GP_NATIVE_BY_FRAME ? w->frame : sp) +
				      (uintptr_t)gp_native_cfa(rule);
		/* if no frame pointer is saved: a word that is never read */
		const uintptr_t frame_at = cfa + (uintptr_t)gp_native_frame(rule);
		if (gp_unlikely(cfa <= sp || gp_native_place(cfa - 8, low) >= words ||
				gp_native_place(frame_at, low) >= words))
			break;
		if (kind == GP_NATIVE_BY_FRAME) {
			w->leaving = depth - 1;
			note_frame(w);
		}
		if (frame_at != cfa) {
			w->frame = gp_native_word(frame_at);
			w->frame_from = frame_at;
			w->out->frame_by = depth - 1;
			w->is_frame_noted = false;
		}
		pc = gp_native_word(cfa - 8);
		sp = cfa;
		pcs = gp_native_sum(pcs, pc);
		e->stack.pc[depth] = pc;
		e->at[depth++] = (uint16_t)((sp - 8 - start) / 8);
	}
	w->pc = pc;
	w->sp = sp;
	*sum = pcs;
	return depth;
}

/* After both met: takes the frames of the previous walk, with the words that it noted there. */
GP_HOT unsigned follow(struct walk *w, unsigned depth, uint64_t *sum)
{
	const struct gp_native_walked *last = w->meeting.last;
	const unsigned met = w->meeting.frame;
	const unsigned frames = gp_native_meeting_follow(&w->meeting, &w->out->entry, depth, sum);
	for (const struct gp_native_word *n = last->word; n < &last->word[last->words]; n++) {
		w->leaving = depth - 1 + n->by - met;
		if (n->by >= met)
			note(w, last->entry.sp + n->at, n->value);
	}
	if (last->frame_from && last->frame_by >= met) {
		w->leaving = depth - 1 + last->frame_by - met;
		take_frame(w, last->frame_from);
	}
	w->meeting.sp = UINTPTR_MAX;
	w->sp = gp_native_sp_of(&last->entry, met + frames);
	w->pc = last->entry.stack.pc[met + frames];
	w->thread->counts.followed++;
	return depth + frames;
}

GP_HOT unsigned walk_on(struct walk *w, unsigned depth, uint64_t *sum)
{
	depth = walk_plainly(w, depth, sum);
	while (gp_unlikely(w->sp >= w->meeting.sp && w->sp < w->up_to_sp)) {
		if (gp_likely(gp_native_meeting_is_at(&w->meeting, w->pc, w->sp,
						      walker.depth - depth)))
			return follow(w, depth, sum);
		depth = walk_plainly(w, depth, sum);
	}
	return depth;
}

GP_HOT void walk_frames(struct walk *w)
{
	struct gp_native_walked *out = w->out;
	struct gp_native_entry *e = &out->entry;
	enum gp_native_end end = GP_NATIVE_TRUNCATED;
	unsigned depth = 0;
	uint64_t sum = 0;
	for (;;) {
		sum = gp_native_sum(sum, w->pc);
		e->stack.pc[depth++] = w->pc;
		if (gp_likely(!w->key_more))
			depth = walk_on(w, depth, &sum);
		if (gp_unlikely(w->sp >= w->up_to_sp)) {
			end = GP_NATIVE_UP_TO;
			break;
		}
		if (depth == walker.depth)
			break;
		w->leaving = depth - 1;
		const uintptr_t was_interrupted = w->key_more;
		if (gp_unlikely(!step(w, &end)))
			break;
		/* wrong for a place elsewhere, and then not used */
		uintptr_t at = (w->sp - 8 - w->start) / 8;
		/* after a signal the pc was not read from there, but noted separately */
		if (gp_unlikely(w->key_more && out->words >= 2))
			at = out->word[out->words - 2].at / 8;
		if (gp_unlikely(at > UINT16_MAX)) {
			at = UINT16_MAX; /* such a frame contains no address */
			w->is_memorable = false;
		}
		e->at[depth] = (uint16_t)at;
		if (gp_unlikely(w->key_more | was_interrupted))
			out->steady_from = depth;
		end = GP_NATIVE_TRUNCATED;
	}
	out->sum = sum;
	out->frame_from = w->frame_from;
	if (gp_unlikely(!w->is_memorable || w->reach.has_left || w->is_refused))
		out->steady_from = GP_NATIVE_DEPTH;
	e->stack.depth = (uint8_t)depth;
	e->stack.end = (uint8_t)end;
}

/* ---- the caller's start ---- */

/*
 * By the rules; noted in `way` if it will be the same next time. False: own frames cannot be left.
 */
GP_COLD static bool learn_own(struct walk *w, uintptr_t frame, struct gp_native_own_way *way)
{
	enum gp_native_end end;
	struct gp_native_own_way now = { .frames = 0 };
	bool is_fixed = true;
	while (gp_native_is_in(&walker.own, w->pc)) {
		const unsigned words = w->out->words;
		if (now.frames < GP_NATIVE_OWN_MOST) {
			now.pc[now.frames] = w->pc;
			now.pc_at[now.frames++] = (uint16_t)(w->sp - 8 - frame);
		} else {
			is_fixed = false;
		}
		if (!step(w, &end))
			return false;
		is_fixed = is_fixed && w->out->words == words && !w->out->entry.needs_frame;
	}
	const uintptr_t frame_at = w->frame_from ? w->frame_from - frame : 0;
	const uintptr_t pc_at = w->sp - 8 - frame;
	if (is_fixed && now.frames && pc_at <= UINT16_MAX && frame_at < pc_at) {
		now.pc_at[now.frames] = (uint16_t)pc_at;
		now.frame_at = (uint16_t)frame_at;
		*way = now;
	}
	return true;
}

GP_COLD static bool catch_up(struct gp_native_thread *t)
{
	/* another thread may have checked and forgotten the rules meanwhile */
	if (*gp_native_loads != atomic_load_explicit(&gp_native_loads_seen, memory_order_acquire) &&
	    gp_native_has_load_counter() && !gp_native_check_modules())
		return false;
	uint32_t epoch = atomic_load_explicit(&gp_native_epoch, memory_order_acquire);
	if (t->epoch != epoch) {
		gp_native_memo_forget(&t->memo);
		forget_walks(t);
		t->epoch = epoch;
	}
	return true;
}

GP_HOT bool is_current(const struct gp_native_thread *t)
{
	/* partners: the releases in native_learn.c and native_rule.c */
	return *gp_native_loads ==
		       atomic_load_explicit(&gp_native_loads_seen, memory_order_acquire) &&
	       t->epoch == atomic_load_explicit(&gp_native_epoch, memory_order_acquire);
}

GP_HOT void begin(struct walk *w, struct gp_native_thread *t, const struct gp_native_start *start,
		  uintptr_t readable, bool is_own)
{
	struct gp_native_walked *out = &t->walked[++t->walks % 2];
	*w = (struct walk){ .thread = t, .out = out, .reach.bounds = &t->bounds };
	w->meeting.sp = w->up_to_sp = UINTPTR_MAX;
	w->pc = start->pc;
	w->start = w->sp = start->sp;
	w->frame = start->frame;
	w->is_memorable = is_own;
	if (gp_likely(is_own)) {
		w->reach.low = readable;
		w->reach.high = t->bounds.high;
	}
	out->words = 0;
	out->steady_from = 1;
	out->entry.needs_frame = 0;
	out->entry.sp = start->sp;
	out->entry.frame = start->frame;
	struct gp_native_stack *s = &out->entry.stack;
	s->depth = 0;
	s->id = s->id_generation = 0;
	s->id_marks = 0;
	s->beside = s->pair = 0;
	s->anchor = NULL;
}

/* False: own frames cannot be left. */
GP_COLD static bool leave_own_slowly(struct gp_native_thread *t, uintptr_t frame, bool is_own,
				     struct gp_native_start *start)
{
	struct walk w;
	*start = (struct gp_native_start){ .pc = gp_native_word(frame + 8),
					   .sp = frame + 16,
					   .frame = gp_native_word(frame) };
	begin(&w, t, start, frame, is_own);
	w.start = frame;
	if (!learn_own(&w, frame, gp_native_own_way_of(t->own, start->pc))) {
		t->counts.refused += w.is_refused;
		return false;
	}
	*start = (struct gp_native_start){ .pc = w.pc, .sp = w.sp, .frame = w.frame };
	return true;
}

GP_HOT_TEXT void gp_native_stack_expect(struct gp_native_thread *t, unsigned number)
{
	gp_native_memo_expect(&t->memo, number);
}

/* For a stack that the memo lacks. */
GP_HOT_TEXT static __attribute__((noinline)) struct gp_native_stack *
walk_now(struct gp_native_thread *t, const struct gp_native_look *look, uintptr_t up_to,
	 bool has_memo)
{
	const bool is_own = look->is_own;
	struct walk w;
	begin(&w, t, &look->start, look->readable, is_own);
	/* the frame is left where its return address lies above `up_to` */
	if (is_own && up_to >= look->start.sp && up_to < t->bounds.high)
		w.up_to_sp = up_to + 9;
	if (gp_likely(has_memo && is_own && t->up_to == w.up_to_sp))
		gp_native_meeting_expect(&w.meeting, &t->walked[(t->walks - 1) % 2], w.start,
					 plain_end(&w));
	t->up_to = w.up_to_sp;
	walk_frames(&w);
	if (gp_unlikely(w.is_refused)) {
		t->counts.refused++;
		return NULL;
	}
	if (!has_memo || !w.is_memorable || w.reach.has_left)
		return &w.out->entry.stack;
	bool is_evicted = false;
	struct gp_native_entry *kept = gp_native_memo_add(&t->memo, w.out, &is_evicted);
	t->counts.evicted += is_evicted;
	return kept ? &kept->stack : &w.out->entry.stack;
}

/* The start of the stack. False: unknown. */
GP_HOT bool look_at(struct gp_native_thread *t, const void *frame_address,
		    struct gp_native_look *look)
{
	const uintptr_t frame = (uintptr_t)frame_address;
	if (gp_unlikely(!is_current(t)) && !catch_up(t)) {
		t->counts.refused++;
		return false;
	}
	const bool is_own = gp_native_bounds_hold(&t->bounds, frame) ||
			    gp_native_bounds_find(&t->bounds, frame);
	if (gp_unlikely(!gp_native_own_leave(t->own, &walker.own, frame, &look->start)) &&
	    !leave_own_slowly(t, frame, is_own, &look->start))
		return false;
	look->readable = frame;
	look->is_own = is_own;
	return true;
}

__attribute__((noinline)) GP_HOT_TEXT struct gp_native_stack *
gp_native_stack_find(struct gp_native_thread *t, const void *frame_address,
		     struct gp_native_look *look)
{
	struct gp_native_entry *found = NULL;
	look->readable = 0;
	if (gp_unlikely(!walker.is_open || t->is_busy))
		return NULL;
	t->is_busy = 1;
	if (gp_likely(
		    look_at(t, frame_address ? frame_address : __builtin_frame_address(0), look) &&
		    look->is_own))
		found = gp_native_memo_find(&t->memo, &look->start);
	t->is_busy = 0;
	return found ? &found->stack : NULL;
}

/* State that the look depends on has not changed: this is the same thread. */
struct gp_native_stack *gp_native_stack_take(struct gp_native_thread *t,
					     const struct gp_native_look *look, const void *up_to)
{
	if (gp_unlikely(!look->readable || t->is_busy))
		return NULL;
	t->is_busy = 1;
	struct gp_native_stack *stack = walk_now(t, look, (uintptr_t)up_to, true);
	t->is_busy = 0;
	return stack;
}

__attribute__((noinline)) struct gp_native_stack *gp_native_stack_now(struct gp_native_thread *t,
								      const void *frame_address)
{
	struct gp_native_look look;
	struct gp_native_stack *found = gp_native_stack_find(
		t, frame_address ? frame_address : __builtin_frame_address(0), &look);
	return found ? found : gp_native_stack_take(t, &look, NULL);
}

__attribute__((noinline)) struct gp_native_stack *gp_native_stack_walk(struct gp_native_thread *t,
								       const void *frame_address)
{
	struct gp_native_look look;
	struct gp_native_stack *stack = NULL;
	if (gp_unlikely(!walker.is_open || t->is_busy))
		return NULL;
	t->is_busy = 1;
	if (look_at(t, frame_address ? frame_address : __builtin_frame_address(0), &look))
		stack = walk_now(t, &look, 0, false);
	t->is_busy = 0;
	return stack;
}
