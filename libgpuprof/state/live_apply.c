/* Dispatches each event to the file for its kind. */
#include "live_state.h"

static void add_lost(struct gp_live *live, const struct gp_record *r)
{
	live->count[GP_COUNT_LOST_MEMORY] += r->lost.memory;
	live->count[GP_COUNT_LOST_LAUNCH] += r->lost.launch;
	live->count[GP_COUNT_LOST_OTHER] += r->lost.other;
	live->count[GP_COUNT_NESTED] += r->lost.nested;
	/*
	 * the lost events, between `order` and `span` numbers later, may have freed or made any
	 * entry
	 */
	if (r->lost.memory || r->aux)
		gp_framework_gap(live, r->order + r->aux);
}

/* Ignores an event that a newer change replaced. */
static void apply_scope(struct gp_live *live, const struct gp_record *r)
{
	uint64_t *since = &live->count[GP_COUNT_SCOPE_SINCE];
	if (r->scope.number <= live->count[GP_COUNT_SCOPE_NUMBER])
		return;
	live->count[GP_COUNT_SCOPE_NUMBER] = r->scope.number;
	/* the first SCOPE may end a span that was open when the recording began */
	if (*since == 0 && r->scope.since != 0) {
		live->count[GP_COUNT_SCOPES]++;
		*since = r->scope.since;
	}
	if (r->aux != 0 || *since == 0)
		return;
	live->count[GP_COUNT_SCOPE_TICKS] += r->time > *since ? r->time - *since : 0;
	*since = 0;
}

static enum gp_status apply_segment(struct gp_live *live, const struct gp_record *r)
{
	switch (r->kind) {
	case GP_SEGMENT_ALLOC:
		return gp_segment_alloc(live, r);
	case GP_SEGMENT_FREE:
		gp_segment_free(live, r);
		break;
	case GP_SEGMENT_MAP:
		return gp_segment_map(live, r);
	case GP_SEGMENT_UNMAP:
		return gp_segment_unmap(live, r);
	default:
		break;
	}
	return GP_OK;
}

static enum gp_status apply_memory(struct gp_live *live, const struct gp_record *r)
{
	switch (r->kind) {
	case GP_ALLOC:
		return gp_driver_alloc(live, r);
	case GP_ALLOC_FAILED:
		gp_used_refused(live, r);
		break;
	case GP_FREE:
		gp_driver_free(live, r);
		break;
	case GP_FREE_FAILED:
		gp_driver_free_failed(live, r);
		break;
	case GP_MAP:
		return gp_driver_map(live, r);
	case GP_UNMAP:
		gp_driver_unmap(live, r);
		break;
	case GP_UNMAP_FAILED:
		gp_driver_unmap_failed(live, r);
		break;
	case GP_OWNER_GONE:
		gp_driver_owner_gone(live, r);
		break;
	case GP_GAP:
		gp_framework_gap(live, r->order + 1);
		break;
	case GP_SCOPE:
		apply_scope(live, r);
		break;
	case GP_BLOCK_ALLOC:
		return gp_framework_alloc(live, r);
	case GP_BLOCK_FREE:
		gp_framework_free(live, r);
		break;
	case GP_BLOCK_EXISTING:
		return gp_framework_found(live, r);
	case GP_BLOCK_COMPLETED:
		gp_framework_completed(live, r);
		break;
	case GP_SNAPSHOT:
		gp_framework_snapshot(live, r);
		break;
	case GP_RESOURCE:
		gp_used_resource(live, r);
		return gp_resource_made(live, r);
	case GP_RESOURCE_GONE:
		gp_resource_gone(live, r);
		break;
	default:
		return apply_segment(live, r);
	}
	return GP_OK;
}

enum gp_status gp_live_apply(struct gp_live *live, const struct gp_record *r)
{
	if (__builtin_expect(r->kind >= GP_KINDS, 0))
		return GP_OK;
	enum gp_class class = gp_event_infos[r->kind].class;
	if (class == GP_CLASS_CHECKPOINT)
		return gp_live_load(live, r);
	live->count[r->kind]++;
	if (class == GP_CLASS_MEMORY) {
		gp_looks_add(&live->looks);
		enum gp_status status = apply_memory(live, r);
		if (status != GP_OK)
			gp_live_anomaly(live);
		if (r->order > live->newest)
			live->newest = r->order;
		return status;
	}
	if (r->kind == GP_LOST)
		add_lost(live, r);
	else if (r->kind == GP_DEVICE_MEMORY)
		gp_used_count(live, r);
	else if (r->kind == GP_THREAD && r->aux != 0) /* 0 is the recorder's own thread */
		live->count[GP_COUNT_THREADS]++;
	return GP_OK;
}

void gp_live_pass(struct gp_live *live, const struct gp_record *r)
{
	live->count[r->kind]++;
	if (r->order > live->newest)
		live->newest = r->order;
}
