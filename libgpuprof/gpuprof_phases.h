/*
 * Part of gpuprof.h. Phases: the job's ranges (NVTX, PyTorch's own, its engine of autograd), or
 * what its stacks show. Attributes memory and launches to them.
 */
#ifndef GPUPROF_PHASES_H
#define GPUPROF_PHASES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "format/event.h"
#include "format/status.h"

struct gp_info;
struct gp_recording;

enum gp_phase_style {
	GP_PHASE_NESTED,    /* pushed and popped; a node of its thread's tree */
	GP_PHASE_STARTED,   /* ends on any thread: counts all of the process meanwhile; in no sum */
	GP_PHASE_MARK,	    /* a moment: only `calls` is set */
	GP_PHASE_OUTSIDE,   /* work in no range */
	GP_PHASE_AMBIGUOUS, /* work for one of several threads; it is unknown which */
	GP_PHASE_REST,	    /* ranges beyond GP_PHASES_MOST */
};
#define GP_PHASES_MOST 65536u
/*
 * A source that is not recorded: "forward", for which PyTorch opens no range. It begins after the
 * last data, zero_grad, optimizer or backward. It ends when the thread enters the engine. Uncertain
 * ones are left out. analyze/phases/phase_forward.h has the rules.
 */
#define GP_RANGE_DERIVED UINT32_MAX
/*
 * Another source that is not recorded: phases read from the stacks of events. They are "data",
 * "zero_grad", "forward", "backward" and "optimizer". Used only if no ranges were recorded; then it
 * is the only source. A call is a run of a thread's events, from its first to its last.
 * analyze/phases/phase_frames.h has the rules.
 */
#define GP_RANGE_FRAMES (UINT32_MAX - 1u)

/*
 * All calls of one name (domain, source) at one place of the tree, on all threads, with the work of
 * its children. Times are clipped to the span. A call that is still open at the end of the span
 * counts up to there.
 */
struct gp_phase {
	const char *name;   /* "": the name is empty; NULL: unknown, or no range */
	const char *domain; /* NULL: the default one */
	unsigned source; /* enum gp_range_source, GP_RANGE_DERIVED, GP_RANGE_FRAMES; 0: no range */
	enum gp_phase_style style;
	unsigned depth;	 /* 0: outermost */
	size_t children; /* direct children; they follow, each with its own children */
	/* number of names joined here, with # for their numbers; 0: no range */
	uint64_t names;
	uint64_t calls;
	uint64_t open; /* calls that are open at the end of the span */
	uint64_t time_ns;
	uint64_t steady_calls;		/* calls with their middle not before `warm_ns` */
	uint64_t mean_ns, deviation_ns; /* of the steady calls; 0: there are none */
	/* of the curve `of`, in the calls; any phase may have allocated the freed bytes */
	uint64_t allocated_bytes, freed_bytes;
	/* allocated in a call and still live when that call ended, all calls added up */
	uint64_t retained_bytes;
	/*
	 * The curve's highest value while a call was open. OUTSIDE: while no nested range was open,
	 * and around its work while one was. AMBIGUOUS: around its work, and of ranges in it.
	 */
	uint64_t peak_bytes;
	uint64_t launches, captured_launches, graph_launches; /* as gp_launched_as counts them */
};

struct gp_phases {
	enum gp_curve of;
	/* by first appearance, parents first; then OUTSIDE, AMBIGUOUS and REST, if any */
	size_t phases;
	struct gp_phase *phase;
	uint64_t ranges; /* calls in the span */
	uint64_t marks;	 /* marks; they count in no other total */
	uint64_t launches, captured_launches, graph_launches; /* of the span and the device */
	uint64_t forwards;				      /* derived forward calls */
	/*
	 * Backwards of the whole recording: the job names their forward; no launch came before
	 * them; it is unclear what their forward is.
	 */
	uint64_t forwards_named, forwards_none, forwards_unclear;
	/* Events of the whole recording whose stacks: show a phase; show none; are unclear. */
	bool is_by_frames;
	uint64_t frames_shown, frames_none, frames_unclear;
	uint64_t bare_launches; /* without a stack: counted in the call around them, if any */
	uint64_t unbalanced;	/* ends without a start */
	uint64_t unseen;	/* ranges with a missing start or end */
	/* ranges of more threads, or more started ones at once, than can be followed */
	uint64_t unkept;
	char **folded; /* names that count up */
	size_t foldeds;
};

struct gp_phases_options {
	unsigned device; /* GP_DEVICE_UNKNOWN: all devices; the curves are added up */
	/*
	 * GP_CURVE_ALLOCATED or GP_CURVE_DRIVER; GP_CURVES: ALLOCATED if it has blocks, else DRIVER
	 */
	enum gp_curve of;
	int64_t from_ns, to_ns;
	int64_t warm_ns; /* end of the warm-up, which means exclude; 0: there is none */
	/*
	 * True: a thread's work belongs only to its own ranges. False: the work of an autograd
	 * worker without an open range belongs to the one thread that is inside the engine.
	 */
	bool is_own_thread;
	bool is_recorded_only; /* derives no forwards and reads no frames */
	bool is_by_frames;     /* uses frames instead of ranges, even if ranges were recorded */
	/*
	 * Joins siblings whose names differ only in numbers. Each must come at most twice, and
	 * there must be more than this number; 0: never.
	 */
	uint64_t fold;
};

/* Two replays. Free with gp_phases_free, also after a failure. GP_E_MEMORY. */
enum gp_status gp_phases_build(struct gp_recording *recording,
			       const struct gp_phases_options *requested, struct gp_phases *out);
void gp_phases_free(struct gp_phases *phases);

enum gp_phases_by {
	GP_PHASES_BY_NOTHING, /* no ranges were recorded and there are no stacks: unknown */
	GP_PHASES_BY_RANGES,
	/* the only evidence are stacks, or stacks and backwards of the engine */
	GP_PHASES_BY_FRAMES,
};
/* Evidence for a recording's phases. Recordings with different evidence cannot be compared. */
enum gp_phases_by gp_phases_by(const struct gp_info *info);
/* "nvtx", "torch", "engine", "control", "derived", "frames"; NULL: not a source. */
const char *gp_range_source_name(unsigned source);

#endif
