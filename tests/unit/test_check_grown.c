/* Stacks that hold more than in a baseline: the named stacks must be those that grew. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../../tools/check/check_grown.c"

#define LOAD "train.py:3 load"
#define LOAD_VIA LOAD "  via main.py:"

struct held {
	const char *key;
	uint64_t bytes;
};

/* values that the stubs return */
static struct gp_baseline_device before;
static struct gp_groups now;

const struct gp_baseline_entry *gp_baseline_find(const struct gp_baseline *baseline,
						 const struct gp_info *info)
{
	static const struct gp_baseline_entry entry;
	(void)baseline, (void)info;
	return &entry;
}

const struct gp_baseline_device *gp_baseline_device(const struct gp_baseline_entry *entry,
						    unsigned device)
{
	(void)entry, (void)device;
	return &before;
}

bool gp_check_has_framework(const struct gp_check *c, unsigned device)
{
	(void)c, (void)device;
	return true;
}

bool gp_check_groups(const struct gp_check *c, unsigned device, enum gp_curve of, bool is_folded,
		     struct gp_groups *out, uint64_t *whole)
{
	(void)c, (void)device, (void)of, (void)is_folded, (void)whole;
	*out = now;
	return true;
}

void gp_groups_free(struct gp_groups *groups)
{
	(void)groups;
}

#define COUNT(array) (sizeof(array) / sizeof *(array))
#define GROWN(then, is, count) grown_of(then, COUNT(then), is, COUNT(is), count)

static struct gp_check_grown *grown_of(const struct held *then, size_t thens, const struct held *is,
				       size_t iss, size_t *count)
{
	static const struct gp_check check;
	before = (struct gp_baseline_device){ .groups = thens,
					      .group = calloc(thens, sizeof *before.group) };
	now = (struct gp_groups){ .groups = iss, .group = calloc(iss, sizeof *now.group) };
	for (size_t k = 0; k < thens; k++)
		before.group[k] =
			(struct gp_baseline_group){ (char *)then[k].key, then[k].bytes, 1 };
	for (size_t k = 0; k < iss; k++) {
		now.group[k].key = (char *)is[k].key;
		now.group[k].use.bytes = is[k].bytes;
	}
	struct gp_check_grown *grown = gp_check_grown_list(&check, 0, count);
	free(before.group);
	free(now.group);
	return grown;
}

static void assert_grown(const struct gp_check_grown *g, const char *key, uint64_t then,
			 uint64_t is)
{
	assert_string_equal(g->key, key);
	assert_int_equal(g->before_bytes, then);
	assert_int_equal(g->bytes, is);
	assert_false(g->is_at_most);
}

/* A third caller of the same place: the two old callers hold as much as before. */
static void a_new_caller_is_named(void **state)
{
	(void)state;
	static const struct held then[] = { { LOAD_VIA "3 main", 4096 },
					    { LOAD_VIA "6 main", 512 } };
	static const struct held is[] = { { LOAD_VIA "3 main", 4096 },
					  { LOAD_VIA "6 main", 512 },
					  { LOAD_VIA "5 main", 100 } };
	size_t count;
	struct gp_check_grown *grown = GROWN(then, is, &count);
	assert_int_equal(count, 1);
	assert_grown(grown, LOAD_VIA "5 main", 0, 100);
	gp_check_grown_free(grown, count);
}

static void moved_lines_are_added_up(void **state)
{
	(void)state;
	static const struct held then[] = { { LOAD_VIA "3 main", 4096 },
					    { LOAD_VIA "6 other", 512 } };
	static const struct held is[] = { { LOAD_VIA "9 main", 4096 },
					  { LOAD_VIA "10 main", 50 },
					  { LOAD_VIA "12 other", 612 } };
	size_t count;
	struct gp_check_grown *grown = GROWN(then, is, &count);
	assert_int_equal(count, 2);
	assert_grown(&grown[0], LOAD_VIA "12 other", 512, 612);
	assert_grown(&grown[1], "train.py load  via main.py main", 4096, 4146);
	gp_check_grown_free(grown, count);
}

/* The key of an only caller has no suffix; with a second caller it has one. */
static void a_second_caller_makes_no_growth_of_the_first(void **state)
{
	(void)state;
	static const struct held then[] = { { LOAD, 1 << 20 } };
	static const struct held is[] = { { LOAD_VIA "3 main", 1 << 20 },
					  { LOAD_VIA "5 more", 512 } };
	size_t count;
	struct gp_check_grown *grown = GROWN(then, is, &count);
	assert_int_equal(count, 1);
	assert_grown(grown, "train.py load", 1 << 20, (1 << 20) + 512);
	gp_check_grown_free(grown, count);
}

static void stacks_that_did_not_grow_are_left_out(void **state)
{
	(void)state;
	static const struct held then[] = { { "a.py:1 f", 100 },
					    { "b.py:1 g", 100 },
					    { "c.py:1 h", 100 } };
	static const struct held is[] = { { "a.py:1 f", 100 }, { "b.py:7 g", 99 } };
	size_t count;
	struct gp_check_grown *grown = GROWN(then, is, &count);
	assert_int_equal(count, 0);
	gp_check_grown_free(grown, count);
}

/* A baseline has the largest groups only: others may have held as much as its smallest. */
static void stacks_outside_of_the_baseline_are_not_growth(void **state)
{
	(void)state;
	struct held then[GP_BASELINE_GROUPS], is[GP_BASELINE_GROUPS + 2];
	char name[COUNT(is)][32];
	size_t count;
	for (size_t k = 0; k < COUNT(is); k++) {
		snprintf(name[k], sizeof name[k], "a.py:1 f%zu", k);
		is[k] = (struct held){ name[k], 1000 };
		if (k < COUNT(then))
			then[k] = is[k];
	}
	is[COUNT(then) + 1].bytes = 1500;
	struct gp_check_grown *grown = GROWN(then, is, &count);
	assert_int_equal(count, 1);
	assert_string_equal(grown->key, name[COUNT(then) + 1]);
	assert_int_equal(grown->bytes, 1500);
	assert_int_equal(grown->before_bytes, 1000);
	assert_true(grown->is_at_most);
	gp_check_grown_free(grown, count);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_new_caller_is_named),
		cmocka_unit_test(moved_lines_are_added_up),
		cmocka_unit_test(a_second_caller_makes_no_growth_of_the_first),
		cmocka_unit_test(stacks_that_did_not_grow_are_left_out),
		cmocka_unit_test(stacks_outside_of_the_baseline_are_not_growth),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
