/*
 * A callback at each moment of gp_peak_build, while its replay is there: one replay serves all
 * curves of all devices.
 */
#ifndef GP_PEAK_LOOK_H
#define GP_PEAK_LOOK_H

#include "../../read/file/recording.h"

struct gp_peak_look {
	/*
	 * called once for each curve; again from the start if the owner overwrote a ring meanwhile
	 */
	enum gp_status (*see)(void *context, struct gp_recording *recording,
			      const struct gp_holders *holders);
	void *context;
};

/* As gp_peak_build_with. `look` NULL: none. */
enum gp_status gp_peak_build_looking(struct gp_recording *recording, enum gp_moment moment,
				     int64_t at_ns, unsigned with, const struct gp_peak_look *look,
				     struct gp_peak *out);

#endif
