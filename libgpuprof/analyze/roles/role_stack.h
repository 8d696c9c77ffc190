/* Words: evidence of a stack about the role of its memory. Each stack is looked up once. */
#ifndef GP_ROLE_STACK_H
#define GP_ROLE_STACK_H

#include "../../read/file/recording.h"
#include "../../read/tables/row_table.h"

enum gp_role_word {
	GP_SHOWS_STACK,	    /* there is a stack */
	GP_SHOWS_NATIVE,    /* of which a native frame has a name, as a workspace's needs */
	GP_SHOWS_NCCL,	    /* NCCL, NVSHMEM or MPI requested it */
	GP_SHOWS_LIBRARY,   /* a library of operations requested it, such as cuBLAS */
	GP_SHOWS_WORKSPACE, /* PyTorch keeps it for a library */
	GP_SHOWS_CALL,	    /* the forward of a module runs */
	GP_SHOWS_BACKWARD,  /* the engine of autograd runs */
	GP_SHOWS_OPTIMIZER, /* the step of an optimizer runs */
	GP_SHOWS_COPY,	    /* aten::_to_copy made it */
	GP_SHOWS_CLONE,	    /* aten::clone made it, as in aten::contiguous */
	GP_SHOWS_CAT,	    /* aten::cat made it */
	GP_SHOWS_FILL,	    /* aten::full, aten::randn or another function without operands */
	/* by the rows of role_frames.def */
	GP_SHOWS_MOVE,	    /* a module is moved or converted */
	GP_SHOWS_MAKE,	    /* the constructor of one of PyTorch's modules, or of a parameter */
	GP_SHOWS_LOAD,	    /* a model is loaded */
	GP_SHOWS_RESTORE,   /* the state of an optimizer is loaded */
	GP_SHOWS_ROOT,	    /* the gradient with which a backward begins */
	GP_SHOWS_LOADER,    /* a data loader */
	GP_SHOWS_KV,	    /* a cache of keys and values */
	GP_SHOWS_BUCKET,    /* a bucket of DDP's reducer */
	GP_SHOWS_GATHER,    /* FSDP gathers parameters */
	GP_SHOWS_UNSHARDED, /* where FSDP keeps gathered parameters */
	GP_SHOWS_REDUCE,    /* FSDP reduces gradients */
};

/* Bits 1 << enum gp_role_word. `recording` has a replay under way. */
struct gp_role_stacks {
	struct gp_recording *recording;
	struct gp_row_table stacks;
	bool is_out_of_memory;
};
/* Those of one frame, and of the names of a stack. */
uint32_t gp_role_frame_words(const struct gp_frame *frame);
uint32_t gp_role_name_words(const struct gp_names *names);
uint32_t gp_role_stack_words(struct gp_role_stacks *stacks, uint32_t stack, int64_t at_ns);

#endif
