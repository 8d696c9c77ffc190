/* A stack as lines for a person and as JSON for a program. */
#ifndef STACK_PRINT_H
#define STACK_PRINT_H

#include <stdio.h>

#include "../io/json.h"
#include "gpuprof.h"

/* How stacks are shown: a command's flags. */
struct gp_stack_style {
	bool is_native; /* the interpreter's own frames too */
	bool is_bare;	/* addresses alone */
};
enum gp_stack_how gp_stack_style_how(const struct gp_stack_style *style);

/* A frame on one line, without its end: "name (file:line)", "name [library.so]". */
void gp_frame_print(FILE *out, const struct gp_frame *frame);
/* A line a frame, innermost first, indented; nothing when the stack is not known. */
void gp_stack_print(FILE *out, struct gp_recording *recording, uint32_t stack, int64_t at_ns,
		    enum gp_stack_how how);
/* --no-stacks of the commands whose JSON has stacks. */
extern bool gp_is_without_stacks;
/*
 * The key "stack": a list of frames with `function`, `file`, `line`, `module`, `address` where it
 * is native, and `why` it has no function; `[]` without a stack; null: not known.
 */
void gp_stack_write(struct gp_json *json, struct gp_recording *recording, uint32_t stack,
		    int64_t at_ns, enum gp_stack_how how);

/*
 * Behind a report: the frames of its stacks that have no name, and why, for reasons that a person
 * can mend; nothing where there are none. A line a module.
 */
void gp_unnamed_print(FILE *out, struct gp_recording *recording);

#endif
