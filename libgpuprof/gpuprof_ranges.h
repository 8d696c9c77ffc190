/*
 * Part of gpuprof.h, which includes it: the range stack of each event. A thread's work belongs to
 * the ranges open on that thread. The work of an autograd worker without an open range belongs to
 * the one thread inside the engine. Started ranges may end on any thread and own no work. If no
 * ranges were recorded, they are read from stacks (GP_RANGE_FRAMES), as phases are.
 */
#ifndef GPUPROF_RANGES_H
#define GPUPROF_RANGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "format/event.h"
#include "format/status.h"

struct gp_recording;

enum gp_range_known {
	GP_RANGE_IN,	     /* a range */
	GP_RANGE_OUTSIDE,    /* in no range */
	GP_RANGE_AMBIGUOUS,  /* in a range of one of several threads; it is unknown which */
	GP_RANGE_BEYOND,     /* in a range beyond GP_PHASES_MOST different ones */
	GP_RANGE_UNRECORDED, /* allocated before the kept events, or the event is lost */
};
/* A range and those around it. Ranges with equal names at one place are one range. */
struct gp_range_path {
	enum gp_range_known known;
	const struct gp_range_path *up; /* the range around it; NULL: outermost */
	const char *name;		/* "": the name is empty; NULL: unknown, or no range */
	const char *domain;		/* NULL: the default domain */
	unsigned source;		/* as of struct gp_phase */
	/* set by gp_range_paths_fold: path with counting names as "step #"; NULL: not folded */
	const struct gp_range_path *folded;
};

/* One call of a range. */
struct gp_range_call {
	uint32_t up;		     /* the call around it; 0: none */
	uint32_t node;		     /* of its path, for the library */
	uint32_t thread, end_thread; /* that opened and that ended it */
	bool is_started;	     /* it owns no work, and no other call is inside it */
	int64_t begin_ns, end_ns;    /* end: of the recording if it was still open */
};

/*
 * Follows ranges during a replay. Open it after a rewind, show it each event that gp_recording_next
 * returned, and close it, also after a failure. Paths live until then. GP_E_MEMORY.
 */
struct gp_range_paths;
enum gp_status gp_range_paths_open(struct gp_recording *recording, struct gp_range_paths **out);
void gp_range_paths_close(struct gp_range_paths *paths);
void gp_range_paths_see(struct gp_range_paths *paths, uint32_t thread,
			const struct gp_record *record);
/* The range of that thread's current work. */
const struct gp_range_path *gp_range_paths_of(struct gp_range_paths *paths, uint32_t thread);
/* The range of a memory event that was shown, by its order. */
const struct gp_range_path *gp_range_paths_at(struct gp_range_paths *paths, uint64_t order);
/*
 * Call it after the replays: sets `folded` of all paths that were handed out. Each of `paths` is of
 * one recording; NULL entries are ignored. All of them together decide which names count up. Folded
 * paths live until the first of `paths` is closed or folded again. GP_E_MEMORY.
 */
enum gp_status gp_range_paths_fold(struct gp_range_paths *const *paths, size_t count);
/*
 * All calls in the order of their begins, the first at index 1: of gp_gpu.ranges, not of
 * gp_range_paths_open. gp_gpu_launch.call is an index. The second returns the number of calls
 * beyond the memory that a file of its size may take, the third the path of a call.
 */
const struct gp_range_call *gp_range_paths_calls(const struct gp_range_paths *paths, size_t *calls);
uint64_t gp_range_paths_beyond(const struct gp_range_paths *paths);
const struct gp_range_path *gp_range_paths_called(struct gp_range_paths *paths,
						  const struct gp_range_call *call);
/* GP_E_MEMORY: memory ran out, so paths are not reliable. */
enum gp_status gp_range_paths_status(const struct gp_range_paths *paths);

/*
 * "step > forward > attention", "(outside of any range)", "backward (frames)". If `room` is too
 * small, it leaves out the outermost ranges: "... > attention".
 */
void gp_range_path_text(const struct gp_range_path *path, char *out, size_t room);
/* Only the innermost range: "domain:name", ":name" in the default domain. */
void gp_range_path_own_text(const struct gp_range_path *path, char *out, size_t room);
/*
 * True if one of its ranges is called `name`, as the job named it or folded. `name` may be a shell
 * pattern, "layer*". It may include the domain, "job:forward", and the range right around it, "step
 * > data". It therefore accepts all text that gp_range_path_text writes.
 */
bool gp_range_path_has(const struct gp_range_path *path, const char *name);
/*
 * Its phase: the outermost of its ranges that is a forward, backward, optimizer, zero_grad or data
 * loader. Names or stacks show that. Else the innermost range.
 */
const struct gp_range_path *gp_range_path_phase(const struct gp_range_path *path);
/* The path for reports: folded, unless `pattern` (may be NULL) matches only the job's own name. */
const struct gp_range_path *gp_range_path_shown(const struct gp_range_path *path,
						const char *pattern);

#endif
