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
		cmocka_unit_test(medians_are_within_an_eighth),
	};
	return cmocka_run_group_tests(tests, make_directory, drop_directory);
}
