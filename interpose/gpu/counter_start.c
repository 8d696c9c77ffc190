/* Starts the source of counters, once a process (counter_start.h). */
#include "counter_start.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

#include "../../libgpuprof/record/ranges/scope.h"
#include "../hooks/capture.h"
#include "../hooks/context.h"

const struct gp_counters_source *gp_counters_source GP_HOT_DATA;

/* A forked child keeps it: the parent's CUDA is useless there. */
static _Atomic int starter;
static _Atomic uint64_t counted_devices;

uint64_t gp_counters_devices(void)
{
	return atomic_load_explicit(&counted_devices, memory_order_relaxed);
}

/* The device may be unknown here. Once a record has found it, this is called again. */
static void device_add(uint64_t context)
{
	const int device = gp_context_device(context);
	if (device >= 0 && (unsigned)device < GP_DEVICES && !(gp_counters_devices() >> device & 1))
		atomic_fetch_or(&counted_devices, 1ull << device);
}

void gp_counters_start(uint64_t context)
{
	int none = 0;
	const int kept = errno;
	if (context)
		device_add(context);
	if (atomic_load_explicit(&starter, memory_order_relaxed) == 0 &&
	    gp_recorder_is_requested() &&
	    atomic_compare_exchange_strong(&starter, &none, getpid())) {
		/* before the driver ends: its handler was registered earlier, and runs later */
		atexit(gp_counters_end);
		gp_counters_source->start();
	}
	errno = kept;
}

void gp_counters_end(void)
{
	const int kept = errno;
	const bool may_call = gp_counters_are_started() && gp_calls_begin();
	if (gp_counters_are_started())
		gp_counters_source->give_up(may_call);
	if (may_call)
		gp_calls_end();
	errno = kept;
}

bool gp_counters_are_started(void)
{
	return atomic_load(&starter) == getpid();
}
