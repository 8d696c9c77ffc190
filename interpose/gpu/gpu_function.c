/*
 * A table that only grows. Threads that add the same shape at once may give it two numbers, which
 * readers treat as one kernel. A number whose definition found no room in the ring is kept, and
 * defined at the next use.
 */
#include "gpu_function.h"

#include <stddef.h>
#include <string.h>
#include <sys/mman.h>

#include "../../libgpuprof/record/record.h"

#define ALL_FUNCTIONS (GP_GPU_FUNCTIONS + GP_GPU_NAMES)
#define INDEX_PLACES (2 * ALL_FUNCTIONS)
#define TEXT_BYTES (4u << 20)
#define NAME_BYTES (1u << 20)

struct function {
	uint64_t hash;
	uint32_t text, bytes; /* of the name */
	_Atomic uint32_t is_defined;
	struct gp_record define;
};

/* Numbers and text that are taken: the first for shapes, the second for names alone. */
struct function_use {
	_Atomic uint32_t count, text_bytes;
};
static const struct function_room {
	uint32_t first, count, text, text_bytes;
} rooms[2] = { { 0, GP_GPU_FUNCTIONS, 0, TEXT_BYTES },
	       { GP_GPU_FUNCTIONS, GP_GPU_NAMES, TEXT_BYTES, NAME_BYTES } };

struct functions {
	uint32_t generation; /* of the recording that has its definitions */
	struct function_use use[2];
	_Atomic uint32_t index[INDEX_PLACES]; /* 1 + place in `function`; 0: free */
	struct function function[ALL_FUNCTIONS];
	char text[TEXT_BYTES + NAME_BYTES];
};

static _Atomic(struct functions *) functions;

/* Its pages are provided as they are used. */
static struct functions *functions_of(void)
{
	struct functions *f = atomic_load_explicit(&functions, memory_order_acquire);
	const uint32_t generation = gp_thread.generation;
	if (gp_likely(f && f->generation == generation))
		return f;
	struct functions *fresh = gp_pages_inherited(sizeof *fresh);
	if (!fresh)
		return NULL;
	fresh->generation = generation;
	/* a forked child's recording has no definitions; the parent's table stays mapped */
	if (atomic_compare_exchange_strong(&functions, &f, fresh))
		return fresh;
	munmap(fresh, sizeof *fresh);
	return f;
}

static struct gp_record definition_of(const struct gp_gpu_kernel *k)
{
	return (struct gp_record){
		.kind = GP_GPU_FUNCTION,
		.device = GP_DEVICE_UNKNOWN,
		.gpu_function = { .grid = k->grid[0] | (uint64_t)(k->grid[1] & 0xffff) << 32 |
					  (uint64_t)(k->grid[2] & 0xffff) << 48,
				  .block = (k->block[0] & 0xffff) |
					   (uint64_t)(k->block[1] & 0xffff) << 16 |
					   (uint64_t)(k->block[2] & 0xffff) << 32,
				  .shared = k->static_shared | (uint64_t)k->dynamic_shared << 32,
				  .registers = k->registers | (uint64_t)k->local_bytes << 32 }
	};
}

static const struct gp_record shapeless = { .kind = GP_GPU_FUNCTION, .device = GP_DEVICE_UNKNOWN };

static uint64_t function_mix(uint64_t h, uint64_t word)
{
	h = (h ^ word) * 0xbf58476d1ce4e5b9u;
	return h ^ h >> 29;
}

static uint64_t hash_of(const struct gp_record *r, const char *name, size_t bytes)
{
	uint64_t h = bytes;
	for (unsigned k = 0; k < 4; k++)
		h = function_mix(h, r->v[k]);
	for (size_t at = 0; at < bytes; at += 8) {
		uint64_t word = 0;
		memcpy(&word, name + at, bytes - at < 8 ? bytes - at : 8);
		h = function_mix(h, word);
	}
	return h;
}

/* The number, or 0 and the free place for it; NULL: the table is full. */
static uint32_t function_find(struct functions *f, uint64_t hash, const struct gp_record *define,
			      const char *name, size_t bytes, _Atomic uint32_t **place)
{
	*place = NULL;
	for (uint32_t probe = 0; probe < INDEX_PLACES; probe++) {
		_Atomic uint32_t *here = &f->index[(hash + probe) % INDEX_PLACES];
		/* partner: the release exchange in function_get */
		const uint32_t number = atomic_load_explicit(here, memory_order_acquire);
		if (number == 0) {
			*place = here;
			return 0;
		}
		const struct function *e = &f->function[number - 1];
		if (e->hash == hash && e->bytes == bytes &&
		    memcmp(e->define.v, define->v, sizeof e->define.v) == 0 &&
		    memcmp(f->text + e->text, name, bytes) == 0)
			return number;
	}
	return 0;
}

/* Adds to what is taken, if it then is at most `most`. */
static bool room_take(_Atomic uint32_t *taken, uint32_t more, uint32_t most, uint32_t *before)
{
	*before = atomic_load(taken);
	do
		if (*before > most || more > most - *before)
			return false;
	while (!atomic_compare_exchange_weak(taken, before, *before + more));
	return true;
}

/* A number that no thread sees yet; 0: no room. */
static uint32_t function_make(struct functions *f, unsigned room, uint64_t hash,
			      struct gp_record *define, const char *name, size_t bytes)
{
	const struct function_room *in = &rooms[room];
	uint32_t number, text;
	if (atomic_load(&f->use[room].count) >= in->count) /* or its text would be used up */
		return 0;
	if (!room_take(&f->use[room].text_bytes, (uint32_t)bytes, in->text_bytes, &text) ||
	    !room_take(&f->use[room].count, 1, in->count, &number))
		return 0;
	number += in->first;
	text += in->text;
	define->aux = number + 1;
	memcpy(f->text + text, name, bytes);
	f->function[number] = (struct function){ hash, text, (uint32_t)bytes, 0, *define };
	return number + 1;
}

/* The number of the definition, which a first use adds; 0: no room. */
static uint32_t function_get(struct functions *f, unsigned room, struct gp_record define,
			     const char *name, size_t bytes)
{
	const uint64_t hash = hash_of(&define, name, bytes);
	_Atomic uint32_t *place;
	uint32_t number = function_find(f, hash, &define, name, bytes, &place), none = 0;
	if (gp_likely(number != 0) || !place)
		return number;
	number = function_make(f, room, hash, &define, name, bytes);
	/* partner: acquire load in function_find; a lost race leaves two numbers */
	if (number != 0)
		atomic_compare_exchange_strong_explicit(place, &none, number, memory_order_release,
							memory_order_relaxed);
	return number;
}

uint32_t gp_gpu_function(const struct gp_gpu_kernel *k)
{
	struct functions *f = gp_thread.ring ? functions_of() : NULL;
	if (gp_unlikely(!f))
		return 0;
	const char *name = k->name ? k->name : "";
	const size_t bytes = strnlen(name, GP_TEXT_MAX);
	uint32_t number = function_get(f, 0, definition_of(k), name, bytes);
	if (gp_unlikely(number == 0) && bytes != 0)
		number = function_get(f, 1, shapeless, name, bytes);
	if (gp_unlikely(number == 0))
		return 0;
	/* the definition first: no record may have a number without one */
	struct function *e = &f->function[number - 1];
	/* partner: the release store below, after the definition was committed */
	if (gp_unlikely(!atomic_load_explicit(&e->is_defined, memory_order_acquire))) {
		if (!gp_define(&e->define, name, bytes))
			return 0;
		atomic_store_explicit(&e->is_defined, 1, memory_order_release);
	}
	return number;
}
