/*
 * Growth that is spread over stacks, each of which has too little of it to be told alone: holders
 * added up by line, by frame, by owner, and all of a kind.
 */
#ifndef GP_LEAK_SUM_H
#define GP_LEAK_SUM_H

#include "leak_owner.h"

struct gp_leak_part; /* of a sum: a holder, and who it is */

enum gp_leak_sum_of {
	/* a line or frame with several that were told alone: they are one thing, with the rest */
	GP_LEAK_SUM_TOLD,
	GP_LEAK_SUM_REST, /* what nothing explains yet */
	/*
	 * What has no stack, also what comes and goes: there these are not apart. It can only be
	 * what is replaced by larger ones.
	 */
	GP_LEAK_SUM_WHOLE,
	GP_LEAK_SUMS,
};

struct gp_leak_sums {
	struct gp_leak_part *part;
	size_t parts;
	size_t tests; /* how many sums there were at first */
	/* the one that came last */
	enum gp_leak_by by;
	enum gp_leak_sum_of of;
	size_t next;
	bool is_begun;
};

struct gp_leak_sum {
	enum gp_leak_by by;
	enum gp_leak_sum_of of;
	size_t stacks;
	struct gp_leak_holder holder; /* the sum */
	size_t greatest; /* those that have most of it; the first has what holder has */
	struct {
		const struct gp_leak_holder *holder;
		size_t births;
	} great[GP_LEAK_PARTS];
	size_t from, to; /* its parts, while it is the last one that came */
};

/*
 * Those of the samples that grew by what was made of them, unless they slow down as what fills up.
 * Release also after a failure.
 */
enum gp_status gp_leak_sums_make(struct gp_recording *recording, struct gp_leak_samples *samples,
				 struct gp_leak_sums *out);
/* A holder was told alone; a cache is in no sum from now on. */
void gp_leak_sums_tell(struct gp_leak_sums *sums, const struct gp_leak_holder *holder,
		       bool is_cache);
/* Of the sum that came last: its parts are in no further one; whether this one is of them. */
void gp_leak_sums_drop_sum(struct gp_leak_sums *sums, const struct gp_leak_sum *sum);
/* The next one of several parts, lines first; false: there is none. */
bool gp_leak_sums_next(struct gp_leak_sums *sums, struct gp_leak_sum *out);
bool gp_leak_sum_has(const struct gp_leak_sums *sums, const struct gp_leak_sum *sum,
		     const struct gp_leak *leak);
/* Sets is_of[row] of its parts, while it is the last one that came. */
void gp_leak_sum_mark(const struct gp_leak_sums *sums, const struct gp_leak_sum *sum,
		      const struct gp_leak_samples *samples, bool *is_of, bool value);
void gp_leak_sums_release(struct gp_leak_sums *sums);

#endif
