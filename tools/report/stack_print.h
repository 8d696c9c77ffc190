/* A stack as lines for a person and as JSON for a program. */
#ifndef STACK_PRINT_H
#define STACK_PRINT_H

#include <stdio.h>

#include "../io/json.h"
#include "gpuprof.h"

/* Options of a command for stacks. */
struct gp_stack_style {
	bool is_native; /* show the interpreter's own frames, too */
	bool is_bare;	/* addresses alone */
};
enum gp_stack_how gp_stack_style_how(const struct gp_stack_style *style);

/* A frame on one line, without its end: "name (file:line)", "name [library.so]". */
void gp_frame_print(FILE *out, const struct gp_frame *frame);
/* One frame a line, innermost first, indented. Prints no line if the stack is unknown. */
void gp_stack_print(FILE *out, struct gp_recording *recording, uint32_t stack, int64_t at_ns,
		    enum gp_stack_how how);
/* --no-stacks of the commands whose JSON has stacks. */
extern bool gp_is_without_stacks;
/*
 * Writes the key "stack": a list of frames with `function`, `file`, `line`, `module`, for native
 * ones `address`, and `why` if there is no function. `[]` without a stack; null: unknown.
 */
void gp_stack_write(struct gp_json *json, struct gp_recording *recording, uint32_t stack,
		    int64_t at_ns, enum gp_stack_how how);

/*
 * Ends a report: frames without a name, one line for each module and its cause. Prints only causes
 * that a user can remove.
 */
void gp_unnamed_print(FILE *out, struct gp_recording *recording);

#endif
