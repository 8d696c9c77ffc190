/*
 * What users call the place that a stack names: operator, autograd node, library. Read from frames
 * by the rules of frame_names.def; where no rule fits, nothing is said.
 */
#ifndef GP_FRAME_NAMES_H
#define GP_FRAME_NAMES_H

#include <stdbool.h>
#include <stddef.h>

#include "../gpuprof.h"

struct gp_name_frame {
	const char *function; /* as gp_symbolizer_find() writes it; NULL unknown */
	const char *module;   /* path; NULL unknown; of a Python frame NULL */
	const char *file;     /* of a Python frame; NULL unknown */
	bool is_python;
};

/* `frame`: innermost first. `program`: path of the program; NULL unknown. */
void gp_names_of(const struct gp_name_frame *frame, size_t count, const char *program,
		 struct gp_names *out);

/* True for a Python file that is of no package, not the interpreter's, not generated. */
bool gp_python_is_user(const char *file);

/* True for a native frame of CPython itself: what Python frames already say. NULLs are allowed. */
bool gp_frame_is_interpreter(const char *function, const char *module);

#endif
