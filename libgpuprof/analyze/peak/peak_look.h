/*
 * A look at each moment that gp_peak_build takes, while its replay stands there: of all curves of
 * all devices in one replay.
 */
#ifndef GP_PEAK_LOOK_H
#define GP_PEAK_LOOK_H

#include "../../read/file/recording.h"

struct gp_peak_look {
	/* once for each curve; again from the start, where a ring was written over meanwhile */
	enum gp_status (*see)(void *context, struct gp_recording *recording,
			      const struct gp_holders *holders);
	void *context;
};

/* As gp_peak_build and gp_peak_build_ranges. `look` NULL: none. */
enum gp_status gp_peak_build_looking(struct gp_recording *recording, enum gp_moment moment,
				     int64_t at_ns, bool has_ranges,
				     const struct gp_peak_look *look, struct gp_peak *out);

#endif
