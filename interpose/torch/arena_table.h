/*
 * The arenas of the framework's allocator: a stream and a pool of a device. A free block is reused
 * only in its own arena. Numbered from 1 as they are met, each defined once a process. Bounded,
 * never shrinks. Lock-free: different threads may look up different arenas at once. A single arena
 * is only looked up under the lock of its device's allocator.
 */
#ifndef GP_ARENA_TABLE_H
#define GP_ARENA_TABLE_H

#include "../../libgpuprof/record/record.h"

#define GP_ARENAS 16384u

struct gp_arena_key {
	uint64_t stream, pool, user_pool;
	uint8_t device;
	bool has_pool;
};

struct gp_arena_entry {
	struct gp_arena_key key;
	bool is_reported;
};
/* [0] has no arena; read by callers with a number from here */
extern struct gp_arena_entry gp_arenas[GP_ARENAS] __attribute__((visibility("hidden")));

/* 0: no room, or recording is off. Outside gp_enter, and inside it. */
GP_COLD uint32_t gp_arena_number(const struct gp_arena_key *key);
uint32_t gp_arena_number_inside(const struct gp_arena_key *key);

/* Whether `number`, which this thread got before, or 0, belongs to this arena. */
GP_HOT bool gp_arena_is(uint32_t number, unsigned device, uint64_t stream, const uint64_t pool[2])
{
	const struct gp_arena_key *key = &gp_arenas[number].key;
	return number && key->stream == stream && key->pool == pool[0] &&
	       key->user_pool == pool[1] && key->device == device;
}

/* A forked child must define its arenas again. */
void gp_arenas_forget(void);

#endif
