/*
 * What ranges tell of steps: those that are called so, by name and thread, and the updates of
 * parameters (step_update.h). A range whose end is missing, by an exception or a `continue`, ends
 * where the next of its name begins.
 */
#ifndef GP_STEP_RANGE_H
#define GP_STEP_RANGE_H

#include "../read/recording.h"
#include "../state/open_ranges.h"
#include "step_name.h"
#include "step_update.h"

#define GP_STEP_SERIES_MOST 256u /* a name on a thread */
#define GP_STEP_THREADS 4096u	 /* a power of two; more share what they have done */

struct gp_step_span {
	struct gp_step_place begin, end;
	uint64_t time;	    /* ticks, of its begin */
	uint64_t own;	    /* what its thread did in it */
	uint64_t backwards; /* before it */
	uint32_t series, depth;
	uint32_t up;   /* 1 + that of its series in which it lies; 0: none */
	uint32_t held; /* right inside it, of its series */
	uint32_t last; /* 1 + the last of these; 0: none */
	bool has_ended;
	bool is_sure; /* one behind it in the same range: it ended by itself */
};

struct gp_step_series {
	uint64_t kind;	 /* of its name */
	uint32_t thread; /* GP_THREAD_NONE: started ranges */
	uint32_t last;	 /* 1 + the last that lies in none of its own; 0: none */
};

struct gp_step_ranges {
	struct gp_recording *recording;
	struct gp_open_ranges *open;
	struct gp_range_watch watch;
	struct gp_step_updates updates;
	struct gp_step_span *span; /* in the order of their begins */
	size_t spans;
	struct gp_step_series series[GP_STEP_SERIES_MOST];
	uint32_t serieses;
	/* of the event under way */
	struct gp_step_progress now;
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
/* After all of them: what is open ends there. GP_E_MEMORY. */
enum gp_status gp_step_ranges_settle(struct gp_step_ranges *ranges,
				     const struct gp_step_place *end);

/* Does it begin a step, if its name is a step's? After gp_step_ranges_settle. */
static inline bool gp_step_span_counts(const struct gp_step_span *span)
{
	return span->up == 0;
}

#endif
