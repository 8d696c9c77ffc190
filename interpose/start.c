/*
 * The constructor and the destructor of the preload object. No thread, no file, no call of the
 * driver: most programs that inherit LD_PRELOAD never touch a GPU.
 */
#include <stdatomic.h>

#include "../libgpuprof/record/record.h"
#include "door_misses.h"
#include "door_nvtx.h"
#include "elf_lookup.h"
#include "hook_context.h"
#include "resolver.h"

static void tell_what_is_known(void)
{
	gp_hooks_started();
	gp_misses_tell();
	gp_nvtx_tell();
}

void gp_start(void)
{
	static _Atomic bool is_started;
	if (atomic_load_explicit(&is_started, memory_order_relaxed) ||
	    atomic_exchange(&is_started, true))
		return;
	gp_dlsym_find();
	gp_objects_at_start = gp_elf_position(NULL);
	gp_recorder_started = tell_what_is_known;
	gp_doors_open = gp_recorder_init();
	if (gp_doors_open)
		gp_nvtx_offer();
}

__attribute__((constructor)) static void start(void)
{
	gp_start();
}

__attribute__((destructor)) static void end(void)
{
	gp_recorder_end();
}
