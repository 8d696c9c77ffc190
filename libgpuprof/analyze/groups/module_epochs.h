/*
 * Times between which no module of a recording went: within one a stack means one thing, while an
 * address may lie in another module in the next.
 */
#ifndef GP_MODULE_EPOCHS_H
#define GP_MODULE_EPOCHS_H

#include "../../gpuprof.h"

struct gp_module_epochs {
	int64_t *end_ns; /* rising */
	size_t ends;	 /* 0: nothing was ever unloaded */
};

/* After gp_recording_info: all modules that the recording tells of are known then. */
enum gp_status gp_module_epochs_build(const struct gp_recording *recording,
				      struct gp_module_epochs *out);
void gp_module_epochs_release(struct gp_module_epochs *epochs);
/* The number of the epoch in which `at_ns` lies, from 0. */
size_t gp_module_epoch(const struct gp_module_epochs *epochs, int64_t at_ns);

#endif
