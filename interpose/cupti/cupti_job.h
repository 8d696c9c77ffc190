/*
 * The job's half of CUPTI's activity interface, as torch.profiler uses it: its two callbacks, and
 * its buffers. CUPTI does not know them. Records are copied into the job's buffers, which are
 * handed over when they are full or when the job flushes.
 *
 * No lock is held while a callback of the job runs. Each thread that copies takes a desk, with a
 * buffer of the job's or without; a flush waits for the desks that are in use, takes each and hands
 * its buffer over. The callbacks may run on any thread, as with CUPTI alone.
 */
#ifndef GP_CUPTI_JOB_H
#define GP_CUPTI_JOB_H

#include <stdbool.h>

#include "cupti_abi.h"

struct gp_cupti_desk;

/* Both NULL: the job has none any more. */
void gp_cupti_job_register(gp_cupti_request *request, gp_cupti_complete *complete);
bool gp_cupti_job_is_registered(void);

/* Whether the calling thread may be in a callback of the job. */
bool gp_cupti_job_is_called(void);

/* NULL: all desks stay in use, or the job has no callbacks. */
struct gp_cupti_desk *gp_cupti_job_begin(void);

/*
 * Copies a record. Counts it as dropped if the job gives no buffer for it. `is_last`: what follows
 * it in a buffer cannot be read, so the buffer is handed over.
 */
void gp_cupti_job_copy(struct gp_cupti_desk *desk, const void *record, size_t bytes, bool is_last);
void gp_cupti_job_end(struct gp_cupti_desk *desk);

/* Hands the desk's buffer over although it is not full, and requests the next. */
void gp_cupti_job_hand_over(struct gp_cupti_desk *desk);

/*
 * Hands over all buffers, after copies that have begun before. `keeps_empty`: a buffer without
 * records stays.
 */
void gp_cupti_job_deliver(bool keeps_empty);

/*
 * Requests a buffer if no desk has one. CUPTI alone holds one from the first record on, and
 * torch.profiler does not even flush while it has handed out none.
 */
void gp_cupti_job_prepare(void);

/* Records that the job lost: its own count, which a look at CUPTI's has reset. */
void gp_cupti_job_dropped(size_t number);
size_t gp_cupti_job_take_dropped(void);

#endif
