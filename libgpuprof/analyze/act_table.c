/* Linear probing with backward shifts; ranges in a sorted array, since segments are few. */
#include "act_table.h"

#include <stdlib.h>
#include <string.h>

#include "../format/seeded_hash.h"
#include "../read/row_rank.h"

#define NO_KEY UINT64_MAX

static size_t home(const struct gp_told_table *t, uint64_t key)
{
	return (size_t)gp_hash_number(key) & (t->places - 1);
}

static struct gp_told *find_place(const struct gp_told_table *t, uint64_t key)
{
	size_t at = home(t, key);
	while (t->place[at].key != NO_KEY && t->place[at].key != key)
		at = (at + 1) & (t->places - 1);
	return &t->place[at];
}

struct gp_told *gp_told_find(const struct gp_told_table *t, uint64_t key)
{
	if (t->count == 0 || key == NO_KEY)
		return NULL;
	struct gp_told *place = find_place(t, key);
	return place->key == key ? place : NULL;
}

static bool grow(struct gp_told_table *t)
{
	struct gp_told_table grown = { .places = t->places ? t->places * 2 : 1024 };
	grown.place = malloc(grown.places * sizeof *grown.place);
	if (grown.place == NULL)
		return false;
	for (size_t k = 0; k < grown.places; k++)
		grown.place[k].key = NO_KEY;
	for (size_t k = 0; k < t->places; k++)
		if (t->place[k].key != NO_KEY)
			*find_place(&grown, t->place[k].key) = t->place[k];
	free(t->place);
	t->place = grown.place;
	t->places = grown.places;
	return true;
}

struct gp_told *gp_told_add(struct gp_told_table *t, const struct gp_told *told)
{
	if (t->count * 2 >= t->places && !grow(t))
		return NULL;
	struct gp_told *place = find_place(t, told->key);
	t->count++;
	*place = *told;
	return place;
}

void gp_told_drop(struct gp_told_table *t, struct gp_told *told)
{
	size_t hole = (size_t)(told - t->place);
	size_t mask = t->places - 1;
	for (size_t at = (hole + 1) & mask; t->place[at].key != NO_KEY; at = (at + 1) & mask) {
		/* it may stand in the hole if its home is not behind it */
		if (((at - home(t, t->place[at].key)) & mask) < ((at - hole) & mask))
			continue;
		t->place[hole] = t->place[at];
		hole = at;
	}
	t->place[hole].key = NO_KEY;
	t->count--;
}

void gp_told_release(struct gp_told_table *t)
{
	free(t->place);
	*t = (struct gp_told_table){ 0 };
}

/* ---- segments ---- */

/* How many begin at or before `address`. */
static size_t rank(const struct gp_told_segments *s, uint64_t address)
{
	return gp_row_rank(s->segment, s->count, sizeof *s->segment, address);
}

static bool holds(const struct gp_told_segment *segment, uint64_t address)
{
	return address - segment->address < segment->bytes;
}

struct gp_told_segment *gp_told_segment_at(struct gp_told_segments *s, uint64_t address)
{
	if (s->last < s->count && holds(&s->segment[s->last], address))
		return &s->segment[s->last];
	size_t behind = rank(s, address);
	if (behind == 0 || !holds(&s->segment[behind - 1], address))
		return NULL;
	s->last = behind - 1;
	return &s->segment[behind - 1];
}

struct gp_told_segment *gp_told_segment_in(struct gp_told_segments *s, uint64_t from, uint64_t to)
{
	size_t behind = rank(s, from);
	if (behind > 0 && holds(&s->segment[behind - 1], from))
		return &s->segment[behind - 1];
	return behind < s->count && s->segment[behind].address < to ? &s->segment[behind] : NULL;
}

size_t gp_told_segments_behind(const struct gp_told_segments *s, uint64_t address)
{
	return s->count - rank(s, address);
}

bool gp_told_segment_add(struct gp_told_segments *s, const struct gp_told_segment *told)
{
	if (s->count == s->room) {
		size_t room = s->room ? s->room * 2 : 64;
		struct gp_told_segment *grown = realloc(s->segment, room * sizeof *grown);
		if (grown == NULL)
			return false;
		s->segment = grown;
		s->room = room;
	}
	size_t at = rank(s, told->address);
	memmove(&s->segment[at + 1], &s->segment[at], (s->count - at) * sizeof *s->segment);
	s->segment[at] = *told;
	s->count++;
	return true;
}

static void remove_at(struct gp_told_segments *s, size_t at)
{
	s->count--;
	memmove(&s->segment[at], &s->segment[at + 1], (s->count - at) * sizeof *s->segment);
}

bool gp_told_segment_cut(struct gp_told_segments *s, struct gp_told_segment *told, uint64_t from,
			 uint64_t to)
{
	struct gp_told_segment behind = *told;
	size_t at = (size_t)(told - s->segment);
	uint64_t end = told->address + told->bytes;
	behind.address = to;
	behind.bytes = end - to;
	if (from == told->address && to == end) {
		remove_at(s, at);
	} else if (from == told->address) {
		*told = behind;
	} else {
		if (to != end && !gp_told_segment_add(s, &behind))
			return false;
		s->segment[at].bytes = from - s->segment[at].address;
	}
	return true;
}

void gp_told_segments_release(struct gp_told_segments *s)
{
	free(s->segment);
	*s = (struct gp_told_segments){ 0 };
}
