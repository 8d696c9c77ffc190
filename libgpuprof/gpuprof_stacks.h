/*
 * Part of gpuprof.h, which includes it: the frames of a stack, the users' names of the place that
 * they show, and their text. Texts live until gp_recording_close.
 */
#ifndef GPUPROF_STACKS_H
#define GPUPROF_STACKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct gp_recording;

/* One frame of a stack, native or Python. Its texts live until gp_recording_close. */
struct gp_frame {
	const char *function; /* NULL: not known; see `unknown` */
	const char *file;     /* NULL unknown */
	uint32_t line;	      /* 0 unknown */
	const char *module;   /* native: path of the object that contains it; NULL: none */
	uint64_t module_offset;
	uint64_t address;    /* native: the return address; Python: 0 */
	const char *unknown; /* why it has no function; NULL: it has one */
	bool is_python;
	bool is_inlined;     /* inlined into the following frame */
	bool is_interpreter; /* a frame of CPython itself, which the Python frames show already */
	bool is_user; /* Python: not of a package or the standard library, and not generated */
};
/* Capacity of a stack in frames, inlined ones included. */
#define GP_FRAMES_MAX 512u

struct gp_stack {
	size_t frames;
	/*
	 * Why frames are missing, a text; NULL: none are. --stacks=both leaves out native frames
	 * below the innermost Python function. They affect `missing_native` only.
	 */
	const char *missing, *missing_native;
	bool is_native_whole, is_python_whole; /* no frame of that kind is missing */
	bool is_python_off; /* Python frames were requested but not available in the whole job */
	bool has_native, has_python;
	/*
	 * The innermost module of PyTorch whose forward runs, else the one whose forward made the
	 * node of autograd that runs; 0: not recorded.
	 */
	uint32_t module;
};
enum gp_stack_how {
	GP_STACK_BARE = 0, /* native frames by address alone, without symbols */
	/* names of native frames: those stored in the recording, else from files of this machine */
	GP_STACK_SYMBOLS = 1,
	/* with symbols; without native frames of the interpreter and of its start */
	GP_STACK_FOLDED = 2,
};
/*
 * Returns the frames of a record's `stack`, innermost first. Native and Python frames are in the
 * order of their calls. At most `most` go into `frame`. `at_ns` is the event's moment, which
 * decides which module was mapped where. The first look-up in a module reads its symbols, which can
 * take seconds; the names are cached. False: the stack is unknown.
 */
bool gp_recording_stack(struct gp_recording *recording, uint32_t id, int64_t at_ns,
			enum gp_stack_how how, struct gp_stack *out, struct gp_frame *frame,
			size_t most);

/* A module of PyTorch (torch.nn.Module) that was called. Texts live until gp_recording_close. */
struct gp_torch_module {
	uint32_t id, within;	  /* `within`: the module whose child it is; 0: it is a root */
	const char *name, *class; /* "gate_proj", "Linear"; the name of a root is "" */
};
/* gp_stack.module; 0: none was recorded. */
uint32_t gp_recording_stack_module(struct gp_recording *recording, uint32_t stack);
/* False: no such module. */
bool gp_recording_module(struct gp_recording *recording, uint32_t id, struct gp_torch_module *out);
/*
 * "model.layers.3", as named_modules() of the root names it; "(root)" for the root itself. If there
 * are several roots, the one with most modules is meant; "(CrossEntropyLoss)" is another one, and
 * "(Critic).head" a module in it. "": no such module. A path that does not fit loses its beginning.
 */
void gp_recording_module_path(struct gp_recording *recording, uint32_t id, char *out, size_t room);

#define GP_NAME_MAX 128u
#define GP_MODULES_MAX 512u
/* Names are "" if unknown. A name that does not fit is left out, never cut. */
struct gp_names {
	/*
	 * "aten::addmm", "aten::add.Tensor", "ncclAllReduce": the innermost operator with other
	 * work than getting memory. Searches from the allocation to the first frame of Python or
	 * autograd. If there is no operator: a call that users know (ncclAllReduce,
	 * PJRT_Client_Compile), or the purpose ("DDP buckets"). If PyTorch's name does not separate
	 * name and overload, it stays whole: "aten::linalg_norm_ord_str".
	 */
	char operator[GP_NAME_MAX];
	/*
	 * "aten::linear": the outermost of these operators, which the user's line or the node
	 * called. "": equals `operator`.
	 */
	char outer_operator[GP_NAME_MAX];
	/*
	 * "AddmmBackward0": the innermost autograd node, whether Python frames are inside it or
	 * not. Of a node written in Python: the class with the backward, "TwiceBackward". If the
	 * engine's own step allocates: "validate_outputs (engine)", else "autograd engine".
	 */
	char node[GP_NAME_MAX];
	/*
	 * The classes of the modules (torch.nn.Module) whose forward is running, outermost first:
	 * "GPT > Block > Linear". A class that inherits its forward has the name of the class with
	 * the forward. If they do not fit, the outermost are left out: "... > Linear". For
	 * recordings without the modules themselves (gp_stack.module).
	 */
	char modules[GP_MODULES_MAX];
	/* no frame is of autograd's engine, and no such frame can be missing */
	bool is_outside_backward;
	/*
	 * Python's outermost frame begins a program or a thread, and none calls the engine. If all
	 * Python frames are present, omitted outer native frames are not of the engine either.
	 */
	bool has_no_engine_call;
	/*
	 * "cuBLAS": of the innermost module outside of CUDA's runtime and driver and the C and C++
	 * libraries. A runtime linked into a library counts as that library. Calls through ctypes
	 * belong to their Python package, else "Python". The program itself is named by its file.
	 */
	char library[GP_NAME_MAX];
	bool is_own; /* `library` is the program itself, or Python code of no known library */
	/* "cuBLAS": the framework requests a workspace that it keeps for this library; "": none */
	char workspace[GP_NAME_MAX];
	/*
	 * Index of the user's frame; SIZE_MAX: none. The innermost Python frame that is not
	 * generated and not of an installed package or the standard library. Else the innermost
	 * frame of a package other than PyTorch. In a program without Python: the innermost frame
	 * of the program itself.
	 */
	size_t user;
	/* Index of the frame through which `library` was entered, by name; SIZE_MAX: none. */
	size_t caller;
};
/* The users' names of the place that these frames show. Pass unfolded frames with symbols. */
void gp_recording_names(struct gp_recording *recording, const struct gp_frame *frame, size_t frames,
			struct gp_names *out);

/* True if one of them is an optimizer's step. */
bool gp_frames_are_of_optimizer(const struct gp_frame *frame, size_t frames);

/*
 * Removes uninformative frames in place (the rows FOLDED of frame_names.def), and all turns of a
 * recursion but the outermost. Returns how many remain: at least one if a frame is not of the
 * interpreter. Call gp_recording_names before, since it needs all frames.
 */
size_t gp_frames_shorten(struct gp_frame *frame, size_t frames);
/* True if they look equal: same function, file, line and module; without a name, same place. */
bool gp_frame_reads_like(const struct gp_frame *a, const struct gp_frame *b);
/*
 * A path within its package: "torch/nn/modules/module.py" in site-packages. Of the standard
 * library, the part after lib/python3.X. Else the whole path.
 */
const char *gp_short_path(const char *path);
/* Shortens a function's name to at most 72 bytes: drops template arguments or its middle. */
void gp_short_name(const char *name, char *out, size_t room);
/*
 * A frame on one line: "aten::addmm", "AddmmBackward0", "autograd engine" if users know it by such
 * a name. Else "Job.step (train.py:42)", "solve (solver.cc:7)", "solve [libsolver.so]". `below` is
 * a directory to leave out of the paths of Python files in it; NULL: none.
 */
void gp_frame_label(const struct gp_frame *frame, const char *below, char *out, size_t room);

/* The key of a group: see struct gp_grouping. */
enum gp_by {
	GP_BY_STACK,
	GP_BY_OPERATOR,
	GP_BY_NODE,
	GP_BY_LIBRARY,
	GP_BY_LINE,
	GP_BY_KIND,
	GP_BY_RANGE,
	GP_BY_MODULE,
	GP_BY_ROLE
};

#endif
