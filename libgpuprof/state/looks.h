/*
 * A work limit for searches, shifts and comparisons over items that few events made. A recording of
 * a few kilobytes can hold a million events. Each event adds looks, and may use those that earlier
 * ones saved, so total work stays linear. A real job's recording never reaches the limit.
 */
#ifndef GP_LOOKS_H
#define GP_LOOKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * A look takes some nanoseconds: 0.1 s at most for the initial ones, a microsecond for those of an
 * event.
 */
#define GP_LOOKS_FIRST (1ull << 23)
#define GP_LOOKS_AN_EVENT 64u
#define GP_LOOKS_A_BYTE 64u /* per file, all available at first */

struct gp_looks {
	uint64_t left;
	uint64_t refused; /* number of events that had too few: figures are incomplete */
};

static inline void gp_looks_open(struct gp_looks *looks)
{
	*looks = (struct gp_looks){ .left = GP_LOOKS_FIRST };
}

/* For a file of so many bytes: 1 s per MiB at most. */
static inline void gp_looks_open_bytes(struct gp_looks *looks, uint64_t bytes)
{
	gp_looks_open(looks);
	looks->left += bytes * GP_LOOKS_A_BYTE;
}

/* Adds the looks of one more event. */
static inline void gp_looks_add(struct gp_looks *looks)
{
	looks->left += GP_LOOKS_AN_EVENT;
}

/* Takes looks. False: there are not enough, and none is taken. `looks` NULL: no limit. */
static inline bool gp_looks_take(struct gp_looks *looks, uint64_t count)
{
	if (looks == NULL)
		return true;
	if (looks->left < count) {
		looks->refused++;
		return false;
	}
	looks->left -= count;
	return true;
}

#endif
