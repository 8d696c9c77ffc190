/* Ticks to nanoseconds: one slope for the whole run, from its first and last clock triples. */
#include "recording.h"

#define SPAN_NS_MIN 50000000u /* for a shorter run, the calibration at the start is more accurate */

void gp_tick_init(struct gp_tick *tick, const struct gp_file_header *header,
		  const struct gp_block_header *last)
{
	*tick = (struct gp_tick){ .start_ticks = header->start_ticks, .scale = 1ull << 32 };
	if (header->clock != GP_CLOCK_TSC)
		return;
	uint64_t ticks = header->ticks_per_second, ns = 1000000000u;
	if (last->ticks > header->start_ticks &&
	    last->mono_ns > header->start_mono_ns + SPAN_NS_MIN) {
		ticks = last->ticks - header->start_ticks;
		ns = last->mono_ns - header->start_mono_ns;
	}
	if (ticks != 0)
		tick->scale = (uint64_t)(((unsigned __int128)ns << 32) / ticks);
}
