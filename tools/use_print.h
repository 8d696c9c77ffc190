/*
 * What `peak` and `top` show alike: how their groups are asked for, the frames under a group, call
 * trees, and all of that as JSON.
 */
#ifndef USE_PRINT_H
#define USE_PRINT_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "gpuprof.h"
#include "json.h"
#include "report.h"

/* How memory is grouped and shown: flags of a command. */
struct gp_use_style {
	const char *by, *library, *device_text, *of_text;
	uint64_t top;	/* groups; 0: all */
	int64_t device; /* -1: all */
	struct gp_grouping grouping;
	bool has_of[GP_CURVES];
	bool is_native, has_stacks, is_json;
};

extern const char *const gp_curve_keys[GP_CURVES]; /* "driver", "reserved", "allocated" */

struct gp_command;
/* Reads the texts; false: said what is wrong with them. */
bool gp_use_style_read(struct gp_use_style *style, const struct gp_command *command);
/* Of device and curve, by those flags. `is_all`: without --of all curves are shown. */
bool gp_use_style_wants(const struct gp_use_style *style, unsigned device, enum gp_curve of,
			bool is_all);

/* "GPU 0, NVIDIA H200" */
void gp_use_device_print(FILE *out, const struct gp_info *info, unsigned device);
/* Under a group: the user's frames, at most three, or with `style->has_stacks` the whole stack. */
void gp_use_frames_print(FILE *out, struct gp_recording *recording, const struct gp_use *use,
			 const struct gp_use_style *style, int indent);
/* Nodes of less than a hundredth of `whole` are left out, and counted. */
void gp_use_tree_print(FILE *out, const struct gp_tree *tree, uint64_t whole);
/* The key `tree`: list of nodes, parents first. */
void gp_use_tree_write(struct gp_json *json, const struct gp_tree *tree);
/* `operator`, `node`, `library`, `kind`, `why`, `stacks` and `stack` of a group. */
void gp_use_group_write(struct gp_json *json, struct gp_recording *recording,
			const struct gp_group *group, const struct gp_use_style *style);
/* `file`, and what makes figures wrong or short. */
void gp_use_head_write(struct gp_json *json, const char *path, const struct gp_info *info);

/* Adds those behind the first `style->top` groups up in *rest; how many these are. */
size_t gp_use_shown(const struct gp_use_style *style, const struct gp_groups *groups,
		    struct gp_group *rest);

/*
 * The exit status by whether there was anything of what was asked for: `shown` tables, `matched`
 * uses of the library, `libraries` that there are. Says what was not there.
 */
int gp_use_judge(const struct gp_use_style *style, const char *file, size_t shown, size_t matched,
		 const char *libraries);

/* The last line: records with stacks when there are none, else `command`. */
void gp_use_next_print(FILE *out, const struct gp_info *info, const char *command,
		       const char *path);

#endif
