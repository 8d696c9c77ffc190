/*
 * Figures of a state of memory, by hand for each rule. Random states are compared with a second
 * implementation of the allocator, for requests of every size.
 */
#include "allocator_model.h"

#define DEVICE_FREE (30 * MIB)

static struct gp_frag frag_of(const struct layout *l, const struct gp_frag_question *question)
{
	struct gp_frag frag;
	static const struct gp_frag_question no_question = { 0 };
	assert_int_equal(gp_frag_build(&l->memory, 0, question ? question : &no_question, &frag),
			 GP_OK);
	uint64_t sum = 0;
	for (unsigned k = 0; k < GP_CAUSES; k++)
		sum += frag.cause_bytes[k];
	assert_int_equal(sum, frag.reserved_bytes - frag.allocated_bytes);
	return frag;
}

static void has_free(struct layout *l, uint64_t bytes)
{
	l->device.used_bytes = l->device.total_bytes - bytes;
	l->device.used_driver_bytes = l->device.driver_bytes;
}

/* ---- by hand ---- */

static void each_byte_has_one_cause(void **state)
{
	(void)state;
	struct layout l;
	layout_open(&l);
	LAYOUT_SEGMENT(&l, 1, LARGE, 4 * MIB, -6 * MIB, 9 * MIB, -MIB);
	LAYOUT_SEGMENT(&l, 1, LARGE, -20 * MIB);
	LAYOUT_SEGMENT(&l, 1, LARGE, 12 * MIB, PENDING + 8 * MIB);
	LAYOUT_SEGMENT(&l, 1, SMALL, 512, -(2 * MIB - 512));
	LAYOUT_SEGMENT(&l, 2, LARGE, -30 * MIB);
	LAYOUT_SEGMENT(&l, 3, LARGE, 2 * MIB, -18 * MIB);
	LAYOUT_SEGMENT(&l, 1, EXPANDABLE, 5 * MIB, -45 * MIB, 10 * MIB);
	struct gp_frag f = frag_of(&l, NULL);
	assert_int_equal(f.home, 1);
	assert_int_equal(f.cause_bytes[GP_CAUSE_PENDING], 8 * MIB);
	assert_int_equal(f.cause_bytes[GP_CAUSE_PRIVATE], 18 * MIB);
	assert_int_equal(f.cause_bytes[GP_CAUSE_STREAM], 30 * MIB);
	assert_int_equal(f.cause_bytes[GP_CAUSE_SMALL], 2 * MIB - 512);
	assert_int_equal(f.cause_bytes[GP_CAUSE_LEFTOVER], MIB);
	assert_int_equal(f.cause_bytes[GP_CAUSE_INACTIVE_SPLIT], 6 * MIB);
	assert_int_equal(f.cause_bytes[GP_CAUSE_FULLY_FREE], (20 + 20) * MIB);
	assert_int_equal(f.cause_bytes[GP_CAUSE_GRANULARITY], 25 * MIB);
	assert_int_equal(f.rounding_bytes, 7 * 100);
	assert_int_equal(f.largest_request_bytes, 45 * MIB);
	/* the driver's free memory is unknown */
	assert_int_equal(f.largest_released_bytes, GP_BYTES_UNKNOWN);
	assert_int_equal(f.releasable_bytes, (20 + 30 + 20) * MIB);
	gp_frag_free(&f);
}

/* Only the last range grows; a gap in front of a block does not. */
static void growth_is_kept_apart(void **state)
{
	(void)state;
	struct layout l;
	layout_open(&l);
	LAYOUT_SEGMENT(&l, 1, EXPANDABLE, 15 * MIB, -5 * MIB);
	LAYOUT_SEGMENT(&l, 1, EXPANDABLE, -3 * MIB, 14 * MIB, -3 * MIB);
	has_free(&l, (uint64_t)(45 * MIB));
	struct gp_frag f = frag_of(&l, NULL);
	assert_int_equal(f.pools, 1);
	assert_int_equal(f.pool[0].tail_bytes, 3 * MIB);
	assert_int_equal(f.largest_request_bytes, 5 * MIB);
	/* two pages of 20 MiB after it: the pages for which the hole of 64 MiB in front has room */
	assert_int_equal(f.largest_released_bytes, 45 * MIB);
	gp_frag_free(&f);
	l.segment[1].address -= (uint64_t)(44 * MIB);
	for (size_t k = l.segment[1].first; k < l.memory.blocks; k++)
		l.block[k].address -= (uint64_t)(44 * MIB);
	f = frag_of(&l, NULL);
	assert_int_equal(f.largest_released_bytes, 43 * MIB);
	gp_frag_free(&f);
}

/* PyTorch up to 2.7 does not report the pool: then each pool of a stream counts as default. */
static void an_unreported_pool_is_not_private(void **state)
{
	(void)state;
	struct layout l;
	layout_open(&l);
	l.arena[3] = (struct gp_arena){ .is_known = true, .stream = 9 };
	LAYOUT_SEGMENT(&l, 3, LARGE, 2 * MIB, -18 * MIB);
	LAYOUT_SEGMENT(&l, 3, LARGE, -20 * MIB);
	LAYOUT_SEGMENT(&l, 0, LARGE, MIB, -19 * MIB);
	struct gp_frag f = frag_of(&l, NULL);
	assert_int_equal(f.home, 3);
	assert_int_equal(f.releasable_bytes, 20 * MIB);
	assert_int_equal(f.cause_bytes[GP_CAUSE_PRIVATE] + f.cause_bytes[GP_CAUSE_STREAM], 0);
	assert_int_equal(f.cause_bytes[GP_CAUSE_INACTIVE_SPLIT], 37 * MIB);
	gp_frag_free(&f);
}

static void a_request_of_a_private_pool_uses_that_pool(void **state)
{
	(void)state;
	struct layout l;
	layout_open(&l);
	LAYOUT_SEGMENT(&l, 1, LARGE, 4 * MIB, -16 * MIB);
	LAYOUT_SEGMENT(&l, 3, LARGE, 2 * MIB, -18 * MIB);
	struct gp_frag_question q = { .has_arena = true, .arena = 3 };
	struct gp_frag f = frag_of(&l, &q);
	assert_int_equal(f.cause_bytes[GP_CAUSE_PRIVATE], 0);
	assert_int_equal(f.cause_bytes[GP_CAUSE_INACTIVE_SPLIT], (18 + 16) * MIB);
	assert_int_equal(f.largest_request_bytes, 18 * MIB);
	gp_frag_free(&f);
}

static void the_driver_count_moves_with_the_curve(void **state)
{
	(void)state;
	struct layout l;
	layout_open(&l);
	LAYOUT_SEGMENT(&l, 1, LARGE, 20 * MIB, -20 * MIB);
	has_free(&l, (uint64_t)(100 * MIB));
	l.device.used_driver_bytes -= (uint64_t)(40 * MIB);
	struct gp_frag f = frag_of(&l, NULL);
	assert_int_equal(f.driver_free_bytes, 60 * MIB);
	assert_int_equal(f.largest_released_bytes, 60 * MIB);
	gp_frag_free(&f);
	l.device.limit_bytes = (uint64_t)(70 * MIB);
	f = frag_of(&l, NULL);
	assert_int_equal(f.largest_released_bytes, 30 * MIB);
	gp_frag_free(&f);
}

static void pins_are_ranked_by_the_bytes_they_hold(void **state)
{
	(void)state;
	struct layout l;
	layout_open(&l);
	LAYOUT_SEGMENT(&l, 1, LARGE, -8 * MIB, MIB, -3 * MIB, 2 * MIB, 6 * MIB);
	LAYOUT_SEGMENT(&l, 1, LARGE, -30 * MIB, 512, -(2 * MIB - 512));
	LAYOUT_SEGMENT(&l, 1, LARGE, 20 * MIB);
	struct gp_frag f = frag_of(&l, NULL);
	assert_int_equal(f.pins, 3);
	assert_int_equal(f.pin[0].segment, 1);
	assert_int_equal(f.pin[0].hostage_bytes, 32 * MIB - 512);
	assert_int_equal(f.pin[1].hostage_bytes, 11 * MIB);
	assert_int_equal(l.block[f.pin[1].block].bytes, MIB);
	assert_int_equal(f.pin[2].hostage_bytes, 3 * MIB);
	gp_frag_free(&f);
}

static void a_device_that_is_not_there(void **state)
{
	(void)state;
	struct layout l;
	layout_open(&l);
	struct gp_frag f;
	struct gp_frag_question q = { 0 };
	assert_int_equal(gp_frag_build(&l.memory, 3, &q, &f), GP_E_ARGUMENT);
	q.has_arena = true;
	q.arena = 99;
	assert_int_equal(gp_frag_build(&l.memory, 0, &q, &f), GP_E_ARGUMENT);
}

/* ---- random states ---- */

static uint64_t seed = 1;
static uint64_t pick(uint64_t below)
{
	seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407u;
	return (seed >> 33) % below;
}

/*
 * A segment of `bytes` cut at random; sizes are multiples of 512, and neighbours are not both free.
 */
static void random_segment(struct layout *l, size_t arena, int kind, int64_t bytes, uint64_t hole)
{
	int64_t size[64];
	size_t n = 0;
	bool was_free = false;
	while (bytes > 0 && n < 60) {
		int64_t most = (kind & SMALL) ? 700 * KIB : 9 * MIB;
		int64_t part = (int64_t)(1 + pick((uint64_t)most / 512)) * 512;
		if (pick(8) == 0)
			part = 512;
		if (part > bytes || n == 59 || pick(12) == 0)
			part = bytes;
		bool is_free = !was_free && pick(2) == 0, is_pending = pick(9) == 0;
		size[n++] = is_free ? -part : is_pending ? part + PENDING : part;
		was_free = is_free;
		bytes -= part;
	}
	size[n] = 0;
	layout_segment_at(l, arena, kind, hole, size);
}

static void random_layout(struct layout *l, bool is_expandable)
{
	layout_open(l);
	for (size_t arena = 1; arena <= 3; arena++)
		for (int is_small = 0; is_small < 2; is_small++) {
			int kind = (is_small ? SMALL : LARGE) | (is_expandable ? EXPANDABLE : 0);
			int64_t page = is_small ? 2 * MIB : 20 * MIB;
			for (uint64_t n = 1 + pick(3); n > 0; n--) {
				int64_t bytes = is_expandable ? page * (int64_t)(1 + pick(2)) :
						is_small      ? page :
								page + 2 * MIB * (int64_t)pick(5);
				random_segment(l, arena, kind, bytes,
					       (uint64_t)(page * (int64_t)(1 + pick(6))));
			}
			l->next_address += (uint64_t)(100 * GIB);
		}
	has_free(l, pick((uint64_t)(DEVICE_FREE / 512)) * 512);
	if (pick(2) == 0)
		l->device.limit_bytes =
			l->device.reserved_bytes - pick((uint64_t)(40 * MIB)) + pick(40 * 1048576);
}

static const char *const confs[] = {
	NULL,
	NULL,
	"roundup_power2_divisions:4",
	"max_split_size_mb:21",
	"max_split_size_mb:21,max_non_split_rounding_mb:22",
	"roundup_power2_divisions:[2:2,4:8,>:2]",
};

struct trial {
	struct layout l;
	struct gp_allocator_settings settings;
	uint64_t device_free;
	bool is_expandable;
	struct model cached, released;
};

static void load(struct trial *t, const uint8_t *freed)
{
	model_load(&t->cached, &t->l, freed, t->device_free, &t->settings);
	t->cached.is_expandable = t->is_expandable;
	t->released = t->cached;
	model_release(&t->released);
}

static void begin_trial(struct trial *t, unsigned number)
{
	seed = 7919u * number + 17u;
	t->is_expandable = number % 2 != 0;
	random_layout(&t->l, t->is_expandable);
	gp_allocator_settings_read(confs[pick(sizeof confs / sizeof *confs)], &t->settings);
	t->settings.is_expandable = t->is_expandable;
	t->device_free = t->l.device.total_bytes - t->l.device.used_bytes;
	load(t, NULL);
}

static bool is_served_released(const struct trial *t, size_t arena, uint64_t size)
{
	return model_alloc_block(&t->released, arena, size);
}

#define SIZE_MOST ((uint64_t)(220 * MIB))

static void every_size_is_tried(void **state)
{
	(void)state;
	struct trial *t = malloc(sizeof *t);
	size_t above = 0;
	for (unsigned k = 0; k < 120; k++) {
		begin_trial(t, k);
		struct gp_frag_question q = { .settings = &t->settings,
					      .has_arena = true,
					      .arena = 1 + k % 3 };
		struct gp_frag f = frag_of(&t->l, &q);
		uint64_t cached = 0, released = 0;
		for (uint64_t requested = 512; requested < SIZE_MOST; requested += 512) {
			uint64_t size = gp_allocator_rounded(&t->settings, requested);
			if (model_get_free_block(&t->cached, q.arena, size))
				cached = released = requested;
			else if (is_served_released(t, q.arena, size))
				released = requested;
		}
		assert_int_equal(f.largest_request_bytes, cached);
		assert_int_equal(f.largest_released_bytes, released);
		above += released > cached;
		gp_frag_free(&f);
	}
	assert_true(above > 10);
	free(t);
}

static void pools_are_tried_one_by_one(void **state)
{
	(void)state;
	struct trial *t = malloc(sizeof *t);
	for (unsigned k = 100; k < 120; k++) {
		begin_trial(t, k);
		struct gp_frag_question q = { .settings = &t->settings };
		struct gp_frag f = frag_of(&t->l, &q);
		assert_true(f.pools >= 6);
		for (size_t p = 0; p < f.pools; p++) {
			uint64_t largest = 0, from = f.pool[p].is_small ? 512 : MIB + 512;
			uint64_t to = f.pool[p].is_small ? MIB : 60 * MIB;
			for (uint64_t size = from; size <= to; size += 512) {
				uint64_t rounded = gp_allocator_rounded(&t->settings, size);
				if ((rounded <= (uint64_t)MIB) == f.pool[p].is_small &&
				    model_get_free_block(&t->cached, f.pool[p].arena, rounded))
					largest = size;
			}
			assert_int_equal(f.pool[p].largest_request_bytes, largest);
		}
		gp_frag_free(&f);
	}
	free(t);
}

/* Ranges with large gaps; some gaps are too large to be split. */
static void large_ranges(struct trial *t, unsigned number)
{
	seed = 104729u * number + 5u;
	layout_open(&t->l);
	for (uint64_t n = 1 + pick(3); n > 0; n--) {
		int64_t size[9] = { 0 };
		unsigned blocks = 2 + (unsigned)pick(6);
		uint64_t sum = 0, page = (uint64_t)(20 * MIB);
		for (unsigned k = 0; k < blocks; k++) {
			uint64_t bytes = (uint64_t)MIB * (1 + pick(45));
			sum += bytes;
			size[k] = k % 2 != n % 2 ? -(int64_t)bytes : (int64_t)bytes;
		}
		uint64_t rest = (page - sum % page) % page;
		size[blocks - 1] += size[blocks - 1] < 0 ? -(int64_t)rest : (int64_t)rest;
		layout_segment_at(&t->l, 1, EXPANDABLE, page * (1 + pick(4)), size);
	}
	has_free(&t->l, 0);
	gp_allocator_settings_read("expandable_segments:True,max_split_size_mb:24", &t->settings);
	t->is_expandable = true;
	t->device_free = 0;
	load(t, NULL);
}

static void large_gaps_are_tried_size_by_size(void **state)
{
	(void)state;
	struct trial *t = malloc(sizeof *t);
	unsigned refused = 0;
	for (unsigned number = 0; number < 60; number++) {
		large_ranges(t, number);
		uint64_t largest = 0;
		for (uint64_t size = (uint64_t)(2 * MIB); size <= (uint64_t)(66 * MIB);
		     size += (uint64_t)MIB / 2) {
			struct gp_frag_question q = { .settings = &t->settings,
						      .fit_bytes = size,
						      .has_arena = true,
						      .arena = 1 };
			struct gp_frag f = frag_of(&t->l, &q);
			bool is_served = model_get_free_block(&t->cached, 1, size);
			assert_int_equal(f.fit.is_served, is_served);
			largest = is_served ? size : largest;
			refused += !is_served && size <= f.pool[0].largest_gap_bytes;
			if (size == (uint64_t)(66 * MIB))
				assert_int_equal(f.largest_request_bytes, largest);
			gp_frag_free(&f);
		}
	}
	assert_true(refused > 100);
	free(t);
}

/*
 * Sixteen blocks of 64 MiB under a limit of 1 GiB, every other one freed, as measured on an H200.
 * Only the request counts against the limit, even if its last page makes it larger.
 */
static void the_limit_counts_the_request_and_not_its_pages(void **state)
{
	(void)state;
	struct trial *t = malloc(sizeof *t);
	int64_t size[18];
	for (unsigned k = 0; k < 16; k++)
		size[k] = k % 2 == 0 ? -64 * MIB : 64 * MIB;
	size[16] = -16 * MIB;
	size[17] = 0;
	layout_open(&t->l);
	layout_segment_at(&t->l, 1, EXPANDABLE, 0, size);
	t->l.device.limit_bytes = (uint64_t)GIB;
	t->device_free = (uint64_t)(70 * GIB);
	has_free(&t->l, t->device_free);
	gp_allocator_settings_read("expandable_segments:True", &t->settings);
	t->is_expandable = true;
	load(t, NULL);
	struct gp_frag_question q = { .settings = &t->settings };
	struct gp_frag f = frag_of(&t->l, &q);
	assert_int_equal(f.largest_request_bytes, 64 * MIB);
	assert_int_equal(f.largest_released_bytes, 402653184);
	assert_true(is_served_released(t, 1, 402653184));
	assert_false(is_served_released(t, 1, 402653184 + 512));
	gp_frag_free(&f);
	free(t);
}

/* ---- blocks to free ---- */

static void mark_set(const struct gp_block_set *set, uint8_t *freed)
{
	memset(freed, 0, LAYOUT_BLOCKS);
	for (size_t k = 0; k < set->blocks; k++)
		freed[set->block[k]] = 1;
}

/* Finds the cheapest of all subsets of the pool's blocks; pending blocks are free. */
static void try_subsets(struct trial *t, size_t arena, uint64_t size, size_t *blocks,
			uint64_t *bytes)
{
	uint8_t freed[LAYOUT_BLOCKS] = { 0 };
	size_t candidate[LAYOUT_BLOCKS], n = 0;
	for (size_t s = 0; s < t->l.memory.segments; s++)
		for (size_t k = 0; k < t->l.segment[s].blocks; k++) {
			const struct gp_memory_segment *g = &t->l.segment[s];
			size_t b = g->first + k;
			if (g->arena != arena || g->is_small != (size <= (uint64_t)MIB))
				continue;
			if (t->l.block[b].state == GP_STATE_ALLOCATED)
				candidate[n++] = b;
			freed[b] = t->l.block[b].state == GP_STATE_PENDING;
		}
	*blocks = SIZE_MAX;
	*bytes = UINT64_MAX;
	assert_true(n <= 16);
	for (uint64_t subset = 0; subset < (UINT64_C(1) << n); subset++) {
		size_t count = (size_t)__builtin_popcountll(subset);
		uint64_t sum = 0;
		for (size_t k = 0; k < n; k++) {
			freed[candidate[k]] = (subset >> k & 1) != 0;
			sum += freed[candidate[k]] ? t->l.block[candidate[k]].bytes : 0;
		}
		if (sum > *bytes || (sum == *bytes && count >= *blocks))
			continue;
		model_load(&t->cached, &t->l, freed, t->device_free, &t->settings);
		if (model_get_free_block(&t->cached, arena, size)) {
			*blocks = count;
			*bytes = sum;
		}
	}
}

static size_t count_held(const struct layout *l, size_t arena, bool is_small)
{
	size_t n = 0;
	for (size_t s = 0; s < l->memory.segments; s++)
		for (size_t k = 0; k < l->segment[s].blocks; k++)
			n += l->segment[s].arena == arena && l->segment[s].is_small == is_small &&
			     l->block[l->segment[s].first + k].state == GP_STATE_ALLOCATED;
	return n;
}

static void no_cheaper_set_is_enough(void **state)
{
	(void)state;
	struct trial *t = malloc(sizeof *t);
	unsigned found = 0, emptied = 0, done = 0;
	for (unsigned number = 1000; done < 150; number++) {
		begin_trial(t, number);
		gp_allocator_settings_read(NULL, &t->settings);
		t->settings.is_expandable = t->is_expandable;
		struct gp_frag_question q = { .settings = &t->settings,
					      .fit_bytes = 512 * (1 + pick(80000)),
					      .has_arena = true,
					      .arena = 1 + number % 3 };
		uint64_t size = gp_allocator_rounded(&t->settings, q.fit_bytes);
		if (count_held(&t->l, q.arena, size <= (uint64_t)MIB) > 13)
			continue;
		done++;
		load(t, NULL);
		struct gp_frag f = frag_of(&t->l, &q);
		bool is_cached = model_get_free_block(&t->cached, q.arena, size);
		bool is_released = is_served_released(t, q.arena, size);
		assert_int_equal(f.fit.is_served, is_cached);
		if (!is_cached)
			assert_int_equal(f.fit.is_served_released, is_released);
		uint8_t freed[LAYOUT_BLOCKS];
		size_t blocks;
		uint64_t bytes;
		if (!is_cached && !is_released) {
			try_subsets(t, q.arena, size, &blocks, &bytes);
			assert_int_equal(f.fit.in_place.is_found, blocks != SIZE_MAX);
		}
		if (f.fit.in_place.is_found) {
			assert_int_equal(f.fit.in_place.blocks - f.fit.in_place.pending, blocks);
			assert_int_equal(f.fit.in_place.bytes, bytes);
			mark_set(&f.fit.in_place, freed);
			load(t, freed);
			assert_true(model_get_free_block(&t->cached, q.arena, size));
			found++;
		}
		if (f.fit.by_emptying.is_found) {
			mark_set(&f.fit.by_emptying, freed);
			load(t, freed);
			assert_true(is_served_released(t, q.arena, size));
			emptied++;
		}
		gp_frag_free(&f);
	}
	assert_true(found > 10);
	assert_true(emptied > 10);
	free(t);
}

static void a_split_limit_does_not_fool_it(void **state)
{
	(void)state;
	struct trial *t = malloc(sizeof *t);
	unsigned found = 0;
	for (unsigned number = 3000; number < 3400; number++) {
		begin_trial(t, number);
		gp_allocator_settings_read("max_split_size_mb:21", &t->settings);
		struct gp_frag_question q = { .settings = &t->settings,
					      .fit_bytes = (uint64_t)MIB * (2 + pick(30)),
					      .has_arena = true,
					      .arena = 1 };
		struct gp_frag f = frag_of(&t->l, &q);
		uint8_t freed[LAYOUT_BLOCKS];
		if (f.fit.in_place.is_found) {
			mark_set(&f.fit.in_place, freed);
			load(t, freed);
			assert_true(model_get_free_block(&t->cached, 1, f.fit.rounded_bytes));
			found++;
		}
		gp_frag_free(&f);
	}
	assert_true(found > 5);
	free(t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_byte_has_one_cause),
		cmocka_unit_test(growth_is_kept_apart),
		cmocka_unit_test(an_unreported_pool_is_not_private),
		cmocka_unit_test(a_request_of_a_private_pool_uses_that_pool),
		cmocka_unit_test(the_driver_count_moves_with_the_curve),
		cmocka_unit_test(pins_are_ranked_by_the_bytes_they_hold),
		cmocka_unit_test(a_device_that_is_not_there),
		cmocka_unit_test(every_size_is_tried),
		cmocka_unit_test(pools_are_tried_one_by_one),
		cmocka_unit_test(large_gaps_are_tried_size_by_size),
		cmocka_unit_test(the_limit_counts_the_request_and_not_its_pages),
		cmocka_unit_test(no_cheaper_set_is_enough),
		cmocka_unit_test(a_split_limit_does_not_fool_it),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
