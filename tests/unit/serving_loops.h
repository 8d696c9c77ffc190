/* Loops without learning, and such as replay graphs. See job_loops.h. */
#ifndef SERVING_LOOPS_H
#define SERVING_LOOPS_H

#include "trainer_loops.h"

/* An engine's steps: a graph for each number of requests under way, or prompts that came. */
static void loop_engine(struct job *j, unsigned steps)
{
	for (unsigned k = 0; k < steps; k++) {
		begin_turn(j);
		uint32_t batch = take(j, 61, job_size(j));
		launch(j, K_COPY);
		if (k % 7 == 0 || job_draw(j, 9) == 0)
			forward(j, job_size(j), false);
		else
			replay(j, 7 + (unsigned)job_draw(j, 4));
		operate_short(j, K_DIVIDE, 160, 4096);
		operate_short(j, K_SAMPLE, 161, 512);
		give(j, batch);
		end_turn(j);
	}
}

/* A request is a text that is made a picture, in as many turns as it asks for. */
static void loop_pictures(struct job *j, unsigned steps)
{
	for (unsigned k = 0; k < steps; k++) {
		unsigned turns = 10 + (unsigned)job_draw(j, 3) * 10;
		begin_turn(j);
		uint32_t text = operate(j, K_EMBED, 162, job_size(j));
		for (unsigned n = 0; n < j->layers; n++)
			operate_short(j, K_PREFILL, 163, job_size(j));
		uint32_t picture = operate(j, K_NOISE, 142, job_size(j));
		for (unsigned n = 0; n < turns; n++) {
			forward(j, job_size(j), false);
			operate_short(j, K_SCALE, 164, job_size(j));
		}
		for (unsigned n = 0; n < 4; n++)
			operate_short(j, K_CONVOLVE, 165, 4 * job_size(j));
		give(j, picture);
		give(j, text);
		end_turn(j);
	}
}

/* Batches of any length, of which some find an answer in a cache of their own. */
static void loop_embedding(struct job *j, unsigned steps)
{
	for (unsigned k = 0; k < steps; k++) {
		uint64_t bytes = job_size(j) * (1 + job_draw(j, 6));
		begin_turn(j);
		uint32_t batch = take(j, 61, bytes);
		launch(j, bytes > 3 * job_size(j) ? K_FUSED : K_FUSED + 1);
		forward(j, bytes, false);
		if (job_draw(j, 3) == 0)
			operate_short(j, K_SUM, 166, 4096);
		operate_short(j, K_DIVIDE, 167, 4096);
		give(j, batch);
		end_turn(j);
	}
}

/* A few batches to warm up, in which nothing is asked; then requests. */
static void loop_detecting(struct job *j, unsigned steps)
{
	for (unsigned k = 0; k < steps; k++) {
		begin_turn(j);
		uint32_t batch = take(j, 61, job_size(j));
		for (unsigned n = 0; n < j->layers + 4; n++) {
			operate_short(j, K_CONVOLVE, 90, job_size(j));
			operate_short(j, K_NORM, 91, job_size(j));
		}
		unsigned boxes = (unsigned)job_draw(j, 20);
		operate_short(j, K_ARGMAX, 168, 4096);
		for (unsigned n = 0; n < boxes; n++)
			operate_short(j, K_EQUAL, 169, 512);
		operate_short(j, K_SUM, 170, 512);
		give(j, batch);
		end_turn(j);
	}
}

/* Steps of one graph, and an evaluation of another. */
static void loop_graph_evaluating(struct job *j, unsigned steps)
{
	unsigned every = 5 + (unsigned)job_draw(j, 12);
	for (unsigned k = 0; k < steps; k++) {
		begin_turn(j);
		launch(j, K_COPY);
		replay(j, 7);
		end_turn(j);
		for (unsigned n = 0; k % every == every - 1 && n < 3; n++) {
			launch(j, K_COPY);
			replay(j, 8);
			launch(j, K_SUM);
		}
	}
}

/* Three steps as they are, then the graph of one. What comes before the graphs is set-up. */
static void loop_graph_warmed(struct job *j, unsigned steps)
{
	for (unsigned k = 0; k < 3; k++) {
		drop_grads(j);
		learn_from(j, job_size(j), true);
		optimize(j);
	}
	for (unsigned k = 0; k < steps; k++) {
		begin_turn(j);
		launch(j, K_COPY);
		launch(j, K_COPY);
		replay(j, 7);
		launch(j, K_SUM);
		end_turn(j);
	}
}

/* What is launched from here to capture_end is in the graph, and is no step. */
static void capture_begin(struct job *j)
{
	job_put(j, (struct gp_record){ .kind = GP_CAPTURE_BEGIN, .capture_begin.stream = 5 });
	j->is_capturing = true;
}

static void capture_end(struct job *j, unsigned graph)
{
	j->is_capturing = false;
	job_put(j, (struct gp_record){ .kind = GP_CAPTURE_END,
				       .capture_end = { .stream = 5, .graph = 1000 + graph } });
	job_put(j, (struct gp_record){
			   .kind = GP_GRAPH_INSTANTIATE,
			   .graph_instantiate = { .exec = graph, .graph = 1000 + graph } });
}

/* Three steps as they are, one that is captured, and its replays: steps like the first. */
static void loop_graph_captured(struct job *j, unsigned steps)
{
	for (unsigned k = 0; k < 3; k++) {
		begin_turn(j);
		drop_grads(j);
		learn_from(j, job_size(j), true);
		optimize(j);
		end_turn(j);
	}
	capture_begin(j);
	drop_grads(j);
	learn_from(j, job_size(j), true);
	optimize(j);
	capture_end(j, 7);
	for (unsigned k = 0; k < steps; k++) {
		begin_turn(j);
		replay(j, 7);
		end_turn(j);
	}
}

/* An engine that captured itself for three numbers of requests: each of its graphs has layers. */
static void loop_engine_captured(struct job *j, unsigned steps)
{
	for (unsigned size = 0; size < 3; size++) {
		capture_begin(j);
		forward(j, job_size(j), false);
		capture_end(j, 7 + size);
	}
	for (unsigned k = 0; k < steps; k++) {
		begin_turn(j);
		uint32_t batch = take(j, 61, job_size(j));
		launch(j, K_COPY);
		replay(j, 7 + (unsigned)job_draw(j, 3));
		operate_short(j, K_DIVIDE, 160, 4096);
		operate_short(j, K_SAMPLE, 161, 512);
		give(j, batch);
		end_turn(j);
	}
}

/* Captured forward, backward; sizes of batches have a graph each; the optimizer is launched. */
static void loop_graph_sizes(struct job *j, unsigned steps)
{
	for (unsigned k = 0; k < steps; k++) {
		unsigned size = (unsigned)job_draw(j, 3);
		begin_turn(j);
		uint32_t batch = take(j, 61, job_size(j));
		launch(j, K_EMBED);
		replay(j, 7 + size);
		replay(j, 17 + size);
		optimize(j);
		give(j, batch);
		end_turn(j);
	}
}

#endif
