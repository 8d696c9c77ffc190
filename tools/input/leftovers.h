/*
 * Adopts the rings of dead processes into their recordings before anything is read. If part of
 * `recording` cannot be adopted, prints it on stderr, once for each ring. Prints no lines on rings
 * of other recordings. Waits up to about 10 seconds in all for another adopter, and only for
 * requested recordings.
 */
#ifndef GP_LEFTOVERS_H
#define GP_LEFTOVERS_H

#include <stdbool.h>

/*
 * Adopts the rings of `recording`, which need not exist. The first call also adopts all rings in
 * the ring places.
 */
void gp_leftovers_adopt(const char *recording);
/* Adopts only the rings of `recording`. */
void gp_leftovers_adopt_own(const char *recording, bool is_quiet);

#endif
