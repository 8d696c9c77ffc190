/* Frames by hand, for tests of the names that they have. A stack ends with an empty frame. */
#ifndef NAME_FRAMES_H
#define NAME_FRAMES_H

#include <string.h>

#include "read/frames/frame_names.h"

#define SITE "/opt/venv/lib/python3.12/site-packages/"
#define CPU SITE "torch/lib/libtorch_cpu.so"
#define CUDA SITE "torch/lib/libtorch_cuda.so"
#define C10 SITE "torch/lib/libc10_cuda.so"
#define BINDING SITE "torch/lib/libtorch_python.so"
#define CPYTHON "/usr/bin/python3.12"
#define RUNTIME SITE "nvidia/cuda_runtime/lib/libcudart.so.12"
#define DRIVER "/usr/lib/x86_64-linux-gnu/libcuda.so.1"
#define OURS "/usr/local/lib/libgpuprof.so"
#define THE_PROGRAM "/srv/job/simulate"

#define NATIVE(function, module)              \
	{                                     \
		function, module, NULL, false \
	}
#define PYTHON(function, file)             \
	{                                  \
		function, NULL, file, true \
	}

static inline size_t length(const struct gp_name_frame *frame)
{
	size_t count = 0;
	while (frame[count].function != NULL || frame[count].module != NULL ||
	       frame[count].is_python)
		count++;
	return count;
}

static inline struct gp_names names_of(const struct gp_name_frame *frame)
{
	struct gp_names names;
	memset(&names, 'x', sizeof names);
	gp_names_of(frame, length(frame), THE_PROGRAM, &names);
	return names;
}

static inline void expect(const struct gp_name_frame *frame, const char *operator,
			  const char * node, const char *library)
{
	const struct gp_names names = names_of(frame);
	assert_string_equal(names.operator, operator);
	assert_string_equal(names.node, node);
	assert_string_equal(names.library, library);
}

#endif
