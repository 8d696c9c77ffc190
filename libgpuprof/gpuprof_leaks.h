/*
 * Part of gpuprof.h, which includes it: what grows from step to step and never shrinks, who
 * allocated it, and whether all that a device has live does.
 */
#ifndef GPUPROF_LEAKS_H
#define GPUPROF_LEAKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "format/event.h"
#include "format/status.h"
#include "gpuprof_stacks.h"
#include "gpuprof_steps.h"

struct gp_range_path;
struct gp_range_paths;
struct gp_recording;

#define GP_LEAK_EXAMPLES 3u /* capacity */
#define GP_LEAK_PARTS 3u    /* capacity */

/* What a leak is the growth of: one kind of memory of one device, */
enum gp_leak_by {
	GP_LEAK_BY_STACK, /* and of one stack; */
	/* or of many, each of which has too little of it to be told alone: with the same */
	GP_LEAK_BY_LINE,  /* line of the user; */
	GP_LEAK_BY_FRAME, /* innermost Python frame, else autograd node or operator; */
	GP_LEAK_BY_OWNER, /* owner; */
	GP_LEAK_BY_ALL,	  /* all of them */
	GP_LEAK_BYS,
};
extern const char *const gp_leak_by_names[GP_LEAK_BYS]; /* "stack", "line", ... */

/* Memory of one kind that grows, or objects of the driver. */
struct gp_leak {
	enum gp_leak_by by;
	size_t stacks; /* whose sum it is */
	size_t parts;  /* of them those that have most of what is kept; the first is `stack` */
	struct {
		uint32_t stack;
		int64_t at_ns;
		size_t births;
	} part[GP_LEAK_PARTS];
	/* "PyTorch", a library ("cuBLAS"), "driver pools", ...; "": not known */
	char owner[GP_NAME_MAX];
	unsigned device;
	uint8_t space;	/* enum gp_space */
	uint8_t of;	/* GP_SPACE_RESOURCE: enum gp_resource */
	bool is_object; /* not memory of a device: pinned memory, handles, streams, ... */
	uint32_t stack; /* 0: none was recorded; then all have `size` bytes */
	uint64_t size;
	int64_t at_ns; /* a moment at which it was, for gp_recording_stack */
	/* medians of the slopes between any two samples (Theil and Sen) */
	double bytes_per_step, count_per_step;
	/*
	 * When the oldest of what is left of it was made, within the span (of what is replaced: the
	 * first sample since which it has not become smaller), and in which step, or window, from 1
	 */
	int64_t since_ns;
	size_t since_step; /* step k is step[k - 1] */
	/* of the rise by chance (Mann and Kendall, one-sided), times `tests`; 1 at most */
	double p_value;
	uint64_t live_bytes, live_count; /* at the last sample */
	/* kept since the sample behind which it was found; of so many spans so many had some */
	size_t births, spans, born_spans;
	/*
	 * A request failed, or the recording ends, in what may be one forward pass: no backward
	 * pass came since it began, and its steps are inferred
	 */
	bool may_be_activations;
	bool is_steady;	  /* its later half alone grows, too: a queue that just got full does not */
	bool is_replaced; /* as many all the time, each time by larger ones: count_per_step is 0 */
	/* of what fills up: pace at the end by that at the beginning, how many there are then */
	double pace, expected_count;
	/* of the device at this rate, and at the pace of the steps; -1: unknown */
	double steps_until_full, ns_until_full;
	/*
	 * the innermost in which all that is left since then was allocated, names that count up
	 * folded; NULL: there is none, or the recording has no ranges
	 */
	const struct gp_range_path *range;
	size_t examples; /* the newest ones */
	struct {
		uint64_t address, bytes;
		int64_t at_ns;
	} example[GP_LEAK_EXAMPLES];
};

/* Memory of one stack, or objects, live at one of the samples at least. */
struct gp_leak_seen {
	unsigned device;
	uint8_t space;
	uint32_t stack; /* 0: none was recorded */
	int64_t at_ns;	/* for gp_recording_stack */
};

struct gp_leaks {
	/* where samples were taken: at begins of steps; steps.why: in windows of time instead */
	struct gp_steps steps;
	size_t usable_steps; /* of them: in the span, behind the warm-up */
	int64_t window_ns;   /* 0: steps */
	int64_t from_ns, to_ns;
	size_t samples;		   /* too few to tell anything: 0 */
	int64_t first_ns, last_ns; /* of them */
	size_t stacks;		   /* and kinds that were looked at */
	size_t tests; /* those, and sums of several; twice, where the tail is looked at, too */
	bool is_cut;  /* there are more than were looked at */
	/* with so many samples what each step leaves would be found among so many tests */
	size_t samples_least;
	/* Samples are at steps, and not fewer: else that there is no leak means nothing. */
	bool can_tell;
	/*
	 * some of what has a stack grows, but as much of what has none went away, in whose place it
	 * may have come: it is not told as a leak
	 */
	bool may_replace;
	/* if can_tell, then of what begins by that step; of what begins later it means nothing */
	size_t told_to_step;
	size_t activations; /* growth in one forward pass, whose backward frees it: no leaks */
	size_t leaks, fillings;
	struct gp_leak *leak; /* memory first, then objects; most bytes a step first */
	/* likewise: what grows, but slows down as a cache that fills up; and is far from full */
	struct gp_leak *filling;
	struct gp_range_paths *ranges; /* of them; NULL: the recording has none */
	/* at the last sample what the device and the framework's reserve can still serve */
	uint64_t free_bytes[GP_DEVICES]; /* UINT64_MAX: unknown */
	double step_ns; /* with all that lies between two steps: evaluations, checkpoints */
	size_t seens;
	struct gp_leak_seen *seen; /* all stacks that were looked at */
};
/*
 * Looks for what grows between from_ns and to_ns (INT64_MIN, INT64_MAX: all). What saturates, what
 * comes and goes, what is made once, and what the framework keeps in reserve is none. Steps are
 * found first; one more replay; memory by different stacks. Free with gp_leaks_free.
 */
enum gp_status gp_leaks_build(struct gp_recording *recording, int64_t from_ns, int64_t to_ns,
			      struct gp_leaks *out);
void gp_leaks_free(struct gp_leaks *leaks);
/*
 * It is not a queue or cache that still fills: its later half alone grows, too, and at least
 * GP_GROWTH_STEPS_LEAST steps were looked at. Nor is it activations of one forward pass.
 */
bool gp_leak_is_certain(const struct gp_leaks *leaks, const struct gp_leak *leak);
/* What a person calls one of it; an `s` behind it makes many. */
const char *gp_leak_kind(const struct gp_leak *leak);

/* ---- growth of a device ---- */

#define GP_GROWTH_STEPS_LEAST 24u /* behind the warm-up: the later half of them is judged */

/* The first rule that holds for live bytes of a device where steps begin. */
enum gp_growth_rule {
	GP_GROWTH_WITHIN,  /* the slope does not exceed the limit */
	GP_GROWTH_SWINGS,  /* the rise is not significant */
	GP_GROWTH_STOPS,   /* the slope of the last third is below 40% of the whole slope */
	GP_GROWTH_RETURNS, /* before the lowest sample half of the rise was there already */
	GP_GROWTH_SLOWS,   /* it slows down as a cache that fills */
	GP_GROWTH_EXCEEDS, /* none of these */
};
/* Whether live bytes of a device where steps begin grow by more than a limit, after warm-up. */
struct gp_growth_device {
	unsigned device;
	enum gp_curve of;      /* what the framework allocated there, else driver memory */
	double bytes_per_step; /* the median of all slopes between two of the steps */
	enum gp_growth_rule rule;
};
struct gp_growth {
	const char *why; /* it is not known, a text that holds for ever; NULL: it is */
	size_t steps;	 /* of the recording */
	size_t warm;	 /* of them behind the warm-up */
	size_t first;	 /* from this one on (the first is 1) to the last: their later half */
	int64_t from_ns, to_ns; /* where these two begin */
	size_t devices;		/* that had any memory by then */
	struct gp_growth_device device[GP_DEVICES];
};
/*
 * `limit` in bytes a step. A recording without steps is no failure: see why. `leaks` is what
 * gp_leaks_build makes of the whole recording, in the same replays, and freed likewise.
 */
enum gp_status gp_growth_find(struct gp_recording *recording, double limit, struct gp_leaks *leaks,
			      struct gp_growth *out);

#endif
