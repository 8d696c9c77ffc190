/* The calls of ranges in a replay, each as an interval of its thread, and the marks. */
#ifndef GP_RANGE_LANES_H
#define GP_RANGE_LANES_H

#include "../../read/file/recording.h"

#define GP_RANGE_LANE_STARTED GP_RANGES_DEEP /* level of ranges that may end on another thread */
#define GP_RANGE_LANE_MARK (GP_RANGES_DEEP + 1u) /* level of a mark, which ends when it begins */

struct gp_range_lane_call {
	uint32_t thread;
	uint32_t level;		       /* 0: outermost */
	uint32_t name, domain, source; /* numbers of RANGE_NAMEs; enum gp_range_source */
	int64_t begin_ns, end_ns;      /* end: of the recording if it was still open */
};
typedef void gp_range_lane_visit(void *context, const struct gp_range_lane_call *call);

/* False: no range and no mark was recorded, so a replay would find none. */
bool gp_range_lanes_has(struct gp_recording *recording);
/*
 * Calls `visit` when a call ends, and for each mark. One replay; rewinds. `end_ns`: of the
 * recording. GP_E_MEMORY.
 */
enum gp_status gp_range_lanes_visit(struct gp_recording *recording, int64_t end_ns,
				    gp_range_lane_visit *visit, void *context);
/* "domain:name", or "name" in the default domain. */
void gp_range_lane_text(struct gp_recording *recording, const struct gp_range_lane_call *call,
			char *out, size_t room);

#endif
