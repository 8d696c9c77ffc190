/*
 * What trainers and their users do in and around a step: before the first, after each, after every
 * N-th, or instead of a part. See job_loops.h.
 */
#ifndef TRAINER_LOOPS_H
#define TRAINER_LOOPS_H

#include "job_model.h"

/* A pass forward and backward of one batch. */
static void learn_from(struct job *j, uint64_t bytes, bool is_new)
{
	uint32_t batch = take(j, 61, job_size(j));
	forward(j, bytes, true);
	backward(j, bytes, is_new);
	give(j, batch);
}

static void begin_step(struct job *j)
{
	begin_turn(j);
	drop_grads(j);
}

static void train_step(struct job *j)
{
	begin_step(j);
	learn_from(j, job_size(j), true);
	optimize(j);
	end_turn(j);
}

/* One kernel for each tensor, or few for all. */
static void for_each_tensor(struct job *j, unsigned kernel, unsigned fused)
{
	for (unsigned k = 0; k < (j->is_named ? 1 : j->layers + 2); k++)
		launch(j, j->is_named ? fused : kernel);
}

/* Lightning's sanity check, and what many do by hand to have a figure to begin with. */
static void loop_evaluating_first(struct job *j, unsigned steps)
{
	evaluate(j, 2);
	for (unsigned k = 0; k < steps; k++)
		train_step(j);
	evaluate(j, 20);
}

/* The same, and at the end of each epoch. */
static void loop_sanity_checked(struct job *j, unsigned steps)
{
	unsigned every = steps / 4 + 1;
	evaluate(j, 2);
	for (unsigned k = 0; k < steps; k++) {
		train_step(j);
		if (k % every == every - 1)
			evaluate(j, every / 3 + 1);
	}
}

/* All of the validation's data before the first step. */
static void loop_evaluating_long_first(struct job *j, unsigned steps)
{
	evaluate(j, 5 + (unsigned)job_draw(j, 60));
	for (unsigned k = 0; k < steps; k++)
		train_step(j);
}

static void loop_evaluating_each(struct job *j, unsigned steps)
{
	for (unsigned k = 0; k < steps; k++) {
		train_step(j);
		evaluate(j, 1 + (unsigned)job_draw(j, 3));
	}
}

static void loop_epochs(struct job *j, unsigned steps)
{
	unsigned every = steps / 4 + 1;
	for (unsigned k = 0; k < steps; k++) {
		train_step(j);
		if (k % every == every - 1)
			evaluate(j, every / 3 + 1);
	}
}

/* Gradients that are not finite: the optimizer is passed over. */
static void loop_scaling(struct job *j, unsigned steps)
{
	for (unsigned k = 0; k < steps; k++) {
		begin_step(j);
		learn_from(j, job_size(j), true);
		for_each_tensor(j, K_SCALE, K_UNSCALE);
		operate_short(j, K_SUM, 130, 512);
		bool is_finite = k > 1 && job_draw(j, 9) > 0;
		if (is_finite)
			optimize(j);
		launch(j, K_COPY); /* the new scale */
		end_turn(j);
	}
}

/* An average of the weights follows each step. */
static void loop_averaging(struct job *j, unsigned steps)
{
	for (unsigned k = 0; k < steps; k++) {
		begin_step(j);
		learn_from(j, job_size(j), true);
		optimize(j);
		for_each_tensor(j, K_LERP, K_AVERAGE);
		end_turn(j);
	}
}

/* An optimizer that updates its groups of tensors one after the other. */
static void loop_groups(struct job *j, unsigned steps)
{
	unsigned groups = 2 + (unsigned)job_draw(j, 3);
	for (unsigned k = 0; k < steps; k++) {
		begin_step(j);
		learn_from(j, job_size(j), true);
		for (unsigned g = 0; g < groups; g++)
			optimize(j);
		end_turn(j);
	}
}

/* foreach=False: six kernels for each tensor, of names that also others have. */
static void loop_single_tensor(struct job *j, unsigned steps)
{
	static const unsigned update[] = { K_SCALE, K_LERP, K_SQUARE, K_ROOT, K_DIVIDE, K_ADD };
	for (unsigned k = 0; k < steps; k++) {
		begin_step(j);
		learn_from(j, job_size(j), true);
		for (unsigned t = 0; t < 3 * j->layers; t++)
			for (size_t n = 0; n < sizeof update / sizeof *update; n++)
				launch(j, update[n]);
		end_turn(j);
		if (k % 20 == 19)
			evaluate(j, 5);
	}
}

/* Rates of learning that are tensors, set behind each step; norms that are clipped before it. */
static void loop_clipping(struct job *j, unsigned steps)
{
	for (unsigned k = 0; k < steps; k++) {
		begin_step(j);
		learn_from(j, job_size(j), true);
		for_each_tensor(j, K_SQUARE, K_NORM_GRADS);
		operate_short(j, K_SUM, 131, 512);
		operate_short(j, K_ROOT, 132, 512);
		for_each_tensor(j, K_SCALE, K_CLIP);
		optimize(j);
		launch(j, K_COPY);
		end_turn(j);
	}
}

/* The weights are copied every N steps, and written. */
static void loop_saving(struct job *j, unsigned steps)
{
	unsigned every = 5 + (unsigned)job_draw(j, 20);
	for (unsigned k = 0; k < steps; k++) {
		train_step(j);
		for (unsigned n = 0; k % every == every - 1 && n < 2 * j->layers; n++) {
			operate_short(j, K_COPY, 133, 65536);
			job_wait(j, 20000);
		}
	}
}

static void generate(struct job *j, unsigned tokens)
{
	bool was_core = j->is_core;
	j->is_core = false;
	for (unsigned t = 0; t < tokens; t++) {
		forward(j, 4096, false);
		operate_short(j, K_ARGMAX, 51, 512);
		operate_short(j, K_SAMPLE, 134, 512);
	}
	j->is_core = was_core;
}

/* A text is written every N steps, for a person to look at. */
static void loop_generating(struct job *j, unsigned steps)
{
	unsigned every = 5 + (unsigned)job_draw(j, 10);
	for (unsigned k = 0; k < steps; k++) {
		train_step(j);
		for (unsigned n = 0; k % every == every - 1 && n < 3; n++)
			generate(j, 10 + (unsigned)job_draw(j, 20));
	}
}

/* Accumulates, clips, logs every tenth, evaluates with written answers, and saves. */
static void loop_trainer(struct job *j, unsigned steps)
{
	unsigned micro = 2 + (unsigned)job_draw(j, 4), every = 10 + (unsigned)job_draw(j, 20);
	for (unsigned k = 0; k < steps; k++) {
		begin_step(j);
		for (unsigned m = 0; m < micro; m++) {
			learn_from(j, job_size(j), m == 0);
			operate_short(j, K_SUM, 135, 512);
		}
		for_each_tensor(j, K_SQUARE, K_NORM_GRADS);
		for_each_tensor(j, K_SCALE, K_CLIP);
		optimize(j);
		end_turn(j);
		if (k % 10 == 9)
			operate_short(j, K_SUM, 136, 512);
		if (k % every != every - 1)
			continue;
		evaluate(j, 3);
		generate(j, 12);
		for (unsigned n = 0; n < j->layers; n++)
			operate_short(j, K_COPY, 133, 65536);
	}
}

/* A line is written when the loss says so. */
static void loop_logging_loss(struct job *j, unsigned steps)
{
	for (unsigned k = 0; k < steps; k++) {
		train_step(j);
		if (job_draw(j, 4) > 0)
			continue;
		operate_short(j, K_SUM, 137, 512);
		operate_short(j, K_DIVIDE, 138, 512);
		for (unsigned n = 0; n < job_draw(j, 6); n++)
			operate_short(j, K_EQUAL, 139, 512);
	}
}

/* Layers are run again on the way back. */
static void loop_recomputing(struct job *j, unsigned steps)
{
	for (unsigned k = 0; k < steps; k++) {
		begin_step(j);
		uint32_t batch = take(j, 61, job_size(j));
		forward(j, job_size(j), false);
		forward(j, job_size(j), true);
		backward(j, job_size(j), true);
		optimize(j);
		give(j, batch);
		end_turn(j);
	}
}

/* Some of the experts, as the tokens have it. */
static void loop_experts(struct job *j, unsigned steps)
{
	for (unsigned k = 0; k < steps; k++) {
		begin_step(j);
		uint32_t batch = take(j, 61, job_size(j));
		launch(j, K_EMBED);
		for (unsigned n = 0; n < j->layers; n++) {
			job_keep(j, operate(j, K_ROUTE, 140, job_size(j)));
			unsigned experts = 1 + (unsigned)job_draw(j, 8);
			for (unsigned e = 0; e < experts; e++) {
				unsigned which = (unsigned)job_draw(j, 10);
				job_keep(j, operate(j, K_FUSED + which, 150 + which, job_size(j)));
			}
		}
		backward(j, job_size(j), true);
		optimize(j);
		give(j, batch);
		end_turn(j);
	}
}

/* As many micro batches as fit, of any length. */
static void loop_packing(struct job *j, unsigned steps)
{
	for (unsigned k = 0; k < steps; k++) {
		unsigned micro = 1 + (unsigned)job_draw(j, 6);
		begin_step(j);
		for (unsigned m = 0; m < micro; m++)
			learn_from(j, job_size(j) * (1 + job_draw(j, 5)), m == 0);
		optimize(j);
		end_turn(j);
	}
}

/* The last batch of an epoch has fewer micro batches. */
static void loop_accumulating_epochs(struct job *j, unsigned steps)
{
	unsigned micro = 3 + (unsigned)job_draw(j, 4), every = 4 + (unsigned)job_draw(j, 10);
	for (unsigned k = 0; k < steps; k++) {
		bool is_last = k % every == every - 1;
		begin_step(j);
		for (unsigned m = 0; m < (is_last ? 2 : micro); m++)
			learn_from(j, job_size(j), m == 0);
		optimize(j);
		end_turn(j);
		if (is_last)
			evaluate(j, 3);
	}
}

/* A teacher, made of the same layers, goes first. */
static void loop_distilling(struct job *j, unsigned steps)
{
	for (unsigned k = 0; k < steps; k++) {
		begin_step(j);
		uint32_t batch = take(j, 61, job_size(j));
		forward(j, 2 * job_size(j), false);
		forward(j, job_size(j), true);
		operate_short(j, K_DIVIDE, 141, job_size(j));
		backward(j, job_size(j), true);
		optimize(j);
		give(j, batch);
		end_turn(j);
	}
}

/* Weights go up, are learnt from once more, go back and down (sharpness-aware). */
static void loop_twice(struct job *j, unsigned steps)
{
	for (unsigned k = 0; k < steps; k++) {
		begin_step(j);
		learn_from(j, job_size(j), true);
		for_each_tensor(j, K_SQUARE, K_NORM_GRADS);
		for_each_tensor(j, K_SCALE, K_CLIP);
		drop_grads(j);
		learn_from(j, job_size(j), true);
		for_each_tensor(j, K_COPY, K_AVERAGE);
		optimize(j);
		end_turn(j);
	}
}

/* Pictures are made every N steps: many turns of the model without learning. */
static void loop_denoising(struct job *j, unsigned steps)
{
	unsigned every = 8 + (unsigned)job_draw(j, 20);
	for (unsigned k = 0; k < steps; k++) {
		begin_step(j);
		operate_short(j, K_NOISE, 142, job_size(j));
		learn_from(j, job_size(j), true);
		optimize(j);
		for_each_tensor(j, K_LERP, K_AVERAGE);
		end_turn(j);
		for (unsigned n = 0; k % every == every - 1 && n < 50; n++) {
			operate_short(j, K_NOISE, 143, job_size(j));
			forward(j, job_size(j), false);
		}
	}
}

/* Several learning passes over what was collected before. */
static void loop_rollouts(struct job *j, unsigned steps)
{
	for (unsigned k = 0; k < steps; k++) {
		if (k % 8 == 0)
			generate(j, 16);
		train_step(j);
	}
	j->set_up = 0;
}

/* Layers are left out at random. */
static void loop_dropping_layers(struct job *j, unsigned steps)
{
	const unsigned layers = j->layers;
	for (unsigned k = 0; k < steps; k++) {
		begin_step(j);
		j->layers = 1 + (unsigned)job_draw(j, layers);
		learn_from(j, job_size(j), true);
		j->layers = layers;
		optimize(j);
		end_turn(j);
	}
}

/* A compiler makes other kernels when it sees another shape. */
static void loop_recompiled(struct job *j, unsigned steps)
{
	for (unsigned k = 0; k < steps; k++) {
		const unsigned version = k * 4 < steps ? 0 : 1;
		begin_step(j);
		uint32_t batch = take(j, 61, job_size(j));
		for (unsigned n = 0; n < 6; n++)
			job_keep(j, operate(j, K_FUSED + 6 * version + n, 120 + n, job_size(j)));
		for (unsigned n = 0; n < 6; n++)
			grad_of(j, K_FUSED + 12 + 6 * version + n, 126 + n, 65536, true);
		give_kept(j, 0);
		optimize(j);
		give(j, batch);
		end_turn(j);
	}
}

/* The head alone first, then all of the model. */
static void loop_thawing(struct job *j, unsigned steps)
{
	for (unsigned k = 0; k < steps; k++) {
		begin_step(j);
		uint32_t batch = take(j, 61, job_size(j));
		bool is_thawed = k * 3 >= steps;
		forward(j, job_size(j), is_thawed);
		if (is_thawed) {
			backward(j, job_size(j), true);
		} else {
			operate_short(j, K_LOSS, 30, 512);
			launch(j, K_LOSS_BACK);
			grad_of(j, K_GEMM_A_BACK, 32, 65536, true);
		}
		optimize(j);
		give(j, batch);
		end_turn(j);
	}
}

/* A sweep: one model after the other, each of another depth. */
static void loop_sweeping(struct job *j, unsigned steps)
{
	const unsigned layers = j->layers;
	for (unsigned k = 0; k < steps; k++) {
		j->layers = layers + 2 * (k * 3 / steps);
		train_step(j);
	}
	j->layers = layers;
}

/* Five turns of the critic for one of the generator. */
static void loop_critic(struct job *j, unsigned steps)
{
	for (unsigned k = 0; k < steps; k++) {
		begin_turn(j);
		for (unsigned n = 0; n < 5; n++) {
			drop_grads(j);
			job_keep(j, operate(j, K_CONVOLVE, 90, job_size(j)));
			job_keep(j, operate(j, K_NORM, 91, job_size(j)));
			operate_short(j, K_LOSS, 94, 512);
			operate_short(j, K_NORM_BACK, 92, job_size(j));
			grad_of(j, K_CONVOLVE_BACK, 93, 65536, true);
			give_kept(j, 0);
			optimize(j);
			for_each_tensor(j, K_SCALE, K_CLIP);
		}
		drop_grads(j);
		operate_short(j, K_NOISE, 144, job_size(j));
		for (unsigned n = 0; n < j->layers; n++) {
			job_keep(j, operate(j, K_CONVOLVE, 145, job_size(j)));
			job_keep(j, operate(j, K_TANH, 95, job_size(j)));
		}
		operate_short(j, K_LOSS, 146, 512);
		for (unsigned n = 0; n < j->layers; n++) {
			operate_short(j, K_TANH_BACK, 96, job_size(j));
			grad_of(j, K_CONVOLVE_BACK, 147, 65536, true);
		}
		give_kept(j, 0);
		optimize(j);
		end_turn(j);
	}
}

#endif
