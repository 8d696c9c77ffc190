/*
 * Steps by ranges: those that are called steps, by name and thread, else updates of parameters
 * (step_update.h). docs/ANALYSIS.md, section 1, has the rules.
 */
#ifndef GP_STEP_RANGE_H
#define GP_STEP_RANGE_H

#include "../../read/file/recording.h"
#include "../../state/open_ranges.h"
#include "step_update.h"

#define GP_STEP_SERIES 256u   /* capacity: names on a thread */
#define GP_STEP_THREADS 4096u /* capacity: further threads share a count of their work */

struct gp_step_span {
	struct gp_step_cut cut;
	uint64_t own;	 /* what its thread did in it */
	uint32_t series; /* of its name and thread */
	uint32_t up;	 /* 1 + the innermost one of its series in which it lies; 0: none */
	bool has_ended;
};

struct gp_step_ranges {
	struct gp_recording *recording;
	const char *wanted; /* the name that the user gave; NULL: none */
	struct gp_open_ranges *open;
	struct gp_range_watch watch;
	struct gp_step_updates updates;
	struct gp_step_span *span; /* in the order of their begins */
	size_t spans;
	struct gp_step_series {
		uint64_t kind;	 /* of its name */
		uint32_t thread; /* GP_THREAD_NONE: started ranges */
	} series[GP_STEP_SERIES];
	uint32_t serieses;
	/* of the event under way */
	struct gp_step_place here;
	const struct gp_record *record;
	bool has_any, is_out_of_memory;
	uint64_t own[GP_STEP_THREADS];
};

/* After a rewind. GP_E_MEMORY. To be closed also after a failure. */
enum gp_status gp_step_ranges_open(struct gp_step_ranges *ranges, struct gp_recording *recording);
void gp_step_ranges_close(struct gp_step_ranges *ranges);
/*
 * An event that is not applied yet, and where the replay is. `work`: 0, or how many launches and
 * allocations it stands for. False: no memory.
 */
bool gp_step_ranges_see(struct gp_step_ranges *ranges, uint32_t thread,
			const struct gp_record *record, const struct gp_step_place *here,
			unsigned work);
/*
 * After all of them; the recording ends at `end`. Steps by names, and by updates: none, or one of
 * them. `is_cut`: what came before is no longer kept. Free both. GP_E_MEMORY.
 */
enum gp_status gp_step_ranges_cut(const struct gp_step_ranges *ranges,
				  const struct gp_step_place *end, bool is_cut,
				  struct gp_step_cuts *named, struct gp_step_cuts *updates);

#endif
