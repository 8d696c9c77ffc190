/* Loops with a step of another shape than most: see job_loops.h. */
#ifndef UNUSUAL_LOOPS_H
#define UNUSUAL_LOOPS_H

#include "job_loops.h"
#include "serving_loops.h"

/* The next micro batch goes forward before the one before it goes backward. */
static void loop_pipeline(struct job *j, unsigned steps)
{
	unsigned micro = 2 + (unsigned)job_draw(j, 5);
	for (unsigned k = 0; k < steps; k++) {
		begin_step(j);
		forward(j, job_size(j), true);
		for (unsigned m = 1; m < micro; m++) {
			size_t kept = j->keeps;
			forward(j, job_size(j), false);
			operate_short(j, K_LOSS_BACK, 180, job_size(j));
			for (unsigned n = 0; n < j->layers; n++)
				grad_of(j, K_GEMM_A_BACK, 181, 65536, m == 1);
			j->keeps = kept;
		}
		backward(j, job_size(j), false);
		optimize(j);
		end_turn(j);
	}
}

/* Truncated in time: chunks of a text, the state is carried over; a new text now and then. */
static void loop_chunks(struct job *j, unsigned steps)
{
	unsigned left = 0;
	for (unsigned k = 0; k < steps; k++) {
		begin_step(j);
		if (left == 0) {
			operate_short(j, K_ZERO, 182, job_size(j));
			operate_short(j, K_ZERO, 182, job_size(j));
			left = 2 + (unsigned)job_draw(j, 6);
		}
		left--;
		for (unsigned n = 0; n < 12; n++) {
			job_keep(j, operate(j, K_CELL, 183, job_size(j)));
			job_keep(j, operate(j, K_TANH, 184, job_size(j)));
		}
		operate_short(j, K_LOSS, 30, 512);
		for (unsigned n = 0; n < 12; n++) {
			operate_short(j, K_TANH_BACK, 185, job_size(j));
			grad_of(j, K_CELL_BACK, 186, 65536, n == 0);
		}
		give_kept(j, 0);
		optimize(j);
		end_turn(j);
	}
}

/* One of several tasks, each with a head of its own. */
static void loop_tasks(struct job *j, unsigned steps)
{
	for (unsigned k = 0; k < steps; k++) {
		unsigned task = (unsigned)job_draw(j, 3);
		begin_step(j);
		uint32_t batch = take(j, 61, job_size(j));
		forward(j, job_size(j), true);
		for (unsigned n = 0; n <= 2 * task; n++)
			job_keep(j, operate(j, K_FUSED + task, 187 + task, job_size(j)));
		backward(j, job_size(j), true);
		optimize(j);
		give(j, batch);
		end_turn(j);
	}
}

/* The loss is asked for again and again within one update. */
static void loop_closures(struct job *j, unsigned steps)
{
	for (unsigned k = 0; k < steps; k++) {
		unsigned asked = 3 + (unsigned)job_draw(j, 10);
		begin_step(j);
		for (unsigned n = 0; n < asked; n++) {
			drop_grads(j);
			learn_from(j, job_size(j), true);
			operate_short(j, K_SQUARE, 190, 65536);
			operate_short(j, K_LERP, 191, 65536);
		}
		optimize(j);
		end_turn(j);
	}
}

/* A second encoder follows the first; keys go into a queue. */
static void loop_contrasting(struct job *j, unsigned steps)
{
	for (unsigned k = 0; k < steps; k++) {
		begin_step(j);
		uint32_t batch = take(j, 61, 2 * job_size(j));
		for_each_tensor(j, K_LERP, K_AVERAGE);
		forward(j, job_size(j), false);
		forward(j, job_size(j), true);
		operate_short(j, K_DIVIDE, 192, job_size(j));
		backward(j, job_size(j), true);
		optimize(j);
		launch(j, K_COPY);
		give(j, batch);
		end_turn(j);
	}
}

/* Pictures of other sizes for each epoch: other kernels, more of them. */
static void loop_growing_pictures(struct job *j, unsigned steps)
{
	const unsigned layers = j->layers;
	unsigned every = steps / 5 + 1;
	evaluate(j, 3);
	for (unsigned k = 0; k < steps; k++) {
		begin_step(j);
		uint32_t batch = take(j, 61, job_size(j));
		pass_of_images(j, layers + k / every);
		operate_short(j, K_LOSS, 94, 512);
		pass_back(j, layers + k / every, true);
		give_kept(j, 0);
		optimize(j);
		give(j, batch);
		end_turn(j);
		if (k % every == every - 1)
			evaluate(j, 4);
	}
}

/* A reward model, a policy and its reference: texts are written, judged and learnt from. */
static void loop_preferences(struct job *j, unsigned steps)
{
	for (unsigned k = 0; k < steps; k++) {
		begin_step(j);
		unsigned tokens = 6 + (unsigned)job_draw(j, 12);
		for (unsigned t = 0; t < tokens; t++) {
			for (unsigned n = 0; n < j->layers; n++)
				operate_short(j, K_DECODE, 104, 4096);
			operate_short(j, K_SAMPLE, 106, 512);
		}
		forward(j, job_size(j), false);
		forward(j, job_size(j), false);
		operate_short(j, K_DIVIDE, 193, 512);
		learn_from(j, job_size(j), true);
		optimize(j);
		end_turn(j);
	}
}

/* Evaluates with an average of the weights that is swapped in and out, and logs with it. */
static void loop_swapping(struct job *j, unsigned steps)
{
	unsigned every = 6 + (unsigned)job_draw(j, 12);
	evaluate(j, 4);
	for (unsigned k = 0; k < steps; k++) {
		train_step(j);
		if (k % every != every - 1)
			continue;
		for (unsigned n = 0; n < 2 * j->layers; n++)
			launch(j, K_COPY);
		evaluate(j, 6);
		for (unsigned n = 0; n < 2 * j->layers; n++)
			launch(j, K_COPY);
	}
	evaluate(j, 12);
}

/* Histograms of all weights every N steps: more work than a step has. */
static void loop_histograms(struct job *j, unsigned steps)
{
	unsigned every = 4 + (unsigned)job_draw(j, 10);
	for (unsigned k = 0; k < steps; k++) {
		train_step(j);
		for (unsigned n = 0; k % every == 0 && n < 12 * j->layers; n++) {
			operate_short(j, K_SUM, 194, 4096);
			operate_short(j, K_EQUAL, 195, 4096);
		}
	}
}

/* Gradients are added up over batches of any length, clipped, and scaled; some are passed over. */
static void loop_lengths_scaled(struct job *j, unsigned steps)
{
	evaluate(j, 2);
	for (unsigned k = 0; k < steps; k++) {
		uint64_t bytes = job_size(j) * (1 + job_draw(j, 7));
		begin_step(j);
		for (unsigned m = 0; m < 2; m++) {
			launch(j, bytes > 4 * job_size(j) ? K_FUSED : K_FUSED + 1);
			learn_from(j, bytes, m == 0);
		}
		for_each_tensor(j, K_SCALE, K_UNSCALE);
		if (job_draw(j, 12) > 0)
			optimize(j);
		end_turn(j);
	}
}

/* Questions that are answered from documents: found, ranked, read; answers of any length. */
static void loop_answering(struct job *j, unsigned steps)
{
	for (unsigned k = 0; k < steps; k++) {
		unsigned documents = 1 + (unsigned)job_draw(j, 6);
		begin_turn(j);
		operate_short(j, K_EMBED, 196, 4096);
		operate_short(j, K_ARGMAX, 197, 4096);
		for (unsigned n = 0; n < documents; n++) {
			operate_short(j, K_PREFILL, 198, job_size(j));
			operate_short(j, K_DIVIDE, 199, 4096);
		}
		uint32_t cache = operate(j, K_COPY, 200, job_size(j));
		unsigned tokens = 4 + (unsigned)job_draw(j, 20);
		for (unsigned t = 0; t < tokens; t++) {
			for (unsigned n = 0; n < j->layers; n++)
				operate_short(j, K_DECODE, 104, 4096);
			operate_short(j, K_SAMPLE, 106, 512);
		}
		give(j, cache);
		end_turn(j);
	}
}

/* Layers' weights are gathered when they are needed and given back (fully sharded). */
static void loop_sharded(struct job *j, unsigned steps)
{
	unsigned every = 9 + (unsigned)job_draw(j, 9);
	for (unsigned k = 0; k < steps; k++) {
		begin_step(j);
		uint32_t batch = take(j, 61, job_size(j));
		for (unsigned n = 0; n < j->layers; n++) {
			uint32_t weights = operate(j, K_COPY, 220, 4 * job_size(j));
			job_keep(j, operate(j, K_GEMM_A, 221, job_size(j)));
			job_keep(j, operate(j, K_GELU, 222, job_size(j)));
			give(j, weights);
		}
		operate_short(j, K_LOSS, 30, 512);
		for (unsigned n = 0; n < j->layers; n++) {
			uint32_t weights = operate(j, K_COPY, 223, 4 * job_size(j));
			operate_short(j, K_GEMM_B_BACK, 224, job_size(j));
			grad_of(j, K_GEMM_A_BACK, 225, 65536, true);
			launch(j, K_SUM); /* to those that hold it */
			give(j, weights);
		}
		give_kept(j, 0);
		operate_short(j, K_ROOT, 226, 512);
		optimize(j);
		give(j, batch);
		end_turn(j);
		if (k % every == every - 1)
			evaluate(j, 2);
	}
}

/* Texts grow longer in stages, each of which ends with an evaluation; the first begins with one. */
static void loop_curriculum(struct job *j, unsigned steps)
{
	unsigned every = steps / 3 + 1;
	evaluate(j, 3);
	for (unsigned k = 0; k < steps; k++) {
		begin_step(j);
		if (k / every > 0)
			operate_short(j, K_FUSED + k / every, 230, job_size(j));
		learn_from(j, job_size(j) * (1 + 2 * (k / every)), true);
		optimize(j);
		end_turn(j);
		if (k % every == every - 1)
			evaluate(j, 5);
	}
}

/* Sentences of many lengths, and as many to evaluate with: what comes first differs with what was
 * before it. */
static void loop_recurrent_evaluating(struct job *j, unsigned steps)
{
	for (unsigned k = 0; k < steps; k++) {
		unsigned words = 5 + (unsigned)job_draw(j, 30);
		begin_step(j);
		for (unsigned n = 0; n < words; n++) {
			job_keep(j, operate(j, K_GEMM_A, 70, job_size(j)));
			job_keep(j, operate(j, K_CELL, 71, job_size(j)));
		}
		operate_short(j, K_LOSS, 30, 512);
		for (unsigned n = 0; n < words; n++) {
			operate_short(j, K_CELL_BACK, 72, job_size(j));
			grad_of(j, K_GEMM_A_BACK, 73, 65536, n == 0);
		}
		give_kept(j, 0);
		optimize(j);
		end_turn(j);
		for (unsigned n = 0; k % 7 == 6 && n < 4 * words; n++) {
			operate_short(j, K_GEMM_A, 70, job_size(j));
			operate_short(j, K_CELL, 71, job_size(j));
		}
	}
}

#endif
