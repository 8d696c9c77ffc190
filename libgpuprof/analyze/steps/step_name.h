/* Which ranges are steps by their names: "step 12", "ProfilerStep#3". */
#ifndef GP_STEP_NAME_H
#define GP_STEP_NAME_H

#include <stdint.h>

/*
 * Names that differ in numbers only are of one kind; 0: no step's. `wanted`: the name of the steps;
 * NULL: those of step_name.c.
 */
uint64_t gp_step_name_kind(const char *text, const char *wanted);

#endif
