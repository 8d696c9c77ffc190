/*
 * The phase of an event comes from the ranges (phase_follow.h). Where these show none, the last
 * stack of the thread decides: the forward of an inference job, a forward that a checkpoint repeats
 * in backward. Each call of a phase has a serial number, so a free can be compared with the birth.
 */
#include "role_lives.h"

#include <stdlib.h>

#include "../../read/frames/frame_phase.h"
#include "../../read/tables/array.h"
#include "../../read/tables/row_rank.h"
#include "../phases/phase_follow.h"
#include "../phases/phase_kind.h"

#define COUNT_MOST 3u /* of struct gp_life */

/* A call of a phase. A range's mark has the serial, the bit of a derived one, the kind, and 1. */
struct phase {
	uint64_t serial;
	uint8_t kind; /* enum gp_life_phase */
	bool is_derived;
};
#define MARK_SHIFT 8u
#define MARK_DERIVED 0x80u

struct alive {
	uint64_t order; /* used as the key */
	size_t life;
	uint64_t serial, newest; /* of its phase; of the newest phase then */
	uint64_t backwards, ooms, size;
};
struct thread {
	uint64_t number; /* used as the key */
	uint64_t mark;	 /* of its range when its last stack was taken */
	struct phase phase;
};
struct shown {
	uint64_t stack; /* used as the key */
	uint8_t kind;
	bool is_read;
};
struct freed {
	size_t life;
	uint64_t size;
};

struct reading {
	struct gp_recording *recording;
	struct gp_role_lives *out;
	struct gp_phase_follow follow;
	struct gp_range_watch watch;
	bool is_by_frames;
	struct gp_row_table alive, threads, stacks;
	uint64_t serials;
	struct phase newest;
	bool is_newest_over; /* its range was closed */
	uint64_t counts[GP_LIFE_UNCLEAR], ooms, captures;
	struct freed *freed; /* since the newest phase began */
	size_t freeds, freed_room;
	uint64_t made_address; /* of the thread's last block; 0: none, or it was copied into */
	uint32_t made_thread;
	size_t made_life;
	uint64_t ended_backward; /* the serial of the newest backward end */
	bool is_out_of_memory;
};

/* ---- phases ---- */

static struct phase phase_begin(struct reading *f, unsigned kind, bool is_derived)
{
	f->newest = (struct phase){ ++f->serials, (uint8_t)kind, is_derived };
	f->is_newest_over = false;
	f->counts[kind]++;
	f->freeds = 0;
	return f->newest;
}

static uint64_t mark_of(struct phase p)
{
	return p.serial << MARK_SHIFT | (p.is_derived ? MARK_DERIVED : 0) | (uint64_t)p.kind << 1 |
	       1;
}

static struct phase phase_of_mark(uint64_t mark, bool is_unclear)
{
	if (is_unclear)
		return (struct phase){ .kind = GP_LIFE_UNCLEAR };
	return (struct phase){ mark >> MARK_SHIFT, (uint8_t)((mark & (MARK_DERIVED - 1)) >> 1),
			       (mark & MARK_DERIVED) != 0 };
}

static unsigned kind_of_frames(unsigned phase)
{
	static const uint8_t kinds[GP_FRAME_PHASES] = {
		[GP_FRAME_ENGINE_THREAD] = GP_LIFE_BACKWARD,
		[GP_FRAME_DATA] = GP_LIFE_DATA,
		[GP_FRAME_ZERO_GRAD] = GP_LIFE_ZERO_GRAD,
		[GP_FRAME_FORWARD] = GP_LIFE_FORWARD,
		[GP_FRAME_BACKWARD] = GP_LIFE_BACKWARD,
		[GP_FRAME_OPTIMIZER] = GP_LIFE_OPTIMIZER,
	};
	return phase < GP_FRAME_PHASES ? kinds[phase] : GP_LIFE_OUTSIDE;
}

static unsigned kind_of_range(const struct reading *f, const struct gp_open_range *range)
{
	static const uint8_t kinds[] = {
		[GP_PHASE_OTHER] = GP_LIFE_OUTSIDE,	  [GP_PHASE_FORWARD] = GP_LIFE_FORWARD,
		[GP_PHASE_BACKWARD] = GP_LIFE_BACKWARD,	  [GP_PHASE_ENGINE] = GP_LIFE_BACKWARD,
		[GP_PHASE_DATA] = GP_LIFE_DATA,		  [GP_PHASE_ZERO_GRAD] = GP_LIFE_ZERO_GRAD,
		[GP_PHASE_OPTIMIZER] = GP_LIFE_OPTIMIZER,
	};
	struct gp_named name;
	if (range->source == GP_RANGE_DERIVED)
		return GP_LIFE_FORWARD;
	if (range->source == GP_RANGE_FRAMES)
		return kind_of_frames(range->name);
	gp_defined_get(f->recording->definitions, GP_RANGE_NAME, range->name, &name);
	return kinds[gp_phase_kind_of(range->source, name.text)];
}

/* The phase that the thread's last stack showed is over. */
static void forget_stack(struct reading *f, uint32_t thread)
{
	struct thread *t = gp_row_of_key(&f->threads, sizeof *t, thread);
	if (t != NULL)
		t->phase = (struct phase){ 0 };
}

/* A range without a phase, or one inside its own phase, is a part of the phase around it. */
static void see_opened(void *context, struct gp_open_range *range,
		       const struct gp_range_stack *stack)
{
	struct reading *f = context;
	bool is_unclear;
	if (stack == NULL && range->source != GP_RANGE_DERIVED)
		return;
	const uint64_t up = gp_phase_follow_up(&f->follow, range, &is_unclear);
	struct phase phase = phase_of_mark(up, is_unclear);
	const unsigned kind = kind_of_range(f, range);
	if (kind != GP_LIFE_OUTSIDE && kind != phase.kind)
		phase = phase_begin(f, kind, range->source == GP_RANGE_DERIVED);
	range->mark = mark_of(phase);
	forget_stack(f, range->thread);
}

/* Ranges inside a backward have its serial, so its last end counts. */
static void backward_end(struct reading *f, uint64_t serial)
{
	struct gp_role_lives *l = f->out;
	const bool is_new = l->backward_ends == 0 || serial != f->ended_backward;
	if (is_new && !gp_array_reserve(&l->backward_end, &l->backward_end_room, l->backward_ends,
					1, sizeof *l->backward_end)) {
		f->is_out_of_memory = true;
		return;
	}
	l->backward_ends += is_new;
	l->backward_end[l->backward_ends - 1] =
		gp_live_count(f->recording->live, GP_COUNT_NEWEST_ORDER) + 1;
	f->ended_backward = serial;
}

static void see_closed(void *context, const struct gp_open_range *range, enum gp_range_end how,
		       const struct gp_record *by)
{
	struct reading *f = context;
	(void)how;
	(void)by;
	forget_stack(f, range->thread);
	const struct phase phase = phase_of_mark(range->mark, false);
	f->is_newest_over |= !f->is_by_frames && phase.serial == f->newest.serial;
	if (phase.kind == GP_LIFE_BACKWARD)
		backward_end(f, phase.serial);
}

/* The innermost phase of a stack, by its Python frames. */
static unsigned kind_of_stack(struct reading *f, const struct gp_record *r)
{
	struct shown *s = gp_row_get_key(&f->stacks, sizeof *s, r->stack);
	struct gp_frame frame[GP_FRAMES_MAX];
	struct gp_stack stack;
	f->is_out_of_memory |= s == NULL;
	if (s == NULL || s->is_read)
		return s != NULL ? s->kind : GP_LIFE_OUTSIDE;
	s->is_read = true;
	if (!gp_recording_stack(f->recording, r->stack, gp_tick_ns(&f->recording->tick, r->time),
				GP_STACK_BARE, &stack, frame, GP_FRAMES_MAX))
		return GP_LIFE_OUTSIDE;
	for (size_t k = 0; k < stack.frames && s->kind == GP_LIFE_OUTSIDE; k++)
		s->kind = (uint8_t)kind_of_frames(gp_frame_phase(&frame[k]));
	/* the engine has its own ranges, which begin a little later than the calls to it */
	if (s->kind == GP_LIFE_BACKWARD && f->recording->info.has_backward)
		s->kind = GP_LIFE_OUTSIDE;
	return s->kind;
}

/* Notes what the stack of an allocation shows of its thread. */
static void see_stack(struct reading *f, struct thread *t, uint64_t mark, const struct gp_record *r)
{
	const unsigned kind = kind_of_stack(f, r);
	if (kind != t->phase.kind || mark != t->mark)
		t->phase =
			kind != GP_LIFE_OUTSIDE ? phase_begin(f, kind, false) : (struct phase){ 0 };
	t->mark = mark;
}

/* True: the stack has the last word, since ranges show only what is around it. */
static bool is_by_stack(struct phase range, unsigned shown)
{
	switch (range.kind) {
	case GP_LIFE_OUTSIDE:
		return true;
	case GP_LIFE_FORWARD:
		return range.is_derived && shown != GP_LIFE_OUTSIDE && shown != GP_LIFE_FORWARD;
	case GP_LIFE_BACKWARD: /* a forward that is repeated */
		return shown == GP_LIFE_FORWARD;
	case GP_LIFE_OPTIMIZER: /* a closure */
		return shown == GP_LIFE_FORWARD || shown == GP_LIFE_BACKWARD;
	default:
		return false;
	}
}

/* The phase of a thread's event; `r` NULL, or without a stack: as its last stack shows. */
static struct phase phase_now(struct reading *f, uint32_t thread, const struct gp_record *r)
{
	bool is_unclear;
	const uint64_t mark = gp_phase_follow_mark(&f->follow, thread, &is_unclear);
	const struct phase range = phase_of_mark(mark, is_unclear);
	if (f->is_by_frames || is_unclear)
		return range;
	struct thread *t = gp_row_get_key(&f->threads, sizeof *t, thread);
	f->is_out_of_memory |= t == NULL;
	if (t == NULL)
		return range;
	/* what a stack showed inside its own range is not news outside of it */
	const bool is_shown = r != NULL && r->stack != 0;
	if (is_shown && is_by_stack(range, kind_of_stack(f, r)))
		see_stack(f, t, mark, r);
	else if (is_shown || mark != t->mark)
		*t = (struct thread){ .number = thread, .mark = mark };
	return is_by_stack(range, t->phase.kind) ? t->phase : range;
}

/* ---- lives ---- */

/* Adds a memory event. The index of its life; SIZE_MAX: it has none, or out of memory. */
static size_t life_add(struct reading *f, uint64_t order, bool is_made)
{
	struct gp_role_lives *l = f->out;
	const struct gp_life_run *last = l->runs > 0 ? &l->run[l->runs - 1] : NULL;
	const bool is_new = last == NULL || order != last->order + last->count;
	const size_t at = l->events / GP_LIFE_MADE_EVENTS, bit = l->events % GP_LIFE_MADE_EVENTS;
	if (!gp_array_reserve(&l->life, &l->life_room, l->lives, 1, sizeof *l->life) ||
	    !gp_array_reserve(&l->made, &l->made_room, at, 1, sizeof *l->made) ||
	    !gp_array_reserve(&l->run, &l->run_room, l->runs, 1, sizeof *l->run)) {
		f->is_out_of_memory = true;
		return SIZE_MAX;
	}
	if (bit == 0)
		l->made[at] = (struct gp_life_made){ 0, l->lives };
	if (is_new)
		l->run[l->runs++] = (struct gp_life_run){ order, 0, l->events };
	l->run[l->runs - 1].count++;
	l->events++;
	if (!is_made)
		return SIZE_MAX;
	l->made[at].events |= UINT64_C(1) << bit;
	l->life[l->lives] = (struct gp_life){ 0 };
	return l->lives++;
}

uint64_t gp_role_size(uint64_t bytes, uint64_t owner)
{
	const uint64_t spare = owner != 0 && owner - 1 < bytes ? owner - 1 : 0;
	return (bytes - spare + 511) / 512;
}

static void see_birth(struct reading *f, uint32_t thread, const struct gp_record *r, size_t life)
{
	const bool is_block = r->kind == GP_BLOCK_ALLOC,
		   is_async = r->kind == GP_ALLOC && r->space == GP_SPACE_ASYNC;
	const struct phase phase = phase_now(f, thread, r);
	f->out->life[life] = (struct gp_life){
		.born = phase.kind & 7u,
		.is_recorded = true,
		.is_early = f->counts[GP_LIFE_FORWARD] + f->counts[GP_LIFE_BACKWARD] +
				    f->counts[GP_LIFE_OPTIMIZER] ==
			    0,
		.is_captured = f->captures != 0,
	};
	if (r->kind == GP_MAP) /* its end has no role */
		return;
	struct alive *a = gp_row_get_key(&f->alive, sizeof *a, r->order);
	f->is_out_of_memory |= a == NULL;
	if (a == NULL)
		return;
	*a = (struct alive){ .order = r->order,
			     .life = life,
			     .serial = phase.serial,
			     .newest = f->newest.serial,
			     .backwards = f->counts[GP_LIFE_BACKWARD],
			     .ooms = f->ooms };
	if (!is_block && !is_async)
		return;
	a->size = is_block ? gp_role_size(r->block_alloc.bytes, r->aux & ~GP_FOUND_PENDING) :
			     gp_role_size(r->alloc.bytes, 0);
	f->made_address = is_block ? r->block_alloc.address : r->alloc.address;
	f->made_thread = thread;
	f->made_life = life;
}

/* An allocation from before the kept events. */
static void see_older(struct reading *f, const struct gp_live_entry *e, size_t life)
{
	struct alive *a = gp_row_get_key(&f->alive, sizeof *a, e->order);
	f->is_out_of_memory |= a == NULL;
	if (life == SIZE_MAX || a == NULL)
		return;
	f->out->life[life] =
		(struct gp_life){ .born = GP_LIFE_OLDER, .is_recorded = true, .is_early = true };
	*a = (struct alive){ .order = e->order,
			     .life = life,
			     .size = e->space == GP_SPACE_BLOCK ? gp_role_size(e->bytes, e->owner) :
								  0 };
}

static void add_older(void *context, const struct gp_live_entry *e)
{
	struct reading *f = context;
	see_older(f, e, life_add(f, e->order, true));
}

static void add_all_older(struct reading *f)
{
	gp_live_walk_begin(f->recording->live, add_older, f);
	while (!gp_live_walk_more(f->recording->live, 65536))
		;
}

static bool table_add(struct gp_row_table *sizes, uint64_t size)
{
	return size == 0 || gp_row_get_key(sizes, sizeof size, size) != NULL;
}

/* Sets what lived on beside the newest phase. */
static void life_keep(struct reading *f, size_t life, uint64_t size)
{
	f->out->life[life].is_kept = true;
	if (f->out->life[life].is_early)
		f->is_out_of_memory |= !table_add(&f->out->early_sizes, size);
	if (f->out->life[life].born == GP_LIFE_BACKWARD)
		f->is_out_of_memory |= !table_add(&f->out->gradient_sizes, size);
}

/*
 * Frames show a phase up to its last allocation. So what ends after that, before the next phase,
 * may have ended in the phase. Only threads of the engine free what a backward drops.
 */
static bool is_same(const struct reading *f, const struct alive *a, const struct gp_life *life,
		    uint32_t thread, struct phase now)
{
	if (life->born == GP_LIFE_OLDER)
		return false;
	if (life->born == GP_LIFE_OUTSIDE)
		return now.kind == GP_LIFE_OUTSIDE && a->newest == f->newest.serial;
	if (a->serial == now.serial && now.kind == life->born)
		return true;
	return f->is_by_frames && now.kind == GP_LIFE_OUTSIDE && a->serial == f->newest.serial &&
	       (life->born != GP_LIFE_BACKWARD || gp_phase_follow_is_worker(&f->follow, thread));
}

static void life_count_backwards(const struct reading *f, const struct alive *a)
{
	const uint64_t backwards = f->counts[GP_LIFE_BACKWARD] - a->backwards;
	f->out->life[a->life].backwards = (backwards < COUNT_MOST ? backwards : COUNT_MOST) & 3u;
}

/* zero_grad frees gradients alone, so the backward after its birth wrote one into the block. */
static void life_reuse(struct reading *f, struct gp_life *life, const struct gp_live_entry *e)
{
	struct gp_role_lives *l = f->out;
	const uint64_t from = gp_role_backward_end(l, e->order);
	if (from == UINT64_MAX)
		return;
	life->is_reused = true;
	if (gp_array_reserve(&l->reuse, &l->reuse_room, l->reuses, 1, sizeof *l->reuse))
		l->reuse[l->reuses++] = (struct gp_life_reuse){ from, e->order, e->address };
	else
		f->is_out_of_memory = true;
}

static void see_end(struct reading *f, uint32_t thread, const struct gp_live_entry *e)
{
	struct alive *a = gp_row_of_key(&f->alive, sizeof *a, e->order);
	if (a == NULL)
		return;
	struct gp_life *life = &f->out->life[a->life];
	const struct phase now = phase_now(f, thread, NULL);
	life_count_backwards(f, a);
	const bool is_end_same = is_same(f, a, life, thread, now);
	life->end = (is_end_same ? GP_LIFE_SAME : GP_LIFE_ENDED_IN + now.kind) & 15u;
	if (is_end_same && a->ooms != f->ooms)
		life->end = GP_LIFE_OPEN;
	if (life->born == GP_LIFE_BACKWARD && !is_end_same && now.kind != GP_LIFE_BACKWARD)
		f->is_out_of_memory |= !table_add(&f->out->gradient_sizes, a->size);
	/* tensor.cuda().contiguous() replaces a filled block before a phase uses it */
	if (is_end_same && (life->is_filled || life->is_after_filled) && thread == f->made_thread)
		f->out->life[f->made_life].is_after_filled = true;
	if (!is_end_same) {
		if (life->born == GP_LIFE_FORWARD && now.kind == GP_LIFE_ZERO_GRAD)
			life_reuse(f, life, e);
		f->is_out_of_memory |= !gp_array_reserve(&f->freed, &f->freed_room, f->freeds, 1,
							 sizeof *f->freed);
		if (!f->is_out_of_memory)
			f->freed[f->freeds++] = (struct freed){ a->life, a->size };
	}
	gp_row_drop_key(&f->alive, sizeof *a, a);
}

/* ---- the replay ---- */

/* Call it before the event is applied. */
static void see_free(struct reading *f, uint32_t thread, const struct gp_record *r)
{
	const struct gp_live_entry *e = gp_live_ended_by(f->recording->live, r);
	if (e != NULL)
		see_end(f, thread, e);
}

static void see_copy(struct reading *f, uint32_t thread, const struct gp_record *r)
{
	const enum gp_call kind = gp_call_kind(r->aux);
	f->out->has_copies = true;
	if (f->made_address == 0 || r->copy.to != f->made_address || thread != f->made_thread)
		return;
	f->out->life[f->made_life].is_filled =
		kind == GP_COPY_TO_DEVICE ||
		(kind == GP_COPY_UNIFIED &&
		 gp_live_find_holder(f->recording->live, r->copy.from) == NULL);
	f->made_address = 0;
}

/* A block from before PyTorch's first report; others keep their birth. */
static void see_existing(struct reading *f, const struct gp_record *r, size_t life)
{
	const struct gp_live_entry *e =
		gp_live_find(f->recording->live, GP_SPACE_BLOCK, r->block_existing.address);
	if (e != NULL && e->order == r->order)
		see_older(f, e, life);
}

static void lives_see(struct reading *f, uint32_t thread, const struct gp_record *r)
{
	if (r->kind < GP_KINDS && gp_event_infos[r->kind].class == GP_CLASS_MEMORY) {
		const bool is_existing = r->kind == GP_BLOCK_EXISTING,
			   is_made = r->kind == GP_BLOCK_ALLOC || r->kind == GP_ALLOC ||
				     r->kind == GP_MAP;
		const size_t life = life_add(f, r->order, is_made || is_existing);
		if (life != SIZE_MAX && is_made)
			see_birth(f, thread, r, life);
		if (life != SIZE_MAX && is_existing)
			see_existing(f, r, life);
	}
	if (r->kind == GP_COPY)
		see_copy(f, thread, r);
	else if (r->kind == GP_OOM)
		f->ooms++;
	else if (r->kind == GP_CAPTURE_BEGIN)
		f->captures++;
	else if (r->kind == GP_CAPTURE_END && f->captures > 0)
		f->captures--;
}

/* An allocation that is live at the end is kept, unless the phase that made it is not over. */
static void lives_finish(struct reading *f)
{
	struct gp_role_lives *l = f->out;
	const struct alive *a = f->alive.row;
	for (size_t k = 0; k < f->freeds; k++)
		life_keep(f, f->freed[k].life, f->freed[k].size);
	for (size_t k = 0; k < f->alive.rows; k++) {
		const struct gp_life *life = &l->life[a[k].life];
		life_count_backwards(f, &a[k]);
		if (life->born == GP_LIFE_OUTSIDE || life->born == GP_LIFE_OLDER ||
		    a[k].serial != f->newest.serial || f->is_newest_over)
			life_keep(f, a[k].life, a[k].size);
	}
	if (l->runs > 1) /* late events come before others */
		qsort(l->run, l->runs, sizeof *l->run, gp_row_order);
	if (l->reuses > 1)
		qsort(l->reuse, l->reuses, sizeof *l->reuse, gp_row_order);
	l->has_forward = f->counts[GP_LIFE_FORWARD] != 0;
	l->has_backward = f->counts[GP_LIFE_BACKWARD] != 0;
	l->has_optimizer = f->counts[GP_LIFE_OPTIMIZER] != 0;
}

static enum gp_status reading_begin(void *context)
{
	struct reading *f = context;
	enum gp_status status = gp_phase_follow_begin(&f->follow);
	if (status == GP_OK)
		add_all_older(f);
	return status == GP_OK && f->is_out_of_memory ? GP_E_MEMORY : status;
}

static enum gp_status reading_before(void *context, uint32_t thread, const struct gp_record *record)
{
	struct reading *f = context;
	gp_phase_follow_end(&f->follow);
	see_free(f, thread, record);
	gp_phase_follow_before(&f->follow, record);
	return GP_OK;
}

static enum gp_status reading_after(void *context, uint32_t thread, const struct gp_record *record)
{
	struct reading *f = context;
	gp_phase_follow_apply(&f->follow, thread, record);
	lives_see(f, thread, record);
	return f->is_out_of_memory ? GP_E_MEMORY : GP_OK;
}

static enum gp_status reading_prepare(void *context, const struct gp_info *info)
{
	struct reading *f = context;
	struct gp_recording *recording = f->recording;
	struct gp_role_lives *out = f->out;
	*f = (struct reading){ .recording = recording, .out = out };
	f->is_by_frames = gp_phases_by(info) == GP_PHASES_BY_FRAMES;
	f->watch = (struct gp_range_watch){ see_opened, see_closed, f };
	return gp_phase_follow_prepare(&f->follow, recording, f->is_by_frames, false, &f->watch);
}

static enum gp_status reading_answer(void *context, const struct gp_info *info)
{
	struct reading *f = context;
	(void)info;
	lives_finish(f);
	return f->is_out_of_memory ? GP_E_MEMORY : GP_OK;
}

static void reading_settle(void *context)
{
	struct reading *f = context;
	gp_phase_follow_close(&f->follow);
	gp_row_table_release(&f->alive);
	gp_row_table_release(&f->threads);
	gp_row_table_release(&f->stacks);
	free(f->freed);
	f->freed = NULL;
}

static void reading_forget(void *context)
{
	gp_role_lives_release(((struct reading *)context)->out);
}

enum gp_status gp_role_lives_analysis(struct gp_recording *recording, struct gp_role_lives *out,
				      struct gp_analysis *analysis)
{
	struct reading *f = calloc(1, sizeof *f);
	*out = (struct gp_role_lives){ 0 };
	*analysis = (struct gp_analysis){ .context = f,
					  .observer = { .begin = reading_begin,
							.before = reading_before,
							.after = reading_after },
					  .prepare = reading_prepare,
					  .answer = reading_answer,
					  .settle = reading_settle,
					  .forget = reading_forget };
	if (f == NULL)
		return GP_E_MEMORY;
	f->recording = recording;
	f->out = out;
	return GP_OK;
}
