/*
 * Where a kernel's parameters may hold pointers: 8-byte words at offsets that are multiples of 8,
 * from the driver's description. Read once for each kernel, in the slow half and never during a
 * capture, then found by hash. The table has a fixed size; kernels beyond it are not scanned.
 */
#ifndef GP_USE_LAYOUT_H
#define GP_USE_LAYOUT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../../libgpuprof/record/hot.h"

/* hook_launch.c: raised when functions are unloaded, since their addresses are reused. */
extern _Atomic uint8_t gp_kernel_generation GP_HOT_DATA __attribute__((visibility("hidden")));

struct gp_use_piece {
	uint16_t parameter, words;
};
/* Only the key ever changes: kernels keep their layout when their name is recorded again. */
struct gp_use_layout {
	_Atomic uint64_t key; /* function << 8 | generation */
	uint32_t pieces;      /* GP_LAYOUT_UNKNOWN: the driver does not return it */
	uint32_t words;
	struct gp_use_piece piece[];
};
#define GP_LAYOUT_UNKNOWN UINT32_MAX

#define GP_LAYOUT_BITS 16u /* 65,536 kernels */
#define GP_LAYOUT_PROBES 16u
#define GP_LAYOUT_BYTES (8u << 20) /* of layouts; pages are touched as layouts are added */

/* NULL until uses are recorded. */
extern _Atomic(struct gp_use_layout *) *gp_use_layouts GP_HOT_DATA
	__attribute__((visibility("hidden")));

/*
 * For a process that begins to record; a child continues with its parent's. False: out of memory.
 */
bool gp_use_layouts_open(void);
/* NULL: unknown now, or always. Keeps errno. */
GP_COLD const struct gp_use_layout *gp_use_layout_query(uint64_t function);

/* NULL: its parameters cannot be scanned. Call it with no record reserved. */
GP_HOT const struct gp_use_layout *gp_use_layout_of(uint64_t function)
{
	_Atomic(struct gp_use_layout *) *table = gp_use_layouts;
	if (gp_unlikely(!table))
		return NULL;
	uint64_t key =
		function << 8 | atomic_load_explicit(&gp_kernel_generation, memory_order_relaxed);
	uint64_t at = function * 0x9e3779b97f4a7c15u >> (64 - GP_LAYOUT_BITS);
	/* acquire: the layout is complete; partner: the release store in use_layout_put */
	const struct gp_use_layout *layout = atomic_load_explicit(&table[at], memory_order_acquire);
	if (gp_unlikely(!layout || atomic_load_explicit(&layout->key, memory_order_relaxed) != key))
		layout = gp_use_layout_query(function);
	return layout && layout->pieces != GP_LAYOUT_UNKNOWN ? layout : NULL;
}

#endif
