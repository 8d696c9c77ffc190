/*
 * The stacks of a recording by id: chains of native and Python frames, as the DEFINE records list
 * them. A process uses each id once, so entries stay valid across segments. Not for tools/: their
 * contract is gpuprof.h.
 */
#ifndef GP_CALL_STACKS_H
#define GP_CALL_STACKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../../gpuprof.h"

/* Two chains, each with the innermost frame first. */
struct gp_native_frame {
	uint64_t pc;	  /* a return address */
	bool runs_python; /* it called the Python frames up to the next is_entry */
};
struct gp_python_frame {
	const char *file, *name; /* NULL unknown */
	uint32_t line, first_line;
	int32_t offset;	      /* of the instruction, in bytes */
	bool is_entry;	      /* called from C: a C frame lies between it and its caller's frame */
	uint8_t bare_entries; /* number of C frames beyond it that have no stored frame */
};
struct gp_call_stack {
	size_t natives, pythons; /* frames stored */
	enum gp_stack_why why_native, why_python;
	uint32_t module; /* as gp_stack.module */
};

struct gp_call_stacks;
struct gp_call_stacks *gp_call_stacks_open(void); /* NULL: no memory */
void gp_call_stacks_close(struct gp_call_stacks *stacks);

/*
 * Adds a PYTHON_CODE, NATIVE_FRAME, PYTHON_FRAME, TORCH_MODULE or CALL_STACK record. `file` and
 * `name` of PYTHON_CODE, and name and class of TORCH_MODULE, are not copied: they must live as long
 * as `stacks`.
 */
enum gp_status gp_call_stacks_add(struct gp_call_stacks *stacks, const struct gp_record *record,
				  const char *file, const char *name);

/*
 * The frames of stack `id`, at most `most` of each kind. False: the stack is not defined. A frame
 * without a definition ends its chain.
 */
bool gp_call_stacks_get(const struct gp_call_stacks *stacks, uint32_t id, struct gp_call_stack *out,
			struct gp_native_frame *native, struct gp_python_frame *python,
			size_t most);
/* False: the module is not defined. */
bool gp_call_stacks_module(const struct gp_call_stacks *stacks, uint32_t id,
			   struct gp_torch_module *out);
/* The root with most modules below it, the first of several; 0: the recording has no modules. */
uint32_t gp_call_stacks_main_root(struct gp_call_stacks *stacks);
bool gp_call_stacks_has_native(const struct gp_call_stacks *stacks);
bool gp_call_stacks_has_python(const struct gp_call_stacks *stacks); /* it has a Python frame */
/*
 * Visits the return address of each native frame. One address is visited once for each frame that
 * has it.
 */
void gp_call_stacks_visit_native(const struct gp_call_stacks *stacks,
				 void (*visit)(void *context, uint64_t pc), void *context);
/* The number of defined stacks. */
size_t gp_call_stacks_count(const struct gp_call_stacks *stacks);

#endif
