/*
 * Steps by repetition: which symbols come once in each step, and before which of them a step
 * begins. docs/ANALYSIS.md, section 1, has the method.
 */
#ifndef GP_STEP_REPEAT_H
#define GP_STEP_REPEAT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../../format/status.h"

struct gp_step_token {
	uint32_t one, three; /* symbols from 1 on, 0 none */
	float live;	     /* the least bytes since the token before it */
	float wait;	     /* ticks: the longest since then */
};

/* What came, in order. */
struct gp_step_sequence {
	const struct gp_step_token *token;
	size_t tokens;
	uint32_t symbols;     /* the greatest number */
	const bool *is_graph; /* by symbol: a graph of unknown content */
};

struct gp_step_marks {
	bool *is_mark;	      /* by symbol: it comes in every step, and once */
	uint32_t first;	      /* a step begins before it; 0: there are no steps */
	uint64_t before;      /* tokens from the begin of a step to it: the median */
	bool is_fixed;	      /* most have as many */
	uint64_t slack_bytes; /* what is live may differ by so much where steps begin */
};

/* `out->is_mark`: the caller's, zeroed. GP_E_MEMORY. */
enum gp_status gp_step_repeat(const struct gp_step_sequence *sequence, struct gp_step_marks *out);

#endif
