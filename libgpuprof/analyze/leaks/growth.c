/* Uses the later half, because memory that only fills up in the first steps is constant there. */
#include "growth.h"

static void growth_judge_device(const struct gp_leak_samples *samples, size_t first, double limit,
				unsigned device, struct gp_growth *out)
{
	const struct gp_leak_scale *whole = &samples->scale[GP_LEAK_WHOLE];
	double at[GP_TREND_SAMPLES], bytes[GP_TREND_SAMPLES];
	const size_t n = whole->samples - first;
	const enum gp_curve of = samples->has_curve[device][GP_CURVE_ALLOCATED] ?
					 GP_CURVE_ALLOCATED :
					 GP_CURVE_DRIVER;
	if (!samples->has_curve[device][of])
		return;
	for (size_t k = 0; k < n; k++) {
		const size_t sample = whole->sample[first + k];
		at[k] = samples->at[sample];
		bytes[k] = samples->curve[device][of][sample];
	}
	struct gp_growth_device *g = &out->device[out->devices++];
	*g = (struct gp_growth_device){ .device = device, .of = of };
	g->rule = gp_trend_judge(at, bytes, n, limit, &g->bytes_per_step);
}

void gp_growth_judge(const struct gp_leak_samples *samples, const struct gp_leaks *leaks,
		     double limit, struct gp_growth *out)
{
	const struct gp_leak_scale *whole = &samples->scale[GP_LEAK_WHOLE];
	size_t first = 0;
	*out = (struct gp_growth){ .steps = leaks->steps.steps,
				   .warm = leaks->usable_steps,
				   .why = leaks->steps.why };
	if (out->why == NULL && out->warm < GP_GROWTH_STEPS_LEAST)
		out->why = "too few steps after warm-up";
	if (out->why != NULL)
		return;
	while (samples->at[whole->sample[first]] < (double)(out->steps - out->warm / 2))
		first++;
	out->first = (size_t)samples->at[whole->sample[first]] + 1;
	out->from_ns = samples->at_ns[whole->sample[first]];
	out->to_ns = leaks->last_ns;
	for (unsigned device = 0; device < GP_DEVICES; device++)
		growth_judge_device(samples, first, limit, device, out);
	if (out->devices == 0)
		out->why = "no memory was recorded";
}
