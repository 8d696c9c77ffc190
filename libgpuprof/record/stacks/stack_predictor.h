/*
 * A training step repeats itself: after the same few stacks the same one follows. Predicts the next
 * stack, which the memos compare first. A wrong prediction, or one from before a memo was emptied,
 * costs time, never correctness. Measured for the allocations of a GPT's step in PyTorch. The last
 * stack alone predicts 74% of the next ones in the forward pass, 54% in the backward pass. In a job
 * of 250 to 300 steps on an H100 the last six predicted 98.7% and 92.3%, the last sixteen 98.4% and
 * 98.7%.
 */
#ifndef GP_STACK_PREDICTOR_H
#define GP_STACK_PREDICTOR_H

#include <stdatomic.h>
#include <stdint.h>
#include <string.h>

#include "../hot.h"

#define GP_STACK_PREDICTOR_LOG 12
/* bits per event: the 64 bits of the history hold sixteen events */
#define GP_STACK_PREDICTOR_SHIFT 4
#define GP_STACK_PREDICTOR_BITS 11 /* bits of a number: the capacity of a memo */

/*
 * Numbers of stacks in the memos; 0: none, or not remembered. `pair` is their common id. It
 * is valid only while `made` and `content` are those of the stacks, since numbers are reused.
 */
struct gp_stack_guess {
	uint16_t native, python;
	uint32_t made, content;
	uint32_t pair; /* 0: unknown */
};

#define GP_STACK_PREDICTOR_BYTES (sizeof(struct gp_stack_guess) << GP_STACK_PREDICTOR_LOG)

/* A thread's own. Its address does not change. */
struct gp_stack_predictor {
	uint64_t history;
	uint64_t last; /* prediction; 0 until there are pages for all */
	struct gp_stack_guess *next;
	struct gp_stack_guess only;
};

static inline void gp_stack_predictor_init(struct gp_stack_predictor *turn)
{
	*turn = (struct gp_stack_predictor){ .next = &turn->only };
}

/* Places it in GP_STACK_PREDICTOR_BYTES of zeros. NULL: unchanged. */
static inline void gp_stack_predictor_grow(struct gp_stack_predictor *turn,
					   struct gp_stack_guess *more)
{
	if (!more)
		return;
	turn->next = more;
	atomic_signal_fence(memory_order_seq_cst); /* a handler may jump out at any time */
	turn->last = (1u << GP_STACK_PREDICTOR_LOG) - 1;
}

static inline void gp_stack_predictor_forget(struct gp_stack_predictor *turn)
{
	turn->history = 0;
	memset(turn->next, 0, (turn->last + 1) * sizeof *turn->next);
}

/* The last successor; write to it if another stack followed now. */
GP_HOT struct gp_stack_guess *gp_stack_predictor_next(struct gp_stack_predictor *turn)
{
	const uint64_t hash = turn->history * UINT64_C(0x9e3779b97f4a7c15);
	return &turn->next[hash >> (64 - GP_STACK_PREDICTOR_LOG) & turn->last];
}

/* Adds the current stack to the history of the next prediction. */
GP_HOT void gp_stack_predictor_add(struct gp_stack_predictor *turn, unsigned native,
				   unsigned python)
{
	turn->history = turn->history << GP_STACK_PREDICTOR_SHIFT ^ native ^
			(uint64_t)python << GP_STACK_PREDICTOR_BITS;
	__builtin_prefetch(gp_stack_predictor_next(turn));
}

#endif
