/* The door through which NVTX finds us: a variable of the environment, and a function. */
#ifndef GP_DOOR_NVTX_H
#define GP_DOOR_NVTX_H

/*
 * Constructor, where something is recorded: NVTX in this process, and in what it starts, shall ask
 * us. Another tool that is named there already stays.
 */
void gp_nvtx_offer(void);
/* Tells a recording that begins who has NVTX instead, and the names of things. Inside. */
void gp_nvtx_tell(void);

#endif
