/* How NVTX finds us: a variable of the environment, and a function. */
#ifndef GP_LOOKUP_NVTX_H
#define GP_LOOKUP_NVTX_H

/*
 * Constructor, where something is recorded: NVTX in this process, and in what it starts, shall ask
 * us. Another tool that is named there already stays.
 */
void gp_nvtx_offer(void);
/* Records at the begin which tool has NVTX instead, and the names of NVTX. Inside. */
void gp_nvtx_tell(void);

#endif
