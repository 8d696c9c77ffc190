/*
 * What dead processes left in their rings, adopted into their recordings before anything is read.
 * What of `recording` could not be adopted is said on stderr, each ring once. It prints nothing
 * about rings of other recordings. Another adopter is awaited for about 10 seconds in all, and only
 * for recordings that were asked for.
 */
#ifndef GP_LEFTOVERS_H
#define GP_LEFTOVERS_H

#include <stdbool.h>

/*
 * First the rings of `recording` (need not exist), then once all in the ring places and the working
 * directory, then those beside `recording` when the one before was not there, too.
 */
void gp_leftovers_adopt(const char *recording);
/* Nothing but the rings of `recording`. */
void gp_leftovers_adopt_own(const char *recording, bool is_quiet);

#endif
