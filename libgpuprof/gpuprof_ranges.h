/*
 * Part of gpuprof.h, which includes it: the range stack of each event. What a thread does belongs
 * to the ranges that are open on it; what a worker of autograd does with none open to those of the
 * one thread that is inside the engine. Started ranges, which may end on any thread, are in none.
 * Where nobody told ranges they are read from stacks (GP_RANGE_FRAMES), as phases are.
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
	GP_RANGE_IN,	    /* a range */
	GP_RANGE_OUTSIDE,   /* in no range */
	GP_RANGE_AMBIGUOUS, /* in that of one of several threads, nobody knows which */
	GP_RANGE_BEYOND,    /* in one beyond GP_PHASES_MOST different ones */
	GP_RANGE_UNTOLD,    /* allocated before what is kept, or the event is lost */
};
/* A range and what it lies in. Ranges that are called the same at the same place are one. */
struct gp_range_path {
	enum gp_range_known known;
	const struct gp_range_path *up; /* NULL: in no other */
	const char *name;		/* "": it has an empty one; NULL: not known, or no range */
	const char *domain;		/* NULL: the default one */
	unsigned source;		/* as of struct gp_phase */
	/* by gp_range_paths_fold: the same with names that count up, "step #"; NULL: not folded */
	const struct gp_range_path *folded;
};

/*
 * Follows ranges along a replay. To be opened after a rewind, shown each event once it is applied
 * (gp_recording_next returned it), and closed also after a failure. Paths live until then.
 * GP_E_MEMORY.
 */
struct gp_range_paths;
enum gp_status gp_range_paths_open(struct gp_recording *recording, struct gp_range_paths **out);
void gp_range_paths_close(struct gp_range_paths *paths);
void gp_range_paths_see(struct gp_range_paths *paths, uint32_t thread,
			const struct gp_record *record);
/* Of what that thread does now. */
const struct gp_range_path *gp_range_paths_of(struct gp_range_paths *paths, uint32_t thread);
/* Of the memory event with that order, which was seen. */
const struct gp_range_path *gp_range_paths_at(struct gp_range_paths *paths, uint64_t order);
/*
 * At the end of the replays: fills in `folded` of the paths that were handed out. What counts up is
 * decided for all of these together, which are of one recording each; NULL ones are passed over.
 * Folded paths live until the first of them is closed, or folded again. GP_E_MEMORY.
 */
enum gp_status gp_range_paths_fold(struct gp_range_paths *const *paths, size_t count);
/* GP_E_MEMORY: something could not be kept, and paths are not what they should be. */
enum gp_status gp_range_paths_status(const struct gp_range_paths *paths);

/*
 * "step > forward > attention", "(outside of any range)", "backward (frames)"; of what has no room
 * the outermost ranges are left out: "... > attention".
 */
void gp_range_path_text(const struct gp_range_path *path, char *out, size_t room);
/*
 * One of its ranges is called `name`, as the job told it or folded. It may be a pattern of the
 * shell, "layer*"; may name the domain, "job:forward"; and what lies right around it, "step >
 * data", so that all that gp_range_path_text writes is a name.
 */
bool gp_range_path_has(const struct gp_range_path *path, const char *name);
/*
 * The phase that it lies in: the outermost of its ranges that is a forward, a backward, an
 * optimizer, a zero_grad or a data loader, by name or as stacks show it; else the range itself.
 */
const struct gp_range_path *gp_range_path_phase(const struct gp_range_path *path);
/*
 * As reports show it: folded, unless `asked`, which may be NULL, is a name of it alone as the job
 * told it.
 */
const struct gp_range_path *gp_range_path_shown(const struct gp_range_path *path,
						const char *asked);

#endif
