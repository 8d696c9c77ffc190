/*
 * The constructor and the destructor of the preload object. They start no thread, open no file and
 * do not call the driver: most programs that inherit LD_PRELOAD never use a GPU.
 */
#include <stdatomic.h>

#include "../libgpuprof/record/process/fork_gate.h"
#include "../libgpuprof/record/record.h"
#include "../libgpuprof/record/stacks/stack_take.h"
#include "gpu/counter_record.h"
#include "gpu/gpu_record.h"
#include "hooks/deferred_call.h"
#include "hooks/device_memory.h"
#include "hooks/hook_context.h"
#include "lookup/elf_lookup.h"
#include "lookup/mapped_symbol.h"
#include "lookup/resolver.h"
#include "nvtx/lookup_nvtx.h"
#include "open_unwind.h"
#include "torch/hook_trace.h"
#include "torch/torch_ranges.h"
#include "torch/trace_join.h"

static void write_known(void)
{
	gp_hooks_started();
	gp_misses_write();
	gp_nvtx_write();
	gp_gpu_time_write();
	gp_counters_write();
}

/* GPU time first: CUPTI may finalize itself when its PM sampling ends. */
static void end_collecting(void)
{
	gp_gpu_time_end();
	gp_counters_end();
}

static const struct gp_deferred_action deferred_actions[] = {
	{ GP_DUE_RANGES, false, gp_torch_ranges_attach },
	{ GP_DUE_ATTACH, false, gp_trace_attach },
	{ GP_DUE_JOIN, false, gp_join_try },
	{ GP_DUE_MEMORY, true, gp_device_memory_query },
	{ 0 },
};

void gp_start(void)
{
	static _Atomic bool is_started;
	if (atomic_load_explicit(&is_started, memory_order_relaxed) ||
	    atomic_exchange(&is_started, true))
		return;
	gp_dlsym_find();
	gp_objects_at_start = gp_elf_position(NULL);
	gp_recorder_started = write_known;
	gp_recorder_ending = end_collecting;
	gp_deferred_actions = deferred_actions;
	if (!gp_recorder_init())
		return;
	gp_fork_gate_open();
	gp_launch_is_plain = gp_clock_is_tsc;
	gp_lookups_open = true;
}

/* The loader runs that object's constructor before ours, since neither needs the other. */
__attribute__((visibility("default"))) const struct gp_gpu_sink *
gpuprof_gpu_time_attach(const struct gp_gpu_source *source)
{
	gp_start();
	return gp_lookups_open ? gp_gpu_time_open(source) : NULL;
}

/* As above. */
__attribute__((visibility("default"))) const struct gp_counters_sink *
gpuprof_counters_attach(const struct gp_counters_source *source)
{
	gp_start();
	return gp_lookups_open ? gp_counters_open(source, gp_resolve_call) : NULL;
}

/*
 * It loads a library, so it is called here and never in a resolver or wrapper. Their callers may
 * hold the lock of the job's malloc, or a lock that a constructor under the loader's lock waits
 * for.
 */
static void open_native(void)
{
	const char *why = gp_unwind_open(gp_settings.stack_depth);
	if (why)
		gp_stack_native_refused(why);
	else
		gp_stack_native_opened();
}

__attribute__((constructor)) static void start(void)
{
	gp_start();
	if (!gp_lookups_open)
		return;
	gp_nvtx_offer(); /* only here, since it changes the environment */
	if (gp_settings.has_native)
		open_native();
}

__attribute__((destructor)) static void end(void)
{
	gp_recorder_end();
}
