/* Mutations of a list of ring edits: adds one, removes one, changes a place or a value. */
#include <string.h>

#include "fuzz.h"
#include "ring_edit.h"

static struct ring_edit any_edit(void)
{
	return (struct ring_edit){ .where = (uint8_t)fuzz_below(RING_EDITS),
				   .ring = (uint8_t)fuzz_below(8),
				   .index = (uint16_t)fuzz_below(fuzz_below(2) ? 32 : 512),
				   .value = fuzz_number(fuzz_below(64)) };
}

static size_t change_list(struct ring_edit *edit, size_t edits, size_t most)
{
	size_t at = fuzz_below(edits);
	switch (edits == 0 ? 0 : fuzz_below(6)) {
	case 0:
		if (edits < most) {
			memmove(edit + at + 1, edit + at, (edits - at) * sizeof *edit);
			edit[at] = any_edit();
			return edits + 1;
		}
		return edits;
	case 1:
		memmove(edit + at, edit + at + 1, (edits - at - 1) * sizeof *edit);
		return edits - 1;
	case 2:
		edit[at].index = (uint16_t)(edit[at].index + fuzz_below(9) - 4);
		return edits;
	case 3:
		edit[at].ring = (uint8_t)fuzz_below(8);
		return edits;
	default:
		edit[at].value = fuzz_number(edit[at].value);
		return edits;
	}
}

size_t fuzz_mutate_ring(uint8_t *data, size_t bytes, size_t room)
{
	struct ring_edit edit[64];
	size_t most = sizeof edit / sizeof *edit, edits = bytes / sizeof *edit;
	edits = edits < most ? edits : most;
	if (room < sizeof edit)
		return 0;
	memcpy(edit, data, edits * sizeof *edit);
	for (size_t n = 1 + fuzz_below(4); n > 0; n--)
		edits = change_list(edit, edits, most);
	if (edits == 0)
		edit[edits++] = any_edit();
	memcpy(data, edit, edits * sizeof *edit);
	return edits * sizeof *edit;
}
