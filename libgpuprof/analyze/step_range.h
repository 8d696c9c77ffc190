/*
 * Ranges that are steps by their name: those of the job ("step 12", "ProfilerStep#3"), and the
 * optimizers' own, whose end is a step's.
 */
#ifndef GP_STEP_RANGE_H
#define GP_STEP_RANGE_H

#include "../read/recording.h"
#include "../state/open_ranges.h"

#define GP_STEP_NAMES 16u /* kinds of names that are told apart */

/* Of one kind of name. */
struct gp_step_name {
	uint64_t count, open;
	uint64_t tokens, optimizers; /* that came while one was open */
	/* opened inside one; of those that held one so many ended before the next was opened */
	uint64_t nested, around, ended_around;
};

struct gp_step_ranges {
	struct gp_step_name of[GP_STEP_NAMES];
	uint64_t optimizers, open_optimizers;
	uint64_t updates; /* of those that step right behind one another one */
	bool is_behind_optimizer;
	unsigned chosen; /* 1 + kind of name; 0: none */
	bool is_unended; /* ends are missing: one inside another is a step, too */
	const struct gp_recording *recording;
	struct gp_open_ranges *ranges;
	struct gp_range_watch watch;
};

enum gp_step_range { GP_RANGE_OTHER, GP_RANGE_STEP, GP_RANGE_OPTIMIZER };

/* GP_E_MEMORY. To be closed also then. */
enum gp_status gp_step_ranges_open(struct gp_step_ranges *ranges,
				   const struct gp_recording *recording);
void gp_step_ranges_close(struct gp_step_ranges *ranges);
/* Each event, in turn; `is_token`: it is something that repeats. */
void gp_step_ranges_see(struct gp_step_ranges *ranges, uint32_t thread,
			const struct gp_record *record, bool is_token);
/*
 * After all were seen: of the names that come often enough and hold half of what the one that holds
 * most does, the first of the list. True: steps have a name.
 */
bool gp_step_ranges_choose(struct gp_step_ranges *ranges);
/* What begins with this event. */
enum gp_step_range gp_step_range_of(const struct gp_step_ranges *ranges,
				    const struct gp_recording *recording,
				    const struct gp_record *record);

#endif
