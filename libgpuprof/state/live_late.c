/*
 * Events without their counterpart: frees that meet nothing, allocations over live entries, and
 * what late events make of those afterwards. Whatever the order of arrival, the live set ends as if
 * all had come in time, and an anomaly that a late event explains is taken back.
 */
#include "live_state.h"

static void forget_anomaly(struct gp_live *live, const struct gp_past_orphan *orphan)
{
	if (orphan->is_anomaly && live->count[GP_COUNT_ANOMALIES] > 0)
		live->count[GP_COUNT_ANOMALIES]--;
}

/* `first` was alive when `second` took its place. */
static void note_replaced(struct gp_live *live, enum gp_family family, uint64_t address,
			  uint64_t first, uint64_t second)
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
	gp_past_add_orphan(&live->past, &orphan);
}

bool gp_late_alloc(struct gp_live *live, enum gp_family family, const struct gp_record *r,
		   uint64_t address, uint32_t slot)
{
	struct gp_past_orphan orphan;
	if (slot != 0) {
		uint64_t order = gp_live_at(live, slot)->order;
		if (order <= r->order) {
			note_replaced(live, family, address, order, r->order);
			return false;
		}
		if (gp_past_take_free(&live->past, family, address, r->order, order, &orphan))
			forget_anomaly(live, &orphan);
		else
			note_replaced(live, family, address, r->order, order);
		return true;
	}
	if (!gp_live_is_late(live, r) ||
	    !gp_past_take_free(&live->past, family, address, r->order, UINT64_MAX, &orphan))
		return false;
	forget_anomaly(live, &orphan);
	return true;
}

void gp_late_free(struct gp_live *live, enum gp_family family, unsigned space,
		  const struct gp_record *r, uint64_t address, uint64_t bytes)
{
	struct gp_past_orphan orphan;
	if (gp_past_take_replaced(&live->past, family, address, r->order, &orphan)) {
		forget_anomaly(live, &orphan);
		return;
	}
	orphan = (struct gp_past_orphan){
		.address = address,
		.bytes = bytes,
		.order = r->order,
		.kind = GP_ORPHAN_FREE,
		.family = (uint8_t)family,
		.space = (uint8_t)space,
		/* after a gap an unknown address is to be expected */
		.is_anomaly = live->gap == 0,
	};
	if (orphan.is_anomaly)
		gp_live_anomaly(live);
	gp_past_add_orphan(&live->past, &orphan);
}
