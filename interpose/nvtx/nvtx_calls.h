/*
 * Our functions for NVTX: one row each.
 */
#ifndef GP_NVTX_CALLS_H
#define GP_NVTX_CALLS_H

#include "nvtx_abi.h"

struct gp_nvtx_row {
	uint32_t module; /* enum gp_nvtx_module */
	uint32_t number; /* of the function in its module's table */
	gp_nvtx_function *function;
};
#define GP_NVTX_ROWS 37u
extern const struct gp_nvtx_row gp_nvtx_rows[GP_NVTX_ROWS];

struct gp_nvtx_payload_row {
	uint32_t slot; /* enum gp_nvtx_payload_slot */
	gp_nvtx_function *function;
};
#define GP_NVTX_PAYLOAD_ROWS 4u
extern const struct gp_nvtx_payload_row gp_nvtx_payload_rows[GP_NVTX_PAYLOAD_ROWS];

#endif
