/*
 * The frames of a stack in the order in which they called each other: its native chain and its
 * Python chain laid into each other, native ones with names. Not for tools/: their contract is
 * gpuprof.h.
 */
#ifndef GP_STACK_FRAMES_H
#define GP_STACK_FRAMES_H

#include "../../gpuprof.h"
#include "../symbols/name_table.h"
#include "../symbols/symbolize.h"
#include "call_stacks.h"
#include "module_list.h"

/* What names are made with; zeros at first. */
struct gp_stack_naming {
	struct gp_symbolizer *symbolizer; /* NULL: not asked for yet */
	uint64_t modules_known;		  /* gp_module_list.changes that it has heard of */
	bool has_read_table;
	bool has_old_table;		     /* which a gpuprof before minor 9 stored: not read */
	struct gp_name_table *table;	     /* that the recording stores; NULL: none, or damaged */
	char no_python[160], no_native[160]; /* of gp_info */
	struct gp_damage damage;	     /* of the stored names; `what` "": none */
	/* when modules were in doubt, by begin; `until_ns`: the latest end so far */
	struct gp_doubt_time {
		int64_t since_ns, until_ns;
	} * doubt;
	size_t doubts;
	uint64_t doubts_known;	    /* gp_module_list.doubt_changes */
	struct gp_unnamed *unnamed; /* of gp_recording_unnamed */
	char obstacle[256];	    /* of gp_recording_symbolize */
};
void gp_stack_naming_release(struct gp_stack_naming *naming);

/* What a why means to a reader; NULL: nothing is missing. */
const char *gp_stack_missing(enum gp_stack_why native, enum gp_stack_why python);

/*
 * Innermost first, at most `most` into `out`; how many. `is_run` of a native frame says that the
 * Python frames up to the next entry stand at it. `symbolizer` NULL: addresses alone. Not
 * *is_in_order: how both kinds alternate is not known, the Python frames are the last ones.
 */
size_t gp_stack_merge(const struct gp_call_stack *stack, const struct gp_native_frame *native,
		      const struct gp_python_frame *python, struct gp_symbolizer *symbolizer,
		      struct gp_frame *out, size_t most, bool *is_in_order);
/*
 * Leaves out the native frames that are the interpreter's own, and the C library's that started it
 * or the thread; how many are left.
 */
size_t gp_stack_fold(struct gp_frame *frame, size_t frames);

#endif
