/* The memory to decode or encode blocks, one at a time. */
#ifndef GP_BLOCK_ROOM_H
#define GP_BLOCK_ROOM_H

#include "../format/block.h"

struct gp_block_room {
	struct gp_block_scratch *scratch;
	struct gp_record *record; /* GP_BLOCK_RECORDS slots */
	unsigned char *bytes;	  /* the bytes of one encoded block, at most gp_block_bound() */
};

/* False: out of memory. Call gp_block_room_release() in either case. */
bool gp_block_room_open(struct gp_block_room *room);
/* The same to decode only. */
bool gp_block_room_open_decoder(struct gp_block_room *room);
void gp_block_room_release(struct gp_block_room *room);

#endif
