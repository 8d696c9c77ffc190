/*
 * Takes the calling thread's stack and returns its id in the table. A stack is a pair of chains,
 * native and Python frames. Most stacks repeat, so the fast path compares them with a guess:
 * 1. The predictor guesses the pair. If the words of both halves are unchanged, it is the stack.
 * 2. Otherwise each half is found in its memo of whole chains (native_walk.h, python_memo.h).
 * 3. A chain that is not in its memo is walked, and only its new frames are looked up in the table.
 *
 * The native frames that run Python frames are marked, so that a reader can merge both chains.
 *
 * The native half is compared first. On an H100's host, a report of an allocation then took 319 and
 * 348 ns instead of 410 and 351 in the forward thread, and 221 and 237 instead of 279 and 252 in
 * the backward thread (rdtsc, two runs in turns). Tried without gain: a prefetch of the memo in the
 * trace tracker, 150 ns before the report. It took 40 to 50 ns and saved less.
 */
#include "stack_take.h"

#include <limits.h>
#include <string.h>

#include "../native/native_walk.h"
#include "../process/held_signals.h"
#include "../process/thread_memory.h"
#include "../python/python_memo.h"
#include "../python/python_module.h"
#include "../python/python_walk.h"
#include "../recorder.h"
#include "frame_ids.h"
#include "module_ids.h"
#include "node_modules.h"
#include "stack_predictor.h"
#include "stack_table.h"

#define DEPTH 64u

#define CONTENTS_END (UINT64_C(1) << 63) /* numbers of remembered Python chains are less */

/* Id of a chain in the table, and which of its frames are missing. */
struct chain {
	uint32_t id;
	enum gp_stack_why why;
};

/* A thread's own. A forked child keeps it; `generation` is of the process that made the ids. */
struct gp_stack_memo {
	uint32_t generation;
	uint32_t stack;		     /* id of the last pair; 0: none yet */
	bool has_python, has_native; /* copies of gp_settings', in these cache lines */
	bool ends_at_python;	     /* native chains end at Python: see native_end */
	struct chain native, python;
	struct gp_native_thread *walker;
	struct gp_stack_predictor predictor;
	struct gp_python_memo python_memo;
	struct gp_module_memo *modules; /* NULL: no module was called so far, or no room */
	struct gp_node_stack nodes;	/* of autograd that run on this thread */
	uint64_t refused;		/* the walker's count at the last look */
	/* the last native chain that was put into the table, the outermost frame first */
	unsigned last_natives;
	uint64_t last_marks; /* the outermost frame's is the highest bit */
	struct gp_stack_native last_native[GP_NATIVE_DEPTH];
	/* the last Python chain, the outermost frame first */
	unsigned last_pythons;
	struct gp_known_frame last_python[DEPTH];
	struct gp_frame_ids ids; /* only with has_python */
};

static const char bare; /* the anchor of native stacks without Python frames */

static _Atomic bool has_walker GP_HOT_DATA;
static _Atomic(const char *) why_no_walker;

static enum gp_stack_why why_of(enum gp_python_reason reason)
{
	switch (reason) {
	case GP_PYTHON_COMPLETE:
		return GP_WHY_WHOLE;
	case GP_PYTHON_TRUNCATED:
		return GP_WHY_TRUNCATED;
	case GP_PYTHON_NO_INTERPRETER:
		return GP_WHY_NO_INTERPRETER;
	case GP_PYTHON_NO_THREAD_STATE:
		return GP_WHY_NO_THREAD;
	case GP_PYTHON_NO_FRAMES:
		return GP_WHY_NO_FRAMES;
	case GP_PYTHON_FINALIZING:
		return GP_WHY_FINALIZING;
	case GP_PYTHON_OFF:
		break;
	}
	return GP_WHY_OFF;
}

/* ---- the memo of a thread ---- */

/*
 * On the main thread, with --stacks=both, native frames end at the frame that runs the innermost
 * Python function. The frames below are the interpreter's, and those between two Python functions.
 * They have some 35 words of the stack, which each repeated stack would compare. With native frames
 * cut to 20, a launch-bound step took 1.74% longer instead of 2.61% (H200, three runs in turns of
 * each). On a thread that C code started, only callbacks may be in Python: the native frames of
 * autograd's engine show what it does.
 */
GP_COLD static bool ends_at_python(void)
{
	return gp_settings.has_native_up_to_python && gp_native_is_first_thread();
}

GP_COLD static struct gp_stack_memo *memo_open(struct gp_thread *t)
{
	const bool has_python = gp_settings.has_python;
	if (!t->is_end_reported || t->ends >= PTHREAD_DESTRUCTOR_ITERATIONS)
		return NULL; /* its memory would stay after the end of the thread */
	struct gp_stack_memo *memo = gp_thread_piece(
		&t->pieces, has_python ? sizeof *memo : offsetof(struct gp_stack_memo, ids), false);
	if (!memo)
		return NULL;
	memo->generation = t->generation;
	memo->has_python = has_python;
	memo->has_native = gp_settings.has_native;
	memo->ends_at_python = ends_at_python();
	gp_stack_predictor_init(&memo->predictor);
	gp_python_memo_init(&memo->python_memo, &t->pieces);
	return memo;
}

/* The ids are of the process before a fork. */
GP_COLD static void memo_forget(struct gp_stack_memo *memo)
{
	memo->last_pythons = 0;
	memo->last_natives = 0;
	if (memo->has_python)
		memset(&memo->ids, 0, sizeof memo->ids);
	gp_python_memo_forget(&memo->python_memo);
	if (memo->modules)
		memset(memo->modules, 0, sizeof *memo->modules);
	gp_stack_predictor_forget(&memo->predictor);
	memo->nodes.depth = 0;
	memo->stack = 0;
	memo->generation = gp_thread.generation;
}

GP_HOT struct gp_stack_memo *memo_of(struct gp_thread *t)
{
	if (gp_unlikely(!t->memo))
		t->memo = memo_open(t);
	/* inside a hook, the thread's generation is the recorder's */
	if (gp_unlikely(t->memo && t->memo->generation != t->generation))
		memo_forget(t->memo);
	return t->memo;
}

void gp_stack_thread_left(struct gp_thread *t)
{
	if (!t->memo)
		return;
	memo_forget(t->memo);
	if (t->memo->walker)
		gp_native_thread_left(t->memo->walker);
}

void gp_stack_thread_close(struct gp_thread *t)
{
	uint64_t signals;
	if (!t->pieces.last)
		return;
	gp_signals_hold(&signals); /* a handler's event would allocate pieces meanwhile */
	t->memo = NULL;
	gp_thread_pieces_close(&t->pieces);
	gp_signals_release(&signals);
}

/* ---- the two chains ---- */

/* The calling thread's Python chain. */
struct python {
	struct chain chain;
	uint64_t content;	 /* of the remembered chain, or CONTENTS_END + reason; 0: neither */
	const void *cframe;	 /* if the interpreter has such frames */
	unsigned number;	 /* in the memo; 0: not remembered */
	const void *const *self; /* gp_python_module_place */
	/* addresses inside the C frames that run the Python frames, innermost first */
	unsigned loops;
	const void *const *loop;
};

/* The chain's id. Outer frames that the last chain had are not looked up. */
static struct chain python_chain_of(struct gp_stack_memo *memo, const struct gp_python_frame *frame,
				    unsigned frames, enum gp_stack_why why)
{
	unsigned same = 0;
	while (same < frames && same < memo->last_pythons &&
	       gp_known_frame_is(&memo->last_python[same], &frame[frames - 1 - same]))
		same++;
	uint32_t id = same ? memo->last_python[same - 1].id : 0;
	memo->last_pythons = same;
	for (unsigned k = same; k < frames; k++) {
		id = gp_frame_id(&memo->ids, &memo->last_python[k], &frame[frames - 1 - k], id);
		if (gp_unlikely(id == 0))
			return (struct chain){ 0, gp_python_why_off() ? GP_WHY_OFF :
									GP_WHY_TABLE_FULL };
		memo->last_pythons = k + 1;
	}
	return (struct chain){ id, why };
}

_Static_assert(DEPTH <= UINT8_MAX, "a memo counts loops in a byte");
/* Walks frame by frame and remembers the chain. `loop` has room for DEPTH. */
static __attribute__((noinline)) void walk_python(struct gp_stack_memo *memo,
						  const struct gp_python_start *start,
						  struct python *out, const void **loop)
{
	struct gp_python_frame frame[DEPTH];
	struct gp_python_walk walk;
	const unsigned most = gp_settings.stack_depth;
	const unsigned frames = gp_python_walk_from(start, frame, most, &walk);
	out->chain = python_chain_of(memo, frame, frames, why_of(walk.reason));
	for (unsigned k = 0; k < frames; k++)
		if (frame[k].loop)
			loop[out->loops++] = frame[k].loop;
	out->loop = loop;
	out->self = gp_python_module_place(frame, frames);
	if (gp_unlikely(out->chain.id == 0))
		return;
	const struct gp_python_walked walked = { .most = most,
						 .reason = walk.reason,
						 .id = out->chain.id,
						 .why = (uint8_t)out->chain.why,
						 .self = out->self,
						 .loops = out->loops,
						 .loop = loop };
	const struct gp_python_stack *known =
		gp_python_memo_add(&memo->python_memo, start, &walked);
	if (known) {
		out->content = known->content;
		out->number = gp_python_number(&memo->python_memo, known);
	}
}

/* From the memo, else by a walk. */
GP_HOT void take_python(struct gp_stack_memo *memo, unsigned guess, struct python *out,
			const void **loop)
{
	struct gp_python_start start;
	enum gp_python_reason reason;
	const struct gp_python_stack *known =
		gp_python_memo_find(&memo->python_memo, guess, &start, &reason);
	out->cframe = reason == GP_PYTHON_COMPLETE ? start.cframe : NULL;
	if (gp_likely(known != NULL)) {
		out->chain = (struct chain){ known->id, known->why };
		out->content = known->content;
		out->number = gp_python_number(&memo->python_memo, known);
		out->self = known->self;
		out->loops = known->loops;
		out->loop = gp_python_loops(known);
	} else if (reason == GP_PYTHON_COMPLETE) {
		walk_python(memo, &start, out, loop);
	} else {
		out->chain.why = why_of(reason);
		out->content = CONTENTS_END + reason;
	}
}

/*
 * Puts the chain of a native stack into the table, because the stack is new or has other marks now.
 * Outer frames that the last chain had, with the same marks, are not looked up.
 */
static __attribute__((noinline)) struct chain native_chain_of(struct gp_stack_memo *memo,
							      struct gp_native_stack *s,
							      uint64_t marks, enum gp_stack_why why)
{
	const unsigned depth = s->depth, known = memo->last_natives;
	const uintptr_t *pc = &s->pc[depth - 1]; /* the outermost */
	uint64_t mark = UINT64_C(1) << (depth - 1);
	struct gp_stack_native *native = memo->last_native;
	unsigned k = 0;
	for (; k < depth && k < known && native[k].pc == *pc &&
	       native[k].runs_python == ((marks & mark) != 0);
	     k++, pc--)
		mark >>= 1;
	for (unsigned i = k; i < depth; i++, pc--, mark >>= 1)
		native[i] = (struct gp_stack_native){ *pc, 0, (marks & mark) != 0 };
	memo->last_natives = k + gp_stack_natives(k ? native[k - 1].id : 0, &native[k], depth - k);
	if (gp_unlikely(memo->last_natives < depth))
		return (struct chain){ 0, GP_WHY_TABLE_FULL };
	const uint32_t id = native[depth - 1].id;
	memo->last_marks = marks << (64 - depth);
	s->id = id;
	s->beside = s->pair = 0;
	s->id_marks = marks;
	s->id_generation = memo->generation;
	return (struct chain){ id, why };
}

/* Why there is no native chain: no memory, a closed gate, or a start that cannot be walked from. */
GP_COLD static struct chain without_native(struct gp_stack_memo *memo)
{
	if (!memo->walker)
		return (struct chain){ 0, GP_WHY_OFF };
	const uint64_t refused = gp_native_thread_counts(memo->walker)->refused;
	const bool is_gate = refused != memo->refused;
	memo->refused = refused;
	return (struct chain){ 0, is_gate ? GP_WHY_GATE : GP_WHY_BROKEN };
}

GP_HOT struct gp_native_stack *native_known(struct gp_stack_memo *memo, const void *frame_address,
					    struct gp_native_look *look)
{
	if (gp_unlikely(!memo->walker))
		memo->walker = gp_native_thread_open(&gp_thread.pieces);
	return memo->walker ? gp_native_stack_find(memo->walker, frame_address, look) : NULL;
}

/*
 * Where native chains end: an address in the frame that runs the innermost Python function. NULL:
 * they do not end there.
 */
GP_HOT const void *native_end(const struct gp_stack_memo *memo, const struct python *python)
{
	return memo->ends_at_python && python->loops && python->chain.id ? python->loop[0] : NULL;
}

/* The guess was made with this native stack, which is unchanged since. */
GP_HOT bool is_native_guessed(const struct gp_stack_guess *guess, const struct gp_native_stack *s)
{
	return guess->pair && guess->native == s->number && guess->made == s->made;
}

/* The guess was made with both halves, so the marks are right, too. */
GP_HOT bool is_pair_guessed(const struct gp_stack_guess *guess, const struct gp_native_stack *s,
			    const struct python *python)
{
	return is_native_guessed(guess, s) && guess->python == python->number &&
	       guess->content == (uint32_t)python->content;
}

/* The id of a native stack with the marks of this Python chain. */
GP_HOT struct chain marked_chain_of(struct gp_stack_memo *memo, struct gp_native_stack *s,
				    const struct python *python)
{
	static const enum gp_stack_why why[] = {
		[GP_NATIVE_WHOLE] = GP_WHY_WHOLE,	 [GP_NATIVE_TRUNCATED] = GP_WHY_TRUNCATED,
		[GP_NATIVE_FOREIGN] = GP_WHY_NO_RULE,	 [GP_NATIVE_BROKEN] = GP_WHY_BROKEN,
		[GP_NATIVE_UP_TO] = GP_WHY_UP_TO_PYTHON,
	};
	uint64_t marks = 0;
	const unsigned loops = s->end == GP_NATIVE_UP_TO ? 1 : python->loops;
	const bool is_mine = s->id_generation == memo->generation;
	const uint64_t likely = is_mine ? s->id_marks : memo->last_marks >> (64 - s->depth);
	/* out of order: no frame is marked, and readers put the Python chain behind the native */
	if (loops && !gp_native_stack_mark(s, python->loop, loops, likely, &marks))
		marks = 0;
	if (gp_likely(is_mine && s->id_marks == marks))
		return (struct chain){ s->id, why[s->end] };
	return native_chain_of(memo, s, marks, why[s->end]);
}

/* Counts the event. Its stack is the one that stack_housekeeping.c made while there was room. */
GP_COLD static uint32_t stack_take_cut(struct gp_stack_memo *memo)
{
	gp_stack_table_count_cut();
	memo->stack = 0;
	return gp_stack_pair(0, 0, GP_WHY_TABLE_FULL, GP_WHY_TABLE_FULL);
}

/* The id of the pair. Repeated pairs are found without the table. */
GP_HOT uint32_t pair_of(struct gp_stack_memo *memo, struct chain native,
			const struct python *beside, struct gp_native_stack *met)
{
	const struct chain python = beside->chain;
	const uint32_t key = python.id | (uint32_t)python.why << GP_STACK_ID_BITS;
	if (gp_unlikely(native.why == GP_WHY_TABLE_FULL || python.why == GP_WHY_TABLE_FULL))
		return stack_take_cut(memo);
	if (met && met->pair && met->beside == key)
		return met->pair;
	if (!met && memo->stack && native.id == memo->native.id && python.id == memo->python.id &&
	    native.why == memo->native.why && python.why == memo->python.why)
		return memo->stack;
	memo->native = native;
	memo->python = python;
	memo->stack = gp_stack_pair(native.id, python.id, native.why, python.why);
	if (gp_unlikely(!memo->stack))
		return stack_take_cut(memo);
	if (met) {
		met->beside = key;
		met->pair = memo->stack;
	}
	return memo->stack;
}

/* The stack is whole, and none of its functions is the interpreter's. */
static bool is_bare(const struct gp_native_stack *s)
{
	if (s->end != GP_NATIVE_WHOLE)
		return false;
	for (unsigned k = 0; k < s->depth; k++)
		if (gp_python_may_run(s->pc[k]))
			return false;
	return true;
}

/*
 * The anchor shows later that the Python frames are the same, if the native stack is. A cframe is a
 * variable of a C frame, so it lies at the same place again. And a function of the interpreter runs
 * each Python frame: a whole native stack without such a function has no Python frames.
 */
static void set_anchor(struct gp_native_stack *s, const struct python *python)
{
	uint64_t marks;
	const void *cframe = python->cframe;
	s->anchor = NULL;
	if (cframe && gp_native_stack_mark(s, &cframe, 1, 0, &marks))
		s->anchor = cframe;
	else if ((python->chain.why == GP_WHY_NO_FRAMES || python->chain.why == GP_WHY_NO_THREAD) &&
		 is_bare(s))
		s->anchor = &bare;
}

/* Corrects the guess for the next time. */
GP_HOT void guess_next_time(struct gp_stack_memo *memo, struct gp_stack_guess *guess,
			    unsigned number, const struct gp_native_stack *s,
			    const struct python *python, uint32_t stack)
{
	/* until a memo has a stack, one guess is enough */
	if (gp_unlikely(!memo->predictor.last) && (number || python->number))
		gp_stack_predictor_grow(
			&memo->predictor,
			gp_thread_piece(&gp_thread.pieces, GP_STACK_PREDICTOR_BYTES, true));
	/* a stack without room in the table may find room later: no guess */
	const bool is_whole = number && python->content && s->pair == stack;
	*guess = (struct gp_stack_guess){ .native = (uint16_t)number,
					  .python = (uint16_t)python->number,
					  .made = is_whole ? s->made : 0,
					  .content = (uint32_t)python->content,
					  .pair = is_whole ? stack : 0 };
}

GP_HOT bool has_modules(struct gp_stack_memo *memo)
{
	if (gp_unlikely(!memo->modules))
		memo->modules = gp_thread_piece(&gp_thread.pieces, sizeof *memo->modules, true);
	return memo->modules != NULL;
}

/* The pair in a node of autograd, which belongs to the module whose forward made it. */
GP_COLD static uint32_t in_node(const struct gp_stack_memo *memo, uint32_t pair)
{
	const uint32_t module = pair ? gp_node_module(&memo->nodes) : 0;
	const uint32_t stack = module ? gp_stack_in_module(pair, module) : pair;
	if (stack || !pair)
		return stack;
	gp_stack_table_count_module_cut();
	return pair;
}

/* The pair in the call of a module, if one runs. */
GP_HOT uint32_t in_module(struct gp_stack_memo *memo, uint32_t pair, const void *const *self)
{
	if (!self || gp_unlikely(!pair)) {
		if (memo->modules)
			memo->modules->last = NULL;
		return gp_unlikely(memo->nodes.depth) ? in_node(memo, pair) : pair;
	}
	if (gp_likely(has_modules(memo)))
		return gp_module_stack(memo->modules, pair, self);
	gp_stack_table_count_module_cut();
	return pair;
}

/* The guess was wrong: finds each half in its memo, or walks. `met`: the native half, or NULL. */
GP_HOT_TEXT static __attribute__((noinline)) uint32_t
take_anew(struct gp_stack_memo *memo, struct gp_stack_guess *guess, struct gp_native_stack *met,
	  const struct gp_native_look *look, bool has_native)
{
	const void *loop[DEPTH];
	struct chain native = { 0, GP_WHY_OFF };
	struct python python = { .chain = native };
	if (memo->has_python)
		take_python(memo, guess->python, &python, loop);
	if (!met || gp_unlikely(!gp_native_stack_is_up_to(met, native_end(memo, &python))))
		met = memo->walker ?
			      gp_native_stack_take(memo->walker, look, native_end(memo, &python)) :
			      NULL;
	const unsigned number = met ? met->number : 0;
	gp_stack_predictor_add(&memo->predictor, number, python.number);
	if (gp_likely(met && is_pair_guessed(guess, met, &python)))
		return in_module(memo, guess->pair, python.self);
	if (met) {
		native = marked_chain_of(memo, met, &python);
		if (number)
			set_anchor(met, &python);
	} else if (has_native) {
		native = without_native(memo);
	}
	const uint32_t stack = pair_of(memo, native, &python, met);
	guess_next_time(memo, guess, number, met, &python, stack);
	return in_module(memo, stack, python.self);
}

/* True: the Python half of the guess is right, too. Call it only if the native half is right. */
GP_HOT bool holds_python(struct gp_stack_memo *memo, const struct gp_stack_guess *guess,
			 const struct gp_native_stack *met)
{
	if (met->anchor == &bare || !memo->has_python)
		return !guess->python;
	return guess->python &&
	       gp_python_memo_is(&memo->python_memo, guess->python, guess->content, met->anchor);
}

__attribute__((noinline)) GP_HOT_TEXT uint32_t gp_stack_take(const void *frame)
{
	struct gp_stack_memo *memo = memo_of(&gp_thread);
	if (gp_unlikely(!memo))
		return 0;
	struct gp_native_stack *met = NULL;
	struct gp_native_look look;
	look.readable = 0;
	struct gp_stack_guess *guess = gp_stack_predictor_next(&memo->predictor);
	const bool has_native =
		memo->has_native && atomic_load_explicit(&has_walker, memory_order_relaxed);
	if (gp_likely(has_native)) {
		if (gp_likely(memo->walker != NULL))
			gp_native_stack_expect(memo->walker, guess->native);
		gp_python_memo_expect(&memo->python_memo, guess->python);
		met = native_known(memo, frame ? frame : __builtin_frame_address(0), &look);
		if (gp_likely(met && is_native_guessed(guess, met) &&
			      holds_python(memo, guess, met))) {
			gp_stack_predictor_add(&memo->predictor, guess->native, guess->python);
			return in_module(memo, guess->pair,
					 memo->python_memo.stack[guess->python].self);
		}
	}
	return take_anew(memo, guess, met, &look, has_native);
}

struct gp_node_stack *gp_stack_nodes(void)
{
	struct gp_stack_memo *memo = memo_of(&gp_thread);
	return memo ? &memo->nodes : NULL;
}

uint32_t gp_stack_module_now(void)
{
	const void *loop[DEPTH];
	struct gp_stack_memo *memo = memo_of(&gp_thread);
	struct python python = { .chain = { 0, GP_WHY_OFF } };
	if (!memo || !memo->has_python)
		return 0;
	take_python(memo, 0, &python, loop);
	if (!python.self)
		return gp_node_module(&memo->nodes);
	return has_modules(memo) ? gp_module_id(memo->modules, *python.self) : 0;
}

void gp_stack_native_opened(void)
{
	atomic_store_explicit(&has_walker, true, memory_order_relaxed);
}

void gp_stack_native_refused(const char *why)
{
	atomic_store(&why_no_walker, why);
}

const char *gp_stack_why_no_native(void)
{
	return atomic_load(&why_no_walker);
}

void gp_stack_found(uintptr_t from, uintptr_t to)
{
	gp_python_object(from, to);
}

bool gp_stack_find(void *(*lookup)(void *context, const char *name), void *context)
{
	return !gp_settings.has_python || gp_python_find(lookup, context);
}
