/* What the drain thread does for stacks, so that hooks need not. */
#include "module_watch.h"
#include "native_learn.h"
#include "python_walk.h"
#include "recorder.h"
#include "stack_table.h"

#define UNLOADS_NS 100000000u /* where the loader's count could not be found */

void gp_stacks_open(struct gp_recorder *r)
{
	if (!r->define.entry)
		return;
	gp_ring_place_add_stacks(r);
	/* without it frames are addresses */
	if (gp_settings.has_native && gp_module_watch_open(r))
		gp_module_watch(r);
}

/* A rule of code that is no longer there would make a wrong frame. */
static void watch_unloads(struct gp_recorder *r)
{
	const uint64_t now = gp_clock_raw_ns(CLOCK_MONOTONIC_RAW);
	if (gp_native_knows_loads() || now - r->stacks_tended_ns < UNLOADS_NS)
		return;
	r->stacks_tended_ns = now;
	gp_native_check_modules();
}

void gp_stacks_tend(struct gp_recorder *r)
{
	if (!r->define.entry)
		return;
	if (gp_stack_table_wants_chunk())
		gp_ring_place_add_stacks(r);
	if (gp_settings.has_python && gp_python_why_off())
		gp_say(true, "stacks without Python frames:", gp_python_why_off());
	if (!gp_settings.has_native)
		return;
	gp_module_watch(r);
	watch_unloads(r);
}
