/*
 * Learns rules from libunwind (DESIGN 6). libunwind never sees the job's stack. It steps from
 * registers that point into our own memory, in which each word holds its own address. The resulting
 * registers reveal the rule. So it needs no check of memory and no pipe; the pipe that it opens is
 * closed.
 */
#ifndef GP_NATIVE_LEARN_H
#define GP_NATIVE_LEARN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "native_rule.h"

/*
 * Finds the words in the loader's state [state, state + bytes) that count loaded objects. Call it
 * before libunwind is loaded, so that the load proves which word it is. NULL: none.
 */
void gp_native_watch_loader(const void *state, size_t bytes);

/*
 * `lookup` finds symbols that only libunwind exports. Call it where the loader may be entered and
 * no other thread walks yet. Returns NULL, or why libunwind is unusable, a text without a newline.
 */
const char *gp_native_learn_open(void *(*lookup)(void *context, const char *name), void *context);

/*
 * Learns the rule of `key` and adds it to the table. 0: the gate is closed, or there is no memory
 * for a stack of our own (walking_stack.h). Keeps errno. Takes microseconds and the lock of the
 * loader's list, as dl_iterate_phdr does.
 */
uint32_t gp_native_learn(uintptr_t key);

/*
 * Number of objects ever loaded, as the loader counts them; a constant word if the loader's was not
 * found.
 */
extern const volatile uint64_t *gp_native_loads __attribute__((visibility("hidden")));
extern _Atomic uint64_t gp_native_loads_seen __attribute__((visibility("hidden")));

/*
 * Forgets all rules if an object was unloaded since the last call; if one was loaded, rules of code
 * without information. False: the gate is closed, and the rules may be wrong. Every walk that finds
 * *gp_native_loads changed calls it. So does the drain thread from time to time: an unload without
 * a later load changes no word that a walk reads.
 */
bool gp_native_check_modules(void);
bool gp_native_has_load_counter(void);
/* Number of objects ever loaded and unloaded. False: the gate is closed. */
struct gp_native_objects {
	uint64_t loaded, unloaded;
};
bool gp_native_count_objects(struct gp_native_objects *objects);

#endif
