/* Work of the drain thread for stacks, which hooks need not do. */
#include "../native/native_learn.h"
#include "../python/python_walk.h"
#include "../recorder.h"
#include "module_watch.h"
#include "stack_table.h"
#include "stack_take.h"

#define CUT_NS 100000000u
#define REFUSED_NS 1000000000u /* duration of a refusal of a chunk */
#define UNLOADS_NS 100000000u  /* between two looks for unloaded libraries */

static void add_chunk(struct gp_recorder *r)
{
	const bool is_added = gp_ring_place_add_stacks(r);
	gp_stack_table_allow(is_added);
	r->chunk_refused_ns = is_added ? 0 : gp_now_ns();
	if (!is_added)
		return;
	/* the stack of events without room: made early, while there is room */
	gp_stack_pair(0, 0, GP_WHY_TABLE_FULL, GP_WHY_TABLE_FULL);
}

static bool is_chunk_due(const struct gp_recorder *r)
{
	if (gp_likely(!gp_stack_table_needs_chunk()))
		return false;
	return r->chunk_refused_ns == 0 || gp_now_ns() - r->chunk_refused_ns >= REFUSED_NS;
}

/* Recorded early, so that the recording of a killed job has it, too. */
static void write_cut(struct gp_recorder *r)
{
	const uint64_t cut = gp_stack_table_cut(), now = gp_now_ns();
	if (gp_likely(cut == r->stacks_cut) || (!r->is_ending && now - r->cut_written_ns < CUT_NS))
		return;
	gp_log(gp_settings.are_stacks_requested,
	       "no room for more stacks; events with new ones have none", NULL);
	r->stacks_cut = cut;
	r->cut_written_ns = now;
	gp_drain_write_fact(r, GP_FACT_STACKS_CUT, cut, NULL);
}

static void write_modules_cut(struct gp_recorder *r)
{
	const uint64_t cut = gp_stack_table_modules_cut(), now = gp_now_ns();
	if (gp_likely(cut == r->modules_cut) || (!r->is_ending && now - r->cut_written_ns < CUT_NS))
		return;
	r->modules_cut = cut;
	r->cut_written_ns = now;
	gp_drain_write_fact(r, GP_FACT_MODULES_CUT, cut, NULL);
}

/* Requested frames that are not available: reported on the job's terminal and in the reports. */
static void write_refusal(struct gp_recorder *r, enum gp_fact key, const char *why)
{
	bool is_python = key == GP_FACT_NO_PYTHON;
	const char **reported = is_python ? &r->why_no_python : &r->why_no_native;
	if (gp_likely(!why || *reported))
		return;
	*reported = why;
	gp_log(gp_settings.are_stacks_requested,
	       is_python ? "stacks without Python frames:" : "stacks without native frames:", why);
	gp_drain_write_fact(r, key, 0, why);
}

void gp_stacks_open(struct gp_recorder *r)
{
	if (gp_settings.no_stacks)
		gp_drain_write_fact(r, GP_FACT_NO_STACKS, 0, gp_settings.no_stacks);
	if (!r->define.entry)
		return;
	if (gp_settings.launch_every)
		gp_drain_write_fact(r, GP_FACT_STACK_LAUNCHES, gp_settings.launch_every, NULL);
	gp_budget_tend(r);
	add_chunk(r);
	/* without it frames are addresses */
	if (gp_settings.has_native && gp_module_watch_open(r))
		gp_module_watch(r);
}

/* Code made at run time in place of a library must not be left by the library's rules. */
static void watch_unloads(struct gp_recorder *r)
{
	const uint64_t now = gp_now_ns();
	if (now - r->stacks_tended_ns < UNLOADS_NS)
		return;
	r->stacks_tended_ns = now;
	gp_native_check_modules();
}

void gp_stacks_maintain(struct gp_recorder *r)
{
	if (!r->define.entry)
		return;
	gp_budget_tend(r);
	if (is_chunk_due(r))
		add_chunk(r);
	write_cut(r);
	if (gp_settings.has_python) {
		write_modules_cut(r);
		gp_python_look_after();
		write_refusal(r, GP_FACT_NO_PYTHON, gp_python_why_off());
	}
	if (gp_settings.has_native)
		write_refusal(r, GP_FACT_NO_NATIVE, gp_stack_why_no_native());
	if (!gp_settings.has_native)
		return;
	gp_module_watch(r);
	watch_unloads(r);
}
