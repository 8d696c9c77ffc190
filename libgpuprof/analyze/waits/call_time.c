/* Durations of calls on the recording's clock. */
#include "../../read/file/recording.h"

int64_t gp_took_ns(const struct gp_recording *recording, const struct gp_record *r, uint64_t ticks)
{
	const uint64_t took = ticks < r->time ? ticks : r->time;
	int64_t ns;
	if (ticks == 0)
		return -1;
	return __builtin_sub_overflow(gp_tick_ns(&recording->tick, r->time),
				      gp_tick_ns(&recording->tick, r->time - took), &ns) ?
		       INT64_MAX :
		       ns;
}

int64_t gp_call_took_ns(const struct gp_recording *recording, const struct gp_record *r)
{
	const uint64_t ticks = gp_call_took(r->aux);
	return ticks != 0 ? gp_took_ns(recording, r, ticks) : 0;
}

int64_t gp_alloc_took_ns(const struct gp_recording *recording, const struct gp_record *r)
{
	return gp_took_ns(recording, r, gp_alloc_took(r->code));
}
