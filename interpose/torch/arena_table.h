/*
 * The arenas of the framework's allocator: a stream and a pool of a device, of which a free block
 * is only handed out again in its own. Numbered from 1 as they are met, each defined once a
 * process. Bounded, never shrinks. Lock-free: one arena is only looked up under the lock of its
 * device's allocator, different ones by different threads at once.
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
	bool is_told;
};
/* [0] has no arena; read by callers that got the number from here. */
extern struct gp_arena_entry gp_arenas[GP_ARENAS] __attribute__((visibility("hidden")));

/* 0: there is no room, or nothing is recorded. Outside gp_enter. */
GP_COLD uint32_t gp_arena_number(const struct gp_arena_key *key);

/* Whether `number`, which this thread got before, or 0, is that of this arena. */
GP_HOT bool gp_arena_is(uint32_t number, unsigned device, uint64_t stream, const uint64_t pool[2])
{
	const struct gp_arena_key *key = &gp_arenas[number].key;
	return number && key->stream == stream && key->pool == pool[0] &&
	       key->user_pool == pool[1] && key->device == device;
}

/* A forked child defines its arenas again. */
void gp_arenas_forget(void);

#endif
