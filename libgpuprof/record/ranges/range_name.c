/* The table of names: an index of ids, entries, texts, all in one mapping that is never moved. */
#include "range_name.h"

#include <string.h>
#include <sys/mman.h>

#include "../recorder.h"

#define PLACES GP_RANGE_NAME_PLACES
#define ID_BITS 15u
#define PAGE 4096u /* the first names touch one page of the index each */
_Static_assert(GP_RANGE_NAMES < 1u << ID_BITS, "an id fits its bits");

_Atomic(struct gp_range_names *) gp_range_names GP_HOT_DATA;
static _Atomic uint64_t refused;

/* Children inherit it: their own names follow, and each process defines those that it uses. */
static GP_COLD struct gp_range_names *map_table(void)
{
	struct gp_range_names *none = NULL, *fresh = gp_pages_inherited(sizeof *fresh);
	if (!fresh)
		return NULL;
	/* partner: the acquire load in names_of: zeroed pages need no more */
	if (atomic_compare_exchange_strong(&gp_range_names, &none, fresh))
		return fresh;
	munmap(fresh, sizeof *fresh);
	return none;
}

static struct gp_range_names *names_of(void)
{
	struct gp_range_names *n = atomic_load_explicit(&gp_range_names, memory_order_acquire);
	return gp_likely(n) ? n : map_table();
}

size_t gp_range_name_text(uint32_t id, const char **text)
{
	const struct gp_range_names *n =
		atomic_load_explicit(&gp_range_names, memory_order_relaxed);
	*text = n->text + n->name[id].text;
	return n->name[id].bytes;
}

uint64_t gp_range_names_refused(void)
{
	return atomic_load_explicit(&refused, memory_order_relaxed);
}

uint64_t gp_range_names_memory(void)
{
	const struct gp_range_names *n =
		atomic_load_explicit(&gp_range_names, memory_order_acquire);
	if (!n)
		return 0;
	const uint64_t count = atomic_load_explicit(&n->count, memory_order_relaxed);
	const uint64_t pages = count * PAGE < sizeof n->index ? count * PAGE : sizeof n->index;
	return pages + count * sizeof *n->name +
	       atomic_load_explicit(&n->text_bytes, memory_order_relaxed);
}

void gp_range_names_begin(void)
{
	atomic_store_explicit(&refused, 0, memory_order_relaxed);
}

void gp_range_name_refuse(void)
{
	atomic_fetch_add_explicit(&refused, 1, memory_order_relaxed);
}

/* Of the text as it is stored. */
struct name_key {
	const char *text;
	size_t bytes;
	bool is_cut;
	uint32_t domain, hash;
};

static uint32_t range_name_hash_of(const struct name_key *w)
{
	uint64_t h = w->domain * 0x9e3779b97f4a7c15u ^ w->bytes << 1 ^ w->is_cut;
	size_t at = 0;
	for (; at < w->bytes; at += 8) {
		uint64_t word = 0;
		memcpy(&word, w->text + at, w->bytes - at < 8 ? w->bytes - at : 8);
		h = (h ^ word) * 0xbf58476d1ce4e5b9u;
		h ^= h >> 29;
	}
	return (uint32_t)(h >> 32) ^ (uint32_t)h;
}

static bool range_name_is_same(const struct gp_range_names *n, const struct gp_range_name *e,
			       const struct name_key *w)
{
	return e->hash == w->hash && e->bytes == w->bytes && e->domain == w->domain &&
	       e->is_cut == w->is_cut && memcmp(n->text + e->text, w->text, w->bytes) == 0;
}

/* The existing id, or 0 and the free place for it; NULL: the table is full. */
static uint32_t range_name_find(struct gp_range_names *n, const struct name_key *w,
				_Atomic uint32_t **place)
{
	const uint32_t tag = w->hash >> ID_BITS;
	*place = NULL;
	for (uint32_t probe = 0; probe < PLACES; probe++) {
		_Atomic uint32_t *here = &n->index[(w->hash + probe) % PLACES];
		/*
		 * partner: the release exchange in publish(); a thread that sees the id sees the
		 * entry
		 */
		uint32_t word = atomic_load_explicit(here, memory_order_acquire);
		if (word == 0) {
			*place = here;
			return 0;
		}
		const uint32_t id = word & ((1u << ID_BITS) - 1);
		if (word >> ID_BITS == tag && range_name_is_same(n, &n->name[id], w))
			return id;
	}
	return 0;
}

/* Takes `more` of `most`; false: not enough is left, and none is taken. */
static bool claim(_Atomic uint32_t *used, uint32_t more, uint32_t most, uint32_t *at)
{
	*at = atomic_load_explicit(used, memory_order_relaxed);
	do {
		if (more > most - *at)
			return false;
	} while (!atomic_compare_exchange_weak_explicit(used, at, *at + more, memory_order_relaxed,
							memory_order_relaxed));
	return true;
}

/*
 * An entry that no thread sees yet; 0: no room. A claimed entry that is not used stays claimed: a
 * limited loss.
 */
static uint32_t make(struct gp_range_names *n, const struct name_key *w)
{
	uint32_t id, text, record, bytes = (uint32_t)w->bytes;
	const uint32_t slots = 1u + gp_text_slots(bytes);
	if (!claim(&n->count, 1, GP_RANGE_NAMES, &id) ||
	    !claim(&n->record_bytes, 64 * slots, GP_RANGE_NAMES_BYTES, &record) ||
	    !claim(&n->text_bytes, bytes, sizeof n->text, &text))
		return 0;
	struct gp_range_name *e = &n->name[++id];
	e->hash = w->hash;
	e->domain = w->domain;
	e->text = text;
	e->bytes = (uint16_t)bytes;
	e->is_cut = w->is_cut;
	memcpy(n->text + text, w->text, bytes);
	return id;
}

/*
 * Adds entry `id` to the index, unless another thread was faster with the same: returns the id that
 * is there.
 */
static uint32_t publish(struct gp_range_names *n, const struct name_key *w, uint32_t id,
			_Atomic uint32_t *place)
{
	while (place) {
		uint32_t none = 0;
		/* partner: acquire load in find() */
		if (atomic_compare_exchange_strong_explicit(
			    place, &none, id | w->hash >> ID_BITS << ID_BITS, memory_order_release,
			    memory_order_relaxed))
			return id;
		uint32_t other = range_name_find(n, w, &place);
		if (other != 0)
			return other;
	}
	return 0;
}

uint32_t gp_range_name(uint32_t domain, const char *text, size_t bytes)
{
	struct gp_range_names *n = text ? names_of() : NULL;
	if (!n)
		return 0;
	const size_t most = bytes == GP_TO_NUL ? strnlen(text, GP_RANGE_NAME_MAX + 1) : bytes;
	struct name_key w = { .text = text,
			      .bytes = most < GP_RANGE_NAME_MAX ? most : GP_RANGE_NAME_MAX,
			      .is_cut = most > GP_RANGE_NAME_MAX,
			      .domain = domain };
	_Atomic uint32_t *place;
	w.hash = range_name_hash_of(&w);
	uint32_t id = range_name_find(n, &w, &place);
	if (gp_likely(id != 0))
		return id;
	id = make(n, &w);
	return id ? publish(n, &w, id, place) : 0;
}

void gp_range_name_write(uint32_t id)
{
	struct gp_range_names *n = atomic_load_explicit(&gp_range_names, memory_order_relaxed);
	struct gp_range_name *e = &n->name[id];
	const uint32_t generation = gp_thread.generation;
	if (e->domain != 0 &&
	    atomic_load_explicit(&n->name[e->domain].reported, memory_order_relaxed) != generation)
		gp_range_name_write(e->domain);
	struct gp_record record = { .kind = GP_RANGE_NAME, .device = GP_DEVICE_UNKNOWN, .aux = id };
	record.range_name.domain = e->domain;
	record.range_name.is_cut = e->is_cut;
	/* two threads at once may define it twice */
	if (gp_define(&record, n->text + e->text, e->bytes))
		atomic_store_explicit(&e->reported, generation, memory_order_relaxed);
}
