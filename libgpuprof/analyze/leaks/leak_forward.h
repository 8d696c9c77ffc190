/*
 * Tells activations of one forward pass from a leak. They grow from layer to layer as a leak grows
 * from step to step, and the layers repeat as steps do. What tells them apart is a backward pass,
 * which frees them: by the stacks of the framework's blocks, since most jobs open no range for it.
 */
#ifndef GP_LEAK_FORWARD_H
#define GP_LEAK_FORWARD_H

#include "../../gpuprof.h"

/*
 * Drops leaks that are activations from `leaks` and counts them there, and marks those that may be.
 * At most one replay. GP_E_MEMORY.
 */
enum gp_status gp_leak_forward_judge(struct gp_recording *recording, struct gp_leaks *leaks);

#endif
