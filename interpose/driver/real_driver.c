/*
 * Common data of the files of interpose/: the driver's functions, and whether callers get ours. Has
 * no code, because every file may need this one. resolver.c fills it.
 */
#include "real_driver.h"

struct gp_cuda gp_cuda;
gp_dlsym_function *gp_next_dlsym;
gp_get_proc_address *gp_real_get_proc_address;
gp_get_proc_address_v2 *gp_real_get_proc_address_v2;
bool gp_lookups_open GP_HOT_DATA;
unsigned gp_objects_at_start;
gp_dlsym_function *gp_libc_dlsym;
