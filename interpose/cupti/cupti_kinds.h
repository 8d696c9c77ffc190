/*
 * Which kinds of records CUPTI collects, and for whom: the job, us, or both. CUPTI's own call is
 * made for each enable of the job, whose result it must get, and for the last disable.
 */
#ifndef GP_CUPTI_KINDS_H
#define GP_CUPTI_KINDS_H

#include <stdbool.h>

#include "cupti_library.h"

/* The job's calls; each returns CUPTI's result, or success if the kind stays enabled for us. */
uint32_t gp_cupti_kind_enable(const struct gp_cupti *cupti, uint32_t kind, bool has_dump);
uint32_t gp_cupti_kind_disable(const struct gp_cupti *cupti, uint32_t kind);
uint32_t gp_cupti_kind_enable_context(const struct gp_cupti *cupti, void *context, uint32_t kind);
uint32_t gp_cupti_kind_disable_context(const struct gp_cupti *cupti, void *context, uint32_t kind);

/*
 * Ours: kernels, copies and sets. The result of enabling kernels; without that, none stays enabled.
 * Records of a trial are not for us.
 */
uint32_t gp_cupti_kinds_open(const struct gp_cupti *cupti, bool is_trial);
void gp_cupti_kinds_close(const struct gp_cupti *cupti);

/* Whether the job has enabled any kind. */
bool gp_cupti_job_collects(void);

/* Whether it does, or has disabled a kind whose records may still come. */
bool gp_cupti_job_awaits(void);

/*
 * Whether a record is for the job. It has enabled the kind, or it had: CUPTI still delivers what
 * was launched before a disable. That ends with the flush that brings all records, or after ten
 * seconds; until then, a job that disables a kind also gets what only we collect of it. A record
 * that had ended before the enable is not for the job.
 */
bool gp_cupti_is_for_job(uint32_t kind, uint64_t ended_ns);

/* All records of kinds that the job had disabled at gp_cupti_kinds_disabled() are out. */
uint64_t gp_cupti_kinds_disabled(void);
void gp_cupti_kinds_flushed(uint64_t disabled);

/* The job's part ends: disables all of its kinds. */
void gp_cupti_kinds_forget_job(const struct gp_cupti *cupti);

/*
 * Whether a record between these times is for us: a part of it lies in one of our windows, or it
 * began in the second after one. Reports leave those out whose launch was outside of the window.
 */
bool gp_cupti_is_for_us(uint64_t began_ns, uint64_t ended_ns);

#endif
