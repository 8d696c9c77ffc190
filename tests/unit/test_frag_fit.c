/*
 * The cheapest blocks to free for a request, for random states against every choice of segments.
 * Candidates are neighbours, and blocks whose segments return to the driver.
 */
#include "memory_layout.h"

#define TRIALS 400u
#define MOST 10u /* segments: all choices are tried */

static uint64_t seed = 7;
static uint64_t pick(uint64_t below)
{
	seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407u;
	return (seed >> 33) % below;
}

/* 1 to 6 blocks of 2 to 8 MiB, with gaps so that the sum is `bytes`; or a single gap. */
static void add_segment(struct layout *l, int64_t bytes)
{
	int64_t size[16];
	size_t n = 0, blocks = pick(7);
	for (size_t k = 0; k < blocks; k++) {
		const int64_t block = 2 * MIB * (1 + (int64_t)pick(4));
		size[n++] = block;
		size[n++] = -2 * MIB;
		bytes -= block + 2 * MIB;
	}
	if (blocks != 0)
		size[n - 1] -= bytes;
	else
		size[n++] = -bytes;
	size[n] = 0;
	layout_segment_at(l, 1, LARGE, (uint64_t)(64 * MIB), size);
}

struct freed {
	uint64_t bytes;
	size_t blocks;
};

static struct freed allocated_in(const struct layout *l, const struct gp_memory_segment *s)
{
	struct freed in = { 0 };
	for (size_t k = s->first; k < s->first + s->blocks; k++) {
		const bool is_allocated = l->block[k].state == GP_STATE_ALLOCATED;
		in.blocks += is_allocated;
		in.bytes += is_allocated ? l->block[k].bytes : 0;
	}
	return in;
}

/* blocks SIZE_MAX: all choices are too small. */
static struct freed least_of_all(const struct layout *l, uint64_t lacks)
{
	struct freed best = { UINT64_MAX, SIZE_MAX };
	size_t segments = l->memory.segments;
	for (unsigned choice = 0; choice < 1u << segments; choice++) {
		uint64_t gain = 0;
		struct freed sum = { 0 };
		for (size_t k = 0; k < segments; k++) {
			const struct freed in = allocated_in(l, &l->segment[k]);
			if ((choice >> k & 1) == 0 || in.blocks == 0)
				continue;
			gain += l->segment[k].bytes;
			sum.bytes += in.bytes;
			sum.blocks += in.blocks;
		}
		const bool is_less = sum.bytes < best.bytes ||
				     (sum.bytes == best.bytes && sum.blocks < best.blocks);
		if (gain >= lacks && is_less)
			best = sum;
	}
	return best;
}

static void no_choice_frees_less(void **state)
{
	(void)state;
	static struct layout l;
	unsigned found = 0;
	for (unsigned trial = 0; trial < TRIALS; trial++) {
		layout_open(&l);
		uint64_t free_bytes = pick(20) * (uint64_t)MIB, released = 0;
		for (uint64_t n = 1 + pick(MOST); n > 0; n--)
			add_segment(&l, 2 * MIB * (int64_t)(32 + pick(60)));
		for (size_t k = 0; k < l.memory.segments; k++)
			if (allocated_in(&l, &l.segment[k]).blocks == 0)
				released += l.segment[k].bytes;
		l.device.used_bytes = l.device.total_bytes - free_bytes;
		l.device.used_driver_bytes = l.device.driver_bytes;
		/* larger than any gap and any segment */
		uint64_t requested = (uint64_t)(200 * MIB) + pick(200) * (uint64_t)(2 * MIB);
		const struct gp_frag_question q = { .fit_bytes = requested };
		struct gp_frag frag;
		assert_int_equal(gp_frag_build(&l.memory, 0, &q, &frag), GP_OK);
		uint64_t has = free_bytes + released;
		const struct freed least = least_of_all(&l, requested > has ? requested - has : 0);
		const struct gp_block_set *set = &frag.fit.by_emptying;
		if (frag.fit.is_served_released) {
			assert_int_equal(least.blocks, 0);
		} else {
			assert_int_equal(set->is_found, least.blocks != SIZE_MAX);
			assert_true(!set->is_found || set->bytes == least.bytes);
			assert_true(!set->is_found || set->blocks == least.blocks);
			found += set->is_found;
		}
		gp_frag_free(&frag);
	}
	assert_true(found > TRIALS / 4);
}

/*
 * Two segments, `one` and `two`, each a list as of layout_segment_at. Returns the index of the
 * segment to empty.
 */
static size_t emptied(const int64_t *one, const int64_t *two, uint64_t *bytes)
{
	static struct layout l;
	struct gp_frag frag;
	layout_open(&l);
	layout_segment_at(&l, 1, LARGE, (uint64_t)(64 * MIB), one);
	layout_segment_at(&l, 1, LARGE, (uint64_t)(64 * MIB), two);
	l.device.used_bytes = l.device.total_bytes;
	l.device.used_driver_bytes = l.device.driver_bytes;
	const struct gp_frag_question q = { .fit_bytes = l.segment[0].bytes };
	assert_int_equal(gp_frag_build(&l.memory, 0, &q, &frag), GP_OK);
	const struct gp_block_set *set = &frag.fit.by_emptying;
	assert_true(set->is_found);
	assert_int_equal(set->segments, 1);
	const size_t first = set->block[0];
	*bytes = set->bytes;
	gp_frag_free(&frag);
	return first >= l.segment[1].first;
}

/* Freeing 1.2 GiB in one block is worse than freeing 90 MiB in 18 blocks. */
static void bytes_count_before_blocks(void **state)
{
	(void)state;
	const int64_t one[] = { 1228 * MIB, -52 * MIB, 0 };
	int64_t many[38] = { 0 };
	uint64_t bytes;
	for (size_t k = 0; k < 36; k += 2) {
		many[k] = 5 * MIB;
		many[k + 1] = -(k ? 65 : 85) * MIB;
	}
	many[35] = -(1280 - 85 - 16 * 65 - 18 * 5) * MIB;
	assert_int_equal(emptied(one, many, &bytes), 1);
	assert_int_equal(bytes, 90 * MIB);
}

static void blocks_count_where_bytes_are_equal(void **state)
{
	(void)state;
	const int64_t one[] = { 8 * MIB, -72 * MIB, 0 };
	const int64_t equal[] = { 4 * MIB, -2 * MIB, 4 * MIB, -70 * MIB, 0 };
	const int64_t less[] = { 4 * MIB, -2 * MIB, 2 * MIB, -72 * MIB, 0 };
	uint64_t bytes;
	assert_int_equal(emptied(one, equal, &bytes), 0);
	assert_int_equal(emptied(equal, one, &bytes), 1);
	assert_int_equal(emptied(one, less, &bytes), 1);
	assert_int_equal(emptied(less, one, &bytes), 0);
	assert_int_equal(bytes, 6 * MIB);
}

static void of_neighbours_bytes_count_first(void **state)
{
	(void)state;
	struct layout l;
	layout_open(&l);
	/* two blocks of 2 MiB, or one of 9 MiB, or one of 4 MiB */
	LAYOUT_SEGMENT(&l, 1, LARGE, -3 * MIB, 2 * MIB, -2 * MIB, 2 * MIB, -3 * MIB);
	LAYOUT_SEGMENT(&l, 1, LARGE, 9 * MIB, -3 * MIB, MIB);
	size_t four = LAYOUT_SEGMENT(&l, 1, LARGE, MIB, -4 * MIB, 4 * MIB, -3 * MIB)->first + 2;
	/* segments of another stream and of a private pool cannot serve it */
	LAYOUT_SEGMENT(&l, 2, LARGE, -9 * MIB, 512, -9 * MIB);
	LAYOUT_SEGMENT(&l, 3, LARGE, -9 * MIB, 512, -9 * MIB);
	struct gp_frag_question q = { .fit_bytes = (uint64_t)(11 * MIB) };
	struct gp_frag f;
	assert_int_equal(gp_frag_build(&l.memory, 0, &q, &f), GP_OK);
	assert_false(f.fit.is_served);
	assert_true(f.fit.in_place.is_found);
	assert_int_equal(f.fit.in_place.blocks, 1);
	assert_int_equal(f.fit.in_place.block[0], four);
	assert_int_equal(f.fit.in_place.bytes, 4 * MIB);
	gp_frag_free(&f);
	/* two blocks with 512 bytes less are cheaper */
	size_t two =
		LAYOUT_SEGMENT(&l, 1, LARGE, -3 * MIB, 2 * MIB, -3 * MIB, 2 * MIB - 512, -3 * MIB)
			->first +
		1;
	assert_int_equal(gp_frag_build(&l.memory, 0, &q, &f), GP_OK);
	assert_int_equal(f.fit.in_place.blocks, 2);
	assert_int_equal(f.fit.in_place.block[0], two);
	assert_int_equal(f.fit.in_place.bytes, 4 * MIB - 512);
	gp_frag_free(&f);
	q.fit_bytes = (uint64_t)(4 * MIB);
	assert_int_equal(gp_frag_build(&l.memory, 0, &q, &f), GP_OK);
	assert_true(f.fit.is_served);
	assert_false(f.fit.in_place.is_found);
	gp_frag_free(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(no_choice_frees_less),
		cmocka_unit_test(bytes_count_before_blocks),
		cmocka_unit_test(blocks_count_where_bytes_are_equal),
		cmocka_unit_test(of_neighbours_bytes_count_first),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
