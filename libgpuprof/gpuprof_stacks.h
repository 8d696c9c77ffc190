/*
 * Part of gpuprof.h, which includes it: who was calling. The frames of a stack, what users call the
 * place that they show, and how it is said on one line. Texts hold until gp_recording_close.
 */
#ifndef GPUPROF_STACKS_H
#define GPUPROF_STACKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct gp_recording;

/* One frame of a stack, native or Python. Its texts hold until gp_recording_close. */
struct gp_frame {
	const char *function; /* NULL: not known, and `unknown` says why */
	const char *file;     /* NULL unknown */
	uint32_t line;	      /* 0 unknown */
	const char *module;   /* native: path of the object it lies in; NULL: none */
	uint64_t module_offset;
	uint64_t address;    /* native: the return address; Python: 0 */
	const char *unknown; /* why it has no function; NULL: it has one */
	bool is_python;
	bool is_inlined;     /* into the frame that follows */
	bool is_interpreter; /* of CPython itself: what the Python frames say already */
	bool is_user;	     /* Python: of no package, nor of the standard library, nor generated */
};
/* A stack has at most so many frames, inlined ones included. */
#define GP_FRAMES_MAX 512u

struct gp_stack {
	size_t frames;
	/*
	 * Why frames are missing, a text; NULL: none are. Native frames below the innermost Python
	 * function, which --stacks=both leaves out, count in `missing_native` alone.
	 */
	const char *missing, *missing_native;
	bool is_native_whole, is_python_whole; /* all of that kind are there */
	bool is_native_sure; /* none is missing between two: not found along frame pointers */
	bool is_python_off; /* Python frames were asked for and could not be had in the whole job */
	bool has_native, has_python;
};
enum gp_stack_how {
	GP_STACK_BARE = 0, /* native frames by address alone: nothing is looked up */
	/* native frames get names: those stored in the recording, else of this machine's files */
	GP_STACK_SYMBOLS = 1,
	/* with symbols, without native frames of the interpreter and those that started it */
	GP_STACK_FOLDED = 2,
};
/*
 * The frames of a record's `stack`, innermost first, native and Python ones in the order in which
 * they called each other, at most `most` into `frame`. `at_ns` is the event's moment: which module
 * was mapped where depends on it. The first look-up in a module reads its symbols, which can take
 * seconds; what is known is kept. False: no such stack is known.
 */
bool gp_recording_stack(struct gp_recording *recording, uint32_t id, int64_t at_ns,
			enum gp_stack_how how, struct gp_stack *out, struct gp_frame *frame,
			size_t most);

#define GP_NAME_MAX 128u
/* "" where nothing is known; a name that does not fit is left out, never cut. */
struct gp_names {
	/*
	 * "aten::addmm", "aten::add.Tensor", "ncclAllReduce": the innermost operator that does more
	 * than get memory, of those between the allocation and the first frame of Python or of
	 * autograd. Where none of them is one, a call that users know (ncclAllReduce,
	 * PJRT_Client_Compile) or what the memory is for ("DDP buckets"). Where PyTorch's name
	 * does not tell name and overload apart, it is left whole: "aten::linalg_norm_ord_str".
	 */
	char operator[GP_NAME_MAX];
	/*
	 * "aten::linear": the outermost of these, what the user's line or the node asked for; "":
	 * it is the same.
	 */
	char outer_operator[GP_NAME_MAX];
	/*
	 * "AddmmBackward0": the innermost autograd node, Python frames inside it or not; of one
	 * written in Python the class that has the backward, "TwiceBackward". Where the
	 * engine itself allocates its step, "validate_outputs (engine)", else "autograd engine".
	 */
	char node[GP_NAME_MAX];
	bool is_outside_backward; /* no frame is of autograd's engine, and none could be unseen */
	/*
	 * Python's outermost frame begins a program or a thread, and none calls the engine: where
	 * Python's frames are whole, native ones that are left out beyond are not of it either.
	 */
	bool has_no_engine_call;
	/*
	 * "cuBLAS": of the innermost module that is neither CUDA's runtime or driver nor the C or
	 * C++ library. A runtime linked into a library counts as that library. Calls through
	 * ctypes are of the Python package they stand in, else "Python"; the program's own are
	 * named by its file.
	 */
	char library[GP_NAME_MAX];
	bool is_own; /* that is the program itself, or Python code of no library that is known */
	/* "cuBLAS": the framework asks for a workspace that it keeps for this library; "": no */
	char workspace[GP_NAME_MAX];
	/*
	 * Index of the user's frame, SIZE_MAX none: the innermost Python frame that is of no
	 * installed package and not of the standard library or generated; else the innermost one of
	 * another package than PyTorch; in a program without Python the innermost frame of the
	 * program itself.
	 */
	size_t user;
	/* Index of the frame by which `library` was entered, by name; SIZE_MAX none. */
	size_t caller;
};
/* What users call the place that these frames show. They must not be folded, and have symbols. */
void gp_recording_names(struct gp_recording *recording, const struct gp_frame *frame, size_t frames,
			struct gp_names *out);

/* One of them is an optimizer's step. */
bool gp_frames_are_of_optimizer(const struct gp_frame *frame, size_t frames);

/*
 * Leaves out the frames that tell a person nothing (the rows FOLDED of frame_names.def), and
 * turns of a recursion but the outermost; how many are left, in place, one at least where one was
 * not the interpreter's. gp_recording_names needs all frames: it comes first.
 */
size_t gp_frames_tell(struct gp_frame *frame, size_t frames);
/* They are shown alike: the same function, file, line and module; without a name the same place. */
bool gp_frame_reads_like(const struct gp_frame *a, const struct gp_frame *b);
/*
 * A path as its package knows it: "torch/nn/modules/module.py" of one in site-packages, the part
 * behind lib/python3.X of the standard library's, else all of it.
 */
const char *gp_short_path(const char *path);
/* A function's name of at most 72 bytes: long ones without template arguments, or their middle. */
void gp_short_name(const char *name, char *out, size_t room);
/*
 * A frame on one line: "aten::addmm", "AddmmBackward0", "autograd engine" where users know it by
 * such a name, else "Job.step (train.py:42)", "solve (solver.cc:7)", "solve [libsolver.so]".
 * `below`: a directory that is left out of Python files in it; NULL: none.
 */
void gp_frame_label(const struct gp_frame *frame, const char *below, char *out, size_t room);

#endif
