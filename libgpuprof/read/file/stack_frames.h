/*
 * The frames of a stack in the order of their calls: merges its native and its Python chain. Native
 * frames get names. Not for tools/: their contract is gpuprof.h.
 */
#ifndef GP_STACK_FRAMES_H
#define GP_STACK_FRAMES_H

#include "../../gpuprof.h"
#include "../symbols/name_table.h"
#include "../symbols/symbolize.h"
#include "call_stacks.h"
#include "module_list.h"

/* The inputs for names; starts as zeros. */
struct gp_stack_naming {
	struct gp_symbolizer *symbolizer; /* NULL: not created yet */
	uint64_t modules_known;		  /* gp_module_list.changes at its last update */
	bool has_read_table;
	bool has_old_table;		     /* of a gpuprof before minor 9: not read */
	struct gp_name_table *table;	     /* the stored names; NULL: none, or damaged */
	char no_python[160], no_native[160]; /* of gp_info */
	struct gp_damage damage;	     /* of the stored names; `what` "": none */
	/* Intervals of uncertain modules, by begin; `until_ns`: the latest end so far. */
	struct gp_caveat_time {
		int64_t since_ns, until_ns;
	} * caveat;
	size_t caveats;
	uint64_t caveats_known;	    /* gp_module_list.caveat_changes */
	struct gp_unnamed *unnamed; /* of gp_recording_unnamed */
	char obstacle[256];	    /* of gp_recording_symbolize */
};
void gp_stack_naming_release(struct gp_stack_naming *naming);

/* A text for the user; NULL: no frames are missing. */
const char *gp_stack_missing(enum gp_stack_why native, enum gp_stack_why python);

/*
 * Merges two chains into `out`, innermost first, at most `most`; returns how many. A native frame
 * with `is_run` called the Python frames up to the next entry. `symbolizer` NULL: addresses only.
 * *is_in_order false: how both kinds alternate is unknown, and the Python frames come last.
 */
size_t gp_stack_merge(const struct gp_call_stack *stack, const struct gp_native_frame *native,
		      const struct gp_python_frame *python, struct gp_symbolizer *symbolizer,
		      struct gp_frame *out, size_t most, bool *is_in_order);
/*
 * Removes the native frames of the interpreter, and those of the C library that started it or the
 * thread. Returns how many frames remain.
 */
size_t gp_stack_fold(struct gp_frame *frame, size_t frames);

#endif
