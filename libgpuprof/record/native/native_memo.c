/*
 * Hashed by the start of the walk. Chains are moved to front. A clock hand replaces entries that
 * were not used since its last pass: an approximation of least-recent without a list.
 */
#include "native_memo.h"

#include <stdatomic.h>
#include <stddef.h>
#include <string.h>

#include "../record.h"
#include "native_bounds.h"

#define FAILURES_MOST 3u /* failed comparisons before the key is made finer */

static struct gp_native_entry none; /* of memos without room; never written */

static uint64_t mix(uint64_t a, uint64_t b)
{
	return (a ^ (b * UINT64_C(0x9e3779b97f4a7c15))) * UINT64_C(0xd6e8feb86659fd93);
}

GP_HOT struct gp_native_entry *entry_at(const struct gp_native_memo *m, unsigned number)
{
	return &m->piece[number / GP_NATIVE_MEMO_STEP][number % GP_NATIVE_MEMO_STEP];
}

GP_HOT uint64_t word_at(uintptr_t sp, uint32_t at)
{
	return gp_native_word(sp + at);
}

GP_HOT struct gp_native_places *places_of(struct gp_native_memo *m, uintptr_t sp, uintptr_t pc)
{
	return &m->tables->places[(mix(sp, pc) >> 40) % GP_NATIVE_STARTS];
}

/* Reads the stack at these places. It must be the thread's own, at the start's depth. */
GP_HOT unsigned head_of(const struct gp_native_places *p, uintptr_t sp, uintptr_t pc)
{
	uint64_t sum = mix(sp, pc);
	if (p->sp == sp && p->pc == pc)
		for (unsigned i = 0; i < p->peeks; i++)
			sum = (sum << 9 | sum >> 55) ^ word_at(sp, p->at[i]);
	return (unsigned)(mix(sum, sum >> 32) >> 40) % GP_NATIVE_MEMO_HEADS;
}

GP_HOT uint64_t row_now(const struct gp_native_entry *e, unsigned k)
{
	return gp_native_word_above(e->sp, e->at[k]);
}

GP_HOT bool holds(const struct gp_native_entry *e, const struct gp_native_start *start)
{
	const unsigned rows = e->rows;
	if (e->needs_frame && e->frame != start->frame)
		return false;
	for (unsigned k = 1; k <= rows; k += GP_NATIVE_GROUP) {
		uint64_t difference = 0;
#pragma GCC unroll 8
		for (unsigned i = k; i < k + GP_NATIVE_GROUP; i++)
			difference |= row_now(e, i) ^ e->stack.pc[i];
		if (difference)
			return false;
	}
	return true;
}

/* The first row that differs; 0: none. */
GP_HOT unsigned differing(const struct gp_native_entry *e)
{
	for (unsigned k = 1; k <= e->rows; k++)
		if (row_now(e, k) != e->stack.pc[k])
			return k;
	return 0;
}

static void move_to_front(struct gp_native_memo *m, unsigned head, uint16_t before, uint16_t found)
{
	entry_at(m, before)->next = entry_at(m, found)->next;
	entry_at(m, found)->next = m->tables->head[head];
	m->tables->head[head] = found;
}

/*
 * Stacks of this start differ at `at`, so the key includes it. Stacks found by the old key are
 * forgotten, and remembered again when they are next seen.
 */
GP_COLD static void add_peek(struct gp_native_memo *m, const struct gp_native_start *start,
			     unsigned head, uint32_t at)
{
	struct gp_native_places *p = places_of(m, start->sp, start->pc);
	if (p->sp != start->sp || p->pc != start->pc)
		*p = (struct gp_native_places){ .sp = start->sp, .pc = start->pc };
	if (p->peeks == GP_NATIVE_PEEKS)
		return;
	for (unsigned i = 0; i < p->peeks; i++)
		if (p->at[i] == at)
			return;
	p->at[p->peeks++] = at;
	for (uint16_t *link = &m->tables->head[head]; *link;) {
		struct gp_native_entry *e = entry_at(m, *link);
		if (e->sp == start->sp && e->stack.pc[0] == start->pc) {
			*link = e->next;
			e->head = 0;
			e->is_recent = 0;
		} else {
			link = &e->next;
		}
	}
}

/* Stacks without an entry between two with one do not change the prediction. */
GP_HOT struct gp_native_entry *found(struct gp_native_memo *m, uint16_t at)
{
	struct gp_native_entry *e = entry_at(m, at);
	if (gp_unlikely(m->expected != at))
		entry_at(m, m->last)->follower = at;
	m->last = at;
	m->expected = e->follower;
	if (gp_unlikely(!e->is_recent))
		e->is_recent = 1;
	return e;
}

GP_HOT_TEXT void gp_native_memo_expect(struct gp_native_memo *m, unsigned guess)
{
	const struct gp_native_entry *e = entry_at(m, guess);
	m->guess = (uint16_t)guess;
	__builtin_prefetch(e);
	for (unsigned k = 0; k < GP_NATIVE_DEPTH; k += 64 / sizeof e->stack.pc[0])
		__builtin_prefetch(&e->stack.pc[k]);
	__builtin_prefetch(&e->at[0]);
	__builtin_prefetch(&e->at[GP_NATIVE_DEPTH / 2]);
}

/* True if it is this entry: then no search is needed. */
GP_HOT bool is_now(const struct gp_native_entry *e, const struct gp_native_start *start)
{
	return e->sp == start->sp && e->stack.pc[0] == start->pc && e->head != 0 && holds(e, start);
}

/* 0: the caller must walk. */
GP_HOT_TEXT static __attribute__((noinline)) uint16_t search(struct gp_native_memo *m,
							     const struct gp_native_start *start)
{
	const uintptr_t sp = start->sp;
	if (gp_unlikely(!m->room))
		return 0;
	const unsigned head = head_of(places_of(m, sp, start->pc), sp, start->pc);
	unsigned probe = 1; /* where the last entry differed: similar entries differ there, too */
	unsigned failures = 0;
	uint32_t differs_at = 0;
	uint16_t before = 0, at = m->tables->head[head];
	for (unsigned n = 0; at && n < GP_NATIVE_CHAIN_MOST;
	     n++, before = at, at = entry_at(m, at)->next) {
		struct gp_native_entry *e = entry_at(m, at);
		if (e->sp != sp || e->stack.pc[0] != start->pc)
			continue;
		if (probe <= e->rows && row_now(e, probe) != e->stack.pc[probe]) {
			differs_at = 8u * e->at[probe];
			failures++;
			continue;
		}
		if (gp_likely(holds(e, start))) {
			if (before)
				move_to_front(m, head, before, at);
			if (gp_unlikely(failures >= FAILURES_MOST && differs_at))
				add_peek(m, start, head, differs_at);
			return at;
		}
		failures++;
		const unsigned differs = differing(e);
		if (differs) {
			probe = differs;
			differs_at = 8u * e->at[probe];
		}
	}
	if (gp_unlikely(failures >= FAILURES_MOST && differs_at))
		add_peek(m, start, head, differs_at);
	return 0;
}

GP_HOT_TEXT struct gp_native_entry *gp_native_memo_find(struct gp_native_memo *m,
							const struct gp_native_start *start)
{
	if (gp_likely(is_now(entry_at(m, m->guess), start)))
		return found(m, m->guess);
	if (m->expected != m->guess && is_now(entry_at(m, m->expected), start))
		return found(m, m->expected);
	const uint16_t at = search(m, start);
	return at ? found(m, at) : NULL;
}

static bool native_memo_is_same(const struct gp_native_entry *a, const struct gp_native_entry *b)
{
	return a->sp == b->sp && a->rows == b->rows && a->stack.depth == b->stack.depth &&
	       a->stack.end == b->stack.end && a->needs_frame == b->needs_frame &&
	       (!a->needs_frame || a->frame == b->frame) &&
	       memcmp(a->stack.pc, b->stack.pc, (a->rows + 1u) * sizeof *a->stack.pc) == 0 &&
	       memcmp(a->at + 1, b->at + 1, a->rows * sizeof *a->at) == 0;
}

/* A fingerprint of the stack's content, never 0. Only a stack seen twice gets an entry. */
GP_HOT uint32_t mark_of(const struct gp_native_walked *walked)
{
	return (uint32_t)(mix(walked->entry.sp, walked->sum) >> 32) | 1;
}

/* Makes rows for the words, and fills up the last group. False: a word is too far away. */
static bool add_rows(struct gp_native_walked *walked)
{
	struct gp_native_entry *e = &walked->entry;
	unsigned rows = e->stack.depth;
	for (unsigned i = 0; i < walked->words; i++, rows++) {
		if (walked->word[i].at / 8 > UINT16_MAX)
			return false;
		e->stack.pc[rows] = walked->word[i].value;
		e->at[rows] = (uint16_t)(walked->word[i].at / 8);
	}
	for (; rows > 1 && rows % GP_NATIVE_GROUP != 1; rows++) {
		e->stack.pc[rows] = e->stack.pc[1];
		e->at[rows] = e->at[1];
	}
	e->rows = (uint8_t)(rows - 1);
	return true;
}

static void unlink_entry(struct gp_native_memo *m, uint16_t gone)
{
	if (entry_at(m, gone)->head == 0)
		return;
	uint16_t *link = &m->tables->head[entry_at(m, gone)->head - 1];
	while (*link != gone)
		link = &entry_at(m, *link)->next;
	*link = entry_at(m, gone)->next;
}

/* The first piece has the tables, too. */
GP_COLD static bool memo_grow(struct gp_native_memo *m)
{
	const size_t tables = m->tables ? 0 : sizeof *m->tables;
	const size_t entries = GP_NATIVE_MEMO_STEP * sizeof(struct gp_native_entry);
	const unsigned room = m->room;
	char *piece = room < GP_NATIVE_MEMO_ENTRIES ?
			      gp_thread_piece(m->pieces, tables + entries, true) :
			      NULL;
	/* a walk that a jump seemed to have ended may have grown it */
	if (!piece || m->room != room)
		return false;
	if (tables)
		m->tables = (void *)piece;
	m->piece[room / GP_NATIVE_MEMO_STEP] = (void *)(piece + tables);
	atomic_signal_fence(memory_order_seq_cst); /* a handler may jump out at any time */
	m->room += GP_NATIVE_MEMO_STEP;
	return true;
}
_Static_assert(GP_NATIVE_MEMO_ENTRIES % GP_NATIVE_MEMO_STEP == 0, "whole steps fill the memo");
_Static_assert(sizeof(struct gp_native_tables) % 64 == 0, "entries begin at a cache line");

static uint16_t take_entry(struct gp_native_memo *m, bool *is_evicted)
{
	if (m->used < m->room - 1u || memo_grow(m))
		return ++m->used;
	for (;;) {
		m->hand = (uint16_t)(m->hand % (m->room - 1u) + 1);
		struct gp_native_entry *e = entry_at(m, m->hand);
		if (!e->is_recent)
			break;
		e->is_recent = 0;
	}
	*is_evicted = entry_at(m, m->hand)->head != 0;
	unlink_entry(m, m->hand);
	return m->hand;
}

static void copy_entry(struct gp_native_entry *to, const struct gp_native_entry *from)
{
	to->sp = from->sp;
	to->frame = from->frame;
	to->needs_frame = from->needs_frame;
	to->rows = from->rows;
	to->follower = 0;
	to->stack.depth = from->stack.depth;
	to->stack.end = from->stack.end;
	to->stack.id = to->stack.id_generation = 0;
	to->stack.id_marks = 0;
	to->stack.beside = to->stack.pair = 0;
	to->stack.anchor = NULL;
	memcpy(to->stack.pc, from->stack.pc, (from->rows + 1u) * sizeof *to->stack.pc);
	memcpy(to->at, from->at, (from->rows + 1u) * sizeof *to->at);
}

GP_COLD static struct gp_native_entry *
add_again(struct gp_native_memo *m, const struct gp_native_entry *walked, bool *is_evicted)
{
	const uintptr_t sp = walked->sp, pc = walked->stack.pc[0];
	const unsigned head = head_of(places_of(m, sp, pc), sp, pc);
	uint16_t before = 0;
	for (uint16_t at = m->tables->head[head]; at; before = at, at = entry_at(m, at)->next)
		if (native_memo_is_same(entry_at(m, at), walked)) {
			if (before)
				move_to_front(m, head, before, at);
			entry_at(m, at)->is_recent = 1;
			return entry_at(m, at);
		}
	uint16_t taken = take_entry(m, is_evicted);
	struct gp_native_entry *e = entry_at(m, taken);
	copy_entry(e, walked);
	e->stack.made = ++m->made;
	e->stack.number = taken;
	e->is_recent = 1;
	e->head = (uint16_t)(head + 1);
	e->next = m->tables->head[head];
	m->tables->head[head] = taken;
	return e;
}

struct gp_native_entry *gp_native_memo_add(struct gp_native_memo *m,
					   struct gp_native_walked *walked, bool *is_evicted)
{
	const uint32_t mark = mark_of(walked);
	if (gp_unlikely(!m->room) && !memo_grow(m))
		return NULL;
	/* its highest bits: the others depend only on some of the frames */
	uint32_t *seen = &m->tables->seen[(uint64_t)mark * GP_NATIVE_MEMO_SEEN >> 32];
	if (gp_likely(*seen != mark)) {
		*seen = mark;
		return NULL;
	}
	return add_rows(walked) ? add_again(m, &walked->entry, is_evicted) : NULL;
}

void gp_native_memo_init(struct gp_native_memo *m, struct gp_thread_pieces *pieces)
{
	*m = (struct gp_native_memo){ .pieces = pieces, .piece = { &none } };
}

void gp_native_memo_forget(struct gp_native_memo *m)
{
	if (!m->room)
		return;
	/*
	 * the caller owns the guesses, and they stay: no entry may match. One entry beyond the used
	 * ones may be half added, if a signal handler jumped out.
	 */
	for (unsigned at = 1; at <= m->used + 1u && at < m->room; at++)
		entry_at(m, at)->head = 0;
	memset(m->tables, 0, sizeof *m->tables);
	m->used = m->hand = m->last = m->expected = m->guess = 0;
	entry_at(m, 0)->follower = 0;
}
