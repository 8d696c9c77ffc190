/*
 * Events without their counterpart: frees without a live entry, and allocations over live entries.
 * Late events correct them. In any order of arrival, the live set ends as if all had come in
 * time. An anomaly that a late event explains is taken back.
 */
#include "live_state.h"

void gp_late_explain(struct gp_live *live, const struct gp_past_orphan *orphan)
{
	if (orphan->is_anomaly && live->count[GP_COUNT_ANOMALIES] > 0)
		live->count[GP_COUNT_ANOMALIES]--;
}

struct gp_past_orphan *gp_late_replaced(struct gp_live *live, enum gp_family family,
					uint64_t address, uint64_t first, uint64_t second)
{
	struct gp_past_orphan orphan = {
		.address = address,
		.order = first,
		.until = second,
		.kind = GP_ORPHAN_REPLACED,
		.family = (uint8_t)family,
		.is_anomaly = first >= live->gap,
	};
	if (orphan.is_anomaly)
		gp_live_anomaly(live);
	return gp_past_add_orphan(&live->past, &orphan);
}

bool gp_late_alloc(struct gp_live *live, enum gp_family family, const struct gp_record *r,
		   uint64_t address, uint32_t slot, struct gp_past_orphan *ended)
{
	struct gp_past_orphan orphan = { .kind = GP_ORPHAN_NONE };
	if (ended != NULL)
		*ended = orphan;
	if (slot != 0) {
		uint64_t order = gp_live_at(live, slot)->order;
		if (order <= r->order) {
			gp_late_replaced(live, family, address, order, r->order);
			return false;
		}
		if (gp_past_take_free(&live->past, family, address, r->order, order, &orphan))
			gp_late_explain(live, &orphan);
		else
			gp_late_replaced(live, family, address, r->order, order);
		if (ended != NULL)
			*ended = orphan;
		return true;
	}
	if (!gp_live_is_late(live, r) ||
	    !gp_past_take_free(&live->past, family, address, r->order, UINT64_MAX, &orphan))
		return false;
	gp_late_explain(live, &orphan);
	if (ended != NULL)
		*ended = orphan;
	return true;
}

bool gp_late_is_completed(struct gp_live *live, uint64_t address, uint64_t order, uint64_t before)
{
	struct gp_past_orphan completion;
	return gp_past_take_free(&live->past, GP_FAMILY_COMPLETION, address, order, before,
				 &completion);
}

void gp_late_free(struct gp_live *live, enum gp_family family, unsigned space,
		  const struct gp_record *r, uint64_t address, uint64_t bytes)
{
	struct gp_past_orphan orphan;
	bool is_pending = r->kind == GP_BLOCK_FREE && r->aux != 0;
	if (gp_past_take_replaced(&live->past, family, address, r->order, &orphan)) {
		gp_late_explain(live, &orphan);
		if (is_pending && !orphan.is_pending &&
		    !gp_late_is_completed(live, address, r->order, orphan.until))
			gp_late_replaced(live, GP_FAMILY_COMPLETION, address, r->order,
					 orphan.until);
		return;
	}
	is_pending = is_pending && !gp_late_is_completed(live, address, r->order, UINT64_MAX);
	orphan = (struct gp_past_orphan){
		.address = address,
		.bytes = bytes,
		.order = r->order,
		.kind = GP_ORPHAN_FREE,
		.family = (uint8_t)family,
		.space = (uint8_t)space,
		/*
		 * after a gap, unknown addresses are normal; a segment without recorded blocks is
		 * older than the details
		 */
		.is_anomaly = live->gap == 0 && family != GP_FAMILY_SEGMENT,
		.is_pending = is_pending,
	};
	if (orphan.is_anomaly)
		gp_live_anomaly(live);
	gp_past_add_orphan(&live->past, &orphan);
}

void gp_late_completed(struct gp_live *live, const struct gp_record *r)
{
	uint64_t address = r->block_completed.address;
	struct gp_past_orphan orphan;
	if (gp_past_take_replaced(&live->past, GP_FAMILY_COMPLETION, address, r->order, &orphan)) {
		gp_late_explain(live, &orphan);
		return;
	}
	if (gp_past_complete(&live->past, address, r->order))
		return;
	/*
	 * not an anomaly: the block may have been freed before the details began, and a lost free
	 * shows in the totals
	 */
	orphan = (struct gp_past_orphan){
		.address = address,
		.order = r->order,
		.kind = GP_ORPHAN_FREE,
		.family = GP_FAMILY_COMPLETION,
		.space = GP_SPACE_BLOCK,
	};
	gp_past_add_orphan(&live->past, &orphan);
}
