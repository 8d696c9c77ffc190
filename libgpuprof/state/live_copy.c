/* Copies of the state: the figures as they are, and the entries without their table and maps. */
#include <string.h>

#include "live_state.h"

struct gp_live_copy {
	uint64_t bytes; /* of the copy, which is one piece of memory */
	uint64_t entries;
	struct gp_live figures; /* its pointers are not valid */
	struct gp_live_entry entry[];
};

static void copy_entry(void *context, const struct gp_live_entry *entry)
{
	struct gp_live_copy *copy = context;
	copy->entry[copy->entries++] = *entry;
}

struct gp_live_copy *gp_live_copy(struct gp_live *live)
{
	const uint64_t bytes =
		sizeof(struct gp_live_copy) + live->entries * sizeof(struct gp_live_entry);
	struct gp_live_copy *copy = gp_pages_open(bytes);
	if (copy == NULL)
		return NULL;
	copy->bytes = bytes;
	gp_live_walk_begin(live, copy_entry, copy);
	while (!gp_live_walk_more(live, UINT32_MAX))
		;
	copy->figures = *live;
	return copy;
}

struct gp_live *gp_live_of_copy(const struct gp_live_copy *copy)
{
	struct gp_live *live = gp_live_open();
	if (live == NULL)
		return NULL;
	for (uint64_t i = 0; i < copy->entries; i++)
		if (gp_live_add(live, &copy->entry[i]) == 0) {
			gp_live_close(live);
			return NULL;
		}
	const struct gp_live *from = &copy->figures;
	live->looks = from->looks;
	live->newest = from->newest;
	live->gap = from->gap;
	live->moved = from->moved;
	live->has_host_moved = from->has_host_moved;
	live->is_loaded = from->is_loaded;
	memcpy(live->count, from->count, sizeof live->count);
	memcpy(live->device, from->device, sizeof live->device);
	live->host = from->host;
	live->past = from->past;
	return live;
}

uint64_t gp_live_copy_bytes(const struct gp_live_copy *copy)
{
	return copy->bytes;
}

void gp_live_copy_close(struct gp_live_copy *copy)
{
	if (copy != NULL)
		gp_pages_close(copy, copy->bytes);
}
