/*
 * The names that users know for the place of a stack: operator, autograd node, library. Reads them
 * from frames by the rules of frame_names.def. If no rule fits, the name stays empty.
 */
#ifndef GP_FRAME_NAMES_H
#define GP_FRAME_NAMES_H

#include <stdbool.h>
#include <stddef.h>

#include "../../gpuprof.h"

struct gp_name_frame {
	const char *function; /* as gp_symbolizer_find() writes it; NULL unknown */
	const char *module;   /* path; NULL: unknown, or a Python frame */
	const char *file;     /* of a Python frame; NULL unknown */
	bool is_python;
};

/* `frame`: innermost first. `program`: path of the program; NULL unknown. */
void gp_names_of(const struct gp_name_frame *frame, size_t count, const char *program,
		 struct gp_names *out);

/* Writes gp_names.modules. */
void gp_modules_of(const struct gp_name_frame *frame, size_t count, char out[GP_MODULES_MAX]);

/* The role of a frame in PyTorch. */
enum gp_frame_role {
	GP_ROLE_OTHER,
	GP_ROLE_PYTHON,
	GP_ROLE_INTERPRETER,
	GP_ROLE_OPERATOR,
	GP_ROLE_ALLOCATION, /* an operator that only gets memory */
	GP_ROLE_NODE,	    /* of autograd, or a step of its engine that allocates itself */
	GP_ROLE_ENGINE,
};
/* `name`: GP_NAME_MAX bytes, gets the name that users know; "": use the function's name. */
enum gp_frame_role gp_frame_role(const struct gp_name_frame *frame, char *name);

/*
 * The operator of PyTorch that a frame calls (at::_ops::NAME::call), or whose kernel it wraps. The
 * second form shows operators that Python calls by torch.ops. `name`: GP_NAME_MAX bytes.
 */
bool gp_operator_called(const char *function, char *name, bool *is_allocation);
bool gp_operator_of_kernel(const char *function, char *name, bool *is_allocation);

/* Writes "cupy._core.core.ndarray.__new__" for a function that Cython made for Python to call. */
bool gp_cython_name(const char *function, const char *module, char *name);

/* True: the frame alone has no information for a user. By the rows FOLDED*, and PASSED modules. */
bool gp_frame_is_folded(const struct gp_name_frame *frame);

/* True for a Python file outside of packages and the interpreter that was not generated. */
bool gp_python_is_user(const char *file);

/* True for a native frame of CPython itself, which repeats a Python frame. NULLs are allowed. */
bool gp_frame_is_interpreter(const char *function, const char *module);

#endif
