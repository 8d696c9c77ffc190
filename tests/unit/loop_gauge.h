/* Checks that the steps of a loop are found where they begin. */
#ifndef LOOP_GAUGE_H
#define LOOP_GAUGE_H

#include "job_loops.h"

static struct job *job_of(const struct job_loop *loop, const char *name, uint64_t seed,
			  unsigned steps)
{
	uint64_t slot_bytes = loop->slot_bytes > 0 ? loop->slot_bytes : 65536;
	struct job *j = fixture_job(loop, name, seed, loop->is_flight_recorder ? 4 : 0,
				    loop->is_flight_recorder ? slot_bytes : 0);
	job_begin(j);
	loop->run(j, steps);
	return j;
}

static int64_t at_ns(uint64_t ticks)
{
	return (int64_t)ticks - 1024;
}

/*
 * Each begin lies after the last work of the previous step, and not after the first work of its own
 * step. The first begin may be wrong by a tenth of a step: the job's setup looks like work of the
 * first step.
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

/* The oldest event in a flight recorder may lie anywhere in a step. */
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
	struct gp_steps steps;
	const struct gp_info *info;
	snprintf(name, sizeof name, "steps-%u.gpr", seed);
	struct job *j = job_of(loop, name, seed + 1, 8 + (seed * 37 % 120));
	if (loop->is_cut)
		forward(j, job_size(j), true);
	for (unsigned t = 0; t < 4; t++)
		flush(&j->w, t);
	struct gp_recording *r = fixture_read(&j->w);
	assert_int_equal(gp_recording_info(r, &info), GP_OK);
	assert_int_equal(gp_steps_find(r, &steps), GP_OK);
	size_t first = kept_steps(info, j, loop->is_flight_recorder), left = j->steps - first;
	struct gp_steps seen = steps;
	/* the cut step may be found as a step or not */
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
