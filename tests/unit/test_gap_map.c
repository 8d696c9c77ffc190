/*
 * The parts of segments against a plain array of units. After each random step the free bytes and
 * the largest gap are compared. Some steps are invalid, as in damaged or incomplete recordings.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "analyze/frag/gap_map.h"

#define UNIT 512u
#define UNITS 600u
#define BASE UINT64_C(0x7f0000000000)

struct model {
	struct unit {
		bool is_there, is_used;
		unsigned group;
		bool is_joined; /* with the unit in front of it */
		unsigned block; /* the unit where its block begins */
	} unit[UNITS + 1];
};

static uint64_t seed;
static unsigned pick(unsigned below)
{
	seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407u;
	return (unsigned)((seed >> 33) % below);
}

static void step_add(struct gp_gap_map *map, struct model *m, unsigned at, unsigned n,
		     unsigned group)
{
	bool was_there[UNITS + 1];
	for (unsigned k = 0; k <= UNITS; k++)
		was_there[k] = m->unit[k].is_there;
	for (unsigned k = at; k < at + n; k++)
		if (!was_there[k])
			m->unit[k] = (struct unit){ .is_there = true, .group = group };
	for (unsigned k = at; k <= at + n && k < UNITS; k++) {
		struct unit *u = &m->unit[k];
		if (k == 0 || !u->is_there || !m->unit[k - 1].is_there)
			continue;
		bool is_new = !was_there[k] && k < at + n;
		bool before_is_new = !was_there[k - 1] && k > at;
		if (is_new && before_is_new)
			u->is_joined = true;
		else if (is_new || before_is_new)
			u->is_joined =
				group != 0 && u->group == group && m->unit[k - 1].group == group;
	}
	assert_int_equal(gp_gap_map_add(map, BASE + at * UNIT, n * UNIT, group), GP_OK);
}

static void forget(struct model *m, unsigned k)
{
	m->unit[k] = (struct unit){ 0 };
	m->unit[k + 1].is_joined = false;
}

static void step_cut(struct gp_gap_map *map, struct model *m, unsigned at, unsigned n)
{
	/* the rest of a cut block becomes a block of its own */
	for (unsigned k = at + n; k < UNITS && m->unit[k].is_used; k++) {
		if (m->unit[k].block >= at + n)
			break;
		m->unit[k].block = at + n;
	}
	for (unsigned k = at; k < at + n; k++)
		forget(m, k);
	assert_int_equal(gp_gap_map_cut(map, BASE + at * UNIT, n * UNIT), GP_OK);
}

static void step_drop(struct gp_gap_map *map, struct model *m, unsigned at)
{
	bool is_first = m->unit[at].is_there && !m->unit[at].is_joined;
	assert_int_equal(gp_gap_map_drop(map, BASE + at * UNIT), is_first);
	if (!is_first)
		return;
	unsigned end = at + 1;
	while (end < UNITS && m->unit[end].is_joined)
		end++;
	for (unsigned k = at; k < end; k++)
		forget(m, k);
}

static void step_take(struct gp_gap_map *map, struct model *m, unsigned at, unsigned n)
{
	enum gp_status status = gp_gap_map_take(map, BASE + at * UNIT, n * UNIT);
	if (!m->unit[at].is_there) {
		assert_int_equal(status, GP_END);
		return;
	}
	assert_int_equal(status, GP_OK);
	unsigned end = at + n;
	unsigned reached = at + 1;
	while (reached < UNITS && m->unit[reached].is_joined)
		reached++;
	/* the rest of a block that it cuts in two becomes a block of its own */
	for (unsigned k = end;
	     reached > end && k < UNITS && m->unit[k].is_used && m->unit[k].block < end; k++)
		m->unit[k].block = end;
	for (unsigned k = at; k < end && (k == at || m->unit[k].is_joined); k++) {
		m->unit[k].is_used = true;
		m->unit[k].block = at;
	}
}

static void step_give(struct gp_gap_map *map, struct model *m, unsigned at)
{
	bool is_block = m->unit[at].is_used && m->unit[at].block == at;
	assert_int_equal(gp_gap_map_give(map, BASE + at * UNIT), is_block);
	for (unsigned k = at; is_block && k < UNITS; k++) {
		if (!m->unit[k].is_used || m->unit[k].block != at)
			break;
		m->unit[k].is_used = false;
	}
}

static void compare(const struct gp_gap_map *map, const struct model *m)
{
	uint64_t free_bytes = 0, bytes = 0, largest = 0, run = 0;
	for (unsigned k = 0; k < UNITS; k++) {
		const struct unit *u = &m->unit[k];
		bytes += u->is_there ? UNIT : 0;
		if (!u->is_there || u->is_used) {
			run = 0;
			continue;
		}
		run = (u->is_joined ? run : 0) + UNIT;
		free_bytes += UNIT;
		largest = run > largest ? run : largest;
	}
	assert_int_equal(map->bytes, bytes);
	assert_int_equal(map->free_bytes, free_bytes);
	assert_int_equal(gp_gap_map_largest(map), largest);
}

static void random_steps(bool is_sound, unsigned steps)
{
	struct gp_gap_map map = { 0 };
	struct model *m = calloc(1, sizeof *m);
	for (unsigned k = 0; k < steps; k++) {
		unsigned at = pick(UNITS - 64), n = 1 + pick(pick(4) ? 8 : 60), what = pick(100);
		if (is_sound) /* blocks begin where their gap begins, and end in it */
			while (at > 0 && m->unit[at].is_joined &&
			       m->unit[at - 1].is_used == m->unit[at].is_used &&
			       (!m->unit[at].is_used || m->unit[at].block != at))
				at--;
		for (unsigned i = 1; is_sound && what >= 14 && what < 60 && i < n; i++)
			if (!m->unit[at + i].is_joined || m->unit[at + i].is_used)
				n = i;
		if (what < 10)
			step_add(&map, m, at, n, pick(3));
		else if (what < 12)
			step_drop(&map, m, at);
		else if (what < 14)
			step_cut(&map, m, at, n);
		else if (what >= 60)
			step_give(&map, m, at);
		else if (!is_sound || !m->unit[at].is_used)
			step_take(&map, m, at, n);
		compare(&map, m);
	}
	gp_gap_map_clear(&map);
	memset(m, 0, sizeof *m);
	compare(&map, m);
	gp_gap_map_release(&map);
	free(m);
}

static void sound_histories(void **state)
{
	(void)state;
	for (unsigned k = 1; k < 20; k++) {
		seed = k;
		random_steps(true, 3000);
	}
}

static void histories_with_holes(void **state)
{
	(void)state;
	for (unsigned k = 1; k < 20; k++) {
		seed = k * 977;
		random_steps(false, 3000);
	}
}

static void wild_numbers(void **state)
{
	(void)state;
	struct gp_gap_map map = { 0 };
	const uint64_t wild[] = { 0,
				  1,
				  511,
				  UINT64_MAX,
				  UINT64_MAX - 511,
				  UINT64_C(1) << 63,
				  UINT64_C(1) << 62,
				  (UINT64_C(1) << 62) - 1 };
	const size_t n = sizeof wild / sizeof *wild;
	for (size_t a = 0; a < n; a++)
		for (size_t b = 0; b < n; b++) {
			gp_gap_map_add(&map, wild[a], wild[b], b % 2);
			gp_gap_map_take(&map, wild[b], wild[a]);
			gp_gap_map_give(&map, wild[a]);
			gp_gap_map_cut(&map, wild[a], wild[b]);
			gp_gap_map_drop(&map, wild[b]);
			assert_true(map.free_bytes <= map.bytes);
		}
	gp_gap_map_release(&map);
}

/* Pieces of 1 to 40 units: thousands of gaps are created and closed. */
static void the_largest_of_many(void **state)
{
	(void)state;
	enum { PIECES = 5000, MOST = 40 };
	static uint64_t free_bytes[PIECES];
	struct gp_gap_map map = { 0 };
	seed = 5;
	assert_int_equal(gp_gap_map_largest(&map), 0);
	for (unsigned k = 0; k < 3 * PIECES; k++) {
		const unsigned at = k < PIECES ? k : pick(PIECES);
		const uint64_t address = BASE + (uint64_t)at * (MOST + 1) * UNIT;
		const uint64_t bytes = (1 + at % MOST) * UNIT;
		uint64_t largest = 0;
		if (k < PIECES)
			gp_gap_map_add(&map, address, bytes, 0);
		else if (free_bytes[at] != 0)
			assert_int_equal(gp_gap_map_take(&map, address, bytes), GP_OK);
		else
			assert_true(gp_gap_map_give(&map, address));
		free_bytes[at] = free_bytes[at] != 0 ? 0 : bytes;
		for (unsigned i = 0; k % 16 == 0 && i < PIECES; i++)
			largest = free_bytes[i] > largest ? free_bytes[i] : largest;
		if (k % 16 == 0)
			assert_int_equal(gp_gap_map_largest(&map), largest);
	}
	gp_gap_map_release(&map);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sound_histories),
		cmocka_unit_test(histories_with_holes),
		cmocka_unit_test(wild_numbers),
		cmocka_unit_test(the_largest_of_many),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
