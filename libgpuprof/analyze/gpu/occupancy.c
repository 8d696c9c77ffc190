/*
 * Theoretical occupancy by the limits of a multiprocessor: CUDA C++ Programming Guide, "Technical
 * Specifications per Compute Capability", and NVIDIA's cuda_occupancy.h for the units of
 * allocation.
 */
#include <string.h>

#include "../../gpuprof.h"

#define WARP 32u

struct limits {
	const char *gpu; /* a part of its name */
	uint32_t warps, blocks, registers, shared_bytes, block_shared_bytes;
	uint32_t register_unit, warp_unit; /* registers of a warp; warps that share registers */
	uint32_t shared_unit, shared_reserved;
};

/* compute capability 9.0 */
#define LIMITS_90 64, 32, 65536, 228u << 10, 227u << 10, 256, 4, 128, 1024
static const struct limits all_limits[] = {
	{ "H100", LIMITS_90 },
	{ "H200", LIMITS_90 },
	{ "H800", LIMITS_90 },
	{ "H20", LIMITS_90 },
};

static uint64_t round_up(uint64_t value, uint64_t unit)
{
	return (value + unit - 1) / unit * unit;
}

double gp_gpu_occupancy(const char *gpu_name, const struct gp_gpu_function *f)
{
	const struct limits *l = NULL;
	for (size_t k = 0; gpu_name && k < sizeof all_limits / sizeof *all_limits && !l; k++)
		if (strstr(gpu_name, all_limits[k].gpu) != NULL)
			l = &all_limits[k];
	const uint64_t threads =
		(f->block & 0xffff) * (f->block >> 16 & 0xffff) * (f->block >> 32 & 0xffff);
	if (l == NULL || threads == 0 || threads > 1024 || f->registers == 0 || f->registers > 255)
		return -1;
	const uint64_t warps = round_up(threads, WARP) / WARP;
	const uint64_t shared = (uint64_t)f->static_shared + f->dynamic_shared;
	if (shared > l->block_shared_bytes)
		return -1;
	const uint64_t of_a_warp = round_up((uint64_t)f->registers * WARP, l->register_unit);
	const uint64_t by_registers =
		l->registers / of_a_warp / l->warp_unit * l->warp_unit / warps;
	const uint64_t by_shared =
		l->shared_bytes / round_up(shared + l->shared_reserved, l->shared_unit);
	uint64_t blocks = l->warps / warps;
	blocks = blocks < l->blocks ? blocks : l->blocks;
	blocks = blocks < by_registers ? blocks : by_registers;
	blocks = blocks < by_shared ? blocks : by_shared;
	return (double)(blocks * warps) / l->warps;
}
