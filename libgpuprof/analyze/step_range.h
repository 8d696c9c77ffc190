/*
 * Ranges that are steps by their name: those of the job ("step 12", "ProfilerStep#3"), and the
 * optimizers' own, whose end is a step's.
 */
#ifndef GP_STEP_RANGE_H
#define GP_STEP_RANGE_H

#include "../read/recording.h"

#define GP_STEP_NAMES 16u /* kinds of names that are told apart */

struct gp_step_ranges {
	uint64_t count[GP_STEP_NAMES];
	uint64_t optimizers;
	unsigned chosen; /* 1 + kind of name; 0: none */
};

enum gp_step_range { GP_RANGE_OTHER, GP_RANGE_STEP, GP_RANGE_OPTIMIZER };

/* Counts a range that begins; other events are passed over. */
void gp_step_ranges_see(struct gp_step_ranges *ranges, const struct gp_recording *recording,
			const struct gp_record *record);
/* After all were seen. True: steps have a name. */
bool gp_step_ranges_choose(struct gp_step_ranges *ranges);
/* What begins with this event. */
enum gp_step_range gp_step_range_of(const struct gp_step_ranges *ranges,
				    const struct gp_recording *recording,
				    const struct gp_record *record);

#endif
