/*
 * Growth that is spread over stacks, where each stack has too little to be reported alone. Adds
 * holders up by line, by frame, by owner, and all of a kind.
 */
#ifndef GP_LEAK_SUM_H
#define GP_LEAK_SUM_H

#include "leak_owner.h"

struct gp_leak_part; /* a holder in a sum, with its owner */

enum gp_leak_sum_of {
	/* a line or frame with several reported holders: these and the rest have one cause */
	GP_LEAK_SUM_TOLD,
	GP_LEAK_SUM_REST, /* holders that are not explained yet */
	/*
	 * Holders without a stack, including those that come and go, because without stacks they
	 * cannot be separated. It can only be memory that larger memory replaces.
	 */
	GP_LEAK_SUM_WHOLE,
	GP_LEAK_SUMS,
};

struct gp_leak_sums {
	struct gp_leak_part *part;
	size_t parts;
	size_t tests; /* number of sums at first */
	/* the last sum returned */
	enum gp_leak_by by;
	enum gp_leak_sum_of of;
	size_t next;
	bool is_begun;
};

struct gp_leak_sum {
	enum gp_leak_by by;
	enum gp_leak_sum_of of;
	size_t stacks;
	struct gp_leak_holder holder; /* the sum of all parts */
	size_t greatest; /* the parts with most of it; `holder` has the stack of the first */
	struct {
		const struct gp_leak_holder *holder;
		size_t births;
	} great[GP_LEAK_PARTS];
	size_t from, to; /* its parts; valid while it is the last sum returned */
};

/*
 * Makes sums of the holders that grew by new allocations, unless they slow down as caches do.
 * Release also after a failure.
 */
enum gp_status gp_leak_sums_make(struct gp_recording *recording, struct gp_leak_samples *samples,
				 struct gp_leak_sums *out);
/* A holder was reported alone. A cache belongs to no further sum. */
void gp_leak_sums_tell(struct gp_leak_sums *sums, const struct gp_leak_holder *holder,
		       bool is_cache);
/*
 * For the last sum returned: its parts belong to no further sum. gp_leak_sum_has returns whether a
 * leak is one of its parts.
 */
void gp_leak_sums_drop_sum(struct gp_leak_sums *sums, const struct gp_leak_sum *sum);
/* The next sum with several parts, lines first; false: there is none. */
bool gp_leak_sums_next(struct gp_leak_sums *sums, struct gp_leak_sum *out);
bool gp_leak_sum_has(const struct gp_leak_sums *sums, const struct gp_leak_sum *sum,
		     const struct gp_leak *leak);
/* Sets is_of[row] of its parts; valid while it is the last sum returned. */
void gp_leak_sum_mark(const struct gp_leak_sums *sums, const struct gp_leak_sum *sum,
		      const struct gp_leak_samples *samples, bool *is_of, bool value);
void gp_leak_sums_release(struct gp_leak_sums *sums);

#endif
