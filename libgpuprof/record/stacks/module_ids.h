/*
 * Adds to a stack the module of PyTorch whose forward runs. Each module is named once, as
 * named_modules() of the outermost called module does, by the key in its parent's `_modules`.
 *
 * An address identifies a module only while the module lives. So names are checked again: those
 * that are older than some seconds, and those of a call that follows another one than the last
 * time. A job that replaces its model calls the new modules in another order of addresses, or soon
 * has their right names. Checks take at most about 0.1% of a thread's time.
 */
#ifndef GP_MODULE_IDS_H
#define GP_MODULE_IDS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "../hot.h"

#define GP_MODULE_STACKS_LOG 12 /* 128 KiB */

/* A thread's own; zeros are an empty one. */
struct gp_module_memo {
	const void *last;     /* the module of the last event; NULL: it had none */
	uint32_t switched_to; /* the place in `known` of the event at which its call was met */
	uint32_t now;	      /* the place of the last event in a module */
	uint64_t looked;      /* the time to which the ration was added */
	int64_t ration;	      /* of time for checks; below 0: overdrawn */
	struct gp_module_stack {
		const void *module;
		uint32_t pair, stack;
		uint32_t renamed; /* gp_modules_renamed at that time */
		uint32_t class;	  /* gp_python_module_type */
		uint32_t checked; /* the time of the name's last check, when this was last used */
		uint16_t next;	  /* the place of the switch that followed this one */
		uint16_t ahead;	  /* the place of the event that followed it: prefetched */
	} known[1u << GP_MODULE_STACKS_LOG];
};

/* How often a module was found to have another name than before. */
extern _Atomic uint32_t gp_modules_renamed __attribute__((visibility("hidden")));

uint32_t gp_module_stack_slow(struct gp_module_memo *memo, uint32_t pair, const void *module);

/* The id of a module whose call runs on this thread; 0: no room. */
uint32_t gp_module_id(struct gp_module_memo *memo, const void *module);

GP_HOT bool gp_module_stack_is(const struct gp_module_stack *k, uint32_t pair, const void *module)
{
	return k->module == module && k->pair == pair &&
	       k->renamed == atomic_load_explicit(&gp_modules_renamed, memory_order_relaxed);
}

GP_HOT void gp_module_stack_used(struct gp_module_memo *memo, const struct gp_module_stack *k)
{
	memo->now = (uint32_t)(k - memo->known);
	__builtin_prefetch(&memo->known[k->ahead]);
}

/* The stack `pair` in the call of the module whose address is at `place`. */
GP_HOT uint32_t gp_module_stack(struct gp_module_memo *memo, uint32_t pair,
				const void *const *place)
{
	const void *module = *place;
	const struct gp_module_stack *k = &memo->known[memo->known[memo->now].ahead];
	if (gp_unlikely(module != memo->last || !gp_module_stack_is(k, pair, module)))
		return gp_module_stack_slow(memo, pair, module);
	gp_module_stack_used(memo, k);
	return k->stack;
}

#endif
