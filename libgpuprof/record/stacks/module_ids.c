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

#define TURN_SHIFT 18	     /* 0.1 ms with the processor's clock, 0.26 ms with nanoseconds */
#define CHECKED_TURNS 40000u /* a name older than this is checked again */
#define RATION_LOG 10	     /* checks get 1/1024 of the time */
#define RATION_MOST (INT64_C(1) << 26)	      /* saved up for a job that replaces its model */
#define RATION_AT_ONCE (RATION_MOST / 16)     /* more was of other threads on this processor */
#define RATION_FOR_AGED (RATION_MOST / 8 * 7) /* with less, only calls in a new order are checked */
#define LOOKS_MOST 1024u /* at dictionaries, for one search; they take a microsecond each */
#define LOOKS_UNNAMED 16u
#define LOOKS_OVERDRAWN 8u
#define LOOKS_UNRATIONED (16u << KNOWN_LOG) /* of all searches for first names */

struct known {
	_Atomic uintptr_t module;
	_Atomic uintptr_t within; /* the module whose descendant it was found to be; 0: a root */
	_Atomic uint64_t word;	  /* id; above it a mark of all other fields */
	_Atomic uint32_t checked; /* turn of the last check */
	_Atomic uint32_t class;	  /* bits of its type's address */
};
static struct known known[1u << KNOWN_LOG];
_Static_assert(sizeof(struct known) == 32, "two share a cache line");
_Atomic uint32_t gp_modules_renamed GP_HOT_DATA;
static _Atomic uint64_t looks_taken;  /* by searches for first names */
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

/*
 * The id of the module, if it is a descendant of `within`, which has id `outer`. Takes all looks if
 * it is one and its name has no room.
 */
static uint32_t find_in(const void *within, uint32_t outer, const void *module, unsigned *looks)
{
	struct gp_python_path path;
	if (!gp_python_module_find(within, module, looks, &path))
		return 0;
	for (unsigned k = 0; k < path.steps && outer; k++)
		outer = module_add(outer, path.step[k].name, path.step[k].module);
	if (!outer)
		*looks = 0;
	return outer;
}

/* No job replaces its model within a turn. */
static bool is_checked(uint32_t at, uint32_t turn)
{
	return atomic_load_explicit(&known[at - 1].checked, memory_order_relaxed) == turn;
}

/*
 * Whether a module and `deeper` of those around it still have their names. Forgets those that have
 * not.
 */
static bool has_name(const void *module, uint32_t at, uint32_t id, uint32_t turn, unsigned deeper)
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
		has = outer_at && (deeper == 0 || is_checked(outer_at, turn) ||
				   has_name(within, outer_at, outer, turn, deeper - 1));
		found = has ? find_in(within, outer, module, &looks) : 0;
		has = has && (found == id || (id == outer && !found));
	}
	if (!has)
		atomic_store(&known[at - 1].word, 0);
	atomic_store(&known[at - 1].checked, turn);
	return has;
}

/*
 * Names the module chain[0] by its callers. It has the name of its caller if it is not a descendant
 * of any, as a module in a plain list: named_modules() does not have it either. 0: no room.
 */
static uint32_t name_chain(struct gp_module_memo *memo, const void *const *chain, unsigned n)
{
	const uint32_t turn = turn_now();
	uint32_t ids[GP_PYTHON_MODULES_MOST];
	for (unsigned k = n; k-- > 0;) {
		const void *within = k + 1 < n ? chain[k + 1] : NULL;
		const uint32_t at = known_find(chain[k], &ids[k]);
		/*
		 * one that was called alone before may have a caller now; the outer ones of the
		 * chain are right by now
		 */
		if (at && (!within || atomic_load(&known[at - 1].within)) &&
		    (is_checked(at, turn) || has_name(chain[k], at, ids[k], turn, 0)))
			continue;
		const unsigned most = memo->ration > 0 ? LOOKS_MOST : LOOKS_OVERDRAWN;
		unsigned looks = most;
		ids[k] = within ? 0 : module_add(0, NULL, chain[k]);
		for (unsigned j = k + 1; j < n && !ids[k]; j++) {
			within = chain[j];
			ids[k] = find_in(within, ids[j], chain[k], &looks);
		}
		const bool is_found = ids[k] != 0;
		atomic_fetch_add_explicit(&looks_taken, most - looks, memory_order_relaxed);
		if (!is_found && k + 1 < n) {
			within = chain[k + 1];
			ids[k] = ids[k + 1];
		}
		if (!ids[k])
			return 0;
		if (!is_found && looks == 0) { /* perhaps it is one all the same */
			if (k == 0)
				gp_stack_table_count_module_cut();
			continue;
		}
		if (at)
			count_renamed(turn);
		known_add(chain[k], within, ids[k]);
	}
	return ids[0];
}

static void ration_take(struct gp_module_memo *memo, uint64_t begin)
{
	const int64_t took = (int64_t)(gp_clock_now() - begin);
	memo->ration -= took < RATION_AT_ONCE ? took : RATION_AT_ONCE;
}

/* The module has no known name, or a wrong one. 0: no room, or no time. */
GP_COLD static uint32_t module_name(struct gp_module_memo *memo)
{
	const void *chain[GP_PYTHON_MODULES_MOST];
	const uint64_t begin = gp_clock_now();
	/* each module is named once, unless there are more than the table has room for */
	const bool is_again =
		atomic_load_explicit(&looks_taken, memory_order_relaxed) >= LOOKS_UNRATIONED;
	if (is_again && memo->ration <= 0)
		return 0;
	const unsigned n = gp_python_modules(chain, GP_PYTHON_MODULES_MOST);
	const uint32_t id = n ? name_chain(memo, chain, n) : 0;
	if (is_again)
		ration_take(memo, begin);
	return id;
}

static void add_ration(struct gp_module_memo *memo, uint64_t now)
{
	const uint64_t more = (now - memo->looked) >> RATION_LOG;
	if (!more)
		return;
	memo->ration = more < RATION_MOST ? memo->ration + (int64_t)more : RATION_MOST;
	if (memo->ration > RATION_MOST)
		memo->ration = RATION_MOST;
	memo->looked = now;
}

/* The call follows the last one as it did before. */
static bool is_expected(struct gp_module_memo *memo, const struct gp_module_stack *to)
{
	struct gp_module_stack *from = &memo->known[memo->switched_to];
	const uint16_t place = (uint16_t)(to - memo->known);
	const bool is = from->next == place;
	from->next = place;
	memo->switched_to = place;
	return is;
}

GP_COLD static void check_name(struct gp_module_memo *memo, const void *module, uint32_t at,
			       uint32_t id, uint64_t now)
{
	const uint32_t turn = (uint32_t)(now >> TURN_SHIFT);
	if (!has_name(module, at, id, turn, DEPTH))
		count_renamed(turn);
	ration_take(memo, now);
}

/* Checks the name, if it may be wrong and time is left. Returns the turn of its last check. */
static uint32_t check_if_due(struct gp_module_memo *memo, const void *module, uint64_t now,
			     bool is_usual, uint32_t class)
{
	uint32_t id;
	const uint32_t at = known_find(module, &id), turn = (uint32_t)(now >> TURN_SHIFT);
	if (!at)
		return turn;
	struct known *k = &known[at - 1];
	if (atomic_load_explicit(&k->class, memory_order_relaxed) != class) {
		atomic_store(&k->word, 0);
		count_renamed(turn);
		return turn;
	}
	const uint32_t age = turn - atomic_load_explicit(&k->checked, memory_order_relaxed);
	const uint32_t renamed = atomic_load_explicit(&renamed_turn, memory_order_relaxed);
	const bool is_suspect = !is_usual || age >= turn - renamed;
	if (memo->ration > (is_suspect ? 0 : RATION_FOR_AGED) &&
	    (is_suspect || age >= CHECKED_TURNS))
		check_name(memo, module, at, id, now);
	return atomic_load_explicit(&k->checked, memory_order_relaxed);
}

uint32_t gp_module_id(struct gp_module_memo *memo, const void *module)
{
	uint32_t id;
	const uint64_t now = gp_clock_now();
	add_ration(memo, now);
	check_if_due(memo, module, now, true, gp_python_module_type(module));
	return known_find(module, &id) ? id : module_name(memo);
}

/* The one that has it, or the one to be replaced. Two share a cache line. */
static struct gp_module_stack *choose(struct gp_module_memo *memo, uint32_t pair,
				      const void *module)
{
	struct gp_module_stack *from = &memo->known[memo->now], *two = &memo->known[from->ahead];
	if (two->module == module && two->pair == pair)
		return two;
	const uint64_t hash = hash_of((uintptr_t)module ^ (uintptr_t)pair << 36);
	two = &memo->known[hash >> (64 - GP_MODULE_STACKS_LOG) & ~UINT64_C(1)];
	for (unsigned k = 0; k < 2; k++)
		if (two[k].module == module && two[k].pair == pair)
			return &two[k];
	return !two[0].module ? &two[0] : !two[1].module ? &two[1] : &two[hash & 1];
}

GP_HOT_TEXT uint32_t gp_module_stack_slow(struct gp_module_memo *memo, uint32_t pair,
					  const void *module)
{
	struct gp_module_stack *k = choose(memo, pair, module), *from = &memo->known[memo->now];
	if (from != k) /* one that repeats is at hand anyway */
		from->ahead = (uint16_t)(k - memo->known);
	gp_module_stack_used(memo, k);
	if (module == memo->last && gp_module_stack_is(k, pair, module))
		return k->stack;
	const uint64_t now = gp_clock_now();
	const bool is_usual = is_expected(memo, k);
	const uint32_t class = gp_python_module_type(module);
	memo->last = module;
	if (is_usual && gp_module_stack_is(k, pair, module) && k->class == class &&
	    (uint32_t)(now >> TURN_SHIFT) - k->checked < CHECKED_TURNS)
		return k->stack;
	add_ration(memo, now);
	const uint32_t checked = check_if_due(memo, module, now, is_usual, class);
	if (!gp_module_stack_is(k, pair, module)) {
		uint32_t id;
		const uint32_t renamed =
			atomic_load_explicit(&gp_modules_renamed, memory_order_relaxed);
		if (!known_find(module, &id))
			id = module_name(memo);
		uint32_t stack = id ? gp_stack_in_module(pair, id) : 0;
		if (!stack)
			gp_stack_table_count_module_cut();
		if (!id) /* later there may be time */
			return pair;
		*k = (struct gp_module_stack){ .module = module,
					       .pair = pair,
					       .stack = stack ? stack : pair,
					       .renamed = renamed,
					       .next = k->next,
					       .ahead = k->ahead };
	}
	k->class = class;
	k->checked = checked;
	return k->stack;
}
