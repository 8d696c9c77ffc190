/*
 * Which addresses lie in memory that the job got from the driver. One bit stands for a granule of 2
 * MiB; pages of bits are committed on first touch. A bit is never cleared: a word that points to
 * freed memory is recorded and resolves to no memory. Lock-free, of fixed size. Addresses that do
 * not fit are counted.
 */
#ifndef GP_USE_MAP_H
#define GP_USE_MAP_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../../libgpuprof/format/event.h"
#include "../../libgpuprof/record/hot.h"

#define GP_USE_GRANULE_SHIFT 21u
#define GP_USE_ADDRESS_BITS 48u
#define GP_USE_MAP_BYTES ((1ull << (GP_USE_ADDRESS_BITS - GP_USE_GRANULE_SHIFT)) / 8)

/* Spaces with addresses that kernels and copies use. */
#define GP_SPACES_USED                                                                \
	(1u << GP_SPACE_DEVICE | 1u << GP_SPACE_ASYNC | 1u << GP_SPACE_MANAGED |      \
	 1u << GP_SPACE_HOST | 1u << GP_SPACE_HOST_REGISTER | 1u << GP_SPACE_MAPPED | \
	 1u << GP_SPACE_IPC | 1u << GP_SPACE_EXTERNAL | 1u << GP_SPACE_GRAPH)

/* `bit` is NULL until uses are recorded. Known addresses lie in [low, high). */
struct gp_use_map {
	_Atomic uint64_t *bit;
	_Atomic uint64_t low, high;
	_Atomic uint64_t beyond; /* allocations outside of the map */
};
extern struct gp_use_map gp_use_map GP_HOT_DATA __attribute__((visibility("hidden")));

/* For a process that begins to record. False: out of memory. */
bool gp_use_map_open(void);
/* Keeps errno. May commit a definition, so call it with no record reserved. */
GP_COLD void gp_use_map_add(uint64_t address, uint64_t bytes);

/* Called when memory has come from the driver. */
GP_HOT void gp_use_known(enum gp_space space, uint64_t address, uint64_t bytes)
{
	if (gp_unlikely(gp_use_map.bit != NULL) && GP_SPACES_USED >> space & 1)
		gp_use_map_add(address, bytes);
}

/* `low` and `span` as loaded by the caller, once for many words. */
GP_HOT bool gp_use_is_known(const _Atomic uint64_t *bit, uint64_t low, uint64_t span,
			    uint64_t value)
{
	if (gp_likely(value - low >= span))
		return false;
	uint64_t granule = value >> GP_USE_GRANULE_SHIFT;
	/* relaxed: a launching thread got the address from a thread that had it marked */
	return atomic_load_explicit(&bit[granule / 64], memory_order_relaxed) >> granule % 64 & 1;
}

#endif
