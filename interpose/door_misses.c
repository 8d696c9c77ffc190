/*
 * A look-up for a row's name whose answer has no route: another variant than we know, or another
 * interposer's. The count is told when recording begins and whenever it grows after that; look-ups
 * alone never begin a recording.
 */
#include "door_misses.h"

#include <stdatomic.h>
#include <string.h>

#include "../libgpuprof/record/record.h"
#include "elf_lookup.h"
#include "resolver.h"
#include "symbol_name.h"

static _Atomic uint64_t misses;

static bool is_row_name(const char *name)
{
	if (strcmp(name, "cuGetProcAddress") == 0 || strcmp(name, "cuGetProcAddress_v2") == 0)
		return true;
	for (unsigned row = 0; row < GP_CUDA_ROWS; row++) {
		struct gp_symbol_name parsed;
		if (gp_symbol_parse(gp_cuda_wrappers[row].symbol, &parsed) &&
		    (strcmp(parsed.base, name) == 0 ||
		     strcmp(gp_cuda_wrappers[row].symbol, name) == 0))
			return true;
	}
	return false;
}

/* A preload before us answers with its own, and comes to us from there. */
static bool is_before_us(const void *address)
{
	return gp_elf_position(address) < gp_elf_position((const void *)&misses);
}

void gp_misses_tell(void)
{
	const struct gp_record fact = { .kind = GP_FACT,
					.aux = GP_FACT_ROUTES,
					.fact.value = atomic_load_explicit(&misses,
									   memory_order_relaxed) };
	if (fact.fact.value != 0)
		gp_define(&fact, NULL, 0);
}

void gp_miss_check(const char *name, void *real)
{
	if (!real || !name || !gp_doors_open || !gp_is_resolved() || gp_row_of(real) ||
	    !is_row_name(name) || is_before_us(real))
		return;
	atomic_fetch_add_explicit(&misses, 1, memory_order_relaxed);
	bool is_recording = atomic_load_explicit(&gp_local->word, memory_order_relaxed) != 0;
	if (is_recording && gp_enter()) {
		gp_misses_tell();
		gp_leave();
	}
}
