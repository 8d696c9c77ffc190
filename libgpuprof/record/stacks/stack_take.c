/*
 * Walks the calling thread's frames and turns them into an id. Memos of whole stacks keep the ids
 * of both halves (native_walk.h, python_memo.h) and what they are together. A thread remembers its
 * last Python chain with the ids of its frames, too: a new one mostly shares the outer part. So
 * that readers can lay both into each other, the native frames at which runs of Python frames stand
 * are marked.
 *
 * The native half comes first. On an H100's host an allocation's report then took 319 and 348 ns
 * instead of 410 and 351 in the forward thread, 221 and 237 instead of 279 and 252 in the backward
 * thread (rdtsc, two runs in turns). Tried without gain: fetching the memo in the trace tracker,
 * 150 ns before the report (40 to 50 ns there, less than that saved).
 */
#include "stack_take.h"

#include <limits.h>
#include <string.h>

#include "../native/native_walk.h"
#include "../process/held_signals.h"
#include "../process/thread_memory.h"
#include "../python/python_memo.h"
#include "../python/python_walk.h"
#include "../recorder.h"
#include "stack_predictor.h"
#include "stack_table.h"

#define DEPTH 64u
#define TEXT_BYTES 480u /* of a file's or a function's name */

#define FRAMES_KNOWN_LOG 8
#define CODES_KNOWN_LOG 11

#define CONTENTS_END (UINT64_C(1) << 63) /* of remembered Python stacks */

struct known_frame {
	const void *code;
	int32_t offset;
	uint32_t parent, id; /* id 0: none */
	uint32_t code_frees; /* that there were of code objects at the address */
	bool is_entry;
	uint8_t bare_entries;
};

/* A code object's id in the table, by gp_python_identity: it may equal an earlier one. */
struct known_code {
	uint64_t identity; /* 0: none */
	uint32_t id;
};

/* A chain, and why it is as it is. */
struct chain {
	uint32_t id;
	enum gp_stack_why why;
};

/* A thread's own. A forked child keeps it: `generation` has the owner of these ids. */
struct gp_stack_memo {
	uint32_t generation;
	uint32_t stack;		     /* id of the last pair; 0: none yet */
	bool has_python, has_native; /* gp_settings', which lie elsewhere */
	bool ends_at_python;	     /* native chains do: see up_to */
	struct chain native, python;
	struct gp_native_thread *walker;
	struct gp_stack_predictor turn;
	struct gp_python_memo walks;
	uint64_t refused;     /* by the walker, as last seen */
	unsigned laid_frames; /* of the last native chain that was laid, likewise */
	uint64_t laid_marks;  /* the outermost frame's is the highest bit */
	struct gp_stack_native laid[GP_NATIVE_DEPTH];
	unsigned frames; /* of the last Python chain, the outermost first */
	struct known_frame frame[DEPTH];
	/*
	 * At the place that parent, code and offset give; in a job the table's memory is cold. Only
	 * with has_python.
	 */
	struct known_frame known[1u << FRAMES_KNOWN_LOG][2];
	struct known_code code[1u << CODES_KNOWN_LOG];
};

static const char bare; /* the anchor of native stacks under which there is no Python */

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

GP_HOT bool is_known(const struct known_frame *k, const struct gp_python_frame *f)
{
	return k->code == f->code && k->offset == f->offset && k->is_entry == f->is_entry &&
	       k->bare_entries == f->bare_entries && k->code_frees == f->code_frees;
}

/*
 * First sight of a code object. 0: no room. Where its likes are made and dropped at each step
 * (exec, generated code) the table would be full of them: one with the same text is the same.
 */
GP_COLD static uint32_t learn_code(const void *code)
{
	char bytes[2 * TEXT_BYTES + 1], name_bytes[TEXT_BYTES];
	struct gp_python_text file = { .bytes = bytes, .room = TEXT_BYTES };
	struct gp_python_text name = { .bytes = name_bytes, .room = TEXT_BYTES };
	int32_t first_line = 0;
	if (!gp_python_describe(code, &file, &name, &first_line))
		return 0;
	bytes[file.size] = '\0';
	memcpy(bytes + file.size + 1, name_bytes, name.size);
	const size_t size = file.size + 1 + name.size;
	return gp_stack_code_add((uint64_t)(uintptr_t)code, gp_python_print(code, bytes, size),
				 first_line > 0 ? (uint32_t)first_line : 0, bytes, (uint32_t)size);
}

/* From the table, or into it. 0: no room. */
static uint32_t frame_of(struct gp_stack_memo *memo, const struct gp_python_frame *f,
			 uint32_t parent)
{
	const uint64_t identity = gp_python_identity(f->code);
	struct known_code *known = &memo->code[identity >> (64 - CODES_KNOWN_LOG)];
	if (gp_unlikely(known->identity != identity || !known->id))
		*known = (struct known_code){ identity, learn_code(f->code) };
	const struct gp_stack_python place = { parent, known->id, f->offset, f->is_entry,
					       f->bare_entries };
	return known->id ? gp_stack_python(&place, gp_python_line, f->code) : 0;
}

GP_HOT bool is_frame(const struct known_frame *known, const struct gp_python_frame *f,
		     uint32_t parent)
{
	return known->id && known->parent == parent && is_known(known, f);
}

/* The frame's id below `parent`, also remembered in `last`; 0: no room. */
GP_HOT_TEXT static uint32_t id_of_frame(struct gp_stack_memo *memo, struct known_frame *last,
					const struct gp_python_frame *f, uint32_t parent)
{
	uint64_t hash = (uint64_t)(uintptr_t)f->code ^ (uint64_t)(uint32_t)f->offset << 40 ^ parent;
	hash *= UINT64_C(0x9e3779b97f4a7c15);
	struct known_frame *known = memo->known[hash >> (64 - FRAMES_KNOWN_LOG)];
	if (gp_unlikely(!is_frame(known, f, parent))) {
		if (is_frame(known + 1, f, parent)) {
			*last = known[1];
			return last->id;
		}
		known[1] = known[0];
		*known = (struct known_frame){
			.code = f->code,
			.offset = f->offset,
			.parent = parent,
			.code_frees = f->code_frees,
			.id = frame_of(memo, f, parent),
			.is_entry = f->is_entry,
			.bare_entries = f->bare_entries,
		};
	}
	*last = *known;
	return last->id;
}

/* ---- a thread's own ---- */

/*
 * On the main thread, with --stacks=both, native frames end where the innermost Python function is
 * run. What is left out are the interpreter's frames and what lies between two Python functions:
 * some 35 words of the stack that each repeated stack would compare. With native frames cut to 20,
 * a launch-bound step took 1.74% longer instead of 2.61% (H200, three runs in turns of each). A
 * thread that C code started may have callbacks in Python alone, and only its native frames tell
 * what it does: autograd's engine.
 */
GP_COLD static bool ends_at_python(void)
{
	return gp_settings.has_native_up_to_python && gp_native_is_first_thread();
}

GP_COLD static struct gp_stack_memo *memo_open(struct gp_thread *t)
{
	const bool has_python = gp_settings.has_python;
	if (!t->is_end_told || t->ends >= PTHREAD_DESTRUCTOR_ITERATIONS)
		return NULL; /* it would stay when the thread ends */
	struct gp_stack_memo *memo = gp_thread_piece(
		&t->pieces, has_python ? sizeof *memo : offsetof(struct gp_stack_memo, known),
		false);
	if (!memo)
		return NULL;
	memo->generation = t->generation;
	memo->has_python = has_python;
	memo->has_native = gp_settings.has_native;
	memo->ends_at_python = ends_at_python();
	gp_stack_predictor_init(&memo->turn);
	gp_python_memo_init(&memo->walks, &t->pieces);
	return memo;
}

/* The ids are those of another process. */
GP_COLD static void memo_forget(struct gp_stack_memo *memo)
{
	memo->frames = 0;
	memo->laid_frames = 0;
	if (memo->has_python) {
		memset(memo->known, 0, sizeof memo->known);
		memset(memo->code, 0, sizeof memo->code);
	}
	gp_python_memo_forget(&memo->walks);
	gp_stack_predictor_forget(&memo->turn);
	memo->stack = 0;
	memo->generation = gp_thread.generation;
}

GP_HOT struct gp_stack_memo *memo_of(struct gp_thread *t)
{
	if (gp_unlikely(!t->memo))
		t->memo = memo_open(t);
	/* inside a hook it is the recorder's */
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
	gp_signals_hold(&signals); /* a handler's event would take pieces while they go */
	t->memo = NULL;
	gp_thread_pieces_close(&t->pieces);
	gp_signals_release(&signals);
}

/* ---- the two chains ---- */

/* The calling thread's Python frames, as the other half of the answer needs them. */
struct python {
	struct chain chain;
	uint64_t content;   /* number of the remembered one, or why there is none; 0: neither */
	const void *cframe; /* of the frames, where the interpreter has such */
	unsigned number;    /* in the memo; 0: not there */
	unsigned loops;	    /* inside the C frames that run it, innermost first */
	const void *const *loop;
};

static struct chain lay_python(struct gp_stack_memo *memo, const struct gp_python_frame *frame,
			       unsigned frames, enum gp_stack_why why)
{
	unsigned same = 0;
	while (same < frames && same < memo->frames &&
	       is_known(&memo->frame[same], &frame[frames - 1 - same]))
		same++;
	uint32_t id = same ? memo->frame[same - 1].id : 0;
	memo->frames = same;
	for (unsigned k = same; k < frames; k++) {
		id = id_of_frame(memo, &memo->frame[k], &frame[frames - 1 - k], id);
		if (gp_unlikely(id == 0))
			return (struct chain){ 0, gp_python_why_off() ? GP_WHY_OFF :
									GP_WHY_TABLE_FULL };
		memo->frames = k + 1;
	}
	return (struct chain){ id, why };
}

_Static_assert(DEPTH <= UINT8_MAX, "a memo counts loops in a byte");
/* Frame by frame. `loop` has room for DEPTH. */
static __attribute__((noinline)) void walk_python(struct gp_stack_memo *memo,
						  const struct gp_python_start *start,
						  struct python *out, const void **loop)
{
	struct gp_python_frame frame[DEPTH];
	struct gp_python_walk walk;
	const unsigned most = gp_settings.stack_depth;
	const unsigned frames = gp_python_walk_from(start, frame, most, &walk);
	out->chain = lay_python(memo, frame, frames, why_of(walk.reason));
	for (unsigned k = 0; k < frames; k++)
		if (frame[k].loop)
			loop[out->loops++] = frame[k].loop;
	out->loop = loop;
	if (gp_unlikely(out->chain.id == 0))
		return;
	const struct gp_python_walked walked = { .most = most,
						 .reason = walk.reason,
						 .id = out->chain.id,
						 .why = (uint8_t)out->chain.why,
						 .loops = out->loops,
						 .loop = loop };
	const struct gp_python_stack *known = gp_python_memo_add(&memo->walks, start, &walked);
	if (known) {
		out->content = known->content;
		out->number = gp_python_number(&memo->walks, known);
	}
}

GP_HOT void take_python(struct gp_stack_memo *memo, unsigned guess, struct python *out,
			const void **loop)
{
	struct gp_python_start start;
	enum gp_python_reason reason;
	const struct gp_python_stack *known =
		gp_python_memo_find(&memo->walks, guess, &start, &reason);
	out->cframe = reason == GP_PYTHON_COMPLETE ? start.cframe : NULL;
	if (gp_likely(known != NULL)) {
		out->chain = (struct chain){ known->id, known->why };
		out->content = known->content;
		out->number = gp_python_number(&memo->walks, known);
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
 * What is not in the memo of whole stacks, or marked otherwise there. Its outer frames are mostly
 * those of the chain before.
 */
static __attribute__((noinline)) struct chain lay_native(struct gp_stack_memo *memo,
							 struct gp_native_stack *s, uint64_t marks,
							 enum gp_stack_why why)
{
	const unsigned depth = s->depth, known = memo->laid_frames;
	const uintptr_t *pc = &s->pc[depth - 1]; /* the outermost */
	uint64_t mark = UINT64_C(1) << (depth - 1);
	struct gp_stack_native *laid = memo->laid;
	unsigned k = 0;
	for (; k < depth && k < known && laid[k].pc == *pc &&
	       laid[k].runs_python == ((marks & mark) != 0);
	     k++, pc--)
		mark >>= 1;
	for (unsigned i = k; i < depth; i++, pc--, mark >>= 1)
		laid[i] = (struct gp_stack_native){ *pc, 0, (marks & mark) != 0 };
	memo->laid_frames = k + gp_stack_natives(k ? laid[k - 1].id : 0, &laid[k], depth - k);
	if (gp_unlikely(memo->laid_frames < depth))
		return (struct chain){ 0, GP_WHY_TABLE_FULL };
	const uint32_t id = laid[depth - 1].id;
	memo->laid_marks = marks << (64 - depth);
	s->id = id;
	s->beside = s->pair = 0;
	s->id_marks = marks;
	s->id_generation = memo->generation;
	return (struct chain){ id, why };
}

/* No memory for a walker, a closed gate, or a start from which no walk was possible. */
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

/* An address in the frame that runs the innermost Python function; NULL: native frames go on. */
GP_HOT const void *up_to(const struct gp_stack_memo *memo, const struct python *python)
{
	return memo->ends_at_python && python->loops && python->chain.id ? python->loop[0] : NULL;
}

/* This native stack was there before, and with it the rest of the guess. */
GP_HOT bool is_native(const struct gp_stack_guess *guess, const struct gp_native_stack *s)
{
	return guess->pair && guess->native == s->number && guess->made == s->made;
}

/* Both were together before, and so marked as they are together. */
GP_HOT bool is_pair(const struct gp_stack_guess *guess, const struct gp_native_stack *s,
		    const struct python *python)
{
	return is_native(guess, s) && guess->python == python->number &&
	       guess->content == (uint32_t)python->content;
}

GP_HOT struct chain chain_of(struct gp_stack_memo *memo, struct gp_native_stack *s,
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
	const uint64_t likely = is_mine ? s->id_marks : memo->laid_marks >> (64 - s->depth);
	/* in a strange order none is marked: the Python chain then follows the native one */
	if (loops && !gp_native_stack_mark(s, python->loop, loops, likely, &marks))
		marks = 0;
	if (gp_likely(is_mine && s->id_marks == marks))
		return (struct chain){ s->id, why[s->end] };
	return lay_native(memo, s, marks, why[s->end]);
}

/* The one stack that was made before there could be no room (stack_housekeeping.c). */
GP_COLD static uint32_t stack_take_cut(struct gp_stack_memo *memo)
{
	gp_stack_table_count_cut();
	memo->stack = 0;
	return gp_stack_pair(0, 0, GP_WHY_TABLE_FULL, GP_WHY_TABLE_FULL);
}

/* What repeats has its pair, wherever the rest of the table lies. */
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
 * Keeps what holds whenever these are the thread's C frames. A variable of one of them then lies
 * where it lies now. A function of the interpreter runs each Python frame: a stack without such a
 * function has none.
 */
static void drop_anchor(struct gp_native_stack *s, const struct python *python)
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

GP_HOT void guess_next_time(struct gp_stack_memo *memo, struct gp_stack_guess *guess,
			    unsigned number, const struct gp_native_stack *s,
			    const struct python *python, uint32_t stack)
{
	/* as long as no memo has a stack there is one guess */
	if (gp_unlikely(!memo->turn.last) && (number || python->number))
		gp_stack_predictor_grow(
			&memo->turn,
			gp_thread_piece(&gp_thread.pieces, GP_STACK_PREDICTOR_BYTES, true));
	/* a stack that was cut may find room */
	const bool is_whole = number && python->content && s->pair == stack;
	*guess = (struct gp_stack_guess){ .native = (uint16_t)number,
					  .python = (uint16_t)python->number,
					  .made = is_whole ? s->made : 0,
					  .content = (uint32_t)python->content,
					  .pair = is_whole ? stack : 0 };
}

/* The guess was wrong: finds the stack elsewhere, or makes it. */
GP_HOT_TEXT static __attribute__((noinline)) uint32_t
take_anew(struct gp_stack_memo *memo, struct gp_stack_guess *guess, struct gp_native_stack *met,
	  const struct gp_native_look *look, bool has_native)
{
	const void *loop[DEPTH];
	struct chain native = { 0, GP_WHY_OFF };
	struct python python = { .chain = native };
	if (memo->has_python)
		take_python(memo, guess->python, &python, loop);
	if (!met || gp_unlikely(!gp_native_stack_is_up_to(met, up_to(memo, &python))))
		met = memo->walker ?
			      gp_native_stack_take(memo->walker, look, up_to(memo, &python)) :
			      NULL;
	const unsigned number = met ? met->number : 0;
	gp_stack_predictor_add(&memo->turn, number, python.number);
	if (gp_likely(met && is_pair(guess, met, &python)))
		return guess->pair;
	if (met) {
		native = chain_of(memo, met, &python);
		if (number)
			drop_anchor(met, &python);
	} else if (has_native) {
		native = without_native(memo);
	}
	const uint32_t stack = pair_of(memo, native, &python, met);
	guess_next_time(memo, guess, number, met, &python, stack);
	return stack;
}

/* The Python half of a guess whose native half holds. */
GP_HOT bool holds_python(struct gp_stack_memo *memo, const struct gp_stack_guess *guess,
			 const struct gp_native_stack *met)
{
	if (met->anchor == &bare || !memo->has_python)
		return !guess->python;
	return guess->python &&
	       gp_python_memo_is(&memo->walks, guess->python, guess->content, met->anchor);
}

__attribute__((noinline)) GP_HOT_TEXT uint32_t gp_stack_take(const void *frame)
{
	struct gp_stack_memo *memo = memo_of(&gp_thread);
	if (gp_unlikely(!memo))
		return 0;
	struct gp_native_stack *met = NULL;
	struct gp_native_look look;
	look.readable = 0;
	struct gp_stack_guess *guess = gp_stack_predictor_next(&memo->turn);
	const bool has_native =
		memo->has_native && atomic_load_explicit(&has_walker, memory_order_relaxed);
	if (gp_likely(has_native)) {
		if (gp_likely(memo->walker != NULL))
			gp_native_stack_expect(memo->walker, guess->native);
		gp_python_memo_expect(&memo->walks, guess->python);
		met = native_known(memo, frame ? frame : __builtin_frame_address(0), &look);
		if (gp_likely(met && is_native(guess, met) && holds_python(memo, guess, met))) {
			gp_stack_predictor_add(&memo->turn, guess->native, guess->python);
			return guess->pair;
		}
	}
	return take_anew(memo, guess, met, &look, has_native);
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
