/*
 * Blocks that hold free bytes of their segment: the bytes that freeing one such block would join.
 */
#include <stdlib.h>

#include "frag_parts.h"

static int compare_pins(const void *left, const void *right)
{
	const struct gp_frag_pin *a = left, *b = right;
	if (a->hostage_bytes != b->hostage_bytes)
		return a->hostage_bytes < b->hostage_bytes ? 1 : -1;
	return (a->block > b->block) - (a->block < b->block);
}

static void pin_segment(const struct gp_room *room, size_t segment, struct gp_frag *frag)
{
	const struct gp_memory_segment *s = &room->memory->segment[segment];
	uint64_t before = 0; /* free bytes before the next block */
	size_t last = SIZE_MAX;
	for (size_t k = s->first; k < s->first + s->blocks; k++) {
		if (!gp_room_is_used(room, k)) {
			before += room->memory->block[k].bytes;
			if (last != SIZE_MAX)
				frag->pin[last].hostage_bytes += room->memory->block[k].bytes;
			continue;
		}
		last = frag->pins++;
		frag->pin[last] = (struct gp_frag_pin){ segment, k, before };
		before = 0;
	}
}

enum gp_status gp_frag_list_pins(const struct gp_room *room, struct gp_frag *frag)
{
	const struct gp_memory_device *d = room->device;
	size_t blocks = 0, kept = 0;
	for (size_t k = 0; k < d->segments; k++)
		blocks += room->memory->segment[d->first_segment + k].blocks;
	frag->pin = calloc(blocks + 1, sizeof *frag->pin);
	if (frag->pin == NULL)
		return GP_E_MEMORY;
	for (size_t k = 0; k < d->segments; k++)
		pin_segment(room, d->first_segment + k, frag);
	for (size_t k = 0; k < frag->pins; k++)
		if (frag->pin[k].hostage_bytes != 0)
			frag->pin[kept++] = frag->pin[k];
	frag->pins = kept;
	qsort(frag->pin, kept, sizeof *frag->pin, compare_pins);
	return GP_OK;
}
