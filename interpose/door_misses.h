/* Counts the look-ups that led past us: FACT ROUTES of a recording. More than 0 says that calls may
 * be missing. */
#ifndef GP_DOOR_MISSES_H
#define GP_DOOR_MISSES_H

/* For the doors: `real` is answered as it is to a request for `name`; counted when a row has that
 * name. */
void gp_miss_check(const char *name, void *real);

/* Writes the count, if there is any. On a thread that records, depth raised. */
void gp_misses_tell(void);

#endif
