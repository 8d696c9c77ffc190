/*
 * Losses are recorded three times. Totals in the control page survive a kill, and `ctl` shows them.
 * LOST records between the events show where they happened. The recording's header has the totals
 * in space on disk that is reserved already, so it works even when all else fails.
 */
#include "../recorder.h"

#define HEADER_AGE_NS 100000000u /* maximal delay of the header during losses */
#define RETRY_NS 100000000u

/*
 * The events were applied: once a checkpoint of that state is written, only their details are lost.
 */
void gp_losses_unwritten(struct gp_recorder *r, const struct gp_ring_view *view, uint64_t tail,
			 uint64_t slots)
{
	for (uint64_t at = tail; at < tail + slots;) {
		const struct gp_record *record = gp_view_slot(view, at);
		at += 1u + record->extra;
		/* its numbers are in the totals, and in the state's */
		if (record->kind == GP_LOST)
			continue;
		unsigned which = gp_loss_of(record->kind), kind = record->kind % GP_KINDS;
		if (r->unwritten == 0 || record->order < r->unwritten)
			r->unwritten = record->order + 1;
		atomic_fetch_add_explicit(&gp_control->lost[which], 1, memory_order_relaxed);
		gp_live_count_set(r->live, kind, gp_live_count(r->live, kind) - 1);
		if (which == 0)
			gp_live_count_set(r->live, GP_COUNT_UNWRITTEN,
					  gp_live_count(r->live, GP_COUNT_UNWRITTEN) + 1);
	}
}

static bool is_news(uint64_t now, uint64_t *reported, uint64_t *news)
{
	*news = now - *reported;
	*reported = now;
	return *news != 0;
}

void gp_losses_early(unsigned which)
{
	/* partner: the release store in gp_losses_begin: the page exists */
	_Atomic uint64_t *lost =
		atomic_load_explicit(&gp_local->has_control, memory_order_acquire) ?
			gp_control->lost :
			gp_recorder.lost_early;
	atomic_fetch_add_explicit(&lost[which], 1, memory_order_relaxed);
}

/* Losses from before the control page existed. */
static void move_early_losses(struct gp_recorder *r)
{
	for (unsigned n = 0; n < 3; n++)
		if (atomic_load_explicit(&r->lost_early[n], memory_order_relaxed))
			atomic_fetch_add_explicit(&gp_control->lost[n],
						  atomic_exchange_explicit(&r->lost_early[n], 0,
									   memory_order_relaxed),
						  memory_order_relaxed);
}

void gp_losses_begin(struct gp_recorder *r)
{
	atomic_store_explicit(&gp_local->has_control, 1, memory_order_release);
	move_early_losses(r);
}

/*
 * Makes a LOST record of the producers' losses since the last round. Call it after the heads were
 * loaded and before the merge. A loss before a visible event is thus recorded before that event.
 * Its exact place between the last applied and the next event is unknown, so `span` covers all of
 * that.
 */
void gp_losses_write(struct gp_recorder *r)
{
	struct gp_record lost = { .kind = GP_LOST };
	uint32_t rings = atomic_load(&gp_control->rings);
	uint64_t news;
	bool any = false;
	move_early_losses(r);
	for (uint32_t k = 0; k < rings; k++) {
		struct gp_ring *ring = r->views[k].ring;
		const uint64_t now[4] = { ring->lost_memory, ring->lost_launch, ring->lost_other,
					  ring->nested };
		for (unsigned n = 0; n < 4; n++) {
			any |= is_news(now[n], &ring->reported[n], &news);
			lost.v[n] += news;
		}
	}
	for (unsigned n = 0; n < 3; n++) {
		any |= is_news(atomic_load(&gp_control->lost[n]), &gp_control->reported[n], &news);
		lost.v[n] += news;
	}
	if (!any)
		return;
	lost.order = r->unwritten && r->unwritten <= r->expected ? r->unwritten - 1 : r->expected;
	r->unwritten = 0;
	/*
	 * loaded after the counters: a loss so far happened at the latest right before the next
	 * number. The event with that number is the first to show the effect, so the span includes
	 * it.
	 */
	uint64_t span = atomic_load(&gp_control->next_order) + 1 - lost.order;
	if (lost.lost.memory)
		lost.aux = span < UINT32_MAX ? (uint32_t)span : UINT32_MAX;
	gp_drain_write(r, &lost, NULL);
	r->written_to = atomic_load_explicit(&r->views[0].ring->head, memory_order_relaxed);
}

/* True: the header had other numbers. */
static bool sum(const struct gp_recorder *r, struct gp_file_header *h)
{
	uint32_t rings = atomic_load(&gp_control->rings);
	uint64_t total[4] = { 0 };
	for (unsigned n = 0; n < 3; n++)
		total[n] = atomic_load_explicit(&gp_control->lost[n], memory_order_relaxed);
	for (uint32_t k = 0; k < rings; k++) {
		const struct gp_ring *ring = r->views[k].ring;
		total[0] += atomic_load_explicit(&ring->lost_memory, memory_order_relaxed);
		total[1] += atomic_load_explicit(&ring->lost_launch, memory_order_relaxed);
		total[2] += atomic_load_explicit(&ring->lost_other, memory_order_relaxed);
		total[3] += atomic_load_explicit(&ring->nested, memory_order_relaxed);
	}
	uint64_t failed = atomic_load(&gp_control->failed_blocks);
	uint32_t flags = atomic_load(&gp_control->has_hole) ? GP_FILE_HAS_HOLE : 0;
	bool is_new = h->failed_blocks != failed || h->flags != flags;
	for (unsigned n = 0; n < 4; n++) {
		is_new |= h->lost[n] != total[n];
		h->lost[n] = total[n];
	}
	h->failed_blocks = failed;
	h->flags = flags;
	return is_new;
}

bool gp_losses_keep(struct gp_recorder *r, bool is_end)
{
	uint64_t now = gp_now_ns();
	if (!is_end && now - r->header_ns < HEADER_AGE_NS)
		return true;
	r->header_ns = now;
	return !sum(r, &r->writer.header) || gp_file_put_header(&r->writer);
}

bool gp_losses_retry(struct gp_recorder *r)
{
	uint64_t now = gp_now_ns();
	if (r->is_walking || now - r->retried_ns < RETRY_NS)
		return false;
	r->retried_ns = now;
	return true;
}
