/*
 * Part of gpuprof.h, which includes it: differences between recordings. Compares memory of several
 * recordings, or of several moments of one, by stacks that read alike. Addresses and ids may
 * differ. Also the figures by which runs are compared.
 */
#ifndef GPUPROF_DIFF_H
#define GPUPROF_DIFF_H

#include "gpuprof_frag.h"

struct gp_grouping;
struct gp_peak;
struct gp_range_path;
struct gp_use;

/* One side of a comparison. The others are compared with the first side. */
struct gp_diff_side {
	struct gp_recording *recording;
	size_t uses;
	const struct gp_use *use;
};
struct gp_diff_how {
	const struct gp_grouping *grouping;
	bool ignores_lines; /* compares functions and files alone: for edited sources */
	/*
	 * By stack: joins groups that only some sides have, if their callers were renamed. Their
	 * innermost frames must agree at least up to the user's line. The match with most equal
	 * frames wins, then the one with the nearest bytes. Groups that differ only in line numbers
	 * are not joined.
	 */
	bool matches_inner;
};
struct gp_diff_part {
	uint64_t bytes, count;
	size_t stacks; /* number of different ids; 0: the side has none */
};
struct gp_diff_group {
	char *key;	/* unique among the groups */
	size_t shown;	/* the last side that has it; key and stack are from this side */
	uint32_t stack; /* on that side, of its use with most bytes; 0: none */
	int64_t at_ns;	/* for gp_recording_stack */
	const struct gp_range_path *range; /* of that use; NULL: not requested or unknown */
	bool is_rest;	   /* rejected by the filter, or without a stack: key is the reason */
	bool is_moved;	   /* differs from a group of the other sides only in line numbers */
	bool is_renamed;   /* its callers differ between the sides */
	uint64_t greatest; /* largest absolute change of bytes against the first side */
	struct gp_diff_part *part; /* one per side */
};
struct gp_diff {
	size_t sides, groups, matched; /* matched: uses that the filter accepted */
	size_t changed;		       /* changed groups; they come first */
	size_t moved, renamed;
	struct gp_diff_group *group; /* largest change first, then most bytes */
};
/*
 * Adds up the uses of all sides by the text of their stacks. By stack: Python frames are equal if
 * function, line and file name are equal. File names are relative to their package, if any. Native
 * frames are equal if the function and the name of the module without its version are equal. Looks
 * up symbols. Free with gp_diff_free.
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
	bool is_at_least;     /* events are missing: the true values may be higher */
	bool has_framework;   /* the framework reserved memory */
	uint64_t total_bytes; /* of the device; 0 unknown */
	/* used on the whole device when the job held most driver memory; UNKNOWN: not queried */
	uint64_t used_bytes;
	/* at the reserved peak, or at the moment; has_frag is false if unknown */
	bool has_frag;
	uint64_t largest_request_bytes; /* the largest request that the cache can serve */
	uint64_t unused_bytes;		/* reserved and not allocated */
	uint64_t cause_bytes[GP_CAUSES];
	uint64_t ooms;	       /* as gp_ooms_build counts them */
	uint64_t failed_calls; /* CUDA calls that failed for lack of memory */
};
/*
 * By how many bytes the reserved peak exceeds the allocated peak, which is mostly another moment.
 * Of a single moment: the unused bytes.
 */
uint64_t gp_figures_excess(const struct gp_figures *figures);
struct gp_figure_list {
	size_t devices;
	struct gp_figures *device; /* by number */
};
/*
 * Figures at the peaks, or at one moment. Builds `peak` in the same replay, as gp_peak_build_with.
 * Free with gp_figures_free and gp_peak_free.
 */
enum gp_status gp_figures_build(struct gp_recording *recording, bool is_peak, int64_t at_ns,
				unsigned with, struct gp_peak *peak, struct gp_figure_list *out);
void gp_figures_free(struct gp_figure_list *figures);

#endif
