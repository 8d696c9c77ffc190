/*
 * Objects of the driver: entries without bytes, so that a checkpoint has the stack and moment of
 * each live one. Uncertain ones are left out: there may be more of them, never fewer.
 */
#include "live_state.h"

/* A late one may already be gone. A handle that is made again was released unseen. */
enum gp_status gp_resource_made(struct gp_live *live, const struct gp_record *r)
{
	uint32_t slot = gp_table_find(&live->table, GP_FAMILY_RESOURCE, r->resource.handle);
	if (r->resource.handle == 0 || gp_live_is_late(live, r))
		return GP_OK;
	if (slot != 0)
		gp_live_drop(live, slot);
	const struct gp_live_entry entry = {
		.address = r->resource.handle,
		.time = r->time,
		.order = r->order,
		.stack = r->stack,
		.space = GP_SPACE_RESOURCE,
		.device = r->device,
		.flags = (uint16_t)(r->aux & ~GP_LIVE_FLAGS),
	};
	return gp_live_add(live, &entry) == 0 ? GP_E_MEMORY : GP_OK;
}

/* Some are made by calls that are not recorded, so this is not an anomaly. */
void gp_resource_gone(struct gp_live *live, const struct gp_record *r)
{
	uint32_t slot = gp_table_find(&live->table, GP_FAMILY_RESOURCE, r->resource_gone.handle);
	if (slot != 0 && gp_live_at(live, slot)->order < r->order)
		gp_live_drop(live, slot);
}
