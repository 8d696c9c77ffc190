/*
 * Part of gpuprof.h, which includes it: the memory of a job that is recorded now. A watch begins at
 * the newest checkpoint of its recording, and each refresh reads only what was written since. The
 * job is neither woken nor slowed. Moments (`*_ns`) count from start_unix_ns.
 */
#ifndef GPUPROF_WATCH_H
#define GPUPROF_WATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "format/event.h"
#include "format/status.h"
#include "gpuprof_stacks.h"

struct gp_curves;
struct gp_recording;
struct gp_watch;

/*
 * `recording` belongs to the caller, and serves nothing else until the watch is closed. It may also
 * be finished: then the first refresh reads up to its end. GP_E_MEMORY.
 */
enum gp_status gp_watch_open(struct gp_recording *recording, struct gp_watch **out);
void gp_watch_close(struct gp_watch *watch);
/*
 * Continues with another handle of the same recording, which must be open while the former one is.
 * For the end of a job: a new handle also reads what its rings left. Marks stay.
 */
void gp_watch_continue(struct gp_watch *watch, struct gp_recording *recording);

/*
 * Reads what was written since the last call. After that, gp_recording_info and
 * gp_recording_curves have the figures of this moment, without those of kept events. is_running
 * becomes false when the job ends. A refresh reads all events of an interval, so call it each few
 * seconds at least. GP_E_MEMORY, GP_E_DAMAGED.
 */
enum gp_status gp_watch_refresh(struct gp_watch *watch);

/*
 * Curves of the host at this moment, by enum gp_host_curve in place of a device's. False: no host
 * memory was pinned.
 */
bool gp_watch_host(const struct gp_watch *watch, struct gp_curves *out);
/*
 * Steps a second: updates of parameters by PyTorch's optimizers, or ranges of gp_steps_name, of the
 * last 10 s or of the last two. Falls while the next one is late. Negative: unknown, the job ended,
 * or fewer than three were seen.
 */
double gp_watch_steps(const struct gp_watch *watch);

/* Memory of one key, now and at the mark. */
struct gp_watch_row {
	const char *key; /* lives as long as the watch */
	bool is_rest;	 /* without a stack; the key is the reason */
	uint64_t bytes, count, marked_bytes, marked_count;
};
struct gp_watch_rows {
	enum gp_curve of; /* ALLOCATED; without blocks of a framework DRIVER */
	int64_t at_ns;
	uint64_t bytes; /* the sum; less than the curve if some of it may be freed already */
	size_t rows;
	struct gp_watch_row *row; /* in undefined order; also rows with 0 bytes now */
};
/* Sets the mark of all devices to this moment. The first refresh sets it, too. GP_E_MEMORY. */
enum gp_status gp_watch_mark(struct gp_watch *watch);
/*
 * Adds up the live memory of a device by LINE, MODULE, OPERATOR, NODE, LIBRARY or KIND. Looks up
 * each stack once. Takes time for each live allocation. Free with gp_watch_rows_free. GP_E_MEMORY,
 * GP_E_ARGUMENT.
 */
enum gp_status gp_watch_rows_build(struct gp_watch *watch, unsigned device, enum gp_by by,
				   struct gp_watch_rows *out);
void gp_watch_rows_free(struct gp_watch_rows *rows);

#endif
