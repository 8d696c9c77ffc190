/*
 * Records which file's code lies where, as MODULE definitions when it is loaded and unloaded. Reads
 * /proc/self/maps and the mapped headers, without the loader. Drain thread only.
 */
#ifndef GP_MODULE_WATCH_H
#define GP_MODULE_WATCH_H

#include "../recorder.h"

/* False: no memory; then no definition is recorded. */
bool gp_module_watch_open(struct gp_recorder *recorder);
/* Bytes of its list. */
uint64_t gp_module_watch_memory(const struct gp_recorder *recorder);
/* Looks again if the loader has loaded or unloaded an object since. */
void gp_module_watch(struct gp_recorder *recorder);

#endif
