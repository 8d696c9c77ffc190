/* CUPTI's clock and the recording's: GPU_CLOCK pairs, and linear interpolation between them. */
#ifndef GP_GPU_CLOCK_H
#define GP_GPU_CLOCK_H

#include "../../read/file/recording.h"

struct gp_gpu_clock_pair {
	uint64_t gpu_ns;
	int64_t at_ns;
};
struct gp_gpu_clock {
	struct gp_gpu_clock_pair *pair;
	size_t pairs, room;
	int64_t within_ns; /* largest of the pairs; -1: no pair */
};

/* Adds a GPU_CLOCK. Of too many, the newest replaces the last one. False: out of memory. */
bool gp_gpu_clock_add(struct gp_gpu_clock *clock, const struct gp_tick *tick,
		      const struct gp_record *r);
/* Call it before gp_gpu_clock_ns: sorts the pairs, and drops those that contradict earlier ones. */
void gp_gpu_clock_settle(struct gp_gpu_clock *clock);
/* INT64_MIN: no pair. Outside of the pairs both clocks have the same rate. */
int64_t gp_gpu_clock_ns(const struct gp_gpu_clock *clock, uint64_t gpu_ns);
void gp_gpu_clock_release(struct gp_gpu_clock *clock);

#endif
