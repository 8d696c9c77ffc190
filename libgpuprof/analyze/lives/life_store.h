/*
 * Keeps ended and live lives up to a number, as sorted blocks of bytes. If there are more, it
 * leaves out the shortest ones.
 */
#ifndef GP_LIFE_STORE_H
#define GP_LIFE_STORE_H

#include "life_code.h"

#define GP_LIFE_LENGTHS 65u /* by the number of bits of death - birth */

struct gp_life_run {
	unsigned char *bytes;
	size_t count;
};

/* Zeros, with `most` and `a_block` set, are an empty store. */
struct gp_life_store {
	size_t most, a_block;
	struct gp_life_row *row; /* of the block that is being filled */
	size_t rows;
	unsigned char *room;	 /* for its bytes */
	struct gp_life_run *run; /* each sorted */
	size_t runs;
	uint64_t ended[GP_LIFE_LENGTHS]; /* all that were added */
	uint64_t kept, live, added;	 /* kept: ended ones in row and run */
	unsigned bits; /* ended lives with less than 2^(bits - 1) ns are left out; 0: none are */
	bool is_out_of_memory;
};

void gp_life_store_add(struct gp_life_store *store, const struct gp_life_row *row);

/* The lives in order. */
struct gp_life_merge {
	struct gp_life_reader *reader;
	size_t readers;
};
/* After the last life was added. False: out of memory. */
bool gp_life_store_settle(struct gp_life_store *store);
/* Ended lives that are shorter were left out; 0: none. UINT64_MAX: live ones were, too. */
uint64_t gp_life_store_shorter(const struct gp_life_store *store);
bool gp_life_merge_open(struct gp_life_merge *merge, const struct gp_life_store *store);
/* False: no more, or `most` were read. */
bool gp_life_merge_next(struct gp_life_merge *merge, struct gp_life_row *out);
void gp_life_merge_close(struct gp_life_merge *merge);
void gp_life_store_release(struct gp_life_store *store);

#endif
