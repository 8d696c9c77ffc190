/*
 * The constructor and the destructor of the preload object. No thread, no file, no call of the driver: most programs
 * that inherit LD_PRELOAD never touch a GPU.
 */
#include "../libgpuprof/record/record.h"
#include "hook_context.h"
#include "resolver.h"

__attribute__((constructor)) static void start(void)
{
	gp_dlsym_find();
	gp_recorder_started = gp_hooks_started;
	gp_doors_open = gp_recorder_init();
}

__attribute__((destructor)) static void end(void)
{
	gp_recorder_end();
}
