/*
 * Part of gpuprof.h, which includes it: what one recording has that another one has not. Memory of
 * several recordings, or of several moments of one, by stacks that read alike, whatever their
 * addresses and ids are; and the figures that runs are compared by.
 */
#ifndef GPUPROF_DIFF_H
#define GPUPROF_DIFF_H

#include "gpuprof_frag.h"

struct gp_grouping;
struct gp_peak;
struct gp_range_path;
struct gp_use;

/* What is compared: the first side is what the others are held against. */
struct gp_diff_side {
	struct gp_recording *recording;
	size_t uses;
	const struct gp_use *use;
};
struct gp_diff_how {
	const struct gp_grouping *grouping;
	bool ignores_lines; /* functions and files alone: the source was edited */
	/*
	 * By stack: of what only some sides have, groups are one whose innermost frames agree up to
	 * the user's line at least, that with most such frames first, then that with the nearest
	 * bytes. Their callers were renamed. What is like others but for line numbers is left out.
	 */
	bool matches_inner;
};
struct gp_diff_part {
	uint64_t bytes, count;
	size_t stacks; /* different ids; 0: the side has none of it */
};
struct gp_diff_group {
	char *key;	/* a text; no two groups have the same */
	size_t shown;	/* the last side that has it: key and stack are of this one */
	uint32_t stack; /* there, of its use with most bytes; 0: none */
	int64_t at_ns;	/* for gp_recording_stack */
	const struct gp_range_path *range; /* of that use; NULL: nobody asked, or none is known */
	bool is_rest;	   /* what the filter left out, or has no stack: key says why */
	bool is_moved;	   /* another group, of the other sides, is like it but for line numbers */
	bool is_renamed;   /* its callers are not the same on all sides */
	uint64_t greatest; /* change of bytes to the first side, without its sign */
	struct gp_diff_part *part; /* one a side */
};
struct gp_diff {
	size_t sides, groups, matched; /* matched: uses that the filter let through */
	size_t changed;		       /* of the groups: the first ones */
	size_t moved, renamed;
	struct gp_diff_group *group; /* greatest change first, then the most bytes */
};
/*
 * Adds the sides' uses up by what is read of their stacks. By stack: frames alike are functions,
 * lines and files of the same name (below their package, where they are of one), native ones
 * functions in modules of the same name, without their version. Symbols are looked up. Free with
 * gp_diff_free.
 */
enum gp_status gp_diff_build(const struct gp_diff_side *side, size_t sides,
			     const struct gp_diff_how *how, struct gp_diff *out);
void gp_diff_free(struct gp_diff *diff);

/* ---- figures ---- */

/* One device of a recording at its peaks, or at one moment. */
struct gp_figures {
	unsigned device;
	uint64_t bytes[GP_CURVES]; /* at their peaks since the start, or at the moment */
	int64_t at_ns[GP_CURVES];
	bool is_at_least;     /* events are missing: what there was may have been more */
	bool has_framework;   /* it reserved something */
	uint64_t total_bytes; /* of the device; 0 unknown */
	/*
	 * what the whole device had in use when the job held most of the driver; UNKNOWN: nobody
	 * asked the driver
	 */
	uint64_t used_bytes;
	/* where most was reserved, or at the moment; not known: has_frag is false */
	bool has_frag;
	uint64_t largest_request_bytes; /* that the cache served */
	uint64_t unused_bytes;		/* reserved there and not allocated */
	uint64_t cause_bytes[GP_CAUSES];
	uint64_t ooms;	       /* as gp_ooms_build counts them */
	uint64_t failed_calls; /* CUDA calls that failed for lack of memory */
};
/*
 * By how many bytes the reserved peak exceeds the allocated peak, which is mostly another moment;
 * of a moment: the unused bytes.
 */
uint64_t gp_figures_excess(const struct gp_figures *figures);
struct gp_figure_list {
	size_t devices;
	struct gp_figures *device; /* by number */
};
/*
 * At the peaks, or at one moment. Builds `peak` in the same replay, as gp_peak_build_ranges does
 * or, without ranges, gp_peak_build. Free with gp_figures_free and gp_peak_free.
 */
enum gp_status gp_figures_build(struct gp_recording *recording, bool is_peak, int64_t at_ns,
				bool has_ranges, struct gp_peak *peak, struct gp_figure_list *out);
void gp_figures_free(struct gp_figure_list *figures);

#endif
