/* The captured intervals, from the records at which they begin and end. */
#include "scope_list.h"

#include <stdlib.h>

#include "../tables/array.h"

void gp_scope_list_release(struct gp_scope_list *list)
{
	free(list->span);
	*list = (struct gp_scope_list){ 0 };
}

static struct gp_scope_span *last_open(struct gp_scope_list *list)
{
	struct gp_scope_span *last = list->spans > 0 ? &list->span[list->spans - 1] : NULL;
	return last != NULL && last->is_open ? last : NULL;
}

static enum gp_status scope_list_add(struct gp_scope_list *list, int64_t from_ns, unsigned by)
{
	struct gp_scope_span *span = gp_array_append(&list->span, &list->spans, sizeof *span);
	if (span == NULL)
		return GP_E_MEMORY;
	*span = (struct gp_scope_span){ .from_ns = from_ns > 0 ? from_ns : 0,
					.to_ns = INT64_MAX,
					.opened_by = by,
					.is_open = true };
	return GP_OK;
}

enum gp_status gp_scope_list_begin(struct gp_scope_list *list, const struct gp_recording *r)
{
	uint64_t since = gp_live_count(r->live, GP_COUNT_SCOPE_SINCE);
	gp_scope_list_release(list);
	list->number = gp_live_count(r->live, GP_COUNT_SCOPE_NUMBER);
	return since != 0 ? scope_list_add(list, gp_tick_ns(&r->tick, since), 0) : GP_OK;
}

enum gp_status gp_scope_list_see(struct gp_scope_list *list, const struct gp_recording *r,
				 const struct gp_record *record)
{
	if (record->scope.number <= list->number) /* a newer change came before it */
		return GP_OK;
	list->number = record->scope.number;
	if (last_open(list) == NULL && record->scope.since != 0) {
		unsigned by = record->aux != 0 ? (unsigned)record->scope.by : GP_SCOPE_BY_START;
		enum gp_status status =
			scope_list_add(list, gp_tick_ns(&r->tick, record->scope.since), by);
		if (status != GP_OK)
			return status;
	}
	struct gp_scope_span *last = last_open(list);
	if (record->aux != 0 || last == NULL)
		return GP_OK;
	int64_t to_ns = gp_tick_ns(&r->tick, record->time);
	last->to_ns = to_ns > last->from_ns ? to_ns : last->from_ns;
	last->closed_by = (unsigned)record->scope.by;
	last->is_open = false;
	return GP_OK;
}

void gp_scope_list_fill(struct gp_scope_list *list, const struct gp_recording *r,
			struct gp_info *info)
{
	int64_t end = (int64_t)info->duration_ns;
	struct gp_scope_span *last = last_open(list);
	if (last != NULL)
		last->to_ns = end > last->from_ns ? end : last->from_ns;
	info->capture_rule = gp_defined_text(r->definitions, GP_FACT, GP_FACT_SCOPE);
	info->is_captured_in_part = info->capture_rule != NULL || info->counts[GP_SCOPE] > 0;
	info->captures = gp_live_count(r->live, GP_COUNT_SCOPES);
	int64_t ns = gp_tick_ns(&r->tick,
				r->tick.start_ticks + gp_live_count(r->live, GP_COUNT_SCOPE_TICKS));
	if (last != NULL)
		ns += last->to_ns - last->from_ns;
	info->captured_ns = ns > 0 ? (uint64_t)ns : 0;
	info->captureds = list->spans;
	info->captured = list->span;
}

bool gp_info_is_captured(const struct gp_info *info, int64_t at_ns)
{
	size_t low = 0, high = info->captureds;
	if (!info->is_captured_in_part)
		return true;
	while (low < high) { /* finds the first that begins later */
		size_t middle = (low + high) / 2;
		if (info->captured[middle].from_ns <= at_ns)
			low = middle + 1;
		else
			high = middle;
	}
	return low > 0 && at_ns <= info->captured[low - 1].to_ns;
}
