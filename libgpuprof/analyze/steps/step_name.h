/* Recognizes ranges that are steps by their names: "step 12", "ProfilerStep#3". */
#ifndef GP_STEP_NAME_H
#define GP_STEP_NAME_H

#include <stdint.h>

/*
 * Names that differ in numbers only have one kind; 0: not a step's name. `requested` is the name of
 * the steps; NULL: the names of step_name.c.
 */
uint64_t gp_step_name_kind(const char *text, const char *requested);

#endif
