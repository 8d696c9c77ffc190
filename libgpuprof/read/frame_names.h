/*
 * What users call the place that a stack names: operator, autograd node, library. Read from frames
 * by the rules of frame_names.def; where no rule fits, nothing is said.
 */
#ifndef GP_FRAME_NAMES_H
#define GP_FRAME_NAMES_H

#include <stdbool.h>
#include <stddef.h>

#define GP_NAME_MAX 128u

struct gp_name_frame {
	const char *function; /* as gp_symbolizer_find() writes it; NULL unknown */
	const char *module;   /* path; NULL unknown; of a Python frame NULL */
	const char *file;     /* of a Python frame; NULL unknown */
	bool is_python;
};

/* "" where nothing is known; a name that does not fit is left out, never cut. */
struct gp_names {
	/*
	 * "aten::addmm", "aten::add.Tensor", "ncclAllReduce". An operator may call others: this is
	 * the outermost one of the innermost stretch of frames without Python and without an
	 * autograd node, so what the user's line or the node asked for, not what that was made of.
	 * A collective inside it is only named where there is no operator. Where PyTorch's name
	 * does not tell name and overload apart, it is left whole: "aten::max_dim".
	 */
	char operator[GP_NAME_MAX];
	/* "AddmmBackward0": the innermost autograd node, Python frames inside it or not. */
	char node[GP_NAME_MAX];
	/*
	 * "cuBLAS": of the innermost module that is neither CUDA's runtime or driver nor the C or
	 * C++ library. A runtime linked into a library counts as that library. Calls through
	 * ctypes are of the Python package they stand in, else "Python"; the program's own are
	 * named by its file.
	 */
	char library[GP_NAME_MAX];
};

/* `frame`: innermost first. `program`: path of the program; NULL unknown. */
void gp_names_of(const struct gp_name_frame *frame, size_t count, const char *program,
		 struct gp_names *out);

/* True for a native frame of CPython itself: what Python frames already say. NULLs are allowed. */
bool gp_frame_is_interpreter(const char *function, const char *module);

#endif
