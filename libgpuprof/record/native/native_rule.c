/* Writes the table of rules. Forked children keep its memory: their code is the same. */
#include "native_rule.h"

#include <stddef.h>

#include "../record.h"

struct gp_native_rules *gp_native_rules GP_HOT_DATA;
_Atomic uint32_t gp_native_epoch GP_HOT_DATA;
static _Atomic bool has_none; /* rules of kind GP_NATIVE_NONE were added */

bool gp_native_rules_open(void)
{
	if (gp_native_rules)
		return true;
	gp_native_rules = gp_pages_inherited(sizeof *gp_native_rules);
	return gp_native_rules != NULL;
}

void gp_native_rule_add(uintptr_t key, uint32_t rule)
{
	if (key >> GP_NATIVE_KEY_BITS || rule == 0)
		return;
	uint64_t hash = gp_native_hash(key);
	uint64_t tag = hash << (64 - GP_NATIVE_KEY_BITS + GP_NATIVE_LINES_LOG);
	_Atomic uint64_t *line =
		gp_native_rules->word[hash >> (GP_NATIVE_KEY_BITS - GP_NATIVE_LINES_LOG)];
	unsigned way = (unsigned)(hash >> (GP_NATIVE_KEY_BITS - GP_NATIVE_LINES_LOG - 3)) & 7;
	unsigned k = 0;
	for (; k < GP_NATIVE_WAYS; k++) {
		uint64_t word = atomic_load_explicit(&line[way ^ k], memory_order_relaxed);
		if (word == 0 || (word ^ tag) >> GP_NATIVE_RULE_BITS == 0)
			break;
	}
	if (gp_native_kind(rule) == GP_NATIVE_NONE)
		atomic_store(&has_none, true);
	atomic_store_explicit(&line[way ^ (k & 7)], tag | rule, memory_order_relaxed);
}

static void native_rule_forget(bool is_none_only)
{
	/*
	 * partner: acquire in native_walk.c: a thread that sees the new epoch finds no older rule
	 */
	for (size_t i = 0; i < 1u << GP_NATIVE_LINES_LOG; i++)
		for (unsigned k = 0; k < GP_NATIVE_WAYS; k++) {
			_Atomic uint64_t *place = &gp_native_rules->word[i][k];
			const uint64_t word = atomic_load_explicit(place, memory_order_relaxed);
			if (word &&
			    (!is_none_only || gp_native_kind((uint32_t)word) == GP_NATIVE_NONE))
				atomic_store_explicit(place, 0, memory_order_relaxed);
		}
	atomic_fetch_add_explicit(&gp_native_epoch, 1, memory_order_release);
}

void gp_native_rules_forget(void)
{
	atomic_store(&has_none, false);
	native_rule_forget(false);
}

void gp_native_rules_forget_none(void)
{
	/* stacks that end there are remembered, too: hence a new epoch */
	if (atomic_exchange(&has_none, false))
		native_rule_forget(true);
}
