/* The single operations, waits and gaps of gp_waits_build, for a program that draws them. */
#ifndef GP_WAITS_OBSERVE_H
#define GP_WAITS_OBSERVE_H

#include "../observe.h"
#include "gpu_gaps.h"

struct gp_waits_observer {
	void *context;
	/* First: all operations, with the ranges of their launches. A failure ends the replays. */
	enum gp_status (*operations)(void *context, struct gp_gpu *gpu);
	/* A thread was blocked for `ns` until `at_ns`. Of `row`, reason and stack are set. */
	void (*wait)(void *context, const struct gp_wait_row *row, uint32_t thread, int64_t at_ns,
		     int64_t ns);
	/*
	 * Last: a part of `ns` of a gap, as gp_gpu_gaps_explain has it. The parts of one gap follow
	 * each other. `row`: of GP_GPU_GAP_TO_PLACE; else NULL.
	 */
	void (*gap)(void *context, const struct gp_gpu_gap *gap, int64_t ns,
		    enum gp_gpu_gap_due due, const struct gp_wait_row *row);
};

/* gp_waits_build, which `observer` sees; NULL: none does. */
enum gp_status gp_waits_observe(struct gp_recording *recording, int64_t from_ns, int64_t to_ns,
				const struct gp_waits_observer *observer, struct gp_waits *out);
/*
 * gp_waits_build of a whole recording, for a replay with other analyses. Free the analysis's
 * context afterwards, also after a failure. GP_E_MEMORY.
 */
enum gp_status gp_waits_analysis(struct gp_recording *recording, struct gp_waits *out,
				 struct gp_analysis *analysis);

#endif
