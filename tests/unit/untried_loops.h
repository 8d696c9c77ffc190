/*
 * Loops that the rules were not made with: they tell what a loop nobody thought of comes to. Who
 * changes a rule until one of these is found moves it to unusual_loops.h and writes another.
 */
#ifndef UNTRIED_LOOPS_H
#define UNTRIED_LOOPS_H

#include "unusual_loops.h"

/* A batch with labels, and one whose labels the model makes itself. */
static void loop_half_labelled(struct job *j, unsigned steps)
{
	for (unsigned k = 0; k < steps; k++) {
		begin_step(j);
		uint32_t bare = take(j, 231, 3 * job_size(j));
		forward(j, 3 * job_size(j), false);
		operate_short(j, K_ARGMAX, 232, 512);
		learn_from(j, job_size(j), true);
		if (job_draw(j, 3) > 0) {
			forward(j, 3 * job_size(j), true);
			backward(j, 3 * job_size(j), false);
		}
		give(j, bare);
		optimize(j);
		for_each_tensor(j, K_LERP, K_AVERAGE);
		end_turn(j);
	}
}

/* Weights are drawn towards slow ones every fifth step. */
static void loop_slow_weights(struct job *j, unsigned steps)
{
	for (unsigned k = 0; k < steps; k++) {
		train_step(j);
		if (k % 5 == 4)
			for_each_tensor(j, K_LERP, K_AVERAGE);
		if (k % 30 == 29)
			evaluate(j, 7);
	}
}

/* Of some candidates the hardest is learnt from. */
static void loop_hard_ones(struct job *j, unsigned steps)
{
	unsigned every = 10 + (unsigned)job_draw(j, 10);
	for (unsigned k = 0; k < steps; k++) {
		begin_step(j);
		for (unsigned n = 0; n < 4; n++) {
			forward(j, job_size(j), false);
			operate_short(j, K_LOSS, 233, 512);
		}
		operate_short(j, K_ARGMAX, 234, 512);
		learn_from(j, job_size(j), true);
		optimize(j);
		end_turn(j);
		if (k % every == 0)
			evaluate(j, 3);
	}
}

/* Requests: a small model guesses some words, the large one says how many of them stay. */
static void loop_guessing(struct job *j, unsigned steps)
{
	for (unsigned k = 0; k < steps; k++) {
		begin_turn(j);
		uint32_t prompt = operate(j, K_PREFILL, 235, job_size(j));
		uint32_t cache = operate(j, K_COPY, 236, job_size(j));
		unsigned rounds = 2 + (unsigned)job_draw(j, 8);
		for (unsigned r = 0; r < rounds; r++) {
			for (unsigned n = 0; n < 4; n++)
				operate_short(j, K_CELL, 237, 4096);
			forward(j, 4096, false);
			operate_short(j, K_EQUAL, 238, 512);
		}
		give(j, cache);
		give(j, prompt);
		end_turn(j);
	}
}

#endif
