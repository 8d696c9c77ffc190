/*
 * What a range's name says: that it is a step ("step 12", "ProfilerStep#3"), or PyTorch's optimizer
 * at work.
 */
#ifndef GP_STEP_NAME_H
#define GP_STEP_NAME_H

#include <stdbool.h>
#include <stdint.h>

struct gp_step_name {
	uint64_t kind;	/* those that differ in numbers only have the same; 0: no step's */
	uint32_t order; /* the smaller, the less such a name is given to anything else */
};

struct gp_step_name gp_step_name_of(const char *text);
/* Of PyTorch 1.8 and newer: "Optimizer.step#AdamW.step", "Optimizer.zero_grad#AdamW.zero_grad". */
bool gp_step_name_is_optimizer(const char *text);
bool gp_step_name_is_zero_grad(const char *text);
/* Never 0. */
uint64_t gp_step_name_hash(const char *text, uint64_t of);

#endif
