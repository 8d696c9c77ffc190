/*
 * Adds to a stack the module of PyTorch whose forward runs. Each module is named once, as
 * named_modules() of the outermost called module does, by the key in its parent's `_modules`.
 *
 * An address identifies a module only while the module lives. So names are checked again: those
 * that are older than about a second, and each module that follows another one than the last time.
 * A job that replaces its model calls the new modules in another order of addresses, or soon has
 * their right names. Checks are rationed, to about 0.1% of the time.
 */
#ifndef GP_MODULE_IDS_H
#define GP_MODULE_IDS_H

#include <stdatomic.h>
#include <stdint.h>

#include "../hot.h"

#define GP_MODULE_STACKS_LOG 11

/* A thread's own; zeros are an empty one. */
struct gp_module_memo {
	const void *last;      /* the module of the last event that had one */
	uint32_t last_known;   /* its index among the known ones */
	uint32_t turn, checks; /* the time of the last ration; checks that are left */
	struct gp_module_stack {
		const void *module;
		uint32_t pair, stack;
		uint32_t renamed; /* gp_modules_renamed at that time */
	} known[1u << GP_MODULE_STACKS_LOG];
};

/* How often a module was found to have another name than before. */
extern _Atomic uint32_t gp_modules_renamed __attribute__((visibility("hidden")));

uint32_t gp_module_stack_slow(struct gp_module_memo *memo, struct gp_module_stack *known,
			      uint32_t pair, const void *module);

/* The stack `pair` in the call of the module whose address is at `place`. */
GP_HOT uint32_t gp_module_stack(struct gp_module_memo *memo, uint32_t pair,
				const void *const *place)
{
	const void *module = *place;
	const uint64_t hash =
		((uintptr_t)module >> 4 ^ (uint64_t)pair << 32) * UINT64_C(0x9e3779b97f4a7c15);
	struct gp_module_stack *known = &memo->known[hash >> (64 - GP_MODULE_STACKS_LOG)];
	if (gp_likely(module == memo->last && known->module == module && known->pair == pair &&
		      known->renamed ==
			      atomic_load_explicit(&gp_modules_renamed, memory_order_relaxed)))
		return known->stack;
	return gp_module_stack_slow(memo, known, pair, module);
}

#endif
