/*
 * The driver's own functions. NULL until resolver.h finds them.
 */
#ifndef GP_REAL_DRIVER_H
#define GP_REAL_DRIVER_H

#include <stdbool.h>

#include "../../libgpuprof/record/hot.h"
#include "cuda_api.h"

typedef void *gp_dlsym_function(void *handle, const char *name);
typedef CUresult gp_get_proc_address_v2(const char *, void **, int, cuuint64_t, int *);
typedef CUresult gp_get_proc_address(const char *, void **, int, cuuint64_t);

/*
 * dlsym without us: the next one in the search order, another preload's or libc's. Never NULL after
 * gp_dlsym_find.
 */
extern gp_dlsym_function *gp_next_dlsym __attribute__((visibility("hidden")));
/* libc's own, whatever other preloads define. */
extern gp_dlsym_function *gp_libc_dlsym __attribute__((visibility("hidden")));
void gp_dlsym_find(void);

/* The real resolvers; NULL as in gp_cuda. They are not rows: lookup_procaddress.c exports ours. */
extern gp_get_proc_address *gp_real_get_proc_address __attribute__((visibility("hidden")));
extern gp_get_proc_address_v2 *gp_real_get_proc_address_v2 __attribute__((visibility("hidden")));

/* False with GPUPROF=off: the resolvers return no function of ours. Set by the constructor. */
extern bool gp_lookups_open __attribute__((visibility("hidden")));

/* Number of objects loaded when the constructor ran: the global scope of the program. */
extern unsigned gp_objects_at_start __attribute__((visibility("hidden")));

#endif
