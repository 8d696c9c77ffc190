/*
 * Taking a block costs one look-up, and one new part if the gap is larger. Freeing a block costs
 * one look-up, and removes one part for each free neighbour.
 */
#include "gap_map.h"

#include <stdlib.h>
#include <string.h>

#include "../../read/tables/array.h"
#include "../../read/tables/row_rank.h"

#define PARTS_FIRST 1024u
#define ADDRESS_MOST (UINT64_C(1) << 62)
#define LOOKS_A_SEARCH 8u /* looks for one search by hash */
#define PIECES_A_LOOK 16u /* pieces that move in memory for one look */
#define SLOTS_A_CHANGE 4u /* the starts and ends of two parts */

/* ---- look-up by address ---- */

/* Keys of starts and of ends differ. */
static uint64_t start_key(uint64_t address)
{
	return address * 2;
}

static uint64_t end_key(uint64_t address)
{
	return address * 2 + 1;
}

/* Damaged recordings may contain any number. */
static bool is_range(uint64_t address, uint64_t bytes)
{
	return address != 0 && bytes != 0 && address < ADDRESS_MOST &&
	       bytes < ADDRESS_MOST - address;
}

static uint32_t find_key(const struct gp_gap_map *map, uint64_t key)
{
	const struct gp_gap_slot *slot = gp_row_of_key(&map->slots, sizeof *slot, key);
	return slot != NULL ? slot->part : 0;
}

static uint32_t find_part(const struct gp_gap_map *map, uint64_t address)
{
	return find_key(map, start_key(address));
}

/* has_room() reserved the slot */
static void set_slot(struct gp_gap_map *map, uint64_t key, uint32_t part)
{
	struct gp_gap_slot *slot = gp_row_get_key(&map->slots, sizeof *slot, key);
	slot->part = part;
}

static void clear_slot(struct gp_gap_map *map, uint64_t key)
{
	struct gp_gap_slot *slot = gp_row_of_key(&map->slots, sizeof *slot, key);
	if (slot != NULL)
		gp_row_drop_key(&map->slots, sizeof *slot, slot);
}

/* ---- the largest gap ---- */

static uint64_t larger(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

/* Most changes end at the first node, because its maximum stays the same. */
static void set_most(struct gp_gap_map *map, uint32_t which, uint64_t bytes)
{
	size_t node = (size_t)map->room + which;
	map->most[node] = bytes;
	for (node /= 2; node > 0; node /= 2) {
		const uint64_t most = larger(map->most[2 * node], map->most[2 * node + 1]);
		if (map->most[node] == most)
			return;
		map->most[node] = most;
	}
}

static uint64_t *grown_most(const struct gp_gap_map *map, uint32_t room)
{
	uint64_t *most = calloc(2 * (size_t)room, sizeof *most);
	if (most != NULL && map->room != 0)
		memcpy(most + room, map->most + map->room, map->room * sizeof *most);
	for (size_t node = most != NULL ? room - 1 : 0; node > 0; node--)
		most[node] = larger(most[2 * node], most[2 * node + 1]);
	return most;
}

/* ---- parts ---- */

static bool grow(struct gp_gap_map *map)
{
	uint32_t room = map->room != 0 ? map->room * 2 : PARTS_FIRST;
	uint64_t *most = room > map->room ? grown_most(map, room) : NULL;
	struct gp_gap_part *part = most != NULL ? realloc(map->part, room * sizeof *part) : NULL;
	if (part == NULL) {
		free(most);
		return false;
	}
	free(map->most);
	map->most = most;
	map->part = part;
	if (map->room == 0) {
		map->part[0] = (struct gp_gap_part){ 0 };
		map->parts = 1;
	}
	map->room = room;
	return true;
}

/* Reserves room so that two parts and pieces can be added without a failure in between. */
static bool has_room(struct gp_gap_map *map)
{
	return gp_array_reserve(&map->piece, &map->piece_room, map->pieces, 2,
				sizeof *map->piece) &&
	       gp_row_reserve(&map->slots, sizeof(struct gp_gap_slot), SLOTS_A_CHANGE) &&
	       (map->parts + 2 < map->room || grow(map));
}

/* The index of the first piece that begins behind `address`. */
static size_t piece_behind(const struct gp_gap_map *map, uint64_t address)
{
	return gp_row_rank(map->piece, map->pieces, sizeof *map->piece, address);
}

static void add_piece(struct gp_gap_map *map, uint64_t address)
{
	size_t at = piece_behind(map, address);
	memmove(&map->piece[at + 1], &map->piece[at], (map->pieces - at) * sizeof *map->piece);
	map->piece[at] = address;
	map->pieces++;
}

static void drop_piece(struct gp_gap_map *map, uint64_t address)
{
	size_t at = piece_behind(map, address);
	memmove(&map->piece[at - 1], &map->piece[at], (map->pieces - at) * sizeof *map->piece);
	map->pieces--;
}

static uint32_t new_part(struct gp_gap_map *map, struct gp_gap_part part)
{
	uint32_t which = map->unused;
	if (which != 0)
		map->unused = map->part[which].behind;
	else
		which = map->parts++;
	map->part[which] = part;
	set_slot(map, start_key(part.address), which);
	return which;
}

static void end_part(struct gp_gap_map *map, uint32_t which)
{
	map->part[which].bytes = 0;
	map->part[which].behind = map->unused;
	map->unused = which;
}

static uint64_t end_of(const struct gp_gap_part *p)
{
	return p->address + p->bytes;
}

static void set_free(struct gp_gap_map *map, uint32_t which)
{
	const struct gp_gap_part *p = &map->part[which];
	set_most(map, which, p->is_used ? 0 : p->bytes);
}

/* The last part of a piece that may grow is also found by its end. */
static void note_end(struct gp_gap_map *map, uint32_t which)
{
	const struct gp_gap_part *p = &map->part[which];
	if (p->group != 0 && p->behind == 0)
		set_slot(map, end_key(end_of(p)), which);
}

/* Cuts a part after its first `bytes`. Returns the new part with the rest. */
static uint32_t split(struct gp_gap_map *map, uint32_t which, uint64_t bytes)
{
	struct gp_gap_part *p = &map->part[which];
	struct gp_gap_part rest = *p;
	rest.address += bytes;
	rest.bytes -= bytes;
	rest.before = which;
	p->bytes = bytes;
	uint32_t behind = new_part(map, rest);
	map->part[which].behind = behind;
	if (rest.behind != 0)
		map->part[rest.behind].before = behind;
	else
		note_end(map, behind);
	return behind;
}

/* Joins a part with the next one. */
static void join(struct gp_gap_map *map, uint32_t first)
{
	struct gp_gap_part *p = &map->part[first];
	uint32_t second = p->behind;
	const struct gp_gap_part *q = &map->part[second];
	clear_slot(map, start_key(q->address));
	set_most(map, second, 0);
	p->bytes += q->bytes;
	p->behind = q->behind;
	end_part(map, second);
	if (p->behind != 0)
		map->part[p->behind].before = first;
	else
		note_end(map, first);
}

static void join_free(struct gp_gap_map *map, uint32_t which)
{
	const struct gp_gap_part *p = &map->part[which];
	if (p->behind != 0 && !map->part[p->behind].is_used)
		join(map, which);
	if (p->before != 0 && !map->part[p->before].is_used) {
		which = p->before;
		join(map, which);
	}
	set_free(map, which);
}

/* The part that contains `address`; 0: none. */
static uint32_t search(const struct gp_gap_map *map, uint64_t address)
{
	uint32_t which = find_part(map, address);
	size_t behind = piece_behind(map, address);
	if (which == 0 && behind != 0)
		which = find_part(map, map->piece[behind - 1]);
	while (which != 0 && address - map->part[which].address >= map->part[which].bytes)
		which = gp_looks_take(map->looks, 1) ? map->part[which].behind : 0;
	return which;
}

/* Takes the looks for moving the pieces behind `address` when a piece is added or removed there. */
static bool may_move(const struct gp_gap_map *map, uint64_t address)
{
	return gp_looks_take(map->looks,
			     (map->pieces - piece_behind(map, address)) / PIECES_A_LOOK);
}

static bool is_spent(const struct gp_gap_map *map)
{
	return map->looks != NULL && map->looks->left == 0;
}

/* ---- pieces ---- */

void gp_gap_map_clear(struct gp_gap_map *map)
{
	gp_row_table_clear(&map->slots);
	if (map->room != 0)
		memset(map->most, 0, 2 * (size_t)map->room * sizeof *map->most);
	map->free_bytes = map->bytes = 0;
	map->pieces = 0;
	map->parts = map->room != 0;
	map->unused = 0;
}

void gp_gap_map_release(struct gp_gap_map *map)
{
	free(map->part);
	gp_row_table_release(&map->slots);
	free(map->piece);
	free(map->most);
	*map = (struct gp_gap_map){ .looks = map->looks };
}

static void add_part(struct gp_gap_map *map, uint64_t address, uint64_t bytes, uint32_t group)
{
	uint64_t end = address + bytes;
	uint32_t before = group != 0 ? find_key(map, end_key(address)) : 0;
	uint32_t behind = group != 0 ? find_part(map, end) : 0;
	if (before != 0 && map->part[before].group != group)
		before = 0;
	if (map->part[behind].group != group || map->part[behind].before != 0)
		behind = 0;
	if (before != 0)
		clear_slot(map, end_key(address));
	uint32_t which = new_part(map, (struct gp_gap_part){ .address = address,
							     .bytes = bytes,
							     .before = before,
							     .behind = behind,
							     .group = group });
	if (before != 0)
		map->part[before].behind = which;
	else
		add_piece(map, address);
	if (behind != 0) {
		map->part[behind].before = which;
		drop_piece(map, end);
	} else {
		note_end(map, which);
	}
	map->free_bytes += bytes;
	map->bytes += bytes;
	join_free(map, which);
}

enum gp_status gp_gap_map_add(struct gp_gap_map *map, uint64_t address, uint64_t bytes,
			      uint32_t group)
{
	uint64_t end = address + bytes;
	if (!is_range(address, bytes) || !may_move(map, address))
		return GP_OK;
	while (address < end) {
		if (!has_room(map))
			return GP_E_MEMORY;
		uint32_t there = search(map, address);
		if (there != 0 && gp_looks_take(map->looks, LOOKS_A_SEARCH)) {
			address = end_of(&map->part[there]);
			continue;
		}
		if (there != 0 || is_spent(map))
			break;
		size_t behind = piece_behind(map, address);
		uint64_t to =
			behind < map->pieces && map->piece[behind] < end ? map->piece[behind] : end;
		add_part(map, address, to - address, group);
		address = to;
	}
	return GP_OK;
}

/* Removes a part from its piece. Its neighbours become the ends of pieces. */
static void remove_part(struct gp_gap_map *map, uint32_t which)
{
	struct gp_gap_part p = map->part[which];
	clear_slot(map, start_key(p.address));
	if (p.group != 0 && p.behind == 0)
		clear_slot(map, end_key(end_of(&p)));
	if (p.before != 0) {
		map->part[p.before].behind = 0;
		note_end(map, p.before);
	} else {
		drop_piece(map, p.address);
	}
	if (p.behind != 0) {
		map->part[p.behind].before = 0;
		add_piece(map, end_of(&p));
	}
	map->free_bytes -= p.is_used ? 0 : p.bytes;
	map->bytes -= p.bytes;
	set_most(map, which, 0);
	end_part(map, which);
}

bool gp_gap_map_drop(struct gp_gap_map *map, uint64_t address)
{
	uint32_t which = address < ADDRESS_MOST ? find_part(map, address) : 0;
	if (which == 0 || map->part[which].before != 0 || !may_move(map, address))
		return false;
	while (which != 0) {
		uint32_t next = map->part[which].behind;
		remove_part(map, which);
		which = next;
	}
	return true;
}

/* The part at `address`, cut so that it begins there and ends at or before `end`; 0: none. */
static uint32_t part_within(struct gp_gap_map *map, uint64_t address, uint64_t end)
{
	uint32_t which = search(map, address);
	if (which == 0)
		return 0;
	if (map->part[which].address != address) {
		uint32_t left = which;
		which = split(map, left, address - map->part[left].address);
		set_free(map, left);
	}
	if (end_of(&map->part[which]) > end)
		set_free(map, split(map, which, end - address));
	set_free(map, which);
	return which;
}

enum gp_status gp_gap_map_cut(struct gp_gap_map *map, uint64_t address, uint64_t bytes)
{
	uint64_t end = address + bytes;
	if (!is_range(address, bytes) || !may_move(map, address))
		return GP_OK;
	while (address < end && map->bytes != 0) {
		if (!has_room(map))
			return GP_E_MEMORY;
		uint32_t which = part_within(map, address, end);
		if (which != 0) {
			address = end_of(&map->part[which]);
			remove_part(map, which);
			continue;
		}
		/* continue at the next piece */
		size_t behind = piece_behind(map, address);
		address = behind < map->pieces ? map->piece[behind] : end;
	}
	return GP_OK;
}

/* ---- blocks ---- */

/* Takes a range whose parts begin elsewhere or are used: an event was missed. */
static enum gp_status take_anyhow(struct gp_gap_map *map, uint64_t address, uint64_t bytes)
{
	uint64_t end = address + bytes;
	uint32_t which = part_within(map, address, end);
	if (which == 0)
		return GP_END;
	map->free_bytes -= map->part[which].is_used ? 0 : map->part[which].bytes;
	while (end_of(&map->part[which]) < end && map->part[which].behind != 0) {
		if (!has_room(map))
			return GP_E_MEMORY;
		uint32_t next = part_within(map, end_of(&map->part[which]), end);
		map->free_bytes -= map->part[next].is_used ? 0 : map->part[next].bytes;
		map->part[which].is_used = true;
		join(map, which);
	}
	map->part[which].is_used = true;
	set_free(map, which);
	return GP_OK;
}

enum gp_status gp_gap_map_take(struct gp_gap_map *map, uint64_t address, uint64_t bytes)
{
	if (!is_range(address, bytes))
		return GP_OK;
	if (!has_room(map))
		return GP_E_MEMORY;
	uint32_t which = find_part(map, address);
	if (which == 0 || map->part[which].is_used || map->part[which].bytes < bytes)
		return take_anyhow(map, address, bytes);
	if (map->part[which].bytes > bytes) {
		uint32_t rest = split(map, which, bytes);
		set_most(map, rest, map->part[rest].bytes);
	}
	map->part[which].is_used = true;
	set_most(map, which, 0);
	map->free_bytes -= bytes;
	return GP_OK;
}

bool gp_gap_map_give(struct gp_gap_map *map, uint64_t address)
{
	uint32_t which = address < ADDRESS_MOST ? find_part(map, address) : 0;
	if (which == 0 || !map->part[which].is_used)
		return false;
	map->part[which].is_used = false;
	map->free_bytes += map->part[which].bytes;
	join_free(map, which);
	return true;
}
