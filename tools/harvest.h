/*
 * What a run left: its recordings, named in the list file, summed up in at most five lines on
 * stderr.
 */
#ifndef GP_HARVEST_H
#define GP_HARVEST_H

#include <stdint.h>

/* `list`: the file with one path a line; "" when there is none. */
void gp_harvest_print(const char *list, const char *command);

/* Removes all but the `keep` newest finished recordings that the output pattern may have named. */
void gp_harvest_keep(const char *pattern, uint64_t keep);

#endif
