/*
 * Our buffers for CUPTI's records: the only ones that CUPTI gets. They come from mmap, never from
 * the job's allocator, and are used again.
 */
#ifndef GP_CUPTI_BUFFERS_H
#define GP_CUPTI_BUFFERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define GP_CUPTI_BUFFER_BYTES (1u << 20)

/*
 * A free buffer, page-aligned. NULL: all are out, and CUPTI counts dropped records. `is_shared`:
 * the job collects, too, and may have as much as torch.profiler takes by itself.
 */
uint8_t *gp_cupti_buffer_take(bool is_shared);

/* False: it is not one of ours. */
bool gp_cupti_buffer_is_ours(const uint8_t *buffer);

/*
 * Back from CUPTI, with `used` bytes of records. Clears them: by an attribute, a job may have
 * declared its buffers as cleared.
 */
void gp_cupti_buffer_give(uint8_t *buffer, size_t used);

/* The number that CUPTI has. */
unsigned gp_cupti_buffers_out(void);

#endif
