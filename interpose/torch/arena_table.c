/* Numbers for arenas (arena_table.h), and their definitions. */
#include "arena_table.h"

#include <string.h>

#define SLOTS (2 * GP_ARENAS)

struct gp_arena_entry gp_arenas[GP_ARENAS];
static _Atomic uint16_t slots[SLOTS]; /* numbers, open addressing; 0 free */
static _Atomic uint32_t numbers;      /* assigned so far */

static bool arena_table_is_same(const struct gp_arena_key *a, const struct gp_arena_key *b)
{
	return a->stream == b->stream && a->pool == b->pool && a->user_pool == b->user_pool &&
	       a->device == b->device && a->has_pool == b->has_pool;
}

/*
 * Returns the slot of the arena and its number, else its free slot and 0; NULL: no slot. Another
 * thread may fill a free slot at any time.
 */
static _Atomic uint16_t *arena_table_find(const struct gp_arena_key *key, uint16_t *number)
{
	uint64_t hash = (key->stream ^ key->pool << 20 ^ key->user_pool << 40 ^ key->device) *
			0x9e3779b97f4a7c15u;
	for (unsigned k = 0; k < SLOTS; k++) {
		_Atomic uint16_t *slot = &slots[((hash >> 32) + k) % SLOTS];
		/* partner: the exchange in arena_table_add */
		*number = atomic_load_explicit(slot, memory_order_acquire);
		if (!*number || arena_table_is_same(&gp_arenas[*number].key, key))
			return slot;
	}
	*number = 0;
	return NULL;
}

static uint32_t arena_table_add(const struct gp_arena_key *key)
{
	uint32_t number = atomic_load(&numbers);
	do
		if (number + 1 >= GP_ARENAS)
			return 0;
	while (!atomic_compare_exchange_weak(&numbers, &number, number + 1));
	number++;
	gp_arenas[number] = (struct gp_arena_entry){ .key = *key };
	for (;;) {
		uint16_t none;
		_Atomic uint16_t *slot = arena_table_find(key, &none);
		if (!slot || none)
			return none;
		/*
		 * partner: the load in arena_table_find; with the number, a thread also gets the
		 * arena
		 */
		if (atomic_compare_exchange_strong_explicit(slot, &none, (uint16_t)number,
							    memory_order_release,
							    memory_order_relaxed))
			return number;
	}
}

/* Inside gp_enter. False: lost; try again later. */
static bool arena_table_define(uint32_t number)
{
	const struct gp_arena_key *key = &gp_arenas[number].key;
	struct gp_record arena = { .kind = GP_ARENA, .device = key->device, .aux = number };
	arena.arena.stream = key->stream;
	arena.arena.pool = key->pool;
	arena.arena.user_pool = key->user_pool;
	arena.arena.has_pool = key->has_pool;
	gp_arenas[number].is_reported = gp_define(&arena, NULL, 0);
	return gp_arenas[number].is_reported;
}

uint32_t gp_arena_number_inside(const struct gp_arena_key *key)
{
	uint16_t found;
	const _Atomic uint16_t *slot = arena_table_find(key, &found);
	const uint32_t number = slot && !found ? arena_table_add(key) : found;
	if (!number || (!gp_arenas[number].is_reported && !arena_table_define(number)))
		return 0;
	return number;
}

uint32_t gp_arena_number(const struct gp_arena_key *key)
{
	if (!gp_enter())
		return 0;
	const uint32_t number = gp_arena_number_inside(key);
	gp_leave();
	return number;
}

void gp_arenas_forget(void)
{
	for (uint32_t k = 1; k <= atomic_load(&numbers); k++)
		gp_arenas[k].is_reported = false;
}
