/*
 * A table that only grows. Threads that add the same shape at once may give it two numbers, which
 * readers treat as one kernel.
 */
#include "gpu_function.h"

#include <stddef.h>
#include <string.h>
#include <sys/mman.h>

#include "../../libgpuprof/record/record.h"

#define INDEX_PLACES (2 * GP_GPU_FUNCTIONS)
#define TEXT_BYTES (4u << 20)

struct function {
	uint64_t hash;
	uint32_t text, bytes; /* of the name */
	struct gp_record define;
};

struct functions {
	uint32_t generation; /* of the recording that has its definitions */
	_Atomic uint32_t count, text_bytes;
	_Atomic uint32_t index[INDEX_PLACES]; /* 1 + place in `function`; 0: free */
	struct function function[GP_GPU_FUNCTIONS];
	char text[TEXT_BYTES];
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
		/* partner: the release exchange in gp_gpu_function */
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

/* A number that no thread sees yet; 0: no room. */
static uint32_t function_make(struct functions *f, uint64_t hash, struct gp_record *define,
			      const char *name, size_t bytes)
{
	if (atomic_load(&f->count) >= GP_GPU_FUNCTIONS || atomic_load(&f->text_bytes) >= TEXT_BYTES)
		return 0;
	const uint32_t number = atomic_fetch_add(&f->count, 1) + 1;
	const uint32_t text = atomic_fetch_add(&f->text_bytes, (uint32_t)bytes);
	if (number > GP_GPU_FUNCTIONS || text > TEXT_BYTES || bytes > TEXT_BYTES - text)
		return 0;
	define->aux = number;
	memcpy(f->text + text, name, bytes);
	f->function[number - 1] = (struct function){ hash, text, (uint32_t)bytes, *define };
	return number;
}

uint32_t gp_gpu_function(const struct gp_gpu_kernel *k)
{
	struct functions *f = gp_thread.ring ? functions_of() : NULL;
	if (gp_unlikely(!f))
		return 0;
	const char *name = k->name ? k->name : "";
	const size_t bytes = strnlen(name, GP_TEXT_MAX);
	struct gp_record define = definition_of(k);
	const uint64_t hash = hash_of(&define, name, bytes);
	_Atomic uint32_t *place;
	uint32_t number = function_find(f, hash, &define, name, bytes, &place);
	if (gp_likely(number != 0) || !place)
		return number;
	/* the definition first: no record may have a number without one */
	number = function_make(f, hash, &define, name, bytes);
	if (number == 0 || !gp_define(&define, name, bytes))
		return 0;
	uint32_t none = 0;
	/* partner: acquire load in function_find; a lost race leaves two numbers */
	atomic_compare_exchange_strong_explicit(place, &none, number, memory_order_release,
						memory_order_relaxed);
	return number;
}
