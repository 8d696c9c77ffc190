/*
 * Learns rules from libunwind (DESIGN 6). libunwind never sees the job's stack:
 * it steps from registers that point into memory of ours in which each word holds its own
 * address, and the rule is read off the registers that come out. So it needs no check of memory
 * and no pipe; the pipe that it opens is closed.
 */
#ifndef GP_NATIVE_LEARN_H
#define GP_NATIVE_LEARN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "native_rule.h"

/*
 * Looks for the words of the loader's state [state, state + bytes) that count loaded objects; call
 * it before libunwind is loaded, so that the load proves which it is. NULL: none.
 */
void gp_native_watch_loader(const void *state, size_t bytes);

/*
 * `lookup` gives what libunwind, and it alone, exports. Where the loader may be entered and no
 * other thread walks yet. Why it cannot be used, a text without an end of line; NULL: it can.
 */
const char *gp_native_learn_open(void *(*lookup)(void *context, const char *name), void *context);

/*
 * The rule of `key`, from now on in the table; 0: the gate is closed, or there is no memory for a
 * stack of our own (walking_stack.h).
 * Keeps errno. Takes microseconds and the loader's lock of its list, as dl_iterate_phdr does.
 */
uint32_t gp_native_learn(uintptr_t key);

/*
 * Number of objects ever loaded, as the loader counts it; a word that never changes where it could
 * not be found.
 */
extern const volatile uint64_t *gp_native_loads __attribute__((visibility("hidden")));
extern _Atomic uint64_t gp_native_loads_seen __attribute__((visibility("hidden")));

/*
 * Forgets all rules if an object was unloaded since the last call; if one was loaded, those
 * of code without information. False: the gate is closed, and the rules may be wrong. For
 * every walk that finds *gp_native_loads changed, and for the drain thread now and then: an unload
 * that no load follows changes no word that a walk looks at.
 */
bool gp_native_check_modules(void);
bool gp_native_knows_loads(void);
/* How many objects were ever loaded and unloaded; false: the gate is closed. */
struct gp_native_objects {
	uint64_t loaded, unloaded;
};
bool gp_native_count_objects(struct gp_native_objects *objects);

#endif
