/*
 * What a range's name says: that it is a step ("step 12", "ProfilerStep#3"), or PyTorch's optimizer
 * at work.
 */
#ifndef GP_STEP_NAME_H
#define GP_STEP_NAME_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Names that differ in numbers only are of one kind; 0: no step's. `wanted`: the name of the steps;
 * NULL: those of step_name.c.
 */
uint64_t gp_step_name_kind(const char *text, const char *wanted);
/* Of PyTorch 1.8 and newer: "Optimizer.step#AdamW.step". */
bool gp_step_name_is_optimizer(const char *text);

#endif
