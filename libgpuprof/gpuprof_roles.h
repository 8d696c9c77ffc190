/*
 * Part of gpuprof.h, which includes it: what memory is for. A role is decided by the first of some
 * named rules that holds; they read the stack of an allocation, and the phases of a training step
 * in which it was made and freed.
 */
#ifndef GPUPROF_ROLES_H
#define GPUPROF_ROLES_H

#include <stddef.h>
#include <stdint.h>

#include "format/status.h"
#include "gpuprof_memory.h"

struct gp_peak;
struct gp_recording;
struct gp_top;

enum gp_memory_role {
	GP_HOLDS_WEIGHTS, /* parameters and buffers of modules */
	GP_HOLDS_GRADIENTS,
	GP_HOLDS_OPTIMIZER,   /* its state */
	GP_HOLDS_ACTIVATIONS, /* results of a forward that live on after it */
	GP_HOLDS_INPUTS,
	GP_HOLDS_TEMPORARIES, /* made and freed in one phase of a step */
	GP_HOLDS_KV_CACHE,
	GP_HOLDS_COMMUNICATION, /* buffers of NCCL and of what calls it */
	GP_HOLDS_WORKSPACE,	/* of libraries */
	GP_HOLDS_GRAPH_POOL,	/* kept for the replays of a CUDA graph */
	GP_HOLDS_UNKNOWN,	/* no rule decides */
	GP_MEMORY_ROLES
};
extern const char *const gp_role_keys[GP_MEMORY_ROLES]; /* "weights", "gradients", ... */

struct gp_role_rule {
	const char *name; /* "saved_for_backward" */
	enum gp_memory_role role;
	const char *why; /* one sentence */
};
/* All rules, in the order in which they are tried. */
size_t gp_role_rules(const struct gp_role_rule **out);
/* `number`: 1 + that of the rule. Else the last rule: unknown. */
const struct gp_role_rule *gp_role_rule(size_t number);
/* The memory of a group for which one rule decided. */
struct gp_rule_sum {
	uint64_t bytes, count;
};

/* Blocks of the framework on one device at a moment, by role. All bytes: the curve ALLOCATED. */
struct gp_role_sums {
	int64_t at_ns;
	uint64_t bytes[GP_MEMORY_ROLES], count[GP_MEMORY_ROLES];
};
/* Memory that the forwards of modules made. See gp_role_makers. */
#define GP_ROLE_MODULES 4u
#define GP_ROLE_MODULE_MAX 160u
struct gp_role_module {
	char key[GP_ROLE_MODULE_MAX]; /* "layers.*.mlp", "features.* (Conv2d)" */
	struct gp_rule_sum sum;
};
/*
 * The sums, and who made most of each role, most bytes first; the rest is 0. One entry is for a
 * child of a numbered module ("layers.3.mlp") and all modules in it. With other numbers, children
 * of modules of the same class are in the same entry, as "*". Modules that have no number above
 * them have an entry each. Not of WORKSPACE, which libraries keep.
 */
struct gp_role_makers {
	struct gp_role_sums sums;
	struct gp_role_module module[GP_MEMORY_ROLES][GP_ROLE_MODULES];
};
struct gp_role_moment {
	struct gp_moment_of moment;
	unsigned device;
};
/*
 * Fills `out[k]` for each of the moments. One or two replays, and one to each moment from the
 * checkpoint before it; rewinds. GP_END: there is no such moment. GP_E_MEMORY.
 */
enum gp_status gp_role_sums_build(struct gp_recording *recording, const struct gp_role_moment *at,
				  size_t moments, struct gp_role_makers *out);

/* Bits: gp_peak_build_with and gp_top_build_with add these to each use. */
enum gp_with {
	/*
	 * Its range. Includes forwards that the job does not name; this takes one more replay if
	 * the job has ranges. Names that count up become one: "step #". Uses without a `range` are
	 * those that no event accounts for.
	 */
	GP_WITH_RANGES = 1,
	GP_WITH_ROLES = 2,    /* the rule for its role; one or two more replays */
	GP_WITH_SEGMENTS = 4, /* `is_segment` of gp_top_build_with; gp_peak_build has it anyway */
};
/*
 * gp_top_build_with of the span, and gp_peak_build_with at its end. Finds roles once for both. If
 * it fails, both are empty.
 */
enum gp_status gp_top_peak_build(struct gp_recording *recording, int64_t from_ns, int64_t to_ns,
				 int64_t short_ns, unsigned top_with, unsigned peak_with,
				 struct gp_top *top, struct gp_peak *peak);

/* ---- over time ---- */

/* The highest moment of some memory in the span, and its largest block up to the span's end. */
struct gp_role_top {
	uint64_t bytes;
	int64_t at_ns;
	uint64_t block_bytes;
	uint32_t stack; /* of that block; 0: none was recorded */
	int64_t stack_at_ns;
};
struct gp_role_bands {
	unsigned device;
	struct gp_role_top top[GP_MEMORY_ROLES];
	struct gp_role_top work;     /* activations and temporaries together */
	struct gp_role_top unmapped; /* reserved memory; without a block */
	size_t bands; /* by time; one for each part of the span: its moment with most memory */
	struct gp_role_sums *band;
};
struct gp_role_timeline {
	size_t devices; /* with blocks of PyTorch */
	struct gp_role_bands *device;
};
/*
 * Cuts the span into `points` equal parts. Bytes of a moment add up to the allocated curve, unless
 * events are missing. Two or three replays; needs 184 bytes a part and device. Free with
 * gp_role_timeline_free.
 */
enum gp_status gp_role_timeline_build(struct gp_recording *recording, size_t points,
				      int64_t from_ns, int64_t to_ns, struct gp_role_timeline *out);
void gp_role_timeline_free(struct gp_role_timeline *timeline);

#endif
