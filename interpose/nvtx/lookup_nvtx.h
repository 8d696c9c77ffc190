/*
 * How NVTX finds this library: an environment variable and a function.
 */
#ifndef GP_LOOKUP_NVTX_H
#define GP_LOOKUP_NVTX_H

/*
 * Sets the variable for this process and its children, from the constructor, if NVTX is recorded.
 * Another tool's value stays.
 */
void gp_nvtx_offer(void);
/*
 * Records, when recording begins, which other tool has NVTX, and the names of NVTX. Inside
 * gp_enter.
 */
void gp_nvtx_write(void);

#endif
