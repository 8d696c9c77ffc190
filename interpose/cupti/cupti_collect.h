/*
 * The collecting thread: it loads CUPTI, flushes finished records once a second, and relates its
 * clock to ours. It opens CUPTI as well, unless a window begins later: then the thread of the job
 * that begins it does.
 */
#ifndef GP_CUPTI_COLLECT_H
#define GP_CUPTI_COLLECT_H

#include <stdbool.h>
#include <stdint.h>

#include "cupti_library.h"

/* The members of gp_gpu_source. */
void gp_cupti_start(void);
void gp_cupti_window(bool is_open, uint32_t number);
void gp_cupti_end(void);

/* Whether records are collected for us now. */
bool gp_cupti_is_collecting(void);

/* The process or its recording ends. */
bool gp_cupti_is_ending(void);

/*
 * Registers our callbacks with CUPTI unless they are. For the collecting thread, and for the job's
 * call of the same function.
 */
uint32_t gp_cupti_register(const struct gp_cupti *cupti);

/* Finalizes CUPTI, which then has no callbacks, while the collecting thread does not call it. */
uint32_t gp_cupti_finalize(const struct gp_cupti *cupti);

/* The job has loaded another CUPTI than ours: gives up, and leaves it to the job. */
void gp_cupti_yield_to_job(void);
bool gp_cupti_has_yielded(void);

#endif
