/* A stack as lines for a person and as JSON for a program. */
#ifndef STACK_PRINT_H
#define STACK_PRINT_H

#include <stdio.h>

#include "gpuprof.h"
#include "json.h"

/* A line a frame, innermost first, indented; nothing when the stack is not known. */
void gp_stack_print(FILE *out, const struct gp_recording *recording, uint32_t stack);
/* The key "stack": a list of frames with `function`, `file`, `line`, `module`; null: not known. */
void gp_stack_write(struct gp_json *json, const struct gp_recording *recording, uint32_t stack);

#endif
