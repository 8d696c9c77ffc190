/*
 * Epochs: intervals in which no module of a recording was unloaded. Within one epoch a stack has
 * one meaning. In the next one, an address may lie in another module.
 */
#ifndef GP_MODULE_EPOCHS_H
#define GP_MODULE_EPOCHS_H

#include "../../gpuprof.h"

struct gp_module_epochs {
	int64_t *end_ns; /* ascending */
	size_t ends;	 /* 0: no module was ever unloaded */
};

/* Call it after gp_recording_info, which reads all modules. */
enum gp_status gp_module_epochs_build(const struct gp_recording *recording,
				      struct gp_module_epochs *out);
void gp_module_epochs_release(struct gp_module_epochs *epochs);
/* The number, from 0, of the epoch that contains `at_ns`. */
size_t gp_module_epoch(const struct gp_module_epochs *epochs, int64_t at_ns);

#endif
