/*
 * One comparison for each of the three kinds of interpreter, and the notes that they compare with.
 * Kinds: frames with shims since 3.12, with a chain of C frames in 3.11, objects before.
 */
#include "python_memo.h"

#include <stdatomic.h>
#include <string.h>

#include "python_object.h"

_Static_assert(sizeof(struct gp_python_row) == 24, "what lies behind the rows fills whole ones");

#define KIND_SHIFT 48 /* of `at`: addresses are lower */
#define NOTES_MOST 8u /* marks a frame whose place differs each time */
#define REST (4u * GP_PYTHON_MEMO_STACKS)
#define LOOPS_A_ROW 3u
#define DEATHS_A_ROW 6u

static struct gp_python_stack no_stack; /* of memos without room; never written */

/*
 * The row's frame. Taken from the row just compared, so that the compiler cannot assume that it
 * equals the previous frame's `previous`. The processor then need not wait for one frame to find
 * the next one.
 */
GP_HOT const char *frame_of(const struct gp_python_row *row)
{
	const char *frame = row->frame;
	__asm__("" : "+r"(frame));
	return frame;
}

GP_HOT uint64_t kind(unsigned owner)
{
	return (uint64_t)owner << KIND_SHIFT;
}

/* ---- since 3.12 ---- */

GP_HOT bool holds_shimmed(const struct gp_python_layout *l, const struct gp_python_row *row,
			  bool is_open)
{
	const int previous = l->frame_previous, code_at = l->frame_code, owner_at = l->frame_owner;
	const int instruction = l->frame_instruction;
	const unsigned first_shim = (unsigned)l->first_shim_owner;
	for (const char *frame = frame_of(row); frame; frame = frame_of(++row)) {
		const unsigned owner = gp_byte_at(frame, owner_at);
		if (owner < first_shim) {
			const uintptr_t code = (uintptr_t)gp_pointer_at(frame, code_at);
			const uint64_t at = (uint64_t)gp_long_at(frame, instruction) ^ kind(owner);
			if (code != row->code || at != row->at)
				return false;
		} else if (row->at != kind(owner)) {
			return false;
		}
		if (gp_pointer_at(frame, previous) != row[1].frame)
			return !row[1].frame && is_open;
	}
	return true;
}

/* Notes the frame; returns whether it is shown. */
GP_HOT bool note_shimmed(const struct gp_python_layout *l, struct gp_python_row *row)
{
	const unsigned owner = gp_byte_at(row->frame, l->frame_owner);
	row->at = kind(owner);
	if (owner >= (unsigned)l->first_shim_owner)
		return false;
	row->code = (uintptr_t)gp_pointer_at(row->frame, l->frame_code);
	const char *code = gp_untagged((const void *)row->code);
	const char *at = gp_pointer_at(row->frame, l->frame_instruction);
	row->at ^= (uint64_t)(uintptr_t)at;
	return owner == GP_PYTHON_GENERATOR ||
	       at - code - l->code_bytecode >= 2 * gp_int_at(code, l->code_traceable);
}

/* ---- 3.11 ---- */

GP_HOT unsigned kind_of_cframed(const struct gp_python_layout *l, const char *frame)
{
	return gp_byte_at(frame, l->frame_owner) | (unsigned)gp_byte_at(frame, l->frame_entry) << 8;
}

/* Each frame that was entered from C ends the run of the next C frame in their chain. */
GP_HOT bool holds_cframes(const struct gp_python_layout *l, const struct gp_python_row *row,
			  bool is_open, const void *const *loop, unsigned loops, const void *cframe)
{
	for (const char *frame = frame_of(row); frame; frame = frame_of(++row)) {
		const unsigned owner = kind_of_cframed(l, frame);
		const uintptr_t code = (uintptr_t)gp_pointer_at(frame, l->frame_code);
		const uint64_t at = (uint64_t)gp_long_at(frame, l->frame_instruction) ^ kind(owner);
		if (code != row->code || at != row->at)
			return false;
		if (owner >> 8 && loops) {
			if (cframe != *loop++)
				return false;
			cframe = gp_pointer_at(cframe, l->cframe_previous);
			loops--;
		}
		if (gp_pointer_at(frame, l->frame_previous) != row[1].frame)
			return !row[1].frame && is_open;
	}
	return true;
}

GP_HOT bool note_cframed(const struct gp_python_layout *l, struct gp_python_row *row)
{
	const unsigned owner = kind_of_cframed(l, row->frame);
	const char *code = gp_pointer_at(row->frame, l->frame_code);
	const char *at = gp_pointer_at(row->frame, l->frame_instruction);
	row->code = (uintptr_t)code;
	row->at = (uint64_t)(uintptr_t)at ^ kind(owner);
	return (owner & 0xff) == GP_PYTHON_GENERATOR ||
	       at - code - l->code_bytecode >= 2 * gp_int_at(code, l->code_traceable);
}

/* ---- to 3.10 ---- */

GP_HOT bool holds_objects(const struct gp_python_layout *l, const struct gp_python_row *row,
			  bool is_open)
{
	for (const char *frame = frame_of(row); frame; frame = frame_of(++row)) {
		const void *code = gp_pointer_at(frame, l->frame_code);
		if ((uintptr_t)code != row->code ||
		    (uint32_t)gp_int_at(frame, l->frame_instruction) != row->at)
			return false;
		if (gp_pointer_at(frame, l->frame_previous) != row[1].frame)
			return !row[1].frame && is_open;
	}
	return true;
}

GP_HOT bool note_object(const struct gp_python_layout *l, struct gp_python_row *row)
{
	const void *code = gp_pointer_at(row->frame, l->frame_code);
	row->code = (uintptr_t)code;
	row->at = (uint32_t)gp_int_at(row->frame, l->frame_instruction);
	return true;
}

/* ---- code_frees ---- */

static unsigned rows_of_loops(unsigned loops)
{
	return (loops + LOOPS_A_ROW - 1) / LOOPS_A_ROW;
}

static unsigned rows_of_code_frees(unsigned rows)
{
	return (rows + DEATHS_A_ROW - 1) / DEATHS_A_ROW;
}

static uint32_t *code_frees_of(const struct gp_python_stack *s)
{
	return (uint32_t *)(void *)&s->row[s->rows + 1u + rows_of_loops(s->loops)];
}

/* The frames now exist. Hidden ones count, too: no other code watches theirs. */
static void note_code_frees(struct gp_python_stack *s)
{
	uint32_t *code_frees = code_frees_of(s);
	s->code_frees = gp_python_code_frees_in_all();
	for (unsigned k = 0; k < s->rows; k++) {
		const void *code = gp_untagged((const void *)s->row[k].code);
		if (code)
			gp_python_watch_code(code);
		code_frees[k] = gp_python_code_frees(code);
	}
}

/* Some code object has died. Those of the rows are in the frames that were just compared. */
GP_COLD static bool holds_after_code_frees(struct gp_python_stack *s)
{
	const uint64_t now = gp_python_code_frees_in_all();
	const uint32_t *code_frees = code_frees_of(s);
	for (unsigned k = 0; k < s->rows; k++)
		if (s->row[k].code &&
		    gp_python_code_frees((const void *)s->row[k].code) != code_frees[k])
			return false;
	s->code_frees = now;
	return true;
}

/* ---- finding ---- */

GP_HOT bool holds_frames(const struct gp_python_layout *l, const struct gp_python_stack *s,
			 const struct gp_python_start *start)
{
	const struct gp_python_row *row = s->row;
	if (!row || row->frame != start->frame)
		return false;
	if (gp_likely(l->minor > 11))
		return holds_shimmed(l, row, s->is_open);
	if (l->minor < 11)
		return holds_objects(l, row, s->is_open);
	return holds_cframes(l, row, s->is_open, gp_python_loops(s), s->loops, start->cframe);
}

GP_HOT bool holds(const struct gp_python_layout *l, struct gp_python_stack *s,
		  const struct gp_python_start *start)
{
	return holds_frames(l, s, start) &&
	       (gp_likely(s->code_frees == gp_python_code_frees_in_all()) ||
		holds_after_code_frees(s));
}

/* Stacks that are not remembered, between two that are, do not change the prediction. */
GP_HOT const struct gp_python_stack *found(struct gp_python_memo *m, uint16_t at)
{
	struct gp_python_stack *last = &m->stack[m->last];
	if (gp_unlikely(last->follower != at)) {
		last->other = last->follower;
		last->follower = at;
	}
	m->last = at;
	m->hits++;
	return &m->stack[at];
}

GP_HOT_TEXT void gp_python_memo_expect(const struct gp_python_memo *m, unsigned guess)
{
	const struct gp_python_stack *s = &m->stack[guess];
	const char *row = (const char *)s->row;
	for (unsigned at = 0; at < s->rows * sizeof *s->row; at += 64)
		__builtin_prefetch(row + at);
}

GP_HOT_TEXT bool gp_python_memo_is(struct gp_python_memo *m, unsigned number, uint32_t content,
				   const void *cframe)
{
	struct gp_python *p = gp_python_get();
	struct gp_python_stack *s = &m->stack[number];
	struct gp_python_start start;
	if (s->content != content || (!(cframe && gp_python_begin_at(p, cframe, &start)) &&
				      gp_python_begin(p, &start) != GP_PYTHON_COMPLETE))
		return false;
	if (gp_unlikely(!holds(&p->layout, s, &start)))
		return false;
	found(m, (uint16_t)number);
	return true;
}

GP_HOT_TEXT const struct gp_python_stack *gp_python_memo_find(struct gp_python_memo *m,
							      unsigned guess,
							      struct gp_python_start *start,
							      enum gp_python_reason *reason)
{
	struct gp_python *p = gp_python_get();
	*reason = gp_python_begin(p, start);
	if (gp_unlikely(*reason != GP_PYTHON_COMPLETE))
		return NULL;
	const struct gp_python_stack *last = &m->stack[m->last];
	const unsigned guesses[] = { guess, last->follower, last->other };
	for (unsigned k = 0; k < sizeof guesses / sizeof *guesses; k++)
		if (gp_likely(holds(&p->layout, &m->stack[guesses[k]], start)))
			return found(m, (uint16_t)guesses[k]);
	return NULL;
}

/* ---- remembering ---- */

static struct gp_python_place *
place_of(struct gp_python_memo *m, const struct gp_python_start *start, uint32_t id, uint32_t *mark)
{
	const uint64_t hash = ((uintptr_t)start->frame ^ id * UINT64_C(0x9e3779b97f4a7c15)) *
			      UINT64_C(0xd6e8feb86659fd93);
	*mark = (uint32_t)(hash >> 16) | 1;
	return &m->tables->place[hash >> (64 - GP_PYTHON_MEMO_PLACES_LOG)];
}

/* Number of rows; 0: do not remember it. */
static unsigned note_rows(struct gp_python_row *row, const struct gp_python_layout *l,
			  const struct gp_python_start *start,
			  const struct gp_python_walked *walked)
{
	unsigned rows = 0, shown = 0;
	const char *frame = start->frame;
	while (frame && shown <= walked->most) {
		row[rows] = (struct gp_python_row){ .frame = frame };
		shown += l->minor > 11 ? note_shimmed(l, &row[rows]) :
			 l->minor < 11 ? note_object(l, &row[rows]) :
					 note_cframed(l, &row[rows]);
		if (rows == UINT8_MAX)
			return 0;
		frame = gp_pointer_at(row[rows++].frame, l->frame_previous);
	}
	row[rows].frame = NULL;
	return (walked->reason == GP_PYTHON_TRUNCATED) == (shown > walked->most) ? rows : 0;
}

/* The first piece has the tables, too. */
GP_COLD static bool memo_grow(struct gp_python_memo *m)
{
	const size_t tables = m->tables ? 0 : sizeof *m->tables;
	const size_t rows = GP_PYTHON_MEMO_STEP * sizeof(struct gp_python_row);
	const unsigned room = m->rows_most;
	char *piece =
		room < GP_PYTHON_MEMO_ROWS ? gp_thread_piece(m->pieces, tables + rows, true) : NULL;
	/* a walk that a jump seemed to have ended may have grown it */
	if (!piece || m->rows_most != room)
		return false;
	if (tables)
		m->tables = (void *)piece;
	m->stack = m->tables->stack;
	m->piece[room / GP_PYTHON_MEMO_STEP] = (void *)(piece + tables);
	atomic_signal_fence(memory_order_seq_cst); /* a handler may jump out at any time */
	m->rows_most += GP_PYTHON_MEMO_STEP;
	return true;
}
_Static_assert(GP_PYTHON_MEMO_ROWS % GP_PYTHON_MEMO_STEP == 0, "whole steps fill the memo");
_Static_assert(sizeof(struct gp_python_tables) % 64 == 0, "rows begin at a cache line");

/* The rows of a stack are in one piece: after the used ones, or in the next piece. */
static bool has_rows(struct gp_python_memo *m, unsigned loops)
{
	const unsigned most = UINT8_MAX + 1u + rows_of_loops(loops) + rows_of_code_frees(UINT8_MAX);
	const unsigned left = GP_PYTHON_MEMO_STEP - m->rows_used % GP_PYTHON_MEMO_STEP;
	const uint32_t from = m->rows_used + (most <= left ? 0 : left);
	if (from == m->rows_most && !memo_grow(m))
		return false;
	m->rows_used = from;
	return true;
}

/* Without room for another stack, forgets all: those in use are soon remembered again. */
static bool python_memo_make_room(struct gp_python_memo *m, unsigned loops)
{
	if (m->rest) {
		m->rest--;
		return false;
	}
	if (gp_likely(m->used < GP_PYTHON_MEMO_STACKS - 1 && has_rows(m, loops)))
		return true;
	const bool is_worth_it = m->hits / 4 >= m->used;
	gp_python_memo_forget(m);
	m->rest = is_worth_it ? 0 : REST;
	return is_worth_it;
}

static uint32_t content_next(struct gp_python_memo *m)
{
	m->contents += m->contents == UINT32_MAX ? 2 : 1;
	return m->contents;
}

/* The stack's number; 0: not remembered. */
GP_COLD static uint16_t note_stack(struct gp_python_memo *m, const struct gp_python_layout *l,
				   const struct gp_python_start *start,
				   const struct gp_python_walked *walked)
{
	uint32_t mark;
	if (!python_memo_make_room(m, walked->loops))
		return 0;
	/* only now: a full memo has forgotten the mark */
	struct gp_python_place *place = place_of(m, start, walked->id, &mark);
	struct gp_python_row *row =
		&m->piece[m->rows_used / GP_PYTHON_MEMO_STEP][m->rows_used % GP_PYTHON_MEMO_STEP];
	const unsigned rows = note_rows(row, l, start, walked);
	place->mark = mark;
	if (rows == 0) {
		place->notes = NOTES_MOST;
		return 0;
	}
	const uint16_t at = place->stack ? place->stack : (uint16_t)(m->used + 1);
	struct gp_python_stack *s = &m->stack[at];
	*s = (struct gp_python_stack){
		.row = row,
		.self = walked->self,
		.follower = s->follower,
		.other = s->other,
		.loops = (uint8_t)walked->loops,
		.rows = (uint8_t)rows,
		.is_open = walked->reason == GP_PYTHON_TRUNCATED,
		.why = walked->why,
		.id = walked->id,
		.content = content_next(m),
	};
	memcpy(&row[rows + 1], walked->loop, walked->loops * sizeof *walked->loop);
	note_code_frees(s);
	/* the first walk saw the same frames, except C frames that have only begun */
	if (!holds(l, s, start)) {
		s->row = NULL;
		place->notes = NOTES_MOST;
		return 0;
	}
	m->rows_used += rows + 1 + rows_of_loops(walked->loops) + rows_of_code_frees(rows);
	if (at > m->used)
		m->used = at;
	place->stack = at;
	place->notes++;
	return at;
}

const struct gp_python_stack *gp_python_memo_add(struct gp_python_memo *m,
						 const struct gp_python_start *start,
						 const struct gp_python_walked *walked)
{
	uint32_t mark;
	if (gp_unlikely(!m->rows_most) && !memo_grow(m))
		return NULL;
	struct gp_python_place *place = place_of(m, start, walked->id, &mark);
	const struct gp_python_layout *l = &gp_python_get()->layout;
	if (gp_unlikely(place->mark != mark)) {
		*place = (struct gp_python_place){ .mark = mark };
		return NULL;
	}
	if (place->stack && holds(l, &m->stack[place->stack], start))
		return found(m, place->stack);
	if (gp_unlikely(place->notes >= NOTES_MOST))
		return NULL;
	const uint16_t at = note_stack(m, l, start, walked);
	return at ? found(m, at) : NULL;
}

void gp_python_memo_init(struct gp_python_memo *m, struct gp_thread_pieces *pieces)
{
	*m = (struct gp_python_memo){ .pieces = pieces, .stack = &no_stack };
}

void gp_python_memo_forget(struct gp_python_memo *m)
{
	if (!m->rows_most)
		return;
	/* rows that others reused must not match a stack */
	memset(m->tables, 0, sizeof *m->tables);
	m->used = m->last = 0;
	m->rows_used = 0;
	m->hits = 0;
}
