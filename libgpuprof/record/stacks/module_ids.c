/*
 * The names of modules by address, for all threads, without a lock. An entry that two threads wrote
 * at once does not fit its mark, and counts as unknown.
 */
#include "module_ids.h"

#include <string.h>

#include "../python/python_module.h"
#include "../record.h"
#include "stack_table.h"

#define KNOWN_LOG 14 /* 512 KiB, of which pages are provided as they are used */
#define WAYS 4u
#define NAME_BYTES 128u
#define DEPTH 24u /* of modules in each other */

#define TURN_SHIFT 26	  /* about 25 ms with the processor's clock, 67 ms with nanoseconds */
#define CHECKED_TURNS 20u /* a name older than this is checked again */
#define CHECKS_A_TURN 8u  /* of some microseconds each */
#define CHECKS_MOST 4096u /* saved up for a job that replaces its model */
#define LOOKS_MOST 1024u  /* at dictionaries, for one search; they take a microsecond each */
#define LOOKS_UNNAMED 16u
#define LOOKS_A_CHECK 4u

struct known {
	_Atomic uintptr_t module;
	_Atomic uintptr_t within; /* the module whose descendant it was found to be; 0: a root */
	_Atomic uint64_t word;	  /* id; above it a mark of all other fields */
	_Atomic uint32_t checked; /* turn of the last check */
	_Atomic uint16_t next;	  /* the module that followed it the last time: its index + 1 */
	_Atomic uint16_t class;	  /* bits of its type's address */
};
static struct known known[1u << KNOWN_LOG];
_Static_assert(sizeof(struct known) == 32 && 1u << KNOWN_LOG <= UINT16_MAX, "an index fits");
_Atomic uint32_t gp_modules_renamed GP_HOT_DATA;
static _Atomic uint32_t renamed_turn; /* of the last time: names from before may be wrong, too */

static uint64_t hash_of(uintptr_t module)
{
	return (module >> 4) * UINT64_C(0x9e3779b97f4a7c15);
}

/* Ids are of one process: those of its parent do not fit. */
static uint64_t mark_of(uintptr_t module, uintptr_t within)
{
	const uint64_t own = gp_thread.generation;
	return (hash_of(module ^ hash_of(within)) ^ own * UINT64_C(0xd6e8feb86659fd93)) >>
	       GP_STACK_ID_BITS << GP_STACK_ID_BITS;
}

/* Index of the module, not 0; 0: unknown. */
static uint32_t known_find(const void *module, uint32_t *id)
{
	const uint32_t first =
		(uint32_t)(hash_of((uintptr_t)module) >> (64 - KNOWN_LOG)) & ~(WAYS - 1);
	for (uint32_t k = first; k < first + WAYS; k++) {
		if (atomic_load_explicit(&known[k].module, memory_order_relaxed) !=
		    (uintptr_t)module)
			continue;
		const uint64_t word = atomic_load_explicit(&known[k].word, memory_order_relaxed);
		const uintptr_t within =
			atomic_load_explicit(&known[k].within, memory_order_relaxed);
		*id = (uint32_t)word & ((1u << GP_STACK_ID_BITS) - 1);
		if (*id && (word ^ *id) == mark_of((uintptr_t)module, within))
			return k + 1;
	}
	*id = 0;
	return 0;
}

static uint32_t turn_now(void)
{
	return (uint32_t)(gp_clock_now() >> TURN_SHIFT);
}

static void count_renamed(uint32_t turn)
{
	atomic_fetch_add(&gp_modules_renamed, 1);
	atomic_store(&renamed_turn, turn);
}

/* In the place of the one that was checked longest ago. */
static void known_add(const void *module, const void *within, uint32_t id)
{
	const uint32_t first =
		(uint32_t)(hash_of((uintptr_t)module) >> (64 - KNOWN_LOG)) & ~(WAYS - 1);
	struct known *at = &known[first];
	const uint32_t now = turn_now();
	for (uint32_t k = first; k < first + WAYS; k++) {
		struct known *other = &known[k];
		if (atomic_load(&other->module) == (uintptr_t)module) {
			at = other;
			break;
		}
		if (now - atomic_load(&other->checked) > now - atomic_load(&at->checked))
			at = other;
	}
	atomic_store(&at->module, (uintptr_t)module);
	atomic_store(&at->within, (uintptr_t)within);
	atomic_store(&at->word, mark_of((uintptr_t)module, (uintptr_t)within) | id);
	atomic_store(&at->class, gp_python_module_type(module));
	atomic_store(&at->checked, now);
}

/* The id of the module of this name in `within`; 0: no room. */
static uint32_t module_add(uint32_t within, const void *name, const void *module)
{
	char text[2 * NAME_BYTES];
	text[0] = '\0';
	size_t n = name ? gp_python_module_name(name, text, NAME_BYTES) : 0;
	n += 1 + gp_python_module_class(module, text + n + 1, NAME_BYTES);
	return gp_stack_module_add(within, text, (uint32_t)n);
}

/* The id of the module, if it is a descendant of `within`, which has id `outer`. */
static uint32_t find_in(const void *within, uint32_t outer, const void *module, unsigned *looks)
{
	struct gp_python_path path;
	if (!gp_python_module_find(within, module, looks, &path))
		return 0;
	for (unsigned k = 0; k < path.steps && outer; k++)
		outer = module_add(outer, path.step[k].name, path.step[k].module);
	return outer;
}

/*
 * Whether a module and `deeper` of those around it still have their names. Forgets those that have
 * not.
 */
static bool has_name(const void *module, uint32_t at, uint32_t id, unsigned deeper)
{
	const void *within = (const void *)atomic_load(&known[at - 1].within);
	uint32_t outer, found;
	bool has = false;
	if (!within) {
		has = module_add(0, NULL, module) == id;
	} else {
		const uint32_t outer_at = known_find(within, &outer);
		/* one that is not a descendant has its caller's name; it may be one by now */
		unsigned looks = id == outer ? LOOKS_UNNAMED : LOOKS_MOST;
		has = outer_at && (deeper == 0 || has_name(within, outer_at, outer, deeper - 1));
		found = has ? find_in(within, outer, module, &looks) : 0;
		has = has && (found == id || (id == outer && !found));
	}
	if (!has)
		atomic_store(&known[at - 1].word, 0);
	return has;
}

/*
 * Names the module chain[0] by its callers. It has the name of its caller if it is not a descendant
 * of any, as a module in a plain list: named_modules() does not have it either. 0: no room.
 */
static uint32_t name_chain(struct gp_module_memo *memo, const void *const *chain, unsigned n)
{
	uint32_t ids[GP_PYTHON_MODULES_MOST];
	for (unsigned k = n; k-- > 0;) {
		const void *within = k + 1 < n ? chain[k + 1] : NULL;
		const uint32_t at = known_find(chain[k], &ids[k]);
		/*
		 * one that was called alone before may have a caller now; the outer ones of the
		 * chain are right by now
		 */
		if (at && (!within || atomic_load(&known[at - 1].within)) &&
		    has_name(chain[k], at, ids[k], 0))
			continue;
		unsigned looks = memo->checks ? LOOKS_MOST : CHECKS_A_TURN;
		const unsigned before = looks;
		ids[k] = within ? 0 : module_add(0, NULL, chain[k]);
		for (unsigned j = k + 1; j < n && !ids[k]; j++) {
			within = chain[j];
			ids[k] = find_in(within, ids[j], chain[k], &looks);
		}
		const uint32_t used = (before - looks) / LOOKS_A_CHECK;
		memo->checks -= used < memo->checks ? used : memo->checks;
		const bool is_found = ids[k] != 0;
		if (!is_found && k + 1 < n) {
			within = chain[k + 1];
			ids[k] = ids[k + 1];
		}
		if (!ids[k])
			return 0;
		if (!is_found && looks == 0) /* perhaps it is one all the same */
			continue;
		if (at)
			count_renamed(memo->turn);
		known_add(chain[k], within, ids[k]);
	}
	return ids[0];
}

/* The module has no known name, or a wrong one. */
GP_COLD static uint32_t module_name(struct gp_module_memo *memo)
{
	const void *chain[GP_PYTHON_MODULES_MOST];
	const unsigned n = gp_python_modules(chain, GP_PYTHON_MODULES_MOST);
	return n ? name_chain(memo, chain, n) : 0;
}

static void add_checks(struct gp_module_memo *memo, uint32_t now)
{
	const uint32_t turns = memo->turn ? now - memo->turn : CHECKS_MOST;
	const uint64_t more = memo->checks + (uint64_t)turns * CHECKS_A_TURN;
	memo->checks = more < CHECKS_MOST ? (uint32_t)more : CHECKS_MOST;
	memo->turn = now;
}

/* The module follows the last one as it did before. */
static bool is_expected(const struct gp_module_memo *memo, uint32_t at)
{
	if (!memo->last_known || memo->last_known == at)
		return false;
	_Atomic uint16_t *next = &known[memo->last_known - 1].next;
	const bool is = atomic_load_explicit(next, memory_order_relaxed) == at;
	if (!is)
		atomic_store_explicit(next, (uint16_t)at, memory_order_relaxed);
	return is;
}

/* Another module than at the last event, or in another stack: its name may have to be checked. */
static void switch_to(struct gp_module_memo *memo, const void *module)
{
	uint32_t id;
	const uint32_t at = known_find(module, &id), now = turn_now();
	const bool is_usual = is_expected(memo, at);
	memo->last = module;
	memo->last_known = at;
	if (now != memo->turn)
		add_checks(memo, now);
	if (!at)
		return;
	struct known *k = &known[at - 1];
	const uint32_t checked = atomic_load_explicit(&k->checked, memory_order_relaxed);
	const uint32_t renamed = atomic_load_explicit(&renamed_turn, memory_order_relaxed);
	const bool is_same_class = atomic_load_explicit(&k->class, memory_order_relaxed) ==
				   gp_python_module_type(module);
	if (is_same_class && (memo->checks == 0 || (is_usual && now - checked < CHECKED_TURNS &&
						    now - checked < now - renamed)))
		return;
	memo->checks -= memo->checks != 0;
	if (!is_same_class)
		atomic_store(&k->word, 0);
	if (!is_same_class || !has_name(module, at, id, DEPTH))
		count_renamed(now);
	atomic_store(&k->checked, now);
}

GP_HOT_TEXT uint32_t gp_module_stack_slow(struct gp_module_memo *memo, struct gp_module_stack *k,
					  uint32_t pair, const void *module)
{
	uint32_t id;
	switch_to(memo, module);
	const uint32_t renamed = atomic_load_explicit(&gp_modules_renamed, memory_order_relaxed);
	if (k->module == module && k->pair == pair && k->renamed == renamed)
		return k->stack;
	if (!known_find(module, &id))
		id = module_name(memo);
	uint32_t stack = id ? gp_stack_in_module(pair, id) : 0;
	if (!stack) {
		gp_stack_table_count_module_cut();
		stack = pair;
	}
	*k = (struct gp_module_stack){ module, pair, stack, renamed };
	return stack;
}
