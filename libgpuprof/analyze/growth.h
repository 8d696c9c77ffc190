/*
 * What each device has live where steps begin, taken in a replay that somebody else makes, and
 * whether that grows.
 */
#ifndef GP_ANALYZE_GROWTH_H
#define GP_ANALYZE_GROWTH_H

#include "../gpuprof.h"

struct gp_growth_samples;

struct gp_growth_samples *gp_growth_samples_open(void); /* NULL: no memory */
void gp_growth_samples_close(struct gp_growth_samples *samples);
/* Anew: the steps that are judged, or why none is. */
void gp_growth_choose(struct gp_growth_samples *samples, const struct gp_steps *steps,
		      struct gp_growth *out);
/* False: it has all. */
bool gp_growth_waits(const struct gp_growth_samples *samples);
/* Before what happens at that moment; INT64_MAX: nothing more does. */
void gp_growth_see(struct gp_growth_samples *samples, const struct gp_recording *recording,
		   int64_t at_ns);
enum gp_status gp_growth_end(const struct gp_growth_samples *samples, double limit,
			     struct gp_growth *out);

#endif
