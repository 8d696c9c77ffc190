/*
 * The live state against a brute-force model on random histories: in order, through a checkpoint
 * written in slices, and with late events.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

#include "brute_force.h"
#include "state/live.h"

#define EVENTS 3000u

struct history {
	struct gp_record *event;
	size_t events;
	struct brute model;
	uint64_t random;
	uint64_t next_address;
	bool has_vmm;
};

static uint64_t draw(struct history *h, uint64_t below)
{
	h->random ^= h->random << 13;
	h->random ^= h->random >> 7;
	h->random ^= h->random << 17;
	return (h->random >> 11) % below;
}

static void put(struct history *h, struct gp_record r)
{
	r.order = h->events;
	r.time = 1000 + 10 * h->events;
	brute_apply(&h->model, &r);
	if (r.kind == GP_BLOCK_ALLOC || r.kind == GP_BLOCK_FREE) {
		r.block_alloc.allocated = h->model.now[r.device][GP_CURVE_ALLOCATED];
		r.block_alloc.reserved = h->model.now[r.device][GP_CURVE_RESERVED];
	}
	h->event[h->events++] = r;
}

/* A random live entry of a space in `spaces`; NULL after a few misses. */
static struct brute_entry *pick(struct history *h, unsigned spaces)
{
	for (unsigned tries = 0; tries < 200 && h->model.entries > 0; tries++) {
		struct brute_entry *e = &h->model.entry[draw(h, h->model.entries)];
		if (!e->is_dead && !e->is_released && (spaces >> e->space & 1) != 0)
			return e;
	}
	return NULL;
}

/* A multiple of 2 MiB below `most`. */
static uint64_t draw_pages(struct history *h, uint64_t most)
{
	return draw(h, most >> 21) << 21;
}

static uint64_t new_address(struct history *h, uint64_t bytes)
{
	uint64_t address = h->next_address;
	h->next_address += (bytes + 0x1fffff) & ~0x1fffffull;
	return address;
}

static void put_alloc(struct history *h)
{
	static const uint8_t spaces[] = { GP_SPACE_DEVICE,   GP_SPACE_DEVICE,	   GP_SPACE_ASYNC,
					  GP_SPACE_MANAGED,  GP_SPACE_HOST,	   GP_SPACE_ARRAY,
					  GP_SPACE_PHYSICAL, GP_SPACE_RESERVATION, GP_SPACE_IPC,
					  GP_SPACE_GRAPH };
	uint8_t space = spaces[draw(h, sizeof spaces)];
	if (!h->has_vmm && (space == GP_SPACE_PHYSICAL || space == GP_SPACE_RESERVATION))
		space = GP_SPACE_DEVICE;
	uint64_t bytes = space == GP_SPACE_RESERVATION ? 64ull << 20 :
			 space == GP_SPACE_PHYSICAL    ? 2ull << 20 :
							 512ull << draw(h, 16);
	/* one time in three an address that was freed; bit 46 separates the families */
	uint64_t address = 0;
	if (draw(h, 3) == 0 && h->model.entries > 0) {
		const struct brute_entry *e = &h->model.entry[draw(h, h->model.entries)];
		if (e->is_dead && brute_same_family(e->space, space) &&
		    e->space != GP_SPACE_PHYSICAL && e->bytes >= bytes &&
		    brute_find(&h->model, space, e->address) == NULL)
			address = e->address;
	}
	put(h, (struct gp_record){
		       .kind = GP_ALLOC,
		       .space = space,
		       .device = (uint8_t)draw(h, 2),
		       .aux = space == GP_SPACE_PHYSICAL && draw(h, 4) == 0,
		       .alloc = { .address = address != 0 ? address : new_address(h, bytes),
				  .bytes = bytes,
				  .owner = space == GP_SPACE_GRAPH ? 77 : 1000 + draw(h, 3) } });
}

static void put_free(struct history *h)
{
	struct brute_entry *e = pick(h, ~(1u << GP_SPACE_MAPPED | 1u << GP_SPACE_BLOCK |
					  1u << GP_SPACE_SEGMENT | 1u << GP_SPACE_RESERVATION));
	if (e == NULL)
		return;
	uint8_t space =
		e->space == GP_SPACE_ASYNC || e->space == GP_SPACE_IPC ? GP_SPACE_NONE : e->space;
	uint64_t address = e->address;
	/* one segment in two has no end event: it ends with its memory */
	const struct brute_entry *segment = brute_find(&h->model, GP_SPACE_SEGMENT, address);
	if (segment != NULL && !segment->is_mapped && (!h->has_vmm || draw(h, 2) == 0))
		put(h, (struct gp_record){ .kind = GP_SEGMENT_FREE,
					   .device = segment->device,
					   .code = segment->arena,
					   .segment_free = { address, segment->bytes, 0, 0 } });
	uint64_t order = h->events;
	put(h, (struct gp_record){ .kind = GP_FREE,
				   .space = space,
				   .device = GP_DEVICE_UNKNOWN,
				   .free.address = address });
	if (draw(h, 8) == 0)
		put(h,
		    (struct gp_record){ .kind = GP_FREE_FAILED,
					.space = space,
					.code = 700,
					.free_failed = { .address = address, .undoes = order } });
}

static void put_map(struct history *h)
{
	struct brute_entry *in = pick(h, 1u << GP_SPACE_RESERVATION),
			   *what = pick(h, 1u << GP_SPACE_PHYSICAL);
	if (in == NULL || what == NULL)
		return;
	uint64_t address = in->address + (draw(h, 32) << 21);
	if (brute_find(&h->model, GP_SPACE_MAPPED, address) == NULL)
		put(h, (struct gp_record){ .kind = GP_MAP,
					   .space = GP_SPACE_MAPPED,
					   .device = what->device,
					   .map = { .address = address,
						    .bytes = what->bytes,
						    .handle = what->address } });
}

static void put_unmap(struct history *h)
{
	struct brute_entry *e = pick(h, 1u << GP_SPACE_MAPPED);
	if (e == NULL)
		return;
	uint64_t address = e->address, bytes = e->bytes, order = h->events;
	struct brute_entry *after = brute_find(&h->model, GP_SPACE_MAPPED, address + bytes);
	bytes += after != NULL ? after->bytes : 0;
	put(h, (struct gp_record){ .kind = GP_UNMAP,
				   .space = GP_SPACE_MAPPED,
				   .unmap = { address, bytes, 0, 0 } });
	if (draw(h, 8) == 0)
		put(h, (struct gp_record){ .kind = GP_UNMAP_FAILED,
					   .space = GP_SPACE_MAPPED,
					   .code = 700,
					   .unmap_failed = { .address = address,
							     .bytes = bytes,
							     .undoes = order } });
}

static void put_block(struct history *h)
{
	const unsigned spaces = 1u << GP_SPACE_DEVICE | 1u << GP_SPACE_ASYNC |
				1u << GP_SPACE_MANAGED |
				(h->has_vmm ? 1u << GP_SPACE_RESERVATION : 0);
	struct brute_entry *in = pick(h, spaces);
	if (in == NULL)
		return;
	uint64_t address = in->address + draw(h, in->bytes / 512) * 512;
	for (size_t i = 0; i < h->model.entries; i++) /* a segment's blocks are of one device */
		if (h->model.entry[i].space == GP_SPACE_BLOCK &&
		    h->model.entry[i].address == address && !h->model.entry[i].is_dead)
			return;
	put(h, (struct gp_record){ .kind = GP_BLOCK_ALLOC,
				   .device = in->device,
				   .stack = 5,
				   /* if memory events may come late, blocks have no arena */
				   .code = h->has_vmm ? (uint16_t)draw(h, 4) : 0,
				   .aux = (uint32_t)draw(h, 513),
				   .block_alloc = { .address = address, .bytes = 512 } });
}

static void put_block_free(struct history *h)
{
	struct brute_entry *e = pick(h, 1u << GP_SPACE_BLOCK);
	if (e == NULL)
		return;
	if (e->is_pending)
		put(h, (struct gp_record){ .kind = GP_BLOCK_COMPLETED,
					   .device = e->device,
					   .block_completed.address = e->address });
	else
		put(h, (struct gp_record){
			       .kind = GP_BLOCK_FREE,
			       .device = e->device,
			       .aux = draw(h, 4) == 0,
			       .block_free = { .address = e->address, .bytes = e->bytes } });
}

static void put_segment(struct history *h)
{
	struct brute_entry *e = pick(h, 1u << GP_SPACE_DEVICE | 1u << GP_SPACE_SEGMENT |
						(h->has_vmm ? 1u << GP_SPACE_RESERVATION : 0));
	if (e == NULL || e->is_mapped)
		return;
	bool is_end = e->space == GP_SPACE_SEGMENT, is_free = true;
	for (uint64_t at = 0; at < e->bytes; at += 2 << 20)
		is_free &= !brute_has_segment(&h->model, e->address + at);
	if (is_end || is_free)
		put(h, (struct gp_record){
			       .kind = is_end ? GP_SEGMENT_FREE : GP_SEGMENT_ALLOC,
			       .device = e->device,
			       .code = (uint16_t)(1 + draw(h, 3)),
			       .stack = 6,
			       .segment_alloc = { .address = e->address, .bytes = e->bytes } });
}

/*
 * Ranges of 2 MiB and more, mapped over free addresses, unmapped together with parts of their
 * neighbours. They lie in a reservation, or where no reservation is recorded.
 */
static void put_range(struct history *h)
{
	struct brute_entry *in = h->has_vmm ? pick(h, 1u << GP_SPACE_RESERVATION) : NULL;
	uint64_t base = in != NULL ? in->address : 0x300000000000, most = 64 << 20;
	uint64_t from = draw_pages(h, most), bytes = (1 + draw(h, 4)) << 21;
	bool is_end = draw(h, 3) == 0;
	bytes = is_end ? bytes * 2 : bytes;
	bytes = from + bytes > most ? most - from : bytes;
	for (uint64_t at = from; !is_end && at < from + bytes; at += 2 << 20)
		if (brute_has_segment(&h->model, base + at))
			return;
	put(h, (struct gp_record){ .kind = is_end ? GP_SEGMENT_UNMAP : GP_SEGMENT_MAP,
				   .device = in != NULL ? in->device : 0,
				   .code = (uint16_t)(1 + draw(h, 3)),
				   .segment_map = { .address = base + from, .bytes = bytes } });
}

static void put_snapshot(struct history *h)
{
	uint8_t device = (uint8_t)draw(h, 2);
	put(h,
	    (struct gp_record){ .kind = GP_SNAPSHOT,
				.device = device,
				.snapshot.active_bytes = h->model.now[device][GP_CURVE_ALLOCATED] +
							 h->model.pending[device] });
}

static struct history make_history(uint64_t seed, bool has_vmm)
{
	struct history h = { .random = seed * 0x9e3779b97f4a7c15u | 1,
			     .next_address = 0x700000000000,
			     .has_vmm = has_vmm,
			     .event = calloc(EVENTS + 2, sizeof(struct gp_record)) };
	while (h.events < EVENTS) {
		uint64_t choice = draw(&h, 100);
		if (choice < 20)
			put_alloc(&h);
		else if (choice < 34)
			put_free(&h);
		else if (choice < 42 && has_vmm)
			put_map(&h);
		else if (choice < 48 && has_vmm)
			put_unmap(&h);
		else if (choice < 52)
			put_segment(&h);
		else if (choice < 56)
			put_range(&h);
		else if (choice < 57)
			put_snapshot(&h);
		else if (choice < 78)
			put_block(&h);
		else if (choice < 99)
			put_block_free(&h);
		else if (draw(&h, 4) == 0)
			put(&h, (struct gp_record){ .kind = GP_OWNER_GONE,
						    .aux = GP_HOW_GRAPH_DESTROY,
						    .owner_gone.owner = 77 });
	}
	return h;
}

static void drop_history(struct history *h)
{
	free(h->event);
	free(h->model.entry);
}

static void assert_same_figures(const struct gp_live *live, const struct brute *model,
				bool with_peaks)
{
	for (unsigned d = 0; d < 2; d++) {
		assert_int_equal(gp_live_device(live, d)->pending_bytes, model->pending[d]);
		assert_int_equal(gp_live_device(live, d)->unmapped_bytes, model->unmapped[d]);
		for (unsigned c = 0; c < GP_CURVES; c++) {
			const struct gp_curve_state *curve = &gp_live_device(live, d)->curve[c];
			assert_int_equal(curve->now_bytes, model->now[d][c]);
			if (!with_peaks)
				continue;
			assert_int_equal(curve->peak_bytes, model->peak[d][c]);
			assert_int_equal(curve->peak_order, model->peak_order[d][c]);
			assert_int_equal(curve->peak_time,
					 model->peak[d][c] ? 1000 + 10 * model->peak_order[d][c] :
							     0);
		}
	}
}

static void assert_same_entries(const struct gp_live *live, const struct brute *model)
{
	uint64_t entries = 0;
	for (size_t i = 0; i < model->entries; i++) {
		const struct brute_entry *e = &model->entry[i];
		if (e->is_dead)
			continue;
		entries++;
		if (e->is_released)
			continue;
		const struct gp_live_entry *found = gp_live_find(live, e->space, e->address);
		assert_non_null(found);
		assert_int_equal(found->address, e->address);
		assert_int_equal(found->bytes, e->bytes);
		assert_int_equal(found->order, e->order);
		assert_int_equal(!!(found->flags & GP_LIVE_SEGMENT), e->is_segment);
		if (e->space < GP_SPACE_BLOCK)
			continue;
		assert_int_equal(found->stream, e->arena);
		assert_int_equal(!!(found->flags & GP_LIVE_PENDING), e->is_pending);
		assert_int_equal(!!(found->flags & GP_LIVE_MAPPED), e->is_mapped);
	}
	assert_int_equal(gp_live_entries(live), entries);
}

static void replay_equals_brute_force(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 12; seed++) {
		struct history h = make_history(seed, true);
		struct brute model = { 0 };
		struct gp_live *live = gp_live_open();
		for (size_t i = 0; i < h.events; i++) {
			brute_apply(&model, &h.event[i]);
			assert_int_equal(gp_live_apply(live, &h.event[i]), GP_OK);
			assert_same_figures(live, &model, true);
			if (i % 100 == 0)
				assert_same_entries(live, &model);
		}
		assert_same_entries(live, &model);
		assert_int_equal(gp_live_count(live, GP_COUNT_MISMATCHES), 0);
		assert_int_equal(gp_live_count(live, GP_COUNT_ANOMALIES), 0);
		assert_true(gp_live_count(live, GP_COUNT_FRAMEWORK_EVENTS) > 500);
		gp_live_close(live);
		free(model.entry);
		drop_history(&h);
	}
}

struct saved {
	struct gp_record *record;
	size_t records, room;
};

static void save(void *context, const struct gp_record *record)
{
	struct saved *s = context;
	if (s->records == s->room)
		s->record = realloc(s->record, (s->room = s->room * 2 + 64) * sizeof *s->record);
	s->record[s->records++] = *record;
}

static void save_entry(void *context, const struct gp_live_entry *entry)
{
	struct gp_record record;
	gp_live_to_record(entry, &record);
	save(context, &record);
}

/*
 * A checkpoint is written in slices while events go on, and loaded into a fresh state: both states
 * then end equal.
 */
static void checkpoint_in_slices_restores(void **state)
{
	(void)state;
	for (uint64_t seed = 20; seed < 30; seed++) {
		struct history h = make_history(seed, true);
		struct gp_live *live = gp_live_open();
		struct brute model = { 0 };
		struct saved saved = { 0 };
		size_t cut = 500 + draw(&h, 2000), i = 0;
		for (; i < cut; i++) {
			brute_apply(&model, &h.event[i]);
			gp_live_apply(live, &h.event[i]);
		}
		uint64_t entries = gp_live_entries(live);
		gp_live_totals(live, save, &saved);
		size_t totals = saved.records;
		gp_live_walk_begin(live, save_entry, &saved);
		for (bool is_over = false; !is_over; i++) {
			gp_live_apply(live, &h.event[i]);
			is_over = gp_live_walk_more(live, 1 + draw(&h, 3));
		}
		assert_int_equal(saved.records - totals, entries);
		struct gp_live *loaded = gp_live_open();
		for (size_t k = saved.records; k-- > 0;)
			assert_int_equal(gp_live_apply(loaded, &saved.record[k]), GP_OK);
		assert_same_entries(loaded, &model);
		assert_same_figures(loaded, &model, true);
		for (size_t k = cut; k < h.events; k++) {
			brute_apply(&model, &h.event[k]);
			gp_live_apply(loaded, &h.event[k]);
			if (k >= i)
				gp_live_apply(live, &h.event[k]);
			/*
			 * a refused free whose order lies before the cut is the only event that is
			 * not restored
			 */
			assert_same_figures(loaded, &model, true);
		}
		assert_same_entries(loaded, &model);
		assert_same_figures(live, &model, true);
		assert_int_equal(gp_live_count(loaded, GP_COUNT_ANOMALIES), 0);
		assert_int_equal(gp_live_count(loaded, GP_COUNT_MISMATCHES), 0);
		assert_int_equal(gp_live_count(loaded, GP_ALLOC), gp_live_count(live, GP_ALLOC));
		gp_live_close(live);
		gp_live_close(loaded);
		free(model.entry);
		free(saved.record);
		drop_history(&h);
	}
}

/*
 * Late events, by up to 40 places, even after their own counterpart: the same final state, without
 * an anomaly.
 */
static void late_events_end_the_same(void **state)
{
	(void)state;
	for (uint64_t seed = 40; seed < 52; seed++) {
		struct history h = make_history(seed, false);
		struct gp_live *live = gp_live_open();
		for (size_t i = 0; i < h.events; i++)
			if (h.event[i].kind ==
			    GP_FREE_FAILED) /* its own thread commits it after the free */
				h.event[i].kind = GP_OOM, h.event[i - 1].kind = GP_OOM;
		struct brute model = { 0 };
		for (size_t i = 0; i < h.events; i++)
			brute_apply(&model, &h.event[i]);
		for (size_t i = 0; i + 41 < h.events; i++) {
			if (draw(&h, 10) != 0 || h.event[i].kind == GP_OWNER_GONE)
				continue;
			struct gp_record late = h.event[i];
			size_t by = 1 + draw(&h, 40);
			for (size_t k = i; k < i + by; k++)
				by = h.event[k + 1].kind == GP_OWNER_GONE ? k - i : by;
			memmove(&h.event[i], &h.event[i + 1], by * sizeof late);
			h.event[i + by] = late;
		}
		for (size_t i = 0; i < h.events; i++)
			gp_live_apply(live, &h.event[i]);
		assert_int_equal(gp_live_count(live, GP_COUNT_ANOMALIES), 0);
		uint64_t entries = 0;
		for (size_t i = 0; i < model.entries; i++) {
			const struct brute_entry *e = &model.entry[i];
			if (e->is_dead)
				continue;
			entries++;
			const struct gp_live_entry *found =
				gp_live_find(live, e->space, e->address);
			assert_non_null(found);
			assert_int_equal(found->order, e->order);
			assert_int_equal(found->bytes, e->bytes);
			if (e->space == GP_SPACE_BLOCK)
				assert_int_equal(!!(found->flags & GP_LIVE_PENDING), e->is_pending);
		}
		assert_int_equal(gp_live_entries(live), entries);
		for (unsigned d = 0; d < 2; d++) {
			const struct gp_curve_state *curve = gp_live_device(live, d)->curve;
			assert_int_equal(curve[GP_CURVE_DRIVER].now_bytes,
					 model.now[d][GP_CURVE_DRIVER]);
			assert_int_equal(curve[GP_CURVE_ALLOCATED].now_bytes,
					 model.now[d][GP_CURVE_ALLOCATED]);
		}
		gp_live_close(live);
		free(model.entry);
		drop_history(&h);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(replay_equals_brute_force),
		cmocka_unit_test(checkpoint_in_slices_restores),
		cmocka_unit_test(late_events_end_the_same),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
