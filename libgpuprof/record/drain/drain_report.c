/* Records of the recorder's own: the drain thread is the producer of ring 0. */
#include <string.h>

#include "../recorder.h"

/* Ring 0 grows here: this thread is its producer, too. */
static bool has_own_room(struct gp_recorder *r, uint64_t head, unsigned slots)
{
	struct gp_ring_view *own = &r->views[0];
	const uint64_t tail = atomic_load_explicit(&own->ring->tail, memory_order_relaxed);
	for (;;) {
		const uint32_t region = atomic_load(&own->ring->region);
		const uint64_t grown = atomic_load(&own->ring->grown_at[region]);
		if (head + slots <= (tail > grown ? tail : grown) + GP_REGION_SLOTS(region))
			return true;
		if (!gp_ring_place_grow(r, own))
			return false;
		atomic_store(&own->ring->grown_at[region + 1], head);
		/* partner: whoever loads the head that follows */
		atomic_store(&own->ring->region, region + 1);
	}
}

void gp_drain_write(struct gp_recorder *r, struct gp_record *record, const char *text)
{
	struct gp_ring_view *own = &r->views[0];
	size_t length = text ? strlen(text) : 0;
	if (length > GP_TEXT_MAX)
		length = GP_TEXT_MAX;
	record->extra = gp_text_slots(length);
	uint64_t head = atomic_load_explicit(&own->ring->head, memory_order_relaxed);
	if (!has_own_room(r, head, 1u + record->extra))
		return;
	record->time = gp_clock_now();
	bool is_memory = gp_event_infos[record->kind].class == GP_CLASS_MEMORY;
	/* others lie before all that is not yet applied, or where the caller sets it */
	if (is_memory)
		record->order = atomic_fetch_add(&gp_control->next_order, 1);
	else if (record->order == 0)
		record->order = r->expected;
	*gp_view_slot(own, head) = *record;
	const uint32_t region = atomic_load(&own->ring->region);
	gp_text_put(own->slots[region], GP_REGION_SLOTS(region) - 1, head + 1, text, length);
	/* partner: load_heads of this thread, and the adopter's load of head */
	atomic_store_explicit(&own->ring->head, head + 1u + record->extra, memory_order_release);
}

void gp_drain_write_fact(struct gp_recorder *r, enum gp_fact key, uint64_t value, const char *text)
{
	gp_drain_write(r,
		       &(struct gp_record){ .kind = GP_FACT,
					    .device = GP_DEVICE_UNKNOWN,
					    .aux = key,
					    .fact.value = value },
		       text);
}
