/*
 * A limit to searches, shifts and comparisons that no event paid for by making what they look at.
 * A recording of a few kilobytes can hold a million events: with each of them one may take the
 * looks that were saved, so that all of them together stay linear. A real job's recording has far
 * more looks than it needs.
 */
#ifndef GP_LOOKS_H
#define GP_LOOKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A look is some nanoseconds: the first ones are 0.1 s at most, those of an event a microsecond. */
#define GP_LOOKS_FIRST (1ull << 23)
#define GP_LOOKS_AN_EVENT 64u
#define GP_LOOKS_A_BYTE 64u /* of the file, where all looks are had at first */

struct gp_looks {
	uint64_t left;
	uint64_t refused; /* how often there were too few: figures lack something */
};

static inline void gp_looks_open(struct gp_looks *looks)
{
	*looks = (struct gp_looks){ .left = GP_LOOKS_FIRST };
}

/* For the whole of a file of so many bytes: 1 s a MiB at most. */
static inline void gp_looks_open_bytes(struct gp_looks *looks, uint64_t bytes)
{
	gp_looks_open(looks);
	looks->left += bytes * GP_LOOKS_A_BYTE;
}

/* One more event. */
static inline void gp_looks_add(struct gp_looks *looks)
{
	looks->left += GP_LOOKS_AN_EVENT;
}

/* False: there are not so many, and none is taken. NULL: there is no limit. */
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
