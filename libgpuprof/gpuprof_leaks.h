/*
 * Part of gpuprof.h, which includes it: memory that grows from step to step and never shrinks. Also
 * its stacks, and whether all live memory of a device grows.
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

/* A leak is the growth of one kind of memory of one device. */
enum gp_leak_by {
	GP_LEAK_BY_STACK, /* of one stack */
	GP_LEAK_BY_LINE,  /* of several stacks with the same line of the user */
	GP_LEAK_BYS,
};
extern const char *const gp_leak_by_names[GP_LEAK_BYS]; /* "stack", "line" */

/* Memory of one kind that grows, or objects of the driver. */
struct gp_leak {
	enum gp_leak_by by;
	size_t stacks; /* number of stacks in the sum */
	size_t parts;  /* the stacks that hold most of the kept memory; the first is `stack` */
	struct {
		uint32_t stack;
		int64_t at_ns;
		size_t births;
	} part[GP_LEAK_PARTS];
	/* "PyTorch", a library ("cuBLAS"), "driver pools", ...; "": unknown */
	char owner[GP_NAME_MAX];
	unsigned device;
	uint8_t space;	/* enum gp_space */
	uint8_t of;	/* GP_SPACE_RESOURCE: enum gp_resource */
	bool is_object; /* not device memory: pinned memory, handles, streams, ... */
	uint32_t stack; /* 0: none was recorded; then all allocations have `size` bytes */
	uint64_t size;
	int64_t at_ns; /* a moment at which this memory existed, for gp_recording_stack */
	/* medians of the slopes between any two samples (Theil and Sen) */
	double bytes_per_step, count_per_step;
	/*
	 * When the oldest remaining allocation of the span was made, and in which step or window,
	 * from 1. Of replaced memory: the first sample since which its size did not decrease.
	 */
	int64_t since_ns;
	size_t since_step; /* step k is step[k - 1] */
	/* p-value of the rise (Mann and Kendall, one-sided), times `tests`; 1 at most */
	double p_value;
	uint64_t live_bytes, live_count; /* at the last sample */
	/*
	 * births: those kept since the sample after it was found; born_spans of `spans` have some
	 */
	size_t births, spans, born_spans;
	/*
	 * Maybe activations of one forward pass, in which a request failed or the recording ends.
	 * No backward pass came since the pass began, and its steps are inferred.
	 */
	bool may_be_activations;
	/* its later half alone also grows; that of a queue that just filled up does not */
	bool is_steady;
	/* a constant number, replaced by larger ones each time: count_per_step is 0 */
	bool is_replaced;
	/* of a filling: final pace divided by initial pace; final count */
	double pace, expected_count;
	/* until the device is full, at this rate and pace of steps; -1: unknown */
	double steps_until_full, ns_until_full;
	/*
	 * The innermost range in which all that remains since then was allocated, with names that
	 * count up folded. NULL: there is none, or the recording has no ranges.
	 */
	const struct gp_range_path *range;
	size_t examples; /* the newest allocations */
	struct {
		uint64_t address, bytes;
		int64_t at_ns;
	} example[GP_LEAK_EXAMPLES];
};

/* Memory of one stack, or objects, live at one or more samples. */
struct gp_leak_seen {
	unsigned device;
	uint8_t space;
	uint32_t stack; /* 0: none was recorded */
	int64_t at_ns;	/* for gp_recording_stack */
};

struct gp_leaks {
	/* samples are at step starts; if steps.why is set, in windows of time */
	struct gp_steps steps;
	size_t usable_steps; /* steps in the span, after the warm-up */
	int64_t window_ns;   /* 0: samples are at steps */
	int64_t from_ns, to_ns;
	size_t samples;		   /* 0: too few for a verdict */
	int64_t first_ns, last_ns; /* of the samples */
	size_t stacks;		   /* and kinds that were examined */
	size_t tests; /* examined stacks and sums; twice if the tail is examined, too */
	bool is_cut;  /* not all stacks were examined */
	/* least samples that can prove growth in every step among so many tests */
	size_t samples_least;
	/*
	 * Samples are at steps and numerous enough. If false, an empty result does not prove that
	 * there is no leak.
	 */
	bool has_verdict;
	/*
	 * Some stacks grow, but as much memory without a stack disappeared, which they may replace.
	 * Not reported as a leak.
	 */
	bool may_replace;
	/* if has_verdict: only leaks that begin by this step are detectable */
	size_t detectable_to_step;
	size_t activations; /* growths in one forward pass that its backward frees: not leaks */
	size_t leaks, fillings;
	struct gp_leak *leak; /* memory first, then objects; most bytes per step first */
	/* growth that slows down like a filling cache that is far from full; sorted likewise */
	struct gp_leak *filling;
	struct gp_range_paths *ranges; /* of the leaks and fillings; NULL: the recording has none */
	/* what the device and the framework's reserve could still serve at the last sample */
	uint64_t free_bytes[GP_DEVICES]; /* UINT64_MAX: unknown */
	double step_ns; /* includes evaluations and checkpoints between two steps */
	size_t seens;
	struct gp_leak_seen *seen; /* all examined stacks */
};
/*
 * Looks for growth between from_ns and to_ns (INT64_MIN, INT64_MAX: all). These are not leaks:
 * saturating growth, fluctuation, one-time allocations, the framework's reserve. Finds steps first,
 * then takes one more replay; needs memory for each different stack. Free with gp_leaks_free.
 */
enum gp_status gp_leaks_build(struct gp_recording *recording, int64_t from_ns, int64_t to_ns,
			      struct gp_leaks *out);
void gp_leaks_free(struct gp_leaks *leaks);
/*
 * True if it is not a filling queue or cache, nor activations of one forward pass. Its later half
 * alone must grow, too, over at least GP_GROWTH_STEPS_LEAST examined steps.
 */
bool gp_leak_is_certain(const struct gp_leaks *leaks, const struct gp_leak *leak);
/* User's term for one such object; append `s` for the plural. */
const char *gp_leak_kind(const struct gp_leak *leak);

/* ---- growth of a device ---- */

#define GP_GROWTH_STEPS_LEAST 24u /* after the warm-up; the later half of them is judged */

/* The first rule that holds for a device's live bytes at step starts. */
enum gp_growth_rule {
	GP_GROWTH_WITHIN,  /* the slope does not exceed the limit */
	GP_GROWTH_SWINGS,  /* the rise is not significant */
	GP_GROWTH_STOPS,   /* the slope of the last third is below 40% of the whole slope */
	GP_GROWTH_RETURNS, /* half of the rise was present before the lowest sample */
	GP_GROWTH_SLOWS,   /* it slows down like a cache that fills */
	GP_GROWTH_EXCEEDS, /* none of these */
};
/* Whether live bytes of a device at step starts grow by more than a limit after warm-up. */
struct gp_growth_device {
	unsigned device;
	enum gp_curve of;      /* the framework's allocated bytes, else driver memory */
	double bytes_per_step; /* the median of all slopes between two of the steps */
	enum gp_growth_rule rule;
};
struct gp_growth {
	const char *why;	/* why the result is unknown, static text; NULL: it is known */
	size_t steps;		/* of the recording */
	size_t warm;		/* of these, after the warm-up */
	size_t first;		/* first judged step, from 1: the later half, up to the last step */
	int64_t from_ns, to_ns; /* starts of the first and last judged step */
	size_t devices;		/* devices with memory by then */
	struct gp_growth_device device[GP_DEVICES];
};
/*
 * `limit` in bytes per step. Succeeds also without steps: see why. `leaks` is the result of
 * gp_leaks_build for the whole recording, from the same replays. Free it with gp_leaks_free.
 */
enum gp_status gp_growth_find(struct gp_recording *recording, double limit, struct gp_leaks *leaks,
			      struct gp_growth *out);

#endif
