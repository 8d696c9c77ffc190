/* Loops of many kinds, each with a property that makes its steps hard to find. See job_model.h. */
#ifndef JOB_LOOPS_H
#define JOB_LOOPS_H

#include "job_model.h"

static void turn_of_training(struct job *j, uint64_t bytes)
{
	begin_turn(j);
	drop_grads(j);
	uint32_t batch = take(j, 61, job_size(j));
	forward(j, bytes, true);
	backward(j, bytes, true);
	optimize(j);
	give(j, batch);
	end_turn(j);
}

static void loop_plain(struct job *j, unsigned steps)
{
	for (unsigned k = 0; k < steps; k++)
		turn_of_training(j, job_size(j));
}

/* An optimizer without kernels of its own, and gradients that stay. */
static void loop_unnamed(struct job *j, unsigned steps)
{
	for (unsigned k = 0; k < steps; k++) {
		begin_turn(j);
		for (size_t g = 0; g < j->grads; g++)
			launch(j, K_ZERO);
		forward(j, job_size(j), true);
		backward(j, job_size(j), j->grads == 0);
		optimize(j);
		end_turn(j);
	}
}

static void loop_accumulating(struct job *j, unsigned steps)
{
	unsigned micro = 2u << job_draw(j, 3);
	for (unsigned k = 0; k < steps; k++) {
		begin_turn(j);
		drop_grads(j);
		for (unsigned m = 0; m < micro; m++) {
			uint32_t batch = take(j, 61, job_size(j));
			forward(j, job_size(j), true);
			backward(j, job_size(j), m == 0);
			give(j, batch);
		}
		optimize(j);
		end_turn(j);
	}
}

static void loop_evaluating(struct job *j, unsigned steps)
{
	unsigned every = 3 + (unsigned)job_draw(j, 20), batches = 1 + (unsigned)job_draw(j, 12);
	for (unsigned k = 0; k < steps; k++) {
		turn_of_training(j, job_size(j));
		if (k % every == every - 1)
			evaluate(j, batches);
	}
}

/* Lengths change from batch to batch, and with them the kernels that a library chooses. */
static void loop_lengths(struct job *j, unsigned steps)
{
	for (unsigned k = 0; k < steps; k++) {
		uint64_t bytes = job_size(j) * (1 + job_draw(j, 7));
		begin_turn(j);
		drop_grads(j);
		uint32_t batch = take(j, 61, bytes);
		launch(j, bytes > 4 * job_size(j) ? K_FUSED : K_FUSED + 1);
		forward(j, bytes, true);
		launch(j, bytes > 2 * job_size(j) ? K_FUSED + 2 : K_FUSED + 3);
		backward(j, bytes, true);
		optimize(j);
		give(j, batch);
		end_turn(j);
	}
}

/* A recurrent network: as many cells as the sentence has words. */
static void loop_recurrent(struct job *j, unsigned steps)
{
	for (unsigned k = 0; k < steps; k++) {
		unsigned words = 5 + (unsigned)job_draw(j, 30);
		begin_turn(j);
		drop_grads(j);
		job_keep(j, operate(j, K_EMBED, 20, job_size(j)));
		for (unsigned n = 0; n < words; n++) {
			job_keep(j, operate(j, K_GEMM_A, 70, job_size(j)));
			job_keep(j, operate(j, K_CELL, 71, job_size(j)));
		}
		job_keep(j, operate(j, K_HEAD, 21, job_size(j)));
		operate_short(j, K_LOSS, 30, 512);
		launch(j, K_LOSS_BACK);
		grad_of(j, K_GEMM_A_BACK, 32, 65536, true);
		for (unsigned n = 0; n < words; n++) {
			operate_short(j, K_CELL_BACK, 72, job_size(j));
			grad_of(j, K_GEMM_A_BACK, 73, 65536, n == 0);
		}
		grad_of(j, K_EMBED_BACK, 37, 65536, true);
		give_kept(j, 0);
		optimize(j);
		end_turn(j);
	}
}

/* Kernels are tried out in the first steps, caches fill up, tables are made when first needed. */
static void loop_warming_up(struct job *j, unsigned steps)
{
	for (unsigned k = 0; k < steps; k++) {
		begin_turn(j);
		drop_grads(j);
		forward(j, job_size(j), true);
		if (k < 3)
			for (unsigned n = 0; n < 40 / (k + 1); n++)
				operate_short(j, K_TUNE, 80, 1 << 20);
		if (job_draw(j, steps / 4 + 1) == 0)
			operate(j, K_ADD, 81, 4096); /* one more entry of a table */
		job_wait(j, k < 3 ? 5000000 : 0);
		backward(j, job_size(j), true);
		optimize(j);
		end_turn(j);
	}
}

static void pass_of_images(struct job *j, unsigned layers)
{
	for (unsigned k = 0; k < layers; k++) {
		job_keep(j, operate(j, K_CONVOLVE, 90, job_size(j)));
		job_keep(j, operate(j, K_NORM, 91, job_size(j)));
	}
}

static void pass_back(struct job *j, unsigned layers, bool is_new)
{
	launch(j, K_LOSS_BACK);
	for (unsigned k = 0; k < layers; k++) {
		operate_short(j, K_NORM_BACK, 92, job_size(j));
		grad_of(j, K_CONVOLVE_BACK, 93, 65536, is_new);
	}
}

/* Two models that are trained in turns, made of the same layers. */
static void loop_adversarial(struct job *j, unsigned steps)
{
	for (unsigned k = 0; k < steps; k++) {
		begin_turn(j);
		drop_grads(j);
		pass_of_images(j, j->layers); /* discriminator, real data */
		operate_short(j, K_LOSS, 94, 512);
		pass_back(j, j->layers, true);
		pass_of_images(j, j->layers); /* generator */
		job_keep(j, operate(j, K_TANH, 95, job_size(j)));
		pass_of_images(j, j->layers); /* discriminator, generated data */
		operate_short(j, K_LOSS, 94, 512);
		pass_back(j, j->layers, false);
		optimize(j);
		drop_grads(j);
		pass_of_images(j, j->layers);
		operate_short(j, K_LOSS, 94, 512);
		pass_back(j, j->layers, true);
		operate_short(j, K_TANH_BACK, 96, job_size(j));
		pass_back(j, j->layers, false);
		give_kept(j, 0);
		optimize(j);
		end_turn(j);
	}
}

/* An agent acts, then learns from its replay memory. */
static void loop_reinforced(struct job *j, unsigned steps)
{
	for (unsigned k = 0; k < steps; k++) {
		begin_turn(j);
		drop_grads(j);
		forward(j, 4096, false);
		operate_short(j, K_ARGMAX, 51, 512);
		forward(j, job_size(j), false);
		forward(j, job_size(j), true);
		backward(j, job_size(j), true);
		optimize(j);
		end_turn(j);
	}
}

static void loop_graph(struct job *j, unsigned steps)
{
	for (unsigned k = 0; k < steps; k++) {
		begin_turn(j);
		replay(j, 7);
		end_turn(j);
	}
}

/* A captured forward and backward pass; the rest is launched. */
static void loop_partly_graph(struct job *j, unsigned steps)
{
	for (unsigned k = 0; k < steps; k++) {
		begin_turn(j);
		uint32_t batch = take(j, 61, job_size(j));
		launch(j, K_EMBED);
		replay(j, 7);
		replay(j, 8);
		optimize(j);
		give(j, batch);
		end_turn(j);
	}
}

static void turn_of_inference(struct job *j)
{
	uint32_t batch = take(j, 61, job_size(j));
	forward(j, job_size(j), false);
	operate_short(j, K_ARGMAX, 51, 512);
	give(j, batch);
}

static void loop_inference(struct job *j, unsigned steps)
{
	for (unsigned k = 0; k < steps; k++) {
		begin_turn(j);
		turn_of_inference(j);
		end_turn(j);
	}
}

/* A pass of equal layers is captured once, and replayed. */
static inline void loop_captured_layers(struct job *j, unsigned steps)
{
	job_put(j, (struct gp_record){ .kind = GP_CAPTURE_BEGIN,
				       .capture_begin = { .stream = 1, .graph = 9 } });
	j->is_capturing = true;
	turn_of_inference(j);
	j->is_capturing = false;
	job_put(j, (struct gp_record){ .kind = GP_CAPTURE_END,
				       .capture_end = { .stream = 1, .graph = 9 } });
	job_put(j, (struct gp_record){ .kind = GP_GRAPH_INSTANTIATE,
				       .graph_instantiate = { .exec = 7, .graph = 9 } });
	loop_graph(j, steps);
}

/* Requests of a prompt and some tokens, whose cache grows token by token. */
static void loop_requests(struct job *j, unsigned steps)
{
	for (unsigned k = 0; k < steps; k++) {
		unsigned tokens = 3 + (unsigned)job_draw(j, 12);
		begin_turn(j);
		uint32_t prompt = operate(j, K_PREFILL, 100, job_size(j));
		for (unsigned n = 0; n < j->layers; n++)
			operate_short(j, K_FUSED, 101, job_size(j));
		uint32_t cache = operate(j, K_FUSED + 1, 102, job_size(j));
		operate_short(j, K_FUSED + 2, 103, 512);
		for (unsigned t = 0; t < tokens; t++) {
			for (unsigned n = 0; n < j->layers; n++)
				operate_short(j, K_DECODE, 104, 4096);
			uint32_t grown = operate(j, K_ADD, 105, job_size(j) + 4096 * t);
			give(j, cache);
			cache = grown;
			operate_short(j, K_SAMPLE, 106, 512);
		}
		give(j, cache);
		give(j, prompt);
		end_turn(j);
	}
}

/* A log line every ten steps, the norms of the weights every fifty. */
static void loop_logging(struct job *j, unsigned steps)
{
	for (unsigned k = 0; k < steps; k++) {
		turn_of_training(j, job_size(j));
		if (k % 10 == 9)
			operate_short(j, K_SUM, 110, 512);
		if (k % 50 == 49)
			for (unsigned n = 0; n < j->layers + 2; n++)
				operate_short(j, K_EQUAL, 111, 512);
	}
}

/* Five sums every seven steps, all alike: they form a loop, but not around a step. */
static void loop_logging_much(struct job *j, unsigned steps)
{
	for (unsigned k = 0; k < steps; k++) {
		begin_turn(j);
		drop_grads(j);
		forward(j, job_size(j), true);
		backward(j, job_size(j), true);
		launch(j, K_NORM_GRADS);
		optimize(j);
		for (unsigned n = 0; n < 5 && k % 7 == 0; n++)
			operate_short(j, K_SUM, 110, 512);
		if (k % 25 == 24)
			evaluate(j, 6);
		end_turn(j);
	}
}

/* Autograd's own thread runs backward, and a third thread fetches the next data at any moment. */
static void loop_threads(struct job *j, unsigned steps)
{
	for (unsigned k = 0; k < steps; k++) {
		begin_turn(j);
		drop_grads(j);
		uint32_t batch = take(j, 61, job_size(j));
		forward(j, job_size(j), true);
		j->is_core = false;
		j->thread = 2;
		uint32_t next = operate(j, K_TUNE, 112, job_size(j));
		j->thread = 1;
		j->is_core = true;
		backward(j, job_size(j), true);
		j->thread = 0;
		if (job_draw(j, 2))
			job_wait(j, 4000);
		optimize(j);
		give(j, batch);
		give(j, next);
		end_turn(j);
	}
}

static void loop_accumulating_evaluating(struct job *j, unsigned steps)
{
	unsigned micro = 2u << job_draw(j, 2), every = 5 + (unsigned)job_draw(j, 10);
	for (unsigned k = 0; k < steps; k++) {
		begin_turn(j);
		drop_grads(j);
		for (unsigned m = 0; m < micro; m++) {
			forward(j, job_size(j), true);
			backward(j, job_size(j), m == 0);
		}
		optimize(j);
		end_turn(j);
		if (k % every == 0)
			evaluate(j, 4);
	}
}

/* A compiler fused many kernels into one. */
static void loop_compiled(struct job *j, unsigned steps)
{
	for (unsigned k = 0; k < steps; k++) {
		begin_turn(j);
		drop_grads(j);
		for (unsigned n = 0; n < 6; n++)
			job_keep(j, operate(j, K_FUSED + n, 120 + n, job_size(j)));
		for (unsigned n = 6; n < 12; n++)
			grad_of(j, K_FUSED + n, 120 + n, 65536, true);
		give_kept(j, 0);
		optimize(j);
		end_turn(j);
	}
}

static void loop_allocations_only(struct job *j, unsigned steps)
{
	loop_evaluating(j, steps);
}

struct job_loop {
	const char *name;
	void (*run)(struct job *j, unsigned steps);
	bool is_unnamed, has_no_launches, has_no_blocks, is_flight_recorder, is_cut;
	uint64_t slot_bytes; /* of the flight recorder; 0: as usual */
};

static const struct job_loop job_loops[] = {
	{ .name = "plain", .run = loop_plain },
	{ .name = "unnamed optimizer", .run = loop_unnamed, .is_unnamed = true },
	{ .name = "gradient accumulation", .run = loop_accumulating },
	{ .name = "evaluation", .run = loop_evaluating },
	{ .name = "evaluation, unnamed", .run = loop_evaluating, .is_unnamed = true },
	{ .name = "lengths", .run = loop_lengths },
	{ .name = "recurrent", .run = loop_recurrent },
	{ .name = "warm-up and caches", .run = loop_warming_up },
	{ .name = "adversarial", .run = loop_adversarial },
	{ .name = "reinforced", .run = loop_reinforced },
	{ .name = "graph", .run = loop_graph, .has_no_blocks = true },
	{ .name = "partly graph", .run = loop_partly_graph },
	{ .name = "inference", .run = loop_inference },
	{ .name = "requests", .run = loop_requests },
	{ .name = "logging", .run = loop_logging },
	{ .name = "logging much", .run = loop_logging_much },
	{ .name = "threads", .run = loop_threads },
	{ .name = "accumulation, evaluation", .run = loop_accumulating_evaluating },
	{ .name = "compiled", .run = loop_compiled },
	{ .name = "allocations only", .run = loop_allocations_only, .has_no_launches = true },
	{ .name = "flight recorder", .run = loop_evaluating, .is_flight_recorder = true },
	{ .name = "killed midway", .run = loop_plain, .is_cut = true },
};

/* A job that works as `loop` does. The caller sets other fields, and calls job_begin(). */
static inline struct job *fixture_job(const struct job_loop *loop, const char *name, uint64_t seed,
				      uint32_t slots, uint64_t slot_bytes)
{
	struct job *j = job_open(name, seed, slots, slot_bytes);
	j->is_named = !loop->is_unnamed;
	j->has_launches = !loop->has_no_launches;
	j->has_blocks = !loop->has_no_blocks;
	j->has_stacks |= loop->has_no_launches;
	return j;
}

#endif
