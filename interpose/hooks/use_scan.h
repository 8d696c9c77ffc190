/*
 * The memory that a launch, a copy or a fill uses. Recorded as USE events of up to four addresses,
 * only with GPUPROF_TRACK_ACCESS. Costs a launch one load and one branch when it is off.
 */
#ifndef GP_USE_SCAN_H
#define GP_USE_SCAN_H

#include "deferred_call.h"
#include "use_layout.h"
#include "use_map.h"

/* For gp_recorder_started: no scan happens before it. */
void gp_uses_restart(void);

/* How a launch passes its parameters. */
struct gp_use_source {
	const struct gp_use_layout *layout; /* layout for `parameters` */
	void *const *parameters;
	const unsigned char *buffer; /* or all of them in one buffer, from `extra` */
	size_t buffer_bytes;
};

/*
 * False: the parameters cannot be scanned. Call it after the job's call succeeded, with no record
 * reserved, because it may call the driver. Commits no record.
 */
bool gp_use_source_find(struct gp_use_source *out, uint64_t function, void *const *parameters,
			void *const *extra);
/* After its LAUNCH was committed. */
void gp_uses_of_launch(const struct gp_use_source *source, uint64_t time, unsigned device);

/* After a successful call; 0: no address. */
GP_COLD void gp_uses_of_copy(enum gp_use_what what, uint64_t to, uint64_t from);

#endif
