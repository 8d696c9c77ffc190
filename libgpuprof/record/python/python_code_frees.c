/*
 * Counts, by address, the deaths of code objects that were met on a stack. The type of code objects
 * has the address of the function that frees one. Our function replaces it, counts, and calls it.
 * That word is the only word of the interpreter that the recorder ever writes. It stays changed
 * until the process ends.
 *
 * Rejected: a hash of a code object's text (five times the cost, and wrong for nearly all of 4,000
 * functions of one shape). Also CPython's version numbers, which restart in each interpreter since
 * 3.13.
 */
#include <string.h>

#include "python_object.h"

_Atomic uint32_t gp_python_died[1u << GP_PYTHON_DIED_LOG];
_Atomic uint64_t gp_python_died_in_all GP_HOT_DATA;

/* Called by the thread that drops the last reference; since 3.12 by several threads at once. */
typedef void destructor(void *object);
static _Atomic(destructor *) interpreters_own;

/*
 * Most code objects that die were never on a recorded stack. Such deaths are not counted: each
 * would make others with the same place in the table look new. One bit per met address; never
 * cleared, since others may share it.
 */
#define MET_LOG 20
static _Atomic uint64_t met[1u << (MET_LOG - 6)];

static uint64_t bit_of(const void *code, _Atomic uint64_t **word)
{
	const uint64_t hash = (uint64_t)(uintptr_t)code * UINT64_C(0x9e3779b97f4a7c15);
	*word = &met[hash >> (64 - MET_LOG + 6)];
	return UINT64_C(1) << (hash >> (64 - MET_LOG) & 63);
}

void gp_python_watch_code(const void *code)
{
	_Atomic uint64_t *word;
	const uint64_t bit = bit_of(code, &word);
	if (!(atomic_load_explicit(word, memory_order_relaxed) & bit))
		atomic_fetch_or_explicit(word, bit, memory_order_relaxed);
}

static void count_death(void *code)
{
	_Atomic uint64_t *word;
	const uint64_t bit = bit_of(code, &word);
	if (atomic_load_explicit(word, memory_order_relaxed) & bit) {
		atomic_fetch_add_explicit(gp_python_code_frees_at(code), 1, memory_order_relaxed);
		atomic_fetch_add_explicit(&gp_python_died_in_all, 1, memory_order_relaxed);
	}
	atomic_load_explicit(&interpreters_own, memory_order_relaxed)(code);
}

static _Atomic(destructor *) *slot_of(const struct gp_python *p)
{
	return (_Atomic(destructor *) *)((uintptr_t)p->symbols.code_type +
					 (uintptr_t)p->layout.type_dealloc);
}

static bool is_called_code(const struct gp_python *p)
{
	static const char called[] = "code";
	const char *name;
	char text[sizeof called];
	return gp_python_peek((const char *)p->symbols.code_type + p->layout.type_name, &name,
			      sizeof name) &&
	       gp_python_peek(name, text, sizeof text) && memcmp(text, called, sizeof text) == 0;
}

const char *gp_python_count_code_frees(const struct gp_python *p)
{
	if (!is_called_code(p))
		return "self-check: the type of code objects is not what it should be";
	_Atomic(destructor *) *slot = slot_of(p);
	destructor *own = atomic_load(slot), *none = NULL;
	if (own == count_death)
		return NULL;
	/* before our function is called; another thread may be at the same point */
	if (!atomic_compare_exchange_strong(&interpreters_own, &none, own) && none != own)
		return "there are two interpreters, or another tool watches code objects";
	if (!own ||
	    (!atomic_compare_exchange_strong(slot, &own, count_death) && own != count_death))
		return "the function that frees code objects was not found";
	return NULL;
}

bool gp_python_counts_code_frees(struct gp_python *p)
{
	if (gp_likely(atomic_load_explicit(slot_of(p), memory_order_relaxed) !=
		      atomic_load_explicit(&interpreters_own, memory_order_relaxed)))
		return true;
	gp_python_switch_off(p, "another tool has ended the watch over code objects");
	return false;
}

void gp_python_look_after(void)
{
	struct gp_python *p = gp_python_get();
	/* an interpreter that was off from the start may have no such type */
	if (p && atomic_load(&p->phase) != GP_PYTHON_IS_OFF)
		gp_python_counts_code_frees(p);
}
