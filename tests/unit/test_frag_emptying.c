/*
 * The blocks whose segments go back to the driver: of random states, against every choice of
 * segments. Where segments are whole no choice frees fewer blocks.
 */
#include "memory_layout.h"

#define TRIALS 400u
#define MOST 10u /* segments: each choice of them is tried */

static uint64_t seed = 7;
static uint64_t pick(uint64_t below)
{
	seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407u;
	return (seed >> 33) % below;
}

/* 1 to 6 blocks of 2 MiB and as much between them as makes `bytes`; or nothing but a gap. */
static void add_segment(struct layout *l, int64_t bytes)
{
	int64_t size[16];
	size_t n = 0, blocks = pick(7);
	for (size_t k = 0; k < blocks; k++) {
		size[n++] = 2 * MIB;
		size[n++] = -2 * MIB;
		bytes -= 4 * MIB;
	}
	if (blocks != 0)
		size[n - 1] -= bytes;
	else
		size[n++] = -bytes;
	size[n] = 0;
	layout_segment_at(l, 1, LARGE, (uint64_t)(64 * MIB), size);
}

static size_t allocated_in(const struct layout *l, const struct gp_memory_segment *s)
{
	size_t count = 0;
	for (size_t k = s->first; k < s->first + s->blocks; k++)
		count += l->block[k].state == GP_STATE_ALLOCATED;
	return count;
}

/* SIZE_MAX: no choice is enough. */
static size_t fewest(const struct layout *l, uint64_t lacks)
{
	size_t best = SIZE_MAX, segments = l->memory.segments;
	for (unsigned choice = 0; choice < 1u << segments; choice++) {
		uint64_t gain = 0;
		size_t blocks = 0;
		for (size_t k = 0; k < segments; k++) {
			size_t in = allocated_in(l, &l->segment[k]);
			bool is_chosen = (choice >> k & 1) != 0 && in != 0;
			gain += is_chosen ? l->segment[k].bytes : 0;
			blocks += is_chosen ? in : 0;
		}
		if (gain >= lacks && blocks < best)
			best = blocks;
	}
	return best;
}

static void no_choice_frees_fewer_blocks(void **state)
{
	(void)state;
	static struct layout l;
	unsigned found = 0;
	for (unsigned trial = 0; trial < TRIALS; trial++) {
		layout_open(&l);
		uint64_t free_bytes = pick(20) * (uint64_t)MIB, released = 0;
		for (uint64_t n = 1 + pick(MOST); n > 0; n--)
			add_segment(&l, 2 * MIB * (int64_t)(20 + pick(60)));
		for (size_t k = 0; k < l.memory.segments; k++)
			if (allocated_in(&l, &l.segment[k]) == 0)
				released += l.segment[k].bytes;
		l.device.used_bytes = l.device.total_bytes - free_bytes;
		l.device.used_driver_bytes = l.device.driver_bytes;
		/* no gap has as much, nor would any segment have */
		uint64_t asked = (uint64_t)(200 * MIB) + pick(200) * (uint64_t)(2 * MIB);
		const struct gp_frag_question q = { .fit_bytes = asked };
		struct gp_frag frag;
		assert_int_equal(gp_frag_build(&l.memory, 0, &q, &frag), GP_OK);
		uint64_t has = free_bytes + released;
		size_t least = fewest(&l, asked > has ? asked - has : 0);
		const struct gp_block_set *set = &frag.fit.by_emptying;
		if (frag.fit.is_served_released) {
			assert_int_equal(least, 0);
		} else {
			assert_int_equal(set->is_found, least != SIZE_MAX);
			assert_true(!set->is_found || set->blocks == least);
			found += set->is_found;
		}
		gp_frag_free(&frag);
	}
	assert_true(found > TRIALS / 4);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(no_choice_frees_fewer_blocks),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
