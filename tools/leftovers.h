/*
 * What dead processes left in their rings, adopted into their recordings before anything is read.
 * What could not be adopted is said on stderr, each ring once.
 */
#ifndef GP_LEFTOVERS_H
#define GP_LEFTOVERS_H

/*
 * Looks in the ring places and the working directory, and beside `recording` (may be NULL; need not
 * exist); nowhere twice.
 */
void gp_leftovers_adopt(const char *recording);

#endif
