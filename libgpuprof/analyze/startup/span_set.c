/* Spans are added at their end, sorted once, then united by a merge of two sorted lists. */
#include "span_set.h"

#include <stdlib.h>
#include <string.h>

#include "../../read/tables/array.h"

bool gp_span_set_add(struct gp_span_set *set, int64_t from_ns, int64_t to_ns)
{
	struct gp_span *last = set->spans != 0 ? &set->span[set->spans - 1] : NULL;
	if (to_ns <= from_ns)
		return true;
	if (last != NULL && from_ns >= last->from_ns && from_ns <= last->to_ns) {
		if (to_ns > last->to_ns)
			last->to_ns = to_ns;
		return true;
	}
	if (set->spans == GP_SPANS_MOST) {
		set->is_cut = true;
		return true;
	}
	if (!gp_array_reserve(&set->span, &set->room, set->spans, 1, sizeof *set->span))
		return false;
	set->span[set->spans++] = (struct gp_span){ from_ns, to_ns };
	return true;
}

static int span_earlier(const void *left, const void *right)
{
	const struct gp_span *a = left, *b = right;
	return a->from_ns < b->from_ns ? -1 : a->from_ns > b->from_ns;
}

void gp_span_set_settle(struct gp_span_set *set, int64_t from_ns, int64_t to_ns)
{
	size_t kept = 0;
	if (set->spans != 0)
		qsort(set->span, set->spans, sizeof *set->span, span_earlier);
	for (size_t k = 0; k < set->spans; k++) {
		struct gp_span s = set->span[k];
		s.from_ns = s.from_ns > from_ns ? s.from_ns : from_ns;
		s.to_ns = s.to_ns < to_ns ? s.to_ns : to_ns;
		if (s.to_ns <= s.from_ns)
			continue;
		if (kept != 0 && s.from_ns <= set->span[kept - 1].to_ns) {
			if (s.to_ns > set->span[kept - 1].to_ns)
				set->span[kept - 1].to_ns = s.to_ns;
		} else {
			set->span[kept++] = s;
		}
	}
	set->spans = kept;
}

bool gp_span_set_unite(struct gp_span_set *set, const struct gp_span_set *more)
{
	struct gp_span_set all = { .is_cut = set->is_cut || more->is_cut };
	const size_t most = set->spans + more->spans;
	if (more->spans == 0)
		return true;
	all.span = malloc(most * sizeof *all.span);
	if (all.span == NULL)
		return false;
	all.room = most;
	for (size_t a = 0, b = 0; a + b < most;) {
		const bool is_first =
			b == more->spans ||
			(a < set->spans && set->span[a].from_ns <= more->span[b].from_ns);
		const struct gp_span s = is_first ? set->span[a++] : more->span[b++];
		struct gp_span *last = all.spans != 0 ? &all.span[all.spans - 1] : NULL;
		if (last == NULL || s.from_ns > last->to_ns)
			all.span[all.spans++] = s;
		else if (s.to_ns > last->to_ns)
			last->to_ns = s.to_ns;
	}
	free(set->span);
	*set = all;
	return true;
}

int64_t gp_span_set_ns(const struct gp_span_set *set)
{
	int64_t sum = 0;
	for (size_t k = 0; k < set->spans; k++)
		sum += set->span[k].to_ns - set->span[k].from_ns;
	return sum;
}

int64_t gp_span_set_first_gap(const struct gp_span_set *set, int64_t from_ns, int64_t to_ns)
{
	for (size_t k = 0; k < set->spans && set->span[k].from_ns <= from_ns; k++)
		from_ns = set->span[k].to_ns;
	return from_ns < to_ns ? from_ns : INT64_MAX;
}

void gp_span_set_release(struct gp_span_set *set)
{
	free(set->span);
	*set = (struct gp_span_set){ 0 };
}
