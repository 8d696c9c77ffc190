/* Stacks that requested memory and the lifetimes of it, against brute force on random histories. */
#include "stack_history.h"

#include "analyze/groups/lifetimes.h"

/* ---- top ---- */

struct brute_use {
	uint64_t bytes, count, freed, soon, live_bytes, live_count;
};

static struct brute_use sum_requests(uint32_t stack, unsigned device, enum gp_curve curve,
				     int64_t from_ns, int64_t to_ns, int64_t short_ns)
{
	struct brute_use u = { 0 };
	for (size_t k = 0; k < history.events; k++) {
		const struct gp_record *r = &history.event[k];
		int64_t born_ns = (int64_t)r->time - 1024;
		if (!is_birth(r) || r->device != device || curve_of(r) != curve ||
		    r->stack != stack || born_ns < from_ns || born_ns > to_ns)
			continue;
		u.bytes += r->v[1];
		u.count++;
		size_t end = k + 1;
		while (end < history.events && !(history.event[end].v[0] == r->v[0] &&
						 history.event[end].kind == r->kind + 1))
			end++;
		int64_t end_ns =
			end < history.events ? (int64_t)history.event[end].time - 1024 : INT64_MAX;
		u.freed += end_ns <= to_ns && end < history.events;
		u.soon += end_ns <= to_ns && end_ns - born_ns <= short_ns;
		u.live_bytes += end_ns > to_ns || end == history.events ? r->v[1] : 0;
		u.live_count += end_ns > to_ns || end == history.events;
	}
	return u;
}

static struct brute_use sum_uses(const struct gp_top_curve *a, uint32_t stack)
{
	struct brute_use u = { 0 };
	for (size_t k = 0; k < a->uses; k++) {
		const struct gp_use *use = &a->use[k];
		if (use->stack != stack)
			continue;
		uint64_t lives = 0;
		for (unsigned b = 0; use->lives && b < GP_LIFETIME_BUCKETS; b++)
			lives += use->lives->count[b];
		assert_int_equal(lives, use->freed);
		u.bytes += use->bytes;
		u.count += use->count;
		u.freed += use->freed;
		u.soon += use->short_lived;
		u.live_bytes += use->live_bytes;
		u.live_count += use->live_count;
	}
	return u;
}

static void requests_equal_brute_force(void **state)
{
	(void)state;
	struct gp_recording *r = record_history("top.gpr", 31337, 3000);
	int64_t end_ns = (int64_t)history.event[history.events - 1].time - 1024;
	const int64_t spans[][2] = { { INT64_MIN, INT64_MAX },
				     { end_ns / 3, end_ns / 2 },
				     { 0, end_ns - 6400 } };
	for (size_t s = 0; s < sizeof spans / sizeof *spans; s++) {
		struct gp_top top;
		assert_int_equal(gp_top_build(r, spans[s][0], spans[s][1], 6400, &top), GP_OK);
		assert_int_equal(top.curves, 4);
		for (size_t k = 0; k < top.curves; k++) {
			for (uint32_t stack = 0; stack <= STACKS; stack++) {
				struct brute_use expected =
					sum_requests(stack, top.curve[k].device, top.curve[k].of,
						     spans[s][0], spans[s][1], 6400);
				struct brute_use got = sum_uses(&top.curve[k], stack);
				assert_memory_equal(&expected, &got, sizeof expected);
			}
		}
		gp_top_free(&top);
	}
	gp_recording_close(r);
}

/* Live memory at the end equals the curves, even if a ring has lost the allocations. */
static void live_memory_equals_the_curve(void **state)
{
	(void)state;
	for (uint32_t slots = 0; slots <= 4; slots += 4) {
		struct gp_top top;
		struct expected e;
		uint64_t blocks;
		struct gp_recording *r = record_segments(slots, &e, &blocks);
		assert_int_equal(gp_top_build(r, INT64_MIN, INT64_MAX, 0, &top), GP_OK);
		assert_int_equal(top.curves, 2);
		for (size_t k = 0; k < top.curves; k++)
			assert_int_equal(top.curve[k].live_bytes,
					 e.device.curve[top.curve[k].of].now_bytes);
		const struct gp_top_curve *a = &top.curve[0];
		assert_int_equal(a->of, GP_CURVE_ALLOCATED);
		assert_true(slots ? a->count < blocks : a->count == blocks);
		assert_int_equal(a->live_count + a->freed >= a->count, true);
		gp_top_free(&top);
		gp_recording_close(r);
	}
}

/* A refused free does not count; the free after it counts exactly once. */
static void a_refused_free_is_not_counted(void **state)
{
	(void)state;
	struct writer w;
	struct gp_top top;
	writer_open(&w, "refused.gpr", 0, 0);
	for (unsigned k = 0; k < 2; k++)
		put(&w, 0,
		    (struct gp_record){
			    .kind = GP_ALLOC,
			    .space = GP_SPACE_DEVICE,
			    .alloc = { .address = 0x10000 * (k + 1ull), .bytes = 4096 } });
	uint64_t refused = w.order;
	const struct gp_record free = { .kind = GP_FREE,
					.space = GP_SPACE_DEVICE,
					.free.address = 0x10000 };
	put(&w, 0, free);
	put(&w, 0,
	    (struct gp_record){ .kind = GP_FREE_FAILED,
				.free_failed = { .address = 0x10000, .undoes = refused } });
	put(&w, 0, free);
	struct gp_recording *r = fixture_read(&w);
	assert_int_equal(gp_top_build(r, INT64_MIN, INT64_MAX, 1000000, &top), GP_OK);
	assert_int_equal(top.curves, 1);
	assert_int_equal(top.curve[0].freed, 1);
	assert_int_equal(top.curve[0].short_lived, 1);
	assert_int_equal(top.curve[0].live_count, 1);
	assert_int_equal(gp_use_median_ns(&top.curve[0].use[0]), 288);
	gp_top_free(&top);
	gp_recording_close(r);
}

static struct gp_record device_memory(uint32_t stack, uint64_t address)
{
	return (struct gp_record){ .kind = GP_ALLOC,
				   .space = GP_SPACE_DEVICE,
				   .stack = stack,
				   .alloc = { .address = address, .bytes = 4096 } };
}

static void put_free(struct writer *w, uint64_t address)
{
	put(w, 0,
	    (struct gp_record){
		    .kind = GP_FREE, .space = GP_SPACE_DEVICE, .free.address = address });
}

/* Its allocation is not counted, so its free is not counted either. */
static void overwritten_allocations_do_not_count_as_freed(void **state)
{
	(void)state;
	struct writer w;
	const int64_t froms_ns[] = { INT64_MIN, 0 };
	const uint64_t forgotten = 0x10000, kept = 0x20000;
	writer_open(&w, "forgot.gpr", 4, 1 << 16);
	put(&w, 0, device_memory(1, forgotten));
	for (unsigned k = 0; k < 8; k++)
		next_segment(&w);
	put(&w, 0, device_memory(2, kept));
	put_free(&w, forgotten);
	put_free(&w, kept);
	put(&w, 0, device_memory(2, kept));
	struct gp_recording *r = fixture_read(&w);
	for (size_t k = 0; k < sizeof froms_ns / sizeof *froms_ns; k++) {
		struct gp_top top;
		assert_int_equal(gp_top_build(r, froms_ns[k], INT64_MAX, 1000000, &top), GP_OK);
		assert_int_equal(top.curves, 1);
		assert_int_equal(top.curve[0].count, 2);
		assert_int_equal(top.curve[0].freed, 1);
		assert_int_equal(top.curve[0].short_lived, 1);
		assert_int_equal(top.curve[0].live_count, 1);
		gp_top_free(&top);
	}
	gp_recording_close(r);
}

#define PAGE 0x200000ull

/* Page `number` of the reservation at `base`: its memory, mapped there. */
static void put_page(struct writer *w, uint64_t base, unsigned number)
{
	const uint64_t address = base + number * PAGE, handle = address + 1;
	put(w, 0,
	    (struct gp_record){ .kind = GP_ALLOC,
				.space = GP_SPACE_PHYSICAL,
				.alloc = { .address = handle, .bytes = PAGE } });
	put(w, 0, (struct gp_record){ .kind = GP_MAP, .map = { address, PAGE, handle, 0 } });
}

static void put_unmapped(struct writer *w, uint64_t base, unsigned number)
{
	const uint64_t address = base + number * PAGE;
	put(w, 0, (struct gp_record){ .kind = GP_UNMAP, .unmap = { address, PAGE } });
	put(w, 0,
	    (struct gp_record){
		    .kind = GP_FREE, .space = GP_SPACE_PHYSICAL, .free.address = address + 1 });
}

static struct gp_use sum_of_rule(const struct gp_top_curve *a, const char *rule)
{
	struct gp_use sum = { 0 };
	for (size_t k = 0; k < a->uses; k++) {
		if (strcmp(gp_role_rule(a->use[k].rule)->name, rule) != 0)
			continue;
		sum.bytes += a->use[k].bytes;
		sum.freed += a->use[k].freed;
		sum.live_bytes += a->use[k].live_bytes;
	}
	return sum;
}

/* Mapped in a segment, before its first block or after, in a capture or not, freed or live. */
static void pages_of_segments_have_their_role(void **state)
{
	(void)state;
	static const struct {
		const char *rule;
		uint64_t pages, freed, live;
	} expected[] = { { "segment", 3, 1, 2 },
			 { "graph_segment", 2, 1, 1 },
			 { "driver_memory", 2, 1, 1 } };
	const uint64_t of_segment = 0x100000000, of_program = 0x200000000;
	for (unsigned overwritten = 0; overwritten < 2; overwritten++) {
		struct writer w;
		struct gp_top top;
		writer_open(&w, "pages.gpr", overwritten ? 2 : 0, overwritten ? 1 << 20 : 0);
		for (unsigned k = 0; k < 2; k++)
			put(&w, 0,
			    (struct gp_record){
				    .kind = GP_ALLOC,
				    .space = GP_SPACE_RESERVATION,
				    .alloc = { k ? of_program : of_segment, 16 * PAGE } });
		put_page(&w, of_segment, 0);
		put_page(&w, of_segment, 1);
		put(&w, 0,
		    (struct gp_record){ .kind = GP_BLOCK_ALLOC,
					.block_alloc = { of_segment, 4096 } });
		put_page(&w, of_segment, 2);
		put_page(&w, of_program, 0);
		for (unsigned k = 0; k < 2 * overwritten; k++)
			next_segment(&w);
		put_page(&w, of_program, 1);
		put(&w, 0, (struct gp_record){ .kind = GP_CAPTURE_BEGIN });
		put_page(&w, of_segment, 3);
		put_page(&w, of_segment, 4);
		put(&w, 0, (struct gp_record){ .kind = GP_CAPTURE_END });
		put_unmapped(&w, of_segment, 0);
		put_unmapped(&w, of_segment, 3);
		put_unmapped(&w, of_program, 1);
		struct gp_recording *r = fixture_read(&w);
		assert_int_equal(gp_top_build_with(r, INT64_MIN, INT64_MAX, 0, GP_WITH_ROLES, &top),
				 GP_OK);
		const struct gp_top_curve *driver = &top.curve[top.curves - 1];
		assert_int_equal(driver->of, GP_CURVE_DRIVER);
		for (size_t k = 0; k < sizeof expected / sizeof *expected; k++) {
			const struct gp_use sum = sum_of_rule(driver, expected[k].rule);
			assert_int_equal(sum.live_bytes, expected[k].live * PAGE);
			if (overwritten)
				continue; /* requests that it overwrote do not count */
			assert_int_equal(sum.bytes, expected[k].pages * PAGE);
			assert_int_equal(sum.freed, expected[k].freed);
		}
		gp_top_free(&top);
		gp_recording_close(r);
	}
}

static void medians_are_within_an_eighth(void **state)
{
	(void)state;
	for (int64_t ns = 0; ns < 1ll << 46; ns = ns * 9 / 8 + 1) {
		struct gp_lifetimes lives = { { 0 } };
		lives.count[gp_lifetime_bucket(ns)] = 3;
		int64_t median = gp_lifetimes_median(&lives);
		assert_true(llabs(median - ns) * 8 <= ns);
	}
	struct gp_lifetimes lives = { { 0 } };
	assert_int_equal(gp_lifetimes_median(&lives), -1);
	for (int64_t ns = 1; ns <= 1001; ns++)
		lives.count[gp_lifetime_bucket(ns)]++;
	assert_in_range(gp_lifetimes_median(&lives), 438, 564);
	assert_int_equal(gp_lifetime_bucket(-5), 0);
	assert_int_equal(gp_lifetime_bucket(INT64_MAX), GP_LIFETIME_BUCKETS - 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(requests_equal_brute_force),
		cmocka_unit_test(live_memory_equals_the_curve),
		cmocka_unit_test(a_refused_free_is_not_counted),
		cmocka_unit_test(overwritten_allocations_do_not_count_as_freed),
		cmocka_unit_test(pages_of_segments_have_their_role),
		cmocka_unit_test(medians_are_within_an_eighth),
	};
	return cmocka_run_group_tests(tests, make_directory, drop_directory);
}
