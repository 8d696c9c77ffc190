/* A list through the slots, and a chain of slots for each hash. */
#include "started_ranges.h"

#include <string.h>

#include "../format/seeded_hash.h"

#define HASH_BITS 12u
_Static_assert(GP_RANGES_STARTED == 1u << HASH_BITS, "a chain for each slot");

static uint16_t *head_of(struct gp_started_ranges *s, uint64_t number, uint32_t source)
{
	const uint64_t hash = (number * GP_HASH_MULTIPLIER >> 32 ^ source) * GP_HASH_MULTIPLIER;
	return &s->head[hash >> (64 - HASH_BITS)];
}

/* The slot of a range; NULL: slot 0. */
static uint16_t slot_of(const struct gp_started_ranges *s, const struct gp_open_range *range)
{
	return range != NULL ? (uint16_t)((const struct gp_started_slot *)range - s->slot) : 0;
}

static struct gp_open_range *range_of(const struct gp_started_ranges *s, uint16_t slot)
{
	return slot != 0 ? (struct gp_open_range *)&s->slot[slot].range : NULL;
}

struct gp_open_range *gp_started_find(struct gp_started_ranges *s, uint64_t number, uint64_t source)
{
	for (uint16_t at = *head_of(s, number, (uint32_t)source); at != 0; at = s->slot[at].next)
		if (s->slot[at].range.number == number && s->slot[at].range.source == source)
			return &s->slot[at].range;
	return NULL;
}

struct gp_open_range *gp_started_add(struct gp_started_ranges *s, const struct gp_open_range *range)
{
	uint16_t at = s->free;
	if (at != 0)
		s->free = s->slot[at].next;
	else if (s->used < GP_RANGES_STARTED)
		at = ++s->used;
	else
		return NULL;
	uint16_t *head = head_of(s, range->number, range->source);
	s->slot[at] = (struct gp_started_slot){
		.range = *range,
		.older = s->slot[0].older,
		.next = *head,
	};
	*head = at;
	s->slot[s->slot[0].older].newer = at;
	s->slot[0].older = at;
	s->count++;
	return &s->slot[at].range;
}

void gp_started_remove(struct gp_started_ranges *s, struct gp_open_range *range)
{
	const uint16_t at = slot_of(s, range);
	struct gp_started_slot *slot = &s->slot[at];
	uint16_t *link = head_of(s, range->number, range->source);
	while (*link != at)
		link = &s->slot[*link].next;
	*link = slot->next;
	s->slot[slot->older].newer = slot->newer;
	s->slot[slot->newer].older = slot->older;
	slot->next = s->free;
	s->free = at;
	s->count--;
}

struct gp_open_range *gp_started_older(const struct gp_started_ranges *s,
				       const struct gp_open_range *than)
{
	return range_of(s, s->slot[slot_of(s, than)].older);
}

struct gp_open_range *gp_started_newer(const struct gp_started_ranges *s,
				       const struct gp_open_range *than)
{
	return range_of(s, s->slot[slot_of(s, than)].newer);
}
