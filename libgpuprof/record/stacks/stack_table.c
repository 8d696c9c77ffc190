/*
 * The trie of stacks: an index over the entries, in memory of its own. Entries whose parents were
 * made at about the same time share a line of the index. A hash over all of it would touch a cold
 * page for every new frame. That costs more than the rest of a new stack (measured: 300 of 1000
 * ns).
 *
 * The first two children of an entry have places of their own, found without a search. 10 new
 * frames and their pair took 138 ns instead of 202. Tried without gain: reading both places before
 * either is compared (40 ns an event slower). Separate code for native frames. Not comparing
 * followed frames again (3 to 5%, forty lines).
 */
#include "stack_table.h"

#include <string.h>
#include <sys/mman.h>

#include "../recorder.h"

/* An entry is in the line of its parent, or, if that is full, where its fields point. */
#define LINE 16u   /* places: a cache line */
#define PARENTS 8u /* entries that share a line: on average each has one child */
#define OWN (LINE / PARENTS)
#define PROBES_MAX (LINE + 64u)
#define MODULE_SHIFT (32 + GP_STACK_MODULE_SHIFT) /* in v[1] of a STACK */
#define AHEAD 16u /* entries: their memory is prefetched before they are made */
#define CHUNK_BYTES (GP_STACK_CHUNK * sizeof(struct gp_stack_entry))
_Static_assert(GP_STACK_CHUNKS_MAX *GP_STACK_CHUNK <= 1u << GP_STACK_ID_BITS, "ids fit");

static struct {
	_Atomic(struct gp_stack_entry *) chunk[GP_STACK_CHUNKS_MAX];
	_Atomic uint32_t chunks;
	_Atomic uint32_t chunks_most;
	_Atomic uint32_t own; /* chunks that threads added */
	_Atomic bool is_stopped;
	_Atomic uint32_t *index; /* id, tag; 0: free. At most half full */
	uint32_t mask;
	_Atomic uint32_t used;
	_Atomic uint64_t cut, modules_cut;
	_Atomic uint32_t of_modules; /* entries that only modules need */
} table;

bool gp_stack_table_open(uint32_t most)
{
	gp_stack_table_reset();
	uint32_t chunks = (most + GP_STACK_CHUNK - 1) / GP_STACK_CHUNK;
	if (chunks > GP_STACK_CHUNKS_MAX)
		chunks = GP_STACK_CHUNKS_MAX;
	atomic_store(&table.chunks_most, chunks);
	uint32_t places = 2 * GP_STACK_CHUNK;
	while (places < 2 * chunks * GP_STACK_CHUNK)
		places *= 2;
	table.index = gp_pages(places * sizeof *table.index);
	table.mask = places - 1;
	return table.index != NULL;
}

void gp_stack_table_close(void)
{
	_Atomic uint32_t *index = table.index;
	gp_stack_table_reset();
	if (index)
		munmap(index, (table.mask + 1u) * sizeof *index);
}

void gp_stack_table_reset(void)
{
	for (uint32_t i = 0; i < GP_STACK_CHUNKS_MAX; i++)
		atomic_store(&table.chunk[i], NULL);
	atomic_store(&table.chunks, 0);
	atomic_store(&table.own, 0);
	atomic_store(&table.is_stopped, false);
	atomic_store(&table.used, 1); /* id 0 means none */
	atomic_store(&table.cut, 0);
	atomic_store(&table.modules_cut, 0);
	atomic_store(&table.of_modules, 0);
	table.index = NULL;
	atomic_store(&table.chunks_most, 0);
}

bool gp_stack_table_add_chunk(uint32_t number, struct gp_stack_entry *chunk)
{
	if (number >= atomic_load(&table.chunks_most))
		return false;
	struct gp_stack_entry *none = NULL;
	bool is_ours = atomic_compare_exchange_strong(&table.chunk[number], &none, chunk);
	/*
	 * partner: acquire load in claim(); a thread that sees the count sees the chunk, whichever
	 * thread added it
	 */
	uint32_t chunks = number;
	atomic_compare_exchange_strong(&table.chunks, &chunks, number + 1);
	return is_ours;
}

uint32_t gp_stack_table_chunks(void)
{
	return atomic_load(&table.chunks);
}

void gp_stack_table_allow(bool is_allowed)
{
	atomic_store(&table.is_stopped, !is_allowed);
}

uint64_t gp_stack_table_own(void)
{
	return atomic_load(&table.own) * (uint64_t)CHUNK_BYTES;
}

bool gp_stack_table_needs_chunk(void)
{
	uint32_t chunks = atomic_load(&table.chunks);
	return chunks < table.chunks_most &&
	       atomic_load(&table.used) + GP_STACK_CHUNK / 2 > chunks * GP_STACK_CHUNK;
}

uint32_t gp_stack_table_used(void)
{
	return atomic_load(&table.used) - 1;
}

/* Totals, which order no other memory. */
uint64_t gp_stack_table_cut(void)
{
	return atomic_load_explicit(&table.cut, memory_order_relaxed);
}

void gp_stack_table_count_cut(void)
{
	atomic_fetch_add_explicit(&table.cut, 1, memory_order_relaxed);
}

uint64_t gp_stack_table_modules_cut(void)
{
	return atomic_load_explicit(&table.modules_cut, memory_order_relaxed);
}

void gp_stack_table_count_module_cut(void)
{
	atomic_fetch_add_explicit(&table.modules_cut, 1, memory_order_relaxed);
}

GP_HOT struct gp_stack_entry *entry_at(uint32_t id)
{
	struct gp_stack_entry *chunk =
		atomic_load_explicit(&table.chunk[id / GP_STACK_CHUNK], memory_order_relaxed);
	return &chunk[id % GP_STACK_CHUNK];
}

const struct gp_stack_entry *gp_stack_table_entry(uint32_t id)
{
	return id != 0 && id < atomic_load(&table.used) ? entry_at(id) : NULL;
}

/*
 * Adds private memory when the drain thread waits for the processor while the job makes stacks as
 * fast as it can. The thread without room for the next entry then need not lose it. After a kill,
 * entries in there are known only as far as they were written. The limit is the same.
 */
static GP_COLD bool add_own_chunk(uint32_t number)
{
	/* the first comes with the ring file */
	if (number == 0 || number >= atomic_load(&table.chunks_most) ||
	    atomic_load(&table.is_stopped))
		return false;
	struct gp_stack_entry *chunk = gp_pages(CHUNK_BYTES);
	if (chunk && gp_stack_table_add_chunk(number, chunk))
		atomic_fetch_add(&table.own, 1);
	else if (chunk)
		munmap(chunk, CHUNK_BYTES);
	return atomic_load(&table.chunks) > number;
}

/* `number` consecutive entries; 0: the table is full. */
static uint32_t claim(uint32_t number)
{
	uint32_t at = atomic_load_explicit(&table.used, memory_order_relaxed);
	do {
		/* partner: the exchange in gp_stack_table_add_chunk */
		uint32_t chunks = atomic_load_explicit(&table.chunks, memory_order_acquire);
		while (gp_unlikely(at + number > chunks * GP_STACK_CHUNK)) {
			if (!add_own_chunk(chunks))
				return 0;
			chunks = atomic_load_explicit(&table.chunks, memory_order_acquire);
		}
	} while (!atomic_compare_exchange_weak_explicit(
		&table.used, &at, at + number, memory_order_relaxed, memory_order_relaxed));
	if (gp_unlikely(gp_stack_table_needs_chunk()) && !atomic_load(&table.is_stopped) &&
	    atomic_load_explicit(&gp_recorder.is_asleep, memory_order_relaxed))
		gp_futex_wake(&gp_recorder.wake);
	for (uint32_t next = at + AHEAD; next < at + AHEAD + number; next += 2) {
		if (gp_unlikely(next % GP_STACK_CHUNK < AHEAD + number))
			break; /* that chunk may not be there */
		__builtin_prefetch(entry_at(next), 1);
		__builtin_prefetch((const void *)&table.index[next / PARENTS * LINE & table.mask],
				   1);
	}
	return at;
}

struct entry_key {
	uint32_t kind, parent;
	uint64_t v[3];
	uint32_t hash; /* find() sets it */
};

/* It has a TEXT, and v[1] identifies it. */
GP_HOT bool has_text(const struct entry_key *w)
{
	return w->kind == GP_STACK_CODE || w->kind == GP_STACK_MODULE;
}

/*
 * Does not depend on the parent, which is known last: frame after frame, only the place waits for
 * it. The address of CODE is where it was met first.
 */
GP_HOT uint32_t hash_of(const struct entry_key *w)
{
	const uint64_t first = has_text(w) ? 0 : w->v[0];
	uint64_t h = (first ^ (uint64_t)w->kind << 56) * 0x9e3779b97f4a7c15u;
	h = (h ^ h >> 29 ^ w->v[1]) * 0xbf58476d1ce4e5b9u;
	return (uint32_t)(h >> 32);
}

GP_HOT bool is_same(const struct gp_stack_entry *e, const struct entry_key *w)
{
	/* an entry's text or line follows from its other fields */
	return atomic_load_explicit(&e->kind, memory_order_relaxed) == w->kind &&
	       e->v[1] == w->v[1] &&
	       (has_text(w) || (e->v[0] == w->v[0] && e->parent == w->parent));
}

/* The entry beside which this one is placed; 0: none. */
GP_HOT uint32_t home_of(const struct entry_key *w)
{
	const uint32_t native = (uint32_t)w->v[0], python = (uint32_t)(w->v[0] >> 32);
	const uint32_t module = (uint32_t)(w->v[1] >> MODULE_SHIFT);
	const uint32_t newer = native > python ? native : python;
	if (w->kind == GP_STACK_STACK) /* of many that share one of the three */
		return newer > module ? newer : module;
	return has_text(w) ? 0 : w->parent;
}

/*
 * Each parent has two places of its own in its line, where its child is mostly found at once. If
 * the line is full, an entry is placed far away. Several adjacent lines may be full, so each
 * further probe is far from the one before. An entry without a place is made again and again, with
 * all that follows it.
 */
GP_HOT _Atomic uint32_t *place_of(uint32_t hash, uint32_t home, uint32_t probe)
{
	uint32_t at = home ? home * OWN + hash % OWN : hash;
	if (gp_unlikely(probe >= LINE))
		at = hash + home * 0x9e3779b1u + probe * 0x85ebca6bu;
	return &table.index[(at ^ probe) & table.mask];
}

/*
 * The existing id, or 0 and the free place in the index for it. Inline: if the kind is constant,
 * half of it is, too.
 */
GP_HOT uint32_t look_up(struct entry_key *w, _Atomic uint32_t **place)
{
	const uint32_t home = home_of(w);
	const uint32_t hash = w->hash = hash_of(w) + (home << GP_STACK_ID_BITS);
	*place = NULL;
	if (gp_unlikely(!table.index))
		return 0;
	for (uint32_t probe = 0; probe < PROBES_MAX; probe++) {
		_Atomic uint32_t *here = place_of(hash, home, probe);
		/*
		 * partner: the release exchange in publish(); a thread that sees the id sees the
		 * entry
		 */
		const uint32_t word = atomic_load_explicit(here, memory_order_acquire);
		if (word == 0) {
			*place = here;
			return 0;
		}
		const uint32_t id = word & ((1u << GP_STACK_ID_BITS) - 1);
		if ((word ^ hash) >> GP_STACK_ID_BITS == 0 && is_same(entry_at(id), w))
			return id;
	}
	return 0;
}

static uint32_t stack_table_find(struct entry_key *w, _Atomic uint32_t **place)
{
	return look_up(w, place);
}

/*
 * Adds entry `id` to the index, unless another thread was faster with the same: returns the id that
 * is there.
 */
static uint32_t publish(struct entry_key *w, uint32_t id, _Atomic uint32_t *place)
{
	struct gp_stack_entry *e = entry_at(id);
	const uint32_t word = id | w->hash >> GP_STACK_ID_BITS << GP_STACK_ID_BITS;
	e->parent = w->parent;
	memcpy(e->v, w->v, sizeof e->v);
	/* partner: a reader of the entry in the ring file of a dead process */
	atomic_store_explicit(&e->kind, w->kind, memory_order_release);
	for (;;) {
		uint32_t none = 0;
		/* partner: acquire load in find() */
		if (place && atomic_compare_exchange_strong_explicit(place, &none, word,
								     memory_order_release,
								     memory_order_relaxed))
			return id;
		uint32_t other = place ? stack_table_find(w, &place) : 0;
		if (other != 0) {
			atomic_store_explicit(&e->kind, GP_STACK_VOID, memory_order_relaxed);
			return other;
		}
		if (!place)
			return id; /* no place within reach: valid, though it may be made again */
	}
}

static uint32_t find_or_add(struct entry_key *w)
{
	_Atomic uint32_t *place;
	uint32_t id = stack_table_find(w, &place);
	if (gp_likely(id != 0))
		return id;
	id = claim(1);
	return id ? publish(w, id, place) : 0;
}

/* Below a new frame all are new: one claim is enough for them. */
unsigned gp_stack_natives(uint32_t parent, struct gp_stack_native *frame, unsigned frames)
{
	uint32_t claimed = 0;
	for (unsigned k = 0; k < frames; k++) {
		struct entry_key w = { .kind = GP_STACK_NATIVE,
				       .parent = parent,
				       .v = { frame[k].pc, frame[k].runs_python } };
		_Atomic uint32_t *place;
		uint32_t id = look_up(&w, &place);
		if (id == 0) {
			if (claimed == 0 && (claimed = claim(frames - k)) == 0)
				return k;
			id = publish(&w, claimed++, place);
		}
		parent = frame[k].id = id;
	}
	return frames;
}

uint32_t gp_stack_python(const struct gp_stack_python *f, int32_t (*line)(const void *, int32_t),
			 const void *object)
{
	struct entry_key w = { .kind = GP_STACK_PYTHON,
			       .parent = f->parent,
			       .v = { f->code | (uint64_t)(uint32_t)f->offset << 32,
				      f->is_entry | (uint64_t)f->bare_entries << 32 } };
	_Atomic uint32_t *place;
	uint32_t id = stack_table_find(&w, &place);
	if (gp_likely(id != 0))
		return id;
	int32_t number = line(object, f->offset);
	w.v[2] = number > 0 ? (uint32_t)number : 0;
	return find_or_add(&w);
}

uint32_t gp_stack_pair(uint32_t native, uint32_t python, enum gp_stack_why why_native,
		       enum gp_stack_why why_python)
{
	return find_or_add(&(struct entry_key){ .kind = GP_STACK_STACK,
						.v = { native | (uint64_t)python << 32,
						       why_native | (uint64_t)why_python << 32 } });
}

/* With its text: the first entry has the length; the bytes follow in whole entries. */
static uint32_t add_with_text(struct entry_key *w, const char *text, uint32_t bytes)
{
	_Atomic uint32_t *place;
	uint32_t id = stack_table_find(w, &place);
	if (id != 0)
		return id;
	uint32_t rows = (bytes + 31) / 32, at = claim(2 + rows);
	if (at == 0)
		return 0;
	for (uint32_t k = 0; k < rows; k++) {
		uint32_t left = bytes - 32 * k;
		memcpy(entry_at(at + 2 + k), text + 32 * k, left < 32 ? left : 32);
	}
	entry_at(at + 1)->parent = bytes;
	atomic_store_explicit(&entry_at(at + 1)->kind, GP_STACK_TEXT, memory_order_release);
	w->parent = at + 1;
	return publish(w, at, place);
}

uint32_t gp_stack_code_add(uint64_t address, uint64_t identity, uint32_t first_line,
			   const char *text, uint32_t text_bytes)
{
	return add_with_text(&(struct entry_key){ .kind = GP_STACK_CODE,
						  .v = { address, identity, first_line } },
			     text, text_bytes);
}

/* Modules get half of the table: without a module, an event still has its stack. */
static bool may_add_of_modules(uint32_t entries)
{
	const uint32_t most = atomic_load(&table.chunks_most) * (GP_STACK_CHUNK / 2);
	if (atomic_fetch_add(&table.of_modules, entries) + entries <= most)
		return true;
	atomic_fetch_sub(&table.of_modules, entries);
	return false;
}

uint32_t gp_stack_in_module(uint32_t pair, uint32_t module)
{
	const struct gp_stack_entry *base = gp_stack_table_entry(pair);
	if (!base)
		return 0;
	struct entry_key w = { .kind = GP_STACK_STACK,
			       .v = { base->v[0], base->v[1] | (uint64_t)module << MODULE_SHIFT } };
	_Atomic uint32_t *place;
	const uint32_t id = stack_table_find(&w, &place);
	return id || !may_add_of_modules(1) ? id : find_or_add(&w);
}

uint32_t gp_stack_module_add(uint32_t within, const char *text, uint32_t text_bytes)
{
	/* spread, so that a parent and a name do not cancel each other out */
	uint64_t identity = (within + 1) * UINT64_C(0xd6e8feb86659fd93);
	identity ^= identity >> 29;
	for (uint32_t k = 0; k < text_bytes; k++) {
		identity = (identity ^ (unsigned char)text[k]) * UINT64_C(0x9e3779b97f4a7c15);
		identity ^= identity >> 29;
	}
	struct entry_key w = { .kind = GP_STACK_MODULE, .v = { within, identity } };
	_Atomic uint32_t *place;
	const uint32_t id = stack_table_find(&w, &place);
	if (id || !may_add_of_modules(2 + (text_bytes + 31) / 32))
		return id;
	return add_with_text(&w, text, text_bytes);
}
