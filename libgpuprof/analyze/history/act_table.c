/* Ranges in a sorted array, because segments are few. */
#include "act_table.h"

#include <stdlib.h>
#include <string.h>

#include "../../read/tables/array.h"
#include "../../read/tables/row_rank.h"

/* The number of segments that begin at or before `address`. */
static size_t rank(const struct gp_known_segments *s, uint64_t address)
{
	return gp_row_rank(s->segment, s->count, sizeof *s->segment, address);
}

static bool holds(const struct gp_known_segment *segment, uint64_t address)
{
	return address - segment->address < segment->bytes;
}

struct gp_known_segment *gp_known_segment_at(struct gp_known_segments *s, uint64_t address)
{
	if (s->last < s->count && holds(&s->segment[s->last], address))
		return &s->segment[s->last];
	size_t behind = rank(s, address);
	if (behind == 0 || !holds(&s->segment[behind - 1], address))
		return NULL;
	s->last = behind - 1;
	return &s->segment[behind - 1];
}

struct gp_known_segment *gp_known_segment_in(struct gp_known_segments *s, uint64_t from,
					     uint64_t to)
{
	size_t behind = rank(s, from);
	if (behind > 0 && holds(&s->segment[behind - 1], from))
		return &s->segment[behind - 1];
	return behind < s->count && s->segment[behind].address < to ? &s->segment[behind] : NULL;
}

size_t gp_known_segments_behind(const struct gp_known_segments *s, uint64_t address)
{
	return s->count - rank(s, address);
}

bool gp_known_segment_add(struct gp_known_segments *s, const struct gp_known_segment *known)
{
	if (!gp_array_reserve(&s->segment, &s->room, s->count, 1, sizeof *s->segment))
		return false;
	size_t at = rank(s, known->address);
	memmove(&s->segment[at + 1], &s->segment[at], (s->count - at) * sizeof *s->segment);
	s->segment[at] = *known;
	s->count++;
	return true;
}

static void remove_at(struct gp_known_segments *s, size_t at)
{
	s->count--;
	memmove(&s->segment[at], &s->segment[at + 1], (s->count - at) * sizeof *s->segment);
}

bool gp_known_segment_cut(struct gp_known_segments *s, struct gp_known_segment *known,
			  uint64_t from, uint64_t to)
{
	struct gp_known_segment behind = *known;
	size_t at = (size_t)(known - s->segment);
	uint64_t end = known->address + known->bytes;
	behind.address = to;
	behind.bytes = end - to;
	if (from == known->address && to == end) {
		remove_at(s, at);
	} else if (from == known->address) {
		*known = behind;
	} else {
		if (to != end && !gp_known_segment_add(s, &behind))
			return false;
		s->segment[at].bytes = from - s->segment[at].address;
	}
	return true;
}

void gp_known_segments_release(struct gp_known_segments *s)
{
	free(s->segment);
	*s = (struct gp_known_segments){ 0 };
}
