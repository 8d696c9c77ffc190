/*
 * The payloads of NCCL's ranges: size and communicator of each call. NCCL describes their layout by
 * schemas of NVTX's payload extension, and the names of their entries are the same in all versions.
 */
#ifndef GP_NCCL_PAYLOAD_H
#define GP_NCCL_PAYLOAD_H

#include <stdbool.h>

#include "nvtx_abi.h"

/* `domain`: id of the domain's name. Other domains than NCCL's are ignored. */
void gp_nccl_schema_learn(uint32_t domain, const struct gp_nvtx_schema *schema);
void gp_nccl_enum_learn(uint32_t domain, const struct gp_nvtx_enum *attributes);
/*
 * Records the payload of a range of the calling thread: COLLECTIVE just after its push, or
 * COMMUNICATOR. Only the first payload is read: NCCL has one. Payloads of other domains,
 * without a schema, or too short are ignored.
 */
void gp_nccl_payload_see(uint32_t domain, const struct gp_nvtx_payload *payload, uint64_t payloads);
/* Records all communicators so far, when recording begins. Inside gp_enter. */
void gp_nccl_write(void);

#endif
