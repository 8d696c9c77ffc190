/*
 * Stacks in the form of PyTorch's snapshots: lists of frames with name, filename and line,
 * innermost first. Each text, frame and stack is written once to a pickle and then referenced.
 * Memory grows with the number of different ones.
 */
#ifndef GP_PICKLED_STACKS_H
#define GP_PICKLED_STACKS_H

#include "../write/pickle.h"
#include "gpuprof.h"

struct gp_pickled_stacks;
/* NULL: out of memory. */
struct gp_pickled_stacks *gp_pickled_stacks_open(struct gp_recording *recording,
						 struct gp_pickle *pickle);
void gp_pickled_stacks_close(struct gp_pickled_stacks *stacks);

/* Writes the list; an empty one for an unknown stack. `epoch`: gp_history_epoch of `at_ns`. */
void gp_pickled_stacks_write(struct gp_pickled_stacks *stacks, uint32_t stack, uint32_t epoch,
			     int64_t at_ns);

/*
 * The owner of memory outside the framework: the library of the stack, else the name of the space.
 * Valid until the next call.
 */
const char *gp_pickled_stacks_owner(struct gp_pickled_stacks *stacks, uint32_t stack,
				    uint32_t epoch, int64_t at_ns, uint8_t space);

#endif
