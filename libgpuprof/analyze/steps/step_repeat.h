/*
 * Steps by repetition: which symbols come once in each step, and before which of them a step
 * begins. docs/ANALYSIS.md, section 1, has the method.
 */
#ifndef GP_STEP_REPEAT_H
#define GP_STEP_REPEAT_H

#include "step_token.h"

struct gp_step_token {
	uint32_t one, three; /* symbols from 1 on, 0 none */
	float wait;	     /* ticks: the longest since the token before it */
	int64_t at_ns;
	/* between the two, where least is live: a step may begin there */
	int64_t place_ns;
	uint64_t launches, live_bytes;
};

/* What came, in order. */
struct gp_step_sequence {
	const struct gp_step_token *token;
	size_t tokens;
	struct gp_row_table *symbols; /* of struct gp_step_symbol */
};

/* Where steps begin: `before` tokens before the mark `first`, which comes once in each. */
struct gp_step_marks {
	uint32_t first;	 /* a symbol; 0: there are no steps */
	uint64_t before; /* the median */
};

/* Sets is_mark of symbols, too. GP_E_MEMORY. */
enum gp_status gp_step_repeat(const struct gp_step_sequence *sequence, struct gp_step_marks *out);

#endif
