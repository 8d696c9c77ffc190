/*
 * A leak is reported only if it spans enough of the samples. So a leak that begins near the end of
 * a long run needs a scale with closer samples. Each scale has as many samples as the trend
 * accepts.
 */
#include "leak_choose.h"

#include <stdlib.h>

static size_t min_of(size_t a, size_t b)
{
	return a < b ? a : b;
}

/* The step numbers of the samples of a scale: `steps` steps, the first of which is `first`. */
static size_t list_scale(size_t first, size_t steps, size_t step[GP_TREND_SAMPLES])
{
	const size_t n = min_of(steps, GP_TREND_SAMPLES);
	for (size_t k = 0; k < n; k++)
		step[k] = first + (n > 1 ? k * (steps - 1) / (n - 1) : 0);
	return n;
}

static void choose_steps(const struct gp_step *step, size_t first, size_t steps,
			 struct gp_leak_samples *out)
{
	size_t at[GP_LEAK_SCALES][GP_TREND_SAMPLES], n[GP_LEAK_SCALES] = { 0 };
	size_t next[GP_LEAK_SCALES] = { 0 };
	/* a leak that began before the tail is long enough for the whole scale */
	const size_t part = steps / GP_LEAK_WINDOW_PARTS,
		     tail = part > GP_TREND_SAMPLES ? part : GP_TREND_SAMPLES;
	n[GP_LEAK_WHOLE] = list_scale(first, steps, at[GP_LEAK_WHOLE]);
	if (steps >= 2 * tail)
		n[GP_LEAK_TAIL] = list_scale(first + steps - tail, tail, at[GP_LEAK_TAIL]);
	for (out->samples = 0;; out->samples++) {
		size_t which = SIZE_MAX;
		for (size_t s = 0; s < GP_LEAK_SCALES; s++)
			if (next[s] < n[s])
				which = min_of(which, at[s][next[s]]);
		if (which == SIZE_MAX)
			return;
		out->at_ns[out->samples] = step[which].begin_ns;
		out->at[out->samples] = (double)which;
		for (size_t s = 0; s < GP_LEAK_SCALES; s++) {
			if (next[s] == n[s] || at[s][next[s]] != which)
				continue;
			out->scale[s].sample[next[s]++] = out->samples;
			out->scale[s].samples = next[s];
		}
	}
}

/* Leaves out the last window: at its end all memory may be released. */
static void choose_windows(struct gp_leaks *leaks, struct gp_leak_samples *out)
{
	int64_t span_ns = leaks->to_ns - leaks->from_ns;
	if (span_ns < (int64_t)(GP_TREND_SAMPLES + 1))
		return;
	leaks->window_ns = span_ns / (int64_t)(GP_TREND_SAMPLES + 1);
	for (size_t k = 0; k < GP_TREND_SAMPLES; k++) {
		out->at_ns[k] = leaks->from_ns + leaks->window_ns * (int64_t)(k + 1);
		out->at[k] = (double)k;
		out->scale[GP_LEAK_WHOLE].sample[k] = k;
	}
	out->samples = out->scale[GP_LEAK_WHOLE].samples = GP_TREND_SAMPLES;
}

void gp_leak_choose(const struct gp_info *info, int64_t from_ns, int64_t to_ns,
		    struct gp_leaks *out, struct gp_leak_samples *samples)
{
	int64_t kept_ns = (int64_t)info->kept_from_ns, end_ns = (int64_t)info->duration_ns;
	out->from_ns = from_ns > kept_ns ? from_ns : kept_ns;
	out->to_ns = to_ns < end_ns ? to_ns : end_ns;
	size_t first = out->steps.warmup, last;
	while (first < out->steps.steps && out->steps.step[first].begin_ns < out->from_ns)
		first++;
	for (last = first; last < out->steps.steps; last++)
		/* "step:N" is just before the first event of the step */
		if (out->steps.step[last].begin_ns - 1 > out->to_ns)
			break;
	out->usable_steps = last - first;
	if (last - first >= GP_TREND_SAMPLES_MIN)
		choose_steps(out->steps.step, first, last - first, samples);
	else
		choose_windows(out, samples);
}

enum gp_status gp_leak_list_turns(const struct gp_leaks *leaks, struct gp_leak_turns *out)
{
	out->from_ns = leaks->from_ns;
	out->turns = leaks->window_ns != 0 ? GP_TREND_SAMPLES + 1 : leaks->steps.steps;
	out->begin_ns = calloc(out->turns + 1, sizeof *out->begin_ns);
	if (out->begin_ns == NULL)
		return GP_E_MEMORY;
	for (size_t k = 0; k < out->turns; k++)
		out->begin_ns[k] = leaks->window_ns != 0 ?
					   leaks->from_ns + leaks->window_ns * (int64_t)k :
					   leaks->steps.step[k].begin_ns;
	return GP_OK;
}
