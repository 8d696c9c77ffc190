/* The order of rows of idle memory. */
#ifndef GP_IDLE_FOLD_H
#define GP_IDLE_FOLD_H

#include "../../gpuprof.h"

/* Rows of the run come by kind and device first; then by weight, highest first, then by key. */
void gp_idle_sort(struct gp_idle *idle);

#endif
