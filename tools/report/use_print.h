/*
 * The common output of `peak` and `top`: groups with their keys and frames, as text and as JSON.
 */
#ifndef USE_PRINT_H
#define USE_PRINT_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "../io/json.h"
#include "gpuprof.h"

#define GP_CURVE_KEYS (GP_CURVE_PINNED + 1)

/* Options of a command for grouping and output. */
struct gp_use_style {
	const char *by, *library, *range, *of_text;
	uint64_t top;	      /* groups; 0: all */
	const char *all_text; /* the option that shows all of them; NULL: --top 0 */
	int64_t device;	      /* -1: all */
	struct gp_grouping grouping;
	bool has_of[GP_CURVE_KEYS];
	bool is_native, has_stacks, is_json;
	bool has_why; /* the rules under each group of a role */
};

/* Whether the uses must have ranges. */
static inline bool gp_use_has_ranges(const struct gp_use_style *style)
{
	return style->grouping.by == GP_BY_RANGE || style->grouping.range;
}

/* enum gp_with: what the uses must have. */
static inline unsigned gp_use_with(const struct gp_use_style *style)
{
	return (gp_use_has_ranges(style) ? GP_WITH_RANGES : 0) |
	       (style->grouping.by == GP_BY_ROLE ? GP_WITH_ROLES : 0);
}

/* Writes "phases_by", the source of the ranges, if ranges are requested. */
void gp_use_phases_by_write(struct gp_json *json, const struct gp_info *info,
			    const struct gp_use_style *style);
/* Prints why requested ranges are missing or incomplete, after `side`, "" or "B: ". */
void gp_use_no_ranges_print(FILE *out, const char *side, const struct gp_info *info,
			    const struct gp_use_style *style);

/* The columns of a command before the key of a group. */
struct gp_use_shape {
	const char *titles; /* of the columns */
	void (*print_row)(FILE *out, const struct gp_use *use, uint64_t whole);
	void (*write_sums)(struct gp_json *json, const struct gp_use *use);
};

extern const struct gp_use_shape gp_use_held_shape; /* memory live at a moment */
/* Its row: bytes, their share of `whole`, and the count. */
void gp_use_held_print(FILE *out, const struct gp_use *use, uint64_t whole);
/* "driver", "reserved", "allocated", and for the host "pinned"; NULL: not a curve */
extern const char *const gp_curve_keys[GP_CURVE_KEYS];

/* "GPU 0, NVIDIA H200"; "Host" for GP_DEVICE_UNKNOWN */
void gp_use_device_print(FILE *out, const struct gp_info *info, unsigned device);
/* Writes the key `device`: its number; null for the host. */
void gp_use_device_write(struct gp_json *json, unsigned device);
/* Bytes of pinned memory that the job registered. */
uint64_t gp_use_registered(const struct gp_holders *holders);
/*
 * Adds up the framework's segments in one use, since its blocks show their content. Returns the
 * bytes outside of them.
 */
uint64_t gp_use_fold_segments(struct gp_holders *holders);
/* Whether the group is that use, whose name refers to a table above. */
bool gp_use_is_segments(const char *key);
/*
 * "GPU 0, NVIDIA H200: 1.16 GiB allocated by PyTorch at peak, 557 ms, in backward", with the phase
 * if ranges are requested. Below it, why the peak may be higher. `outside`: bytes outside PyTorch;
 * live_bytes to omit them.
 */
void gp_use_moment_print(FILE *out, const struct gp_info *info, const struct gp_holders *holders,
			 enum gp_moment moment, uint64_t outside);
/* The phase of the moment; NULL: unknown, or ranges are not requested. */
const struct gp_range_path *gp_use_phase_of(const struct gp_holders *holders);
#define GP_USE_WITH_FRAMES 5u /* groups that are printed with the user's frames */
/* After a title: states which groups are printed with their callers. */
void gp_use_callers_print(FILE *out);
/* Below a group: the callers of the user's frame, or with --stacks or --native the whole stack. */
void gp_use_frames_print(FILE *out, struct gp_recording *recording, const struct gp_use *use,
			 const struct gp_use_style *style, int indent);
/* The keys of a group from `operator` on: names from a stack, and the stack. */
void gp_use_stack_write(struct gp_json *json, struct gp_recording *recording,
			const struct gp_use *use, size_t stacks, const struct gp_use_style *style);
/* The key `ranges`: names, outermost first; [] outside of all ranges, null: unknown. */
void gp_use_ranges_write(struct gp_json *json, const struct gp_range_path *range);
/* The key `phase`; `path` NULL: unknown. */
void gp_use_phase_write(struct gp_json *json, const struct gp_range_path *path);
/* A table of groups, the largest with the user's frames. Shares are of `whole`. */
void gp_use_groups_print(FILE *out, struct gp_recording *recording, const struct gp_groups *groups,
			 const struct gp_use_style *style, const struct gp_use_shape *shape,
			 uint64_t whole);
/*
 * Prints the largest lines in one line, unless the largest groups of stacks show the same. False:
 * they do, or memory is not grouped by stack; prints no line.
 */
bool gp_use_lines_print(FILE *out, struct gp_recording *recording, const struct gp_holders *holders,
			const struct gp_groups *groups, const struct gp_use_style *style);
/* Whether the first stacks would suggest other lines, or other bytes for them. */
bool gp_use_lines_differ(const struct gp_groups *lines, const struct gp_groups *stacks);
/* The largest of these lines, "train.py:12 1.00 GiB (50.0%), ..."; shares are of `whole`. */
void gp_use_lines_list(FILE *out, const struct gp_groups *lines, uint64_t whole);
/* Whether there are groups with a name, other than the sum of segments. */
bool gp_use_has_names(const struct gp_groups *groups);
/* The key `groups`. */
void gp_use_groups_write(struct gp_json *json, struct gp_recording *recording,
			 const struct gp_groups *groups, const struct gp_use_style *style,
			 const struct gp_use_shape *shape);
/* Writes `file`, and what makes figures wrong or incomplete. */
void gp_use_head_write(struct gp_json *json, const char *path, const struct gp_info *info);

/*
 * The hint if there is no memory of --library: the libraries with memory, "cuBLAS, PyTorch". "" if
 * no stack names one; then `again` is the command that records them.
 */
void gp_use_library_hint(const char *libraries, const char *again);

/*
 * The `next:` line: that of gp_next_of, or the run that records stacks if `command` needs them.
 * With `command` "" there may be no line.
 */
void gp_use_next_print(FILE *out, struct gp_recording *recording, const struct gp_info *info,
		       const char *command, const char *path);

#endif
