/* Walks from the newest survivor back to the oldest that has no larger gap behind it. */
#include "leak_since.h"

#include "../../read/tables/array.h"

size_t gp_leak_turn_of(const struct gp_leak_turns *turns, int64_t at_ns)
{
	return gp_array_count_to(turns->begin_ns, turns->turns, at_ns);
}

size_t gp_leak_since_find(const struct gp_leak_samples *samples, const bool *is_of,
			  const struct gp_leak_turns *turns, size_t since)
{
	size_t oldest = SIZE_MAX, next = 0, longest = 0;
	for (size_t k = samples->survivors; k-- > 0;) {
		const struct gp_leak_survivor *s = &samples->survivor[k];
		const size_t turn = gp_leak_turn_of(turns, s->at_ns);
		if (!is_of[s->holder])
			continue;
		if (turn == 0 || s->at_ns < turns->from_ns)
			break;
		const size_t gap = oldest != SIZE_MAX ? next - turn : 0;
		if (s->at_ns >= samples->at_ns[since])
			longest = gap > longest ? gap : longest;
		else if (gap > longest)
			break;
		oldest = k;
		next = turn;
	}
	return oldest;
}
