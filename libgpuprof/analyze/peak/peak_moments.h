/*
 * The moments that `peak` shows, as numbers of events. These are the highest of each curve and the
 * first OOM, both by device, and the last event not later than a time.
 */
#ifndef GP_PEAK_MOMENTS_H
#define GP_PEAK_MOMENTS_H

#include "../../read/file/recording.h"

#define GP_NO_EVENT UINT64_MAX

struct gp_peak_moments {
	struct gp_top_of_curve {
		uint64_t bytes;
		uint64_t event; /* events applied until then */
		int64_t at_ns;
	} peak[GP_DEVICES][GP_CURVES], host;
	/* the first OOM of each device */
	struct gp_first_oom {
		uint64_t event; /* GP_NO_EVENT: none */
		int64_t at_ns;
	} oom[GP_DEVICES];
	uint64_t last; /* event: the last one not later than until_ns */
	uint64_t moved_peak[GP_DEVICES][GP_CURVES]; /* since the start, at the replay's end */
	int64_t moved_peak_ns[GP_DEVICES][GP_CURVES];
	uint64_t moved_host; /* the same for pinned memory */
	int64_t moved_host_ns;
};

/* One replay of the kept part, from `kept_from_ns` on. `ooms` NULL: not needed. */
enum gp_status gp_peak_moments_find(struct gp_recording *recording, int64_t kept_from_ns,
				    int64_t until_ns, const struct gp_ooms *ooms,
				    struct gp_peak_moments *out);

#endif
