/* All kinds of loops, and whether their steps are found where they are known to begin. */
#ifndef LOOP_GAUGE_H
#define LOOP_GAUGE_H

#include "job_loops.h"
#include "serving_loops.h"
#include "trainer_loops.h"
#include "untried_loops.h"

static const struct job_loop further_loops[] = {
	{ .name = "evaluation first", .run = loop_evaluating_first },
	{ .name = "evaluation first, unnamed", .run = loop_evaluating_first, .is_unnamed = true },
	{ .name = "long evaluation first", .run = loop_evaluating_long_first },
	{ .name = "long evaluation first, unnamed",
	  .run = loop_evaluating_long_first,
	  .is_unnamed = true },
	{ .name = "sanity check", .run = loop_sanity_checked },
	{ .name = "sanity check, unnamed", .run = loop_sanity_checked, .is_unnamed = true },
	{ .name = "evaluation each step", .run = loop_evaluating_each },
	{ .name = "evaluation each step, unnamed",
	  .run = loop_evaluating_each,
	  .is_unnamed = true },
	{ .name = "epochs", .run = loop_epochs },
	{ .name = "epochs, unnamed", .run = loop_epochs, .is_unnamed = true },
	{ .name = "lengths, unnamed", .run = loop_lengths, .is_unnamed = true },
	{ .name = "scaling", .run = loop_scaling },
	{ .name = "scaling, unnamed", .run = loop_scaling, .is_unnamed = true },
	{ .name = "averaging", .run = loop_averaging },
	{ .name = "averaging, unnamed", .run = loop_averaging, .is_unnamed = true },
	{ .name = "groups", .run = loop_groups },
	{ .name = "groups, unnamed", .run = loop_groups, .is_unnamed = true },
	{ .name = "single-tensor optimizer", .run = loop_single_tensor, .is_unnamed = true },
	{ .name = "clipping", .run = loop_clipping },
	{ .name = "clipping, unnamed", .run = loop_clipping, .is_unnamed = true },
	{ .name = "saving", .run = loop_saving },
	{ .name = "saving, unnamed", .run = loop_saving, .is_unnamed = true },
	{ .name = "generating", .run = loop_generating },
	{ .name = "generating, unnamed", .run = loop_generating, .is_unnamed = true },
	{ .name = "trainer", .run = loop_trainer },
	{ .name = "trainer, unnamed", .run = loop_trainer, .is_unnamed = true },
	{ .name = "logging by loss", .run = loop_logging_loss },
	{ .name = "logging by loss, unnamed", .run = loop_logging_loss, .is_unnamed = true },
	{ .name = "recomputing", .run = loop_recomputing },
	{ .name = "recomputing, unnamed", .run = loop_recomputing, .is_unnamed = true },
	{ .name = "experts", .run = loop_experts },
	{ .name = "experts, unnamed", .run = loop_experts, .is_unnamed = true },
	{ .name = "packing", .run = loop_packing },
	{ .name = "packing, unnamed", .run = loop_packing, .is_unnamed = true },
	{ .name = "accumulation, epochs", .run = loop_accumulating_epochs },
	{ .name = "accumulation, epochs, unnamed",
	  .run = loop_accumulating_epochs,
	  .is_unnamed = true },
	{ .name = "distilling", .run = loop_distilling },
	{ .name = "distilling, unnamed", .run = loop_distilling, .is_unnamed = true },
	{ .name = "twice", .run = loop_twice },
	{ .name = "twice, unnamed", .run = loop_twice, .is_unnamed = true },
	{ .name = "denoising", .run = loop_denoising },
	{ .name = "denoising, unnamed", .run = loop_denoising, .is_unnamed = true },
	{ .name = "rollouts", .run = loop_rollouts },
	{ .name = "rollouts, unnamed", .run = loop_rollouts, .is_unnamed = true },
	{ .name = "dropping layers", .run = loop_dropping_layers },
	{ .name = "dropping layers, unnamed", .run = loop_dropping_layers, .is_unnamed = true },
	{ .name = "recompiled", .run = loop_recompiled, .is_open = true },
	{ .name = "recompiled, unnamed",
	  .run = loop_recompiled,
	  .is_unnamed = true,
	  .is_open = true },
	{ .name = "thawing", .run = loop_thawing },
	{ .name = "thawing, unnamed", .run = loop_thawing, .is_unnamed = true },
	{ .name = "sweeping", .run = loop_sweeping },
	{ .name = "sweeping, unnamed", .run = loop_sweeping, .is_unnamed = true },
	{ .name = "critic", .run = loop_critic },
	{ .name = "critic, unnamed", .run = loop_critic, .is_unnamed = true },
	{ .name = "lengths, flight recorder", .run = loop_lengths, .is_flight_recorder = true },
	{ .name = "experts, flight recorder", .run = loop_experts, .is_flight_recorder = true },
	{ .name = "accumulation, flight recorder",
	  .run = loop_accumulating,
	  .is_flight_recorder = true,
	  .slot_bytes = 262144 },
	{ .name = "trainer, flight recorder",
	  .run = loop_trainer,
	  .is_flight_recorder = true,
	  .slot_bytes = 262144 },
	{ .name = "plain, allocations only", .run = loop_plain, .has_no_launches = true },
	{ .name = "lengths, allocations only", .run = loop_lengths, .has_no_launches = true },
	{ .name = "requests, allocations only", .run = loop_requests, .has_no_launches = true },
	{ .name = "trainer, allocations only", .run = loop_trainer, .has_no_launches = true },
	{ .name = "words, evaluation, allocations only",
	  .run = loop_recurrent_evaluating,
	  .has_no_launches = true },
	{ .name = "accumulation, killed midway", .run = loop_accumulating, .is_cut = true },
	/* serving, and graphs */
	{ .name = "engine", .run = loop_engine },
	{ .name = "pictures", .run = loop_pictures },
	{ .name = "embedding", .run = loop_embedding },
	{ .name = "detecting", .run = loop_detecting },
	{ .name = "graph, evaluation", .run = loop_graph_evaluating, .has_no_blocks = true },
	{ .name = "graph, warmed up", .run = loop_graph_warmed },
	{ .name = "graph, captured", .run = loop_graph_captured },
	{ .name = "engine, captured", .run = loop_engine_captured },
	{ .name = "graph of each size", .run = loop_graph_sizes },
	/* steps of another shape */
	{ .name = "pipeline", .run = loop_pipeline },
	{ .name = "pipeline, unnamed", .run = loop_pipeline, .is_unnamed = true },
	{ .name = "chunks", .run = loop_chunks },
	{ .name = "chunks, unnamed", .run = loop_chunks, .is_unnamed = true },
	{ .name = "tasks", .run = loop_tasks },
	{ .name = "tasks, unnamed", .run = loop_tasks, .is_unnamed = true },
	{ .name = "closures", .run = loop_closures },
	{ .name = "closures, unnamed", .run = loop_closures, .is_unnamed = true, .is_open = true },
	{ .name = "contrasting", .run = loop_contrasting },
	{ .name = "contrasting, unnamed", .run = loop_contrasting, .is_unnamed = true },
	{ .name = "growing pictures", .run = loop_growing_pictures, .is_open = true },
	{ .name = "growing pictures, unnamed",
	  .run = loop_growing_pictures,
	  .is_unnamed = true,
	  .is_open = true },
	{ .name = "preferences", .run = loop_preferences },
	{ .name = "preferences, unnamed", .run = loop_preferences, .is_unnamed = true },
	{ .name = "swapping", .run = loop_swapping },
	{ .name = "swapping, unnamed", .run = loop_swapping, .is_unnamed = true },
	{ .name = "histograms", .run = loop_histograms },
	{ .name = "histograms, unnamed",
	  .run = loop_histograms,
	  .is_unnamed = true,
	  .is_open = true },
	{ .name = "lengths, scaled", .run = loop_lengths_scaled },
	{ .name = "lengths, scaled, unnamed",
	  .run = loop_lengths_scaled,
	  .is_unnamed = true,
	  .is_open = true },
	{ .name = "answering", .run = loop_answering },
	{ .name = "sharded", .run = loop_sharded },
	{ .name = "sharded, unnamed", .run = loop_sharded, .is_unnamed = true, .is_open = true },
	{ .name = "curriculum", .run = loop_curriculum },
	{ .name = "curriculum, unnamed", .run = loop_curriculum, .is_unnamed = true },
};

static const struct job_loop untried_loops[] = {
	{ .name = "half labelled", .run = loop_half_labelled },
	{ .name = "half labelled, unnamed", .run = loop_half_labelled, .is_unnamed = true },
	{ .name = "slow weights", .run = loop_slow_weights },
	{ .name = "slow weights, unnamed", .run = loop_slow_weights, .is_unnamed = true },
	{ .name = "hard ones", .run = loop_hard_ones },
	{ .name = "hard ones, unnamed",
	  .run = loop_hard_ones,
	  .is_unnamed = true,
	  .is_open = true },
	{ .name = "guessing", .run = loop_guessing },
};

static struct job *job_of(const struct job_loop *loop, const char *name, uint64_t seed,
			  unsigned steps)
{
	uint64_t slot_bytes = loop->slot_bytes > 0 ? loop->slot_bytes : 65536;
	struct job *j = job_open(name, seed, loop->is_flight_recorder ? 4 : 0,
				 loop->is_flight_recorder ? slot_bytes : 0);
	j->is_named = !loop->is_unnamed;
	j->has_launches = !loop->has_no_launches;
	j->has_blocks = !loop->has_no_blocks;
	j->has_stacks |= loop->has_no_launches;
	job_begin(j);
	loop->run(j, steps);
	return j;
}

static int64_t at_ns(uint64_t ticks)
{
	return (int64_t)ticks - 1024;
}

/*
 * Each begin lies behind the work of the step before and not behind the first work of its own. The
 * first may be wrong by a tenth of a step: what a job does to set itself up is not told apart from
 * what it does first.
 */
static bool is_exact(const struct gp_steps *found, const struct truth *step, size_t steps,
		     uint64_t set_up, char *why, size_t room)
{
	snprintf(why, room, "%zu of %zu", found->steps, steps);
	if (found->steps != steps)
		return false;
	for (size_t k = 0; k < steps; k++) {
		int64_t slack = k == 0 ? (int64_t)(step[0].last - step[0].first) / 10 : 0;
		uint64_t before = k > 0 ? step[k - 1].last : set_up;
		bool is_early = before > 0 && found->step[k].begin_ns + slack <= at_ns(before);
		bool is_late = found->step[k].begin_ns > at_ns(step[k].first) + slack + 64;
		snprintf(why, room, "step %zu is %s", k + 1, is_early ? "early" : "late");
		if (is_early || is_late)
			return false;
	}
	return true;
}

/* What a flight recorder kept begins anywhere in a step. */
static size_t kept_steps(const struct gp_info *info, const struct job *j, bool is_ring)
{
	size_t first = 0;
	while (is_ring && at_ns(j->step[first].begin) < (int64_t)info->kept_from_ns)
		first++;
	return first;
}

static bool is_found(const struct job_loop *loop, unsigned seed)
{
	char name[64], why[64] = "";
	struct gp_recording *r;
	struct gp_steps steps;
	const struct gp_info *info;
	snprintf(name, sizeof name, "steps-%u.gpr", seed);
	struct job *j = job_of(loop, name, seed + 1, 8 + (seed * 37 % 120));
	if (loop->is_cut)
		forward(j, job_size(j), true);
	for (unsigned t = 0; t < 4; t++)
		flush(&j->w, t);
	writer_close(&j->w, true);
	assert_int_equal(gp_recording_open(j->w.path, &r, NULL), GP_OK);
	assert_int_equal(gp_recording_info(r, &info), GP_OK);
	assert_int_equal(gp_steps_find(r, &steps), GP_OK);
	size_t first = kept_steps(info, j, loop->is_flight_recorder), left = j->steps - first;
	struct gp_steps seen = steps;
	/* the step that is cut may be taken for one, or not */
	if (loop->is_flight_recorder && seen.steps == left + 1) {
		seen.step++;
		seen.steps--;
	}
	if (loop->is_cut && seen.steps == left + 1)
		seen.steps--;
	bool is_right =
		is_exact(&seen, j->step + first, left, first == 0 ? j->set_up : 0, why, sizeof why);
	if (!is_right)
		print_message("  %s, seed %u, %u layers, %s stacks: %s (%s)\n", loop->name, seed,
			      j->layers, j->has_stacks ? "with" : "without", why,
			      steps.why ? steps.why : "found");
	gp_steps_free(&steps);
	gp_recording_close(r);
	free(j);
	return is_right;
}

#endif
