/*
 * The cause of an OOM: each rule on figures made by hand, at the byte where it begins to hold. Also
 * the order of the rules. Also the remedies, on states made by hand.
 */
#include "memory_layout.h"

#define NONE GP_BYTES_UNKNOWN

/* Request of 4 GiB: 10 GiB allocated, no cached memory, no free memory. */
static struct gp_oom_facts full(void)
{
	return (struct gp_oom_facts){
		.is_framework = true,
		.is_of_device = true,
		.has_arena = true,
		.was_refused = true,
		.is_limit_reported = true,
		.bytes = (uint64_t)(4 * GIB),
		.driver_bytes = (uint64_t)(4 * GIB),
		.limited_bytes = (uint64_t)(4 * GIB),
		.free_bytes = 0,
		.limit_bytes = NONE,
		.reserved_bytes = (uint64_t)(10 * GIB),
		.allocated_bytes = (uint64_t)(10 * GIB),
		.other_grown_bytes = NONE,
		.outside_grown_bytes = NONE,
	};
}

static enum gp_verdict judge(const struct gp_oom_facts *f)
{
	struct gp_oom_finding v;
	gp_oom_judge(f, &v);
	assert_true((v.verdict == GP_VERDICT_UNKNOWN) == (v.not_known != NULL));
	return v.verdict;
}

static uint64_t missing(const struct gp_oom_facts *f)
{
	struct gp_oom_finding v;
	gp_oom_judge(f, &v);
	return v.missing_bytes;
}

static void capacity_up_to_the_last_byte(void **state)
{
	(void)state;
	struct gp_oom_facts f = full();
	f.reserved_bytes += (uint64_t)GIB;
	f.free_bytes = (uint64_t)(3 * GIB - 1);
	assert_int_equal(judge(&f), GP_VERDICT_CAPACITY);
	/* cached pieces do not count, memory that the driver may keep does; in units of 2 MiB */
	assert_int_equal(missing(&f), GIB + 34 * MIB);
	f.free_bytes++;
	assert_int_equal(judge(&f), GP_VERDICT_FRAGMENTATION);
	assert_int_equal(missing(&f), GIB + 32 * MIB);
	/* the driver did not refuse */
	f.was_refused = false;
	assert_int_equal(missing(&f), GIB);
	/* PyTorch releases this much before it fails */
	f.releasable_bytes = (uint64_t)(GIB / 2);
	assert_int_equal(missing(&f), GIB / 2);
}

static void a_segment_may_be_more_than_the_request(void **state)
{
	(void)state;
	struct gp_oom_facts f = full();
	f.bytes = (uint64_t)(5 * MIB);
	f.driver_bytes = (uint64_t)(20 * MIB);
	f.free_bytes = (uint64_t)(14 * MIB);
	f.was_refused = false;
	assert_int_equal(judge(&f), GP_VERDICT_CAPACITY);
	assert_int_equal(missing(&f), 6 * MIB);
	/* so much is cached, but in pieces */
	f.reserved_bytes += (uint64_t)(5 * MIB);
	assert_int_equal(judge(&f), GP_VERDICT_FRAGMENTATION);
	assert_int_equal(missing(&f), 6 * MIB);
}

static void a_limit_where_the_device_had_room(void **state)
{
	(void)state;
	struct gp_oom_facts f = full();
	f.limit_bytes = (uint64_t)(12 * GIB);
	f.free_bytes = (uint64_t)(4 * GIB);
	assert_int_equal(judge(&f), GP_VERDICT_LIMIT);
	assert_int_equal(missing(&f), 2 * GIB);
	/* the device had not enough: the limit makes no difference */
	f.free_bytes--;
	assert_int_equal(judge(&f), GP_VERDICT_CAPACITY);
	/* the device's free memory is unknown: the limit is proven */
	f.free_bytes = NONE;
	assert_int_equal(judge(&f), GP_VERDICT_LIMIT);
	f.limit_bytes = (uint64_t)(14 * GIB);
	assert_int_equal(judge(&f), GP_VERDICT_UNKNOWN);
	f.limit_bytes = NONE;
	assert_int_equal(judge(&f), GP_VERDICT_UNKNOWN);
}

static void a_limit_counts_no_pages(void **state)
{
	(void)state;
	struct gp_oom_facts f = full();
	f.bytes = f.limited_bytes = (uint64_t)(30 * MIB);
	f.driver_bytes = (uint64_t)(40 * MIB);
	f.free_bytes = (uint64_t)GIB;
	f.limit_bytes = f.reserved_bytes + (uint64_t)(24 * MIB);
	assert_int_equal(judge(&f), GP_VERDICT_LIMIT);
	assert_int_equal(missing(&f), 6 * MIB);
	/* the limit allows it, and the driver has no page for its last part */
	f.limit_bytes = f.reserved_bytes + (uint64_t)(30 * MIB);
	f.free_bytes = (uint64_t)(38 * MIB);
	assert_int_equal(judge(&f), GP_VERDICT_CAPACITY);
	assert_int_equal(missing(&f), 34 * MIB);
	f.free_bytes = (uint64_t)(40 * MIB);
	assert_int_equal(judge(&f), GP_VERDICT_RESERVE);
	assert_int_equal(missing(&f), 32 * MIB);
}

static void an_unreported_limit(void **state)
{
	(void)state;
	struct gp_oom_facts f = full();
	f.was_refused = f.is_limit_reported = false;
	f.free_bytes = f.driver_bytes;
	assert_int_equal(judge(&f), GP_VERDICT_LIMIT);
	assert_int_equal(missing(&f), NONE);
	f.was_refused = true;
	assert_int_equal(judge(&f), GP_VERDICT_RESERVE);
	f.was_refused = false;
	f.is_limit_reported = true;
	assert_int_equal(judge(&f), GP_VERDICT_UNKNOWN);
	f.is_limit_reported = false;
	f.free_bytes--;
	assert_int_equal(judge(&f), GP_VERDICT_CAPACITY);
}

static void growth_by_the_missing_bytes(void **state)
{
	(void)state;
	struct gp_oom_facts f = full();
	f.free_bytes = (uint64_t)GIB;
	f.outside_grown_bytes = (uint64_t)(3 * GIB + 32 * MIB - 1);
	assert_int_equal(judge(&f), GP_VERDICT_CAPACITY);
	f.outside_grown_bytes++;
	assert_int_equal(judge(&f), GP_VERDICT_OUTSIDE);
	f.other_grown_bytes = (uint64_t)(4 * GIB);
	assert_int_equal(judge(&f), GP_VERDICT_OTHER);
	/* their sum is enough: the larger one is the cause */
	f.other_grown_bytes = (uint64_t)(2 * GIB);
	f.outside_grown_bytes = (uint64_t)(GIB + 32 * MIB);
	assert_int_equal(judge(&f), GP_VERDICT_OTHER);
	f.other_grown_bytes = NONE;
	assert_int_equal(judge(&f), GP_VERDICT_CAPACITY);
}

static void little_growth_is_not_a_cause(void **state)
{
	(void)state;
	struct gp_oom_facts f = full();
	f.free_bytes = f.driver_bytes - (uint64_t)MIB;
	f.was_refused = false;
	f.outside_grown_bytes = GP_OUTSIDE_LEAST - 1;
	f.other_grown_bytes = GP_OTHER_LEAST - 1;
	assert_int_equal(judge(&f), GP_VERDICT_CAPACITY);
	f.other_grown_bytes++;
	assert_int_equal(judge(&f), GP_VERDICT_OTHER);
	f.other_grown_bytes = 0;
	f.outside_grown_bytes++;
	assert_int_equal(judge(&f), GP_VERDICT_OUTSIDE);
}

static void memory_of_other_streams(void **state)
{
	(void)state;
	struct gp_oom_facts f = full();
	f.reserved_bytes += (uint64_t)(4 * GIB);
	f.elsewhere_bytes = (uint64_t)GIB;
	assert_int_equal(judge(&f), GP_VERDICT_STREAM);
	/* enough without the memory of other streams */
	f.free_bytes = (uint64_t)GIB;
	assert_int_equal(judge(&f), GP_VERDICT_FRAGMENTATION);
	/* one gap of another stream */
	f.largest_any_bytes = f.bytes;
	assert_int_equal(judge(&f), GP_VERDICT_STREAM);
	f.has_arena = false;
	f.largest_bytes = f.bytes;
	assert_int_equal(judge(&f), GP_VERDICT_STREAM);
	/* a gap of its own would have served it: some figure is wrong */
	f.has_arena = true;
	assert_int_equal(judge(&f), GP_VERDICT_UNKNOWN);
}

static void figures_that_do_not_prove_it(void **state)
{
	(void)state;
	struct gp_oom_facts f = full();
	f.free_bytes = f.driver_bytes + (uint64_t)(32 * MIB);
	assert_int_equal(judge(&f), GP_VERDICT_UNKNOWN);
	f = full();
	f.is_uncertain = true;
	assert_int_equal(judge(&f), GP_VERDICT_UNKNOWN);
	assert_int_equal(missing(&f), NONE);
	f = full();
	f.is_of_device = f.is_framework = false;
	assert_int_equal(judge(&f), GP_VERDICT_UNKNOWN);
	f.is_of_device = true;
	f.free_bytes = NONE;
	assert_int_equal(judge(&f), GP_VERDICT_UNKNOWN);
}

static void just_enough_is_kept_by_the_driver(void **state)
{
	(void)state;
	struct gp_oom_facts f = full();
	f.free_bytes = f.driver_bytes;
	assert_int_equal(judge(&f), GP_VERDICT_RESERVE);
	assert_int_equal(missing(&f), 32 * MIB);
	f.free_bytes += (uint64_t)(32 * MIB - 1);
	assert_int_equal(judge(&f), GP_VERDICT_RESERVE);
	assert_int_equal(missing(&f), 2 * MIB);
	f.free_bytes++;
	assert_int_equal(judge(&f), GP_VERDICT_UNKNOWN);
	f.is_framework = false;
	assert_int_equal(judge(&f), GP_VERDICT_UNKNOWN);
	f.free_bytes--;
	assert_int_equal(judge(&f), GP_VERDICT_RESERVE);
}

static void requests_outside_of_the_framework(void **state)
{
	(void)state;
	struct gp_oom_facts f = full();
	f.is_framework = false;
	/* the framework's limit and cache do not apply to the driver */
	f.limit_bytes = (uint64_t)(10 * GIB);
	assert_int_equal(judge(&f), GP_VERDICT_CAPACITY);
	f.reserved_bytes += (uint64_t)(5 * GIB);
	f.releasable_bytes = (uint64_t)(4 * GIB + 32 * MIB - 1);
	assert_int_equal(judge(&f), GP_VERDICT_FRAGMENTATION);
	f.releasable_bytes++;
	assert_int_equal(judge(&f), GP_VERDICT_CACHE);
	/* PyTorch does not release it for others */
	assert_int_equal(missing(&f), 4 * GIB + 32 * MIB);
	f.free_bytes = f.driver_bytes + (uint64_t)(32 * MIB);
	assert_int_equal(judge(&f), GP_VERDICT_UNKNOWN);
}

/* ---- remedies ---- */

static const struct gp_oom_help *find(const struct gp_oom_case *c, enum gp_help help)
{
	for (size_t k = 0; k < c->helps; k++)
		if (c->help[k].help == help)
			return &c->help[k];
	return NULL;
}

/* Two segments with 60 of 100 MiB free around a block, 10 MiB free on the device. */
static void look(struct layout *l, const struct gp_allocator_settings *settings,
		 struct gp_oom_case *c, enum gp_verdict verdict)
{
	const struct gp_oom oom = { .bytes = (uint64_t)(80 * MIB), .is_framework = true };
	layout_open(l);
	LAYOUT_SEGMENT(l, 1, LARGE, -30 * MIB, 40 * MIB, -30 * MIB);
	LAYOUT_SEGMENT(l, 1, LARGE, -30 * MIB, 40 * MIB, -30 * MIB);
	l->device.used_bytes = l->device.total_bytes - (uint64_t)(10 * MIB);
	l->device.used_driver_bytes = l->device.driver_bytes;
	*c = (struct gp_oom_case){ .memory = l->memory };
	struct gp_frag_question q = { .settings = settings, .fit_bytes = oom.bytes };
	assert_int_equal(gp_frag_build(&c->memory, 0, &q, &c->frag), GP_OK);
	c->finding = (struct gp_oom_finding){ .verdict = verdict,
					      .cached_bytes = (uint64_t)(120 * MIB),
					      .room_bytes = (uint64_t)(10 * MIB),
					      .usable_bytes = (uint64_t)(130 * MIB) };
	gp_oom_help_list(&oom, settings, c);
}

static void helps_against_fragmentation(void **state)
{
	(void)state;
	static struct layout l;
	struct gp_oom_case c;
	struct gp_allocator_settings settings;
	gp_allocator_settings_read(NULL, &settings);
	look(&l, &settings, &c, GP_VERDICT_FRAGMENTATION);
	assert_int_equal(find(&c, GP_HELP_FREE_NEIGHBOURS)->bytes, 40 * MIB);
	assert_int_equal(find(&c, GP_HELP_FREE_NEIGHBOURS)->count, 1);
	assert_false(find(&c, GP_HELP_EMPTY_CACHE)->is_enough);
	assert_int_equal(find(&c, GP_HELP_EMPTY_CACHE)->bytes, 0);
	/*
	 * pages of 20 MiB: 4 have no block, 2 of them within the 60 MiB in the middle; 10 MiB from
	 * the driver
	 */
	assert_int_equal(find(&c, GP_HELP_EXPANDABLE)->bytes, 90 * MIB);
	assert_true(find(&c, GP_HELP_EXPANDABLE)->is_enough);
	assert_true(find(&c, GP_HELP_EXPANDABLE)->is_bound);
	assert_int_equal(find(&c, GP_HELP_MAX_SPLIT)->count, 2);
	assert_int_equal(find(&c, GP_HELP_MAX_SPLIT)->bytes, 120 * MIB);
	assert_int_equal(find(&c, GP_HELP_SMALLER)->bytes, 30 * MIB);
	assert_null(find(&c, GP_HELP_LESS));
	gp_frag_free(&c.frag);
}

/*
 * A pool of another stream: a gap of the request's size serves it; the sum of cached bytes may
 * serve it.
 */
static void a_place_on_another_stream(void **state)
{
	(void)state;
	static struct layout l;
	struct gp_oom_case c;
	struct gp_allocator_settings settings;
	const struct gp_oom oom = { .bytes = (uint64_t)(80 * MIB), .is_framework = true };
	struct gp_frag_pool other = { .largest_request_bytes = oom.bytes };
	gp_allocator_settings_read(NULL, &settings);
	look(&l, &settings, &c, GP_VERDICT_STREAM);
	assert_true(find(&c, GP_HELP_STREAMS)->is_bound);
	c.other = &other;
	gp_oom_help_list(&oom, &settings, &c);
	assert_true(find(&c, GP_HELP_STREAMS)->is_enough);
	assert_false(find(&c, GP_HELP_STREAMS)->is_bound);
	other.largest_request_bytes--;
	gp_oom_help_list(&oom, &settings, &c);
	assert_true(find(&c, GP_HELP_STREAMS)->is_bound);
	gp_frag_free(&c.frag);
}

/* Blocks of 5 MiB with gaps of 5 MiB: one range would have the same gaps, and no free page. */
static void gaps_that_stay_in_one_range(void **state)
{
	(void)state;
	static struct layout l;
	struct gp_allocator_settings settings;
	const struct gp_oom oom = { .bytes = (uint64_t)(40 * MIB), .is_framework = true };
	gp_allocator_settings_read(NULL, &settings);
	layout_open(&l);
	for (unsigned k = 0; k < 6; k++)
		LAYOUT_SEGMENT(&l, 1, LARGE, 5 * MIB, -5 * MIB, 5 * MIB, -5 * MIB);
	struct gp_oom_case c = { .memory = l.memory,
				 .finding = { .verdict = GP_VERDICT_FRAGMENTATION,
					      .room_bytes = (uint64_t)(39 * MIB) } };
	struct gp_frag_question q = { .settings = &settings, .fit_bytes = oom.bytes };
	assert_int_equal(gp_frag_build(&c.memory, 0, &q, &c.frag), GP_OK);
	gp_oom_help_list(&oom, &settings, &c);
	assert_int_equal(find(&c, GP_HELP_EXPANDABLE)->bytes, 39 * MIB);
	assert_false(find(&c, GP_HELP_EXPANDABLE)->is_enough);
	c.finding.room_bytes++;
	gp_oom_help_list(&oom, &settings, &c);
	assert_false(find(&c, GP_HELP_EXPANDABLE)->is_enough);
	c.finding.room_bytes = (uint64_t)(40 * MIB);
	gp_oom_help_list(&oom, &settings, &c);
	assert_true(find(&c, GP_HELP_EXPANDABLE)->is_enough);
	gp_frag_free(&c.frag);
}

static void no_advice_that_is_followed_already(void **state)
{
	(void)state;
	static struct layout l;
	struct gp_oom_case c;
	struct gp_allocator_settings settings;
	gp_allocator_settings_read("expandable_segments:True,max_split_size_mb:64", &settings);
	look(&l, &settings, &c, GP_VERDICT_FRAGMENTATION);
	assert_null(find(&c, GP_HELP_EXPANDABLE));
	assert_null(find(&c, GP_HELP_MAX_SPLIT));
	gp_frag_free(&c.frag);
	gp_allocator_settings_read(NULL, &settings);
	look(&l, &settings, &c, GP_VERDICT_CAPACITY);
	assert_null(find(&c, GP_HELP_EXPANDABLE));
	gp_frag_free(&c.frag);
}

/*
 * Advised divisions for a request of 80 MiB and a cache whose largest gap is `gap` MiB; 0: no
 * advice.
 */
static uint64_t advised_divisions(int64_t gap, const char *set, uint64_t *lacks)
{
	static struct layout l;
	struct gp_allocator_settings settings;
	const struct gp_oom oom = { .bytes = (uint64_t)(80 * MIB), .is_framework = true };
	gp_allocator_settings_read(set, &settings);
	layout_open(&l);
	LAYOUT_SEGMENT(&l, 1, LARGE, -gap * MIB, 20 * MIB, -30 * MIB);
	struct gp_oom_case c = { .memory = l.memory,
				 .facts.largest_bytes = (uint64_t)(gap * MIB),
				 .finding = { .verdict = GP_VERDICT_FRAGMENTATION } };
	struct gp_frag_question q = { .settings = &settings, .fit_bytes = oom.bytes };
	assert_int_equal(gp_frag_build(&c.memory, 0, &q, &c.frag), GP_OK);
	gp_oom_help_list(&oom, &settings, &c);
	const struct gp_oom_help *h = find(&c, GP_HELP_ROUND_SIZES);
	*lacks = h ? h->bytes : 0;
	assert_true(!h || (h->is_enough && h->is_bound));
	const uint64_t count = h ? h->count : 0;
	gp_frag_free(&c.frag);
	return count;
}

static void sizes_that_are_nearly_equal(void **state)
{
	(void)state;
	uint64_t lacks;
	/* steps of an eighth of 64 MiB, of a quarter; no larger ones */
	assert_int_equal(advised_divisions(79, NULL, &lacks), 8);
	assert_int_equal(lacks, MIB);
	assert_int_equal(advised_divisions(73, NULL, &lacks), 8);
	assert_int_equal(advised_divisions(72, NULL, &lacks), 4);
	assert_int_equal(lacks, 8 * MIB);
	assert_int_equal(advised_divisions(65, NULL, &lacks), 4);
	assert_int_equal(advised_divisions(64, NULL, &lacks), 0);
	assert_int_equal(advised_divisions(40, NULL, &lacks), 0);
	/* it fits, or it is already rounded */
	assert_int_equal(advised_divisions(80, NULL, &lacks), 0);
	assert_int_equal(advised_divisions(79, "roundup_power2_divisions:4", &lacks), 0);
	assert_int_equal(advised_divisions(79, "roundup_power2_divisions:[32:8,64:1]", &lacks), 8);
}

/*
 * Blocks of 80 MiB for requests of 65 MiB, rounded by quarters; `missing` bytes of capacity. The
 * refused request has 80 MiB, too: before rounding it may have been one byte more than 64 MiB.
 */
static const struct gp_oom_help *rounding(const char *set, uint64_t requested, uint64_t missing)
{
	static struct layout l;
	static struct gp_oom_case c;
	struct gp_allocator_settings settings;
	const struct gp_oom oom = { .bytes = (uint64_t)(80 * MIB), .is_framework = true };
	gp_allocator_settings_read(set, &settings);
	layout_open(&l);
	LAYOUT_SEGMENT(&l, 1, LARGE, 80 * MIB, -40 * MIB);
	LAYOUT_SEGMENT(&l, 2, LARGE, 80 * MIB);
	l.block[0].requested_bytes = l.block[2].requested_bytes = requested;
	c = (struct gp_oom_case){ .memory = l.memory,
				  .finding = { .verdict = GP_VERDICT_CAPACITY,
					       .short_bytes = missing,
					       .missing_bytes = missing } };
	struct gp_frag_question q = { .settings = &settings, .fit_bytes = oom.bytes };
	assert_int_equal(gp_frag_build(&c.memory, 0, &q, &c.frag), GP_OK);
	gp_oom_help_list(&oom, &settings, &c);
	gp_frag_free(&c.frag);
	return find(&c, GP_HELP_LESS_ROUNDING);
}

static void rounding_of_the_missing_bytes(void **state)
{
	(void)state;
	const char *quarters = "roundup_power2_divisions:4";
	const uint64_t request = (uint64_t)(65 * MIB), waste = (uint64_t)(30 * MIB);
	const uint64_t of_request = (uint64_t)(16 * MIB) - 512;
	const struct gp_oom_help *h = rounding(quarters, request, waste + of_request);
	assert_non_null(h);
	assert_int_equal(h->bytes, waste + of_request);
	assert_true(h->is_bound);
	assert_null(rounding(quarters, request, waste + of_request + 1));
	assert_null(rounding(quarters, request, 0));
	/* all missing bytes may come from rounding the request, for any live blocks */
	h = rounding(quarters, NONE, of_request);
	assert_non_null(h);
	assert_int_equal(h->bytes, of_request);
	assert_null(rounding(quarters, NONE, of_request + 1));
	assert_null(rounding(NULL, request, 1));
	assert_null(rounding("roundup_power2_divisions:[32:4,64:1,128:4]", NONE, 1));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(capacity_up_to_the_last_byte),
		cmocka_unit_test(a_segment_may_be_more_than_the_request),
		cmocka_unit_test(a_limit_where_the_device_had_room),
		cmocka_unit_test(a_limit_counts_no_pages),
		cmocka_unit_test(an_unreported_limit),
		cmocka_unit_test(growth_by_the_missing_bytes),
		cmocka_unit_test(little_growth_is_not_a_cause),
		cmocka_unit_test(memory_of_other_streams),
		cmocka_unit_test(figures_that_do_not_prove_it),
		cmocka_unit_test(requests_outside_of_the_framework),
		cmocka_unit_test(just_enough_is_kept_by_the_driver),
		cmocka_unit_test(helps_against_fragmentation),
		cmocka_unit_test(a_place_on_another_stream),
		cmocka_unit_test(gaps_that_stay_in_one_range),
		cmocka_unit_test(no_advice_that_is_followed_already),
		cmocka_unit_test(sizes_that_are_nearly_equal),
		cmocka_unit_test(rounding_of_the_missing_bytes),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
