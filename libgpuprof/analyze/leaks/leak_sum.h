/*
 * Adds up the growth of stacks that have the same line of the user's code: of a helper that many
 * callers use, or of a call of a library that allocates in many places.
 */
#ifndef GP_LEAK_SUM_H
#define GP_LEAK_SUM_H

#include "leak_owner.h"

struct gp_leak_part; /* one stack of a sum */

struct gp_leak_sums {
	struct gp_leak_part *part; /* those of one line, device and kind lie together */
	size_t parts;
	size_t tests; /* lines with several stacks */
	/* the next sum: it begins with part `next` */
	size_t next;
	bool is_rest;
};

struct gp_leak_sum {
	/*
	 * A line has two sums. The first one has suspects, with which the other stacks of the line
	 * are one leak. The second one, is_rest, leaves the suspects out.
	 */
	bool is_rest;
	size_t stacks;
	struct gp_leak_holder holder; /* the sum */
	size_t greatest; /* those with most of it; `holder` has the stack of the first */
	struct {
		const struct gp_leak_holder *holder;
		size_t births;
	} great[GP_LEAK_PARTS];
	size_t from, to; /* parts */
};

/*
 * Takes the stacks that grow and do not slow down: caches that fill one after another would add up
 * to steady growth. Release also after a failure. GP_E_MEMORY.
 */
enum gp_status gp_leak_sums_make(struct gp_recording *recording, struct gp_leak_samples *samples,
				 struct gp_leak_sums *out);
/* The stack of `holder` is a suspect; if it is a cache, no sum has it from now on. */
void gp_leak_sums_note(struct gp_leak_sums *sums, const struct gp_leak_holder *holder,
		       bool is_cache);
/* The next sum of several stacks; false: there is none left. */
bool gp_leak_sums_next(struct gp_leak_sums *sums, struct gp_leak_sum *out);
/* The rest is of the newest sum. `leak` is of one of its stacks. */
bool gp_leak_sum_has(const struct gp_leak_sums *sums, const struct gp_leak_sum *sum,
		     const struct gp_leak *leak);
/* Sets is_of[row] of the holders of its stacks. */
void gp_leak_sum_mark(const struct gp_leak_sums *sums, const struct gp_leak_sum *sum,
		      const struct gp_leak_samples *samples, bool *is_of, bool value);
/* No further sum has its stacks. */
void gp_leak_sums_drop(struct gp_leak_sums *sums, const struct gp_leak_sum *sum);
void gp_leak_sums_release(struct gp_leak_sums *sums);

#endif
