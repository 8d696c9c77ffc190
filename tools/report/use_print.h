/*
 * What `peak` and `top` show alike: groups with their keys and frames, and all of that as JSON.
 */
#ifndef USE_PRINT_H
#define USE_PRINT_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "../io/json.h"
#include "gpuprof.h"

#define GP_CURVE_KEYS (GP_CURVE_PINNED + 1)

/* How memory is grouped and shown: flags of a command. */
struct gp_use_style {
	const char *by, *library, *range, *of_text;
	uint64_t top;	      /* groups; 0: all */
	const char *all_text; /* what shows all of them; NULL: --top 0 */
	int64_t device;	      /* -1: all */
	struct gp_grouping grouping;
	bool has_of[GP_CURVE_KEYS];
	bool is_native, has_stacks, is_json;
};

/* The uses must know their ranges. */
static inline bool gp_use_has_ranges(const struct gp_use_style *style)
{
	return style->grouping.by == GP_BY_RANGE || style->grouping.range;
}

/* Where ranges are asked for: "phases_by", by what they are known. */
void gp_use_phases_by_write(struct gp_json *json, const struct gp_info *info,
			    const struct gp_use_style *style);
/* Where ranges are asked for and are not there, or not all: said, behind `side`, "" or "B: ". */
void gp_use_no_ranges_print(FILE *out, const char *side, const struct gp_info *info,
			    const struct gp_use_style *style);

/* What a command says of a group in front of its key. */
struct gp_use_shape {
	const char *titles; /* of the columns */
	void (*print_row)(FILE *out, const struct gp_use *use, uint64_t whole);
	void (*write_sums)(struct gp_json *json, const struct gp_use *use);
};

extern const struct gp_use_shape gp_use_held_shape; /* what was live at a moment */
/* Its row: bytes, their share of `whole`, how many. */
void gp_use_held_print(FILE *out, const struct gp_use *use, uint64_t whole);
/* "driver", "reserved", "allocated", and of the host "pinned"; NULL: not a curve */
extern const char *const gp_curve_keys[GP_CURVE_KEYS];

/* "GPU 0, NVIDIA H200"; "Host" where the device is UNKNOWN */
void gp_use_device_print(FILE *out, const struct gp_info *info, unsigned device);
/* The key `device`: its number; null: of the host. */
void gp_use_device_write(struct gp_json *json, unsigned device);
/* Of pinned memory: what the job registered. */
uint64_t gp_use_registered(const struct gp_holders *holders);
/*
 * What lies in the framework's segments is told by its blocks: added up in one use. Returns what
 * lies outside of them.
 */
uint64_t gp_use_fold_segments(struct gp_holders *holders);
/* The group is that use, whose name refers to a table above. */
bool gp_use_is_segments(const char *key);
/*
 * "GPU 0, NVIDIA H200: 1.16 GiB allocated by PyTorch at peak, 557 ms, in backward", with the phase
 * where ranges were asked for; below it why the peak may be higher. `outside`: of it outside
 * PyTorch; live_bytes where that is not to be shown.
 */
void gp_use_moment_print(FILE *out, const struct gp_info *info, const struct gp_holders *holders,
			 enum gp_moment moment, uint64_t outside);
/* The phase in which the moment was reached; NULL: not known, or ranges were not asked for. */
const struct gp_range_path *gp_use_phase_of(const struct gp_holders *holders);
#define GP_USE_WITH_FRAMES 5u /* groups under which the user's frames stand */
/* Behind a title: which groups have their callers under them. */
void gp_use_callers_print(FILE *out);
/* Under a group: the callers of the user's frame, or with --stacks or --native the whole stack. */
void gp_use_frames_print(FILE *out, struct gp_recording *recording, const struct gp_use *use,
			 const struct gp_use_style *style, int indent);
/* The names read from a stack, and the stack: the keys of a group from `operator` on. */
void gp_use_stack_write(struct gp_json *json, struct gp_recording *recording,
			const struct gp_use *use, size_t stacks, const struct gp_use_style *style);
/* The key `ranges`: names, outermost first; [] outside of any, null: not known. */
void gp_use_ranges_write(struct gp_json *json, const struct gp_range_path *range);
/* The key `phase`; `path` NULL: not known. */
void gp_use_phase_write(struct gp_json *json, const struct gp_range_path *path);
/* A table: a row a group, below the largest the user's frames; shares are of `whole`. */
void gp_use_groups_print(FILE *out, struct gp_recording *recording, const struct gp_groups *groups,
			 const struct gp_use_style *style, const struct gp_use_shape *shape,
			 uint64_t whole);
/*
 * The largest lines in one line, where they are not what the largest groups of stacks hold. False:
 * they are, or memory is not grouped by stack, and so there is no such line.
 */
bool gp_use_lines_print(FILE *out, struct gp_recording *recording, const struct gp_holders *holders,
			const struct gp_groups *groups, const struct gp_use_style *style);
/* Whether a reader of the first stacks would name other lines, or other bytes of these. */
bool gp_use_lines_differ(const struct gp_groups *lines, const struct gp_groups *stacks);
/* The largest of these lines, "train.py:12 1.00 GiB (50.0%), ..."; shares are of `whole`. */
void gp_use_lines_list(FILE *out, const struct gp_groups *lines, uint64_t whole);
/* Groups other than all that has no stack, and the sum of segments. */
bool gp_use_has_names(const struct gp_groups *groups);
/* The key `groups`. */
void gp_use_groups_write(struct gp_json *json, struct gp_recording *recording,
			 const struct gp_groups *groups, const struct gp_use_style *style,
			 const struct gp_use_shape *shape);
/* `file`, and what makes figures wrong or short. */
void gp_use_head_write(struct gp_json *json, const char *path, const struct gp_info *info);

/*
 * What to do where no memory is of --library: the libraries that have some, "cuBLAS, PyTorch"; ""
 * where no stack names one, and `again` is the run that records them.
 */
void gp_use_library_hint(const char *libraries, const char *again);

/*
 * The last line: gp_next_of's; where `command` lacks stacks, the run that records them. Without a
 * command ("") there may be no such line.
 */
void gp_use_next_print(FILE *out, struct gp_recording *recording, const struct gp_info *info,
		       const char *command, const char *path);

#endif
