/* Three buffers from malloc. */
#include "block_room.h"

#include <stdlib.h>

static bool room_open(struct gp_block_room *room, size_t scratch_bytes,
		      struct gp_block_scratch *(*init)(void *memory, size_t bytes))
{
	size_t bytes = (scratch_bytes + 63) & ~(size_t)63;
	void *memory = aligned_alloc(64, bytes);
	room->scratch = memory != NULL ? init(memory, bytes) : NULL;
	room->record = malloc(GP_BLOCK_RECORDS * sizeof *room->record);
	room->bytes = malloc(gp_block_bound());
	if (room->scratch == NULL)
		free(memory);
	return room->scratch != NULL && room->record != NULL && room->bytes != NULL;
}

bool gp_block_room_open(struct gp_block_room *room)
{
	return room_open(room, gp_block_scratch_bytes(), gp_block_scratch_init);
}

bool gp_block_room_open_decoder(struct gp_block_room *room)
{
	return room_open(room, gp_block_decoder_bytes(), gp_block_decoder_init);
}

void gp_block_room_release(struct gp_block_room *room)
{
	free(room->scratch); /* the start of the memory of the room */
	free(room->record);
	free(room->bytes);
	*room = (struct gp_block_room){ 0 };
}
