/* Our callbacks for CUPTI: buffers out, records in. */
#ifndef GP_CUPTI_RECORDS_H
#define GP_CUPTI_RECORDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cupti_library.h"

void gp_cupti_on_request(uint8_t **buffer, size_t *bytes, size_t *records_most);
void gp_cupti_on_complete(void *context, uint32_t stream, uint8_t *buffer, size_t bytes,
			  size_t valid);

/*
 * CUPTI's flush. Buffers that are not full come because of it. At other times they come because the
 * job has set a period, and then the job gets its own at once, too.
 */
uint32_t gp_cupti_flush_all(const struct gp_cupti *cupti, uint32_t flag);

/* The same for us. */
uint32_t gp_cupti_flush_own(const struct gp_cupti *cupti, uint32_t flag);
/*
 * Brings all records of operations that end within ten naps. CUPTI keeps a buffer in which one is
 * unfinished. A forced flush would cost the job that operation's record, and comes only if the job
 * does not collect.
 */
void gp_cupti_drain(const struct gp_cupti *cupti, uint32_t nap_us);
/*
 * Waits until it has ended: it may have taken a buffer whose records the job's own flush must
 * bring. Not in a callback of the job, which it may be waiting for.
 */
void gp_cupti_await_own_flush(void);

/* A clock pair for the sink. Only outside of its record(). */
void gp_cupti_tell_clock(const struct gp_cupti *cupti);

/* Counts records that a look at CUPTI's count has found. */
void gp_cupti_count_dropped(size_t number);

/* The sink takes no more records. */
void gp_cupti_records_end(void);

#endif
