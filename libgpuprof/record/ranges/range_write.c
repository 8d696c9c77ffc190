/* What the drain thread records of ranges besides their events. */
#include "../recorder.h"
#include "range_mark.h"

#define UNNAMED_NS 100000000u

/* So that it is known even of a job that is killed. */
void gp_ranges_tend(struct gp_recorder *r)
{
	const uint64_t refused = gp_range_names_refused();
	if (gp_likely(refused == r->ranges_unnamed))
		return;
	const uint64_t now = gp_now_ns();
	if (!r->is_ending && now - r->unnamed_told_ns < UNNAMED_NS)
		return;
	gp_say(false, "no room for more names of ranges; new names count as one", NULL);
	r->ranges_unnamed = refused;
	r->unnamed_told_ns = now;
	gp_drain_tell_fact(r, GP_FACT_RANGES_UNNAMED, refused, NULL);
}
