/*
 * Stacks of a recording by id: chains of native and Python frames as the definitions tell them. Ids
 * are never given twice in a process, so what is known stays good over segments. Not for tools/:
 * their contract is gpuprof.h.
 */
#ifndef GP_CALL_STACKS_H
#define GP_CALL_STACKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../gpuprof.h"

struct gp_call_stacks;
struct gp_call_stacks *gp_call_stacks_open(void); /* NULL: no memory */
void gp_call_stacks_close(struct gp_call_stacks *stacks);

/*
 * Learns a PYTHON_CODE, NATIVE_FRAME, PYTHON_FRAME or CALL_STACK. `file` and `name` (PYTHON_CODE):
 * kept as given, they must live as long as `stacks`.
 */
enum gp_status gp_call_stacks_add(struct gp_call_stacks *stacks, const struct gp_record *record,
				  const char *file, const char *name);

/*
 * The frames of stack `id`, at most `most` of each kind. False: no such stack is known. A frame
 * whose definition is missing ends its chain.
 */
bool gp_call_stacks_get(const struct gp_call_stacks *stacks, uint32_t id, struct gp_call_stack *out,
			struct gp_stack_native_frame *native, struct gp_stack_python_frame *python,
			size_t most);
/* How many stacks are known. */
size_t gp_call_stacks_count(const struct gp_call_stacks *stacks);

#endif
