/* Where a step begins, or ends: the moment, and what had come by then. */
#ifndef GP_STEP_PLACE_H
#define GP_STEP_PLACE_H

#include <stddef.h>
#include <stdint.h>

struct gp_step_place {
	int64_t at_ns;
	uint64_t token, launches, live_bytes; /* tokens: see step_token.h */
};

struct gp_step_cut {
	struct gp_step_place begin, end;
};

struct gp_step_cuts {
	struct gp_step_cut *cut;
	size_t cuts;
};

#endif
