/*
 * Distinguishes activations of one forward pass from a leak. They grow from layer to layer as a
 * leak grows from step to step, and the layers repeat as steps do. But a backward pass frees them.
 * That pass is found by the stacks of the framework's blocks, because most jobs open no range for
 * it.
 */
#ifndef GP_LEAK_FORWARD_H
#define GP_LEAK_FORWARD_H

#include "../../gpuprof.h"

/*
 * Removes leaks that are activations from `leaks` and counts them there. Marks leaks that may be
 * activations. Takes at most one replay. GP_E_MEMORY.
 */
enum gp_status gp_leak_forward_judge(struct gp_recording *recording, struct gp_leaks *leaks);

#endif
