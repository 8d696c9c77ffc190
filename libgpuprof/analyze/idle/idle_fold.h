/* The order of rows of idle memory. */
#ifndef GP_IDLE_FOLD_H
#define GP_IDLE_FOLD_H

#include "../../gpuprof.h"

/* Those of the run by kind and device first; then most weight first, then by key. */
void gp_idle_sort(struct gp_idle *idle);

#endif
