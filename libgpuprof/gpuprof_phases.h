/*
 * Phases: what the job said it was doing (NVTX, PyTorch's own ranges, its engine of autograd), or
 * what its stacks show, and what memory and launches belong to it. Part of gpuprof.h.
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
	GP_PHASE_NESTED,    /* pushed and popped: a node of the tree of its thread's stack */
	GP_PHASE_STARTED,   /* ends on any thread: all that the process did meanwhile, in no sum */
	GP_PHASE_MARK,	    /* a moment: only `calls` */
	GP_PHASE_OUTSIDE,   /* what was done in no range */
	GP_PHASE_AMBIGUOUS, /* done for one of several threads, nobody knows which */
	GP_PHASE_REST,	    /* ranges beyond GP_PHASES_MOST */
};
#define GP_PHASES_MOST 65536u
/*
 * A source that no recording has: "forward", which PyTorch opens no range for. What a thread did
 * between the end of the last data, zero_grad, optimizer or backward and its entering the engine;
 * left out where that is not certain. analyze/phases/phase_forward.h has the rules.
 */
#define GP_RANGE_DERIVED UINT32_MAX
/*
 * Nor has it this one: "data", "zero_grad", "forward", "backward", "optimizer", read from the
 * stacks of events where nobody told ranges, and then the only source. A call is a run of a
 * thread's events, from its first to its last. analyze/phases/phase_frames.h has the rules.
 */
#define GP_RANGE_FRAMES (UINT32_MAX - 1u)

/*
 * All calls of one name (domain, source) at one place of the tree, on all threads; with what was
 * done inside its children. Times are of the calls, clipped to the span; a call that is still open
 * at its end counts up to there.
 */
struct gp_phase {
	const char *name;   /* "": it has an empty one; NULL: not known, or no range */
	const char *domain; /* NULL: the default one */
	unsigned source; /* enum gp_range_source, GP_RANGE_DERIVED, GP_RANGE_FRAMES; 0: no range */
	enum gp_phase_style style;
	unsigned depth;	 /* 0: in no other */
	size_t children; /* right below it; they follow, each with its own */
	/* that are one here, with # for their numbers; 0: no range */
	uint64_t names;
	uint64_t calls;
	uint64_t open; /* of them: at the end of the span */
	uint64_t time_ns;
	uint64_t steady_calls;		/* whose middle does not lie before `warm_ns` */
	uint64_t mean_ns, deviation_ns; /* of those; 0: there are none */
	/* of the curve `of`: what came, what went, by whomever it was allocated */
	uint64_t allocated_bytes, freed_bytes;
	/* allocated in a call and still live when that call ended, all calls added up */
	uint64_t retained_bytes;
	/*
	 * The curve's highest value while a call was open. OUTSIDE: while no nested range was, and
	 * just before and after what was done there meanwhile; AMBIGUOUS: the latter, and those of
	 * ranges in it.
	 */
	uint64_t peak_bytes;
	uint64_t launches, captured_launches, graph_launches; /* as gp_launched_as counts them */
};

struct gp_phases {
	enum gp_curve of;
	/* by first appearance, parents first; OUTSIDE, AMBIGUOUS, REST last, where they are */
	size_t phases;
	struct gp_phase *phase;
	uint64_t ranges; /* calls that were seen */
	uint64_t marks;	 /* that were met; in no other figure of the whole */
	uint64_t launches, captured_launches, graph_launches; /* of the span and the device */
	uint64_t forwards;				      /* calls that were derived */
	/* of the whole recording: backwards before which the job names a forward, nothing is
	 * launched, it is not clear what is the forward */
	uint64_t forwards_named, forwards_none, forwards_unclear;
	/* of the whole recording, by frames: events whose stacks show a phase, none, cannot tell */
	bool is_by_frames;
	uint64_t frames_shown, frames_none, frames_unclear;
	uint64_t bare_launches; /* without a stack: inside a call or nowhere */
	uint64_t unbalanced;	/* ends without a beginning */
	uint64_t unseen;	/* ranges whose end, or whose beginning, is missing */
	uint64_t unkept;	/* of more threads, or more started at once, than are followed */
	char **folded;		/* texts of names that count up */
	size_t foldeds;
};

struct gp_phases_asked {
	unsigned device; /* GP_DEVICE_UNKNOWN: all of them, curves added up */
	/* GP_CURVE_ALLOCATED or GP_CURVE_DRIVER; GP_CURVES: the former where there are blocks */
	enum gp_curve of;
	int64_t from_ns, to_ns;
	int64_t warm_ns; /* the end of the warm-up, which is in no mean; 0: there is none */
	/*
	 * A thread's work belongs to its own ranges alone. Else what a worker of autograd does with
	 * no range open belongs to the range of the one thread that is inside the engine.
	 */
	bool is_own_thread;
	bool is_recorded_only; /* nothing is derived, or read from frames */
	bool is_by_frames;     /* read from frames also where ranges were told, and not by these */
	/*
	 * Siblings whose names differ in numbers alone, and that come no more than twice each, are
	 * one where there are more than so many; 0: never.
	 */
	uint64_t fold;
};

/* Two replays. Free with gp_phases_free, also after a failure. GP_E_MEMORY. */
enum gp_status gp_phases_build(struct gp_recording *recording, const struct gp_phases_asked *asked,
			       struct gp_phases *out);
void gp_phases_free(struct gp_phases *phases);

enum gp_phases_by {
	GP_PHASES_BY_NOTHING, /* nobody told a range, and there are no stacks: not known */
	GP_PHASES_BY_RANGES,
	GP_PHASES_BY_FRAMES, /* stacks are all that there is, or all but backwards of an engine */
};
/* What says of a recording's memory in which phase it was. Different ones cannot be compared. */
enum gp_phases_by gp_phases_by(const struct gp_info *info);
/* "nvtx", "torch", "engine", "control", "derived", "frames"; NULL: no such source. */
const char *gp_range_source_name(unsigned source);

#endif
