/* Open ranges: random histories against a plain model, then the same with missing events. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "state/open_ranges.h"

#define THREADS 40u

static uint64_t seed;
static unsigned pick(unsigned below)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return (unsigned)(seed >> 33) % below;
}

/* The expected stack of a thread: names, sources and domains. */
struct model {
	unsigned depth;
	struct {
		unsigned name, source, domain;
	} open[GP_RANGES_DEEP];
};
static struct model models[THREADS];
static uint64_t now;

static struct gp_record model_push(struct model *m)
{
	unsigned name = 1 + pick(50), source = 1 + pick(2), domain = pick(3), k = m->depth++;
	m->open[k].name = name;
	m->open[k].source = source;
	m->open[k].domain = domain;
	return (struct gp_record){ .time = now += 64,
				   .kind = GP_RANGE_PUSH,
				   .aux = name,
				   .range_push = { source, domain, k, 0 } };
}

static struct gp_record model_pop(struct model *m)
{
	unsigned source = 1 + pick(2), domain = pick(3);
	bool is_found = false;
	if (m->depth && pick(4)) { /* mostly the innermost range */
		source = m->open[m->depth - 1].source;
		domain = m->open[m->depth - 1].domain;
	}
	for (unsigned k = m->depth; k-- > 0 && !is_found;) {
		is_found = m->open[k].source == source && m->open[k].domain == domain;
		if (!is_found)
			continue;
		m->depth--;
		memmove(&m->open[k], &m->open[k + 1], (m->depth - k) * sizeof m->open[k]);
	}
	return (struct gp_record){ .time = now += 64,
				   .kind = GP_RANGE_POP,
				   .aux = !is_found,
				   .range_pop = { source, domain, m->depth, 0 } };
}

static struct gp_record model_step(struct model *m)
{
	return pick(2) && m->depth < 20 ? model_push(m) : model_pop(m);
}

static uint64_t opened, closed;
static void see_opened(void *context, struct gp_open_range *range, const struct gp_range_stack *s)
{
	assert_ptr_equal(context, &opened);
	assert_true(s == NULL || range == &s->range[s->depth - 1]);
	assert_int_equal(range->mark, 0);
	range->mark = range->time;
	opened++;
}
static void see_closed(void *context, const struct gp_open_range *range, enum gp_range_end how,
		       const struct gp_record *by)
{
	assert_ptr_equal(context, &opened);
	assert_int_equal(range->mark, range->time);
	assert_true(by->time >= range->time);
	assert_true(how == GP_RANGE_ENDED || how == GP_RANGE_UNSEEN);
	closed++;
}
static const struct gp_range_watch watch = { see_opened, see_closed, &opened };

static struct gp_open_ranges *fresh(uint32_t threads)
{
	struct gp_open_ranges *r = gp_open_ranges_open(threads);
	assert_non_null(r);
	gp_open_ranges_watch(r, &watch);
	memset(models, 0, sizeof models);
	opened = closed = 0;
	now = 0;
	seed = 88172645463325252u;
	return r;
}

static void assert_same(const struct gp_open_ranges *r, uint32_t thread)
{
	const struct model *m = &models[thread];
	const struct gp_range_stack *s = gp_open_ranges_of(r, thread);
	assert_int_equal(s ? s->depth : 0, m->depth);
	for (unsigned k = 0; k < m->depth; k++) {
		assert_int_equal(s->range[k].name, m->open[k].name);
		assert_int_equal(s->range[k].source, m->open[k].source);
		assert_int_equal(s->range[k].domain, m->open[k].domain);
		assert_int_equal(s->range[k].thread, thread);
	}
}

static void random_histories_match_the_model(void **state)
{
	(void)state;
	struct gp_open_ranges *r = fresh(THREADS);
	uint64_t unbalanced = 0;
	for (unsigned i = 0; i < 200000; i++) {
		uint32_t thread = pick(THREADS);
		struct gp_record record = model_step(&models[thread]);
		unbalanced += record.kind == GP_RANGE_POP && record.aux;
		gp_open_ranges_apply(r, thread, &record);
		assert_same(r, thread);
	}
	for (uint32_t thread = 0; thread < THREADS; thread++)
		assert_same(r, thread);
	struct gp_range_counts counts = gp_open_ranges_counts(r);
	assert_int_equal(counts.unbalanced, unbalanced);
	assert_true(unbalanced > 1000);
	assert_int_equal(counts.unseen + counts.unkept, 0);
	uint64_t open = 0;
	for (uint32_t thread = 0; thread < THREADS; thread++)
		open += models[thread].depth;
	assert_int_equal(opened - closed, open);
	gp_open_ranges_close(r);
}

/* After missing events, the next event of the thread has the right depth: errors do not last. */
static void missing_events_cost_only_themselves(void **state)
{
	(void)state;
	struct gp_open_ranges *r = fresh(THREADS);
	for (unsigned i = 0; i < 100000; i++) {
		uint32_t thread = pick(THREADS);
		struct model *m = &models[thread];
		struct gp_record record = model_step(m);
		if (pick(3) == 0)
			continue;
		gp_open_ranges_apply(r, thread, &record);
		const struct gp_range_stack *s = gp_open_ranges_of(r, thread);
		assert_int_equal(s ? s->depth : 0, m->depth);
		if (record.kind == GP_RANGE_PUSH)
			assert_int_equal(s->range[s->depth - 1].name, record.aux);
	}
	assert_true(gp_open_ranges_counts(r).unseen > 1000);
	/* all ranges end, and none is left */
	for (uint32_t thread = 0; thread < THREADS; thread++)
		while (models[thread].depth) {
			struct gp_record record = model_pop(&models[thread]);
			gp_open_ranges_apply(r, thread, &record);
		}
	uint32_t at = 0;
	assert_null(gp_open_ranges_next(r, &at));
	assert_int_equal(opened, closed);
	gp_open_ranges_close(r);
}

static struct gp_record kept[GP_RANGES_STARTED + THREADS * GP_RANGES_DEEP];
static unsigned kept_count;
static void keep(void *context, const struct gp_record *record)
{
	(void)context;
	kept[kept_count++] = *record;
}

/* The oldest first. */
static const struct gp_open_range *started[GP_RANGES_STARTED];
static uint32_t list_started(const struct gp_open_ranges *r)
{
	uint32_t count = 0, at;
	const struct gp_open_range *e = NULL;
	while ((e = gp_open_ranges_started(r, e)) != NULL)
		count++;
	for (at = count; (e = gp_open_ranges_started(r, e)) != NULL;)
		started[--at] = e;
	return count;
}

static void a_checkpoint_restores_it(void **state)
{
	(void)state;
	struct gp_open_ranges *r = fresh(THREADS), *other = gp_open_ranges_open(THREADS);
	for (unsigned i = 0; i < 5000; i++) {
		uint32_t thread = pick(THREADS);
		struct gp_record record = model_step(&models[thread]);
		gp_open_ranges_apply(r, thread, &record);
	}
	for (uint64_t number = 1; number <= 10; number++)
		gp_open_ranges_apply(r, 3,
				     &(struct gp_record){ .kind = GP_RANGE_START,
							  .time = number,
							  .aux = 7,
							  .range_start = { 1, 0, number, 0 } });
	kept_count = 0;
	gp_open_ranges_visit(r, keep, NULL);
	for (unsigned k = 0; k < kept_count; k++) /* the thread of RANGE_OPEN is a field */
		gp_open_ranges_apply(other, 999, &kept[k]);
	for (uint32_t thread = 0; thread < THREADS; thread++) {
		assert_same(other, thread);
		const struct gp_range_stack *a = gp_open_ranges_of(r, thread),
					    *b = gp_open_ranges_of(other, thread);
		for (unsigned k = 0; a && k < a->depth; k++)
			assert_int_equal(a->range[k].time, b->range[k].time);
	}
	assert_int_equal(list_started(other), 10);
	assert_int_equal(started[4]->number, 5);
	assert_int_equal(started[4]->thread, 3);
	gp_open_ranges_apply(
		other, 8, &(struct gp_record){ .kind = GP_RANGE_END, .range_end = { 1, 0, 5, 0 } });
	assert_int_equal(list_started(other), 9);
	assert_int_equal(started[4]->number, 6);
	gp_open_ranges_close(r);
	gp_open_ranges_close(other);
}

/* More threads than there is room for, records that no writer makes, ends without beginnings. */
static void bounds_hold(void **state)
{
	(void)state;
	struct gp_open_ranges *r = fresh(8);
	const uint64_t empty = gp_open_ranges_memory(r);
	for (uint32_t thread = 0; thread < 20; thread++)
		gp_open_ranges_apply(r, thread,
				     &(struct gp_record){ .kind = GP_RANGE_PUSH, .aux = 1 });
	assert_int_equal(gp_open_ranges_counts(r).unkept, 12);
	assert_int_equal(gp_open_ranges_memory(r), empty + 8 * sizeof(struct gp_range_stack));
	gp_open_ranges_forget(r, 3);
	gp_open_ranges_apply(r, 19, &(struct gp_record){ .kind = GP_RANGE_PUSH, .aux = 1 });
	assert_non_null(gp_open_ranges_of(r, 19));
	gp_open_ranges_apply(r, 19,
			     &(struct gp_record){ .kind = GP_RANGE_PUSH,
						  .range_push = { 1, 0, GP_RANGES_DEEP, 0 } });
	gp_open_ranges_apply(
		r, 19,
		&(struct gp_record){ .kind = GP_RANGE_POP, .range_pop = { 1, 0, UINT64_MAX, 0 } });
	assert_int_equal(gp_open_ranges_of(r, 19)->depth, 1);
	gp_open_ranges_apply(
		r, 1, &(struct gp_record){ .kind = GP_RANGE_END, .range_end = { 1, 0, 9, 0 } });
	assert_int_equal(gp_open_ranges_counts(r).unbalanced, 1);
	for (uint64_t number = 1; number <= GP_RANGES_STARTED + 5; number++)
		gp_open_ranges_apply(r, 1,
				     &(struct gp_record){ .kind = GP_RANGE_START,
							  .range_start = { 1, 0, number, 0 } });
	assert_int_equal(list_started(r), GP_RANGES_STARTED);
	assert_int_equal(gp_open_ranges_counts(r).unkept, 12 + 1 + 5);
	gp_open_ranges_close(r);
}

/*
 * A range that was open when recording began is recorded again: it counts once, for any number of
 * records.
 */
static void a_range_recorded_again_is_the_same(void **state)
{
	(void)state;
	struct gp_open_ranges *r = fresh(8);
	struct gp_record again = {
		.kind = GP_RANGE_RESUMED, .time = 500, .aux = 4, .range_resumed = { 1, 2, 0, 100 }
	};
	for (unsigned k = 0; k < 3; k++)
		gp_open_ranges_apply(r, 1, &again);
	assert_int_equal(opened, 1);
	assert_int_equal(gp_open_ranges_of(r, 1)->range[0].time, 100);
	again.aux = 5; /* another range by now */
	gp_open_ranges_apply(r, 1, &again);
	assert_int_equal(opened, 2);
	assert_int_equal(closed, 1);
	assert_int_equal(gp_open_ranges_of(r, 1)->depth, 1);
	gp_open_ranges_close(r);
}

static struct gp_record pushed(uint64_t time, unsigned depth)
{
	return (struct gp_record){ .kind = GP_RANGE_PUSH,
				   .time = time,
				   .aux = (uint32_t)time / 64,
				   .range_push = { 2, 0, depth, 0 } };
}

static struct gp_record popped(unsigned depth)
{
	return (struct gp_record){ .kind = GP_RANGE_POP,
				   .time = 6400,
				   .range_pop = { 2, 0, depth, 0 } };
}

static struct gp_record ended(bool is_off, uint32_t thread, uint64_t since)
{
	return (struct gp_record){ .kind = GP_RANGE_CLOSE,
				   .time = 6400,
				   .aux = is_off,
				   .range_close = { 2, thread, since, 0 } };
}

static void apply(struct gp_open_ranges *r, uint32_t thread, struct gp_record record)
{
	gp_open_ranges_apply(r, thread, &record);
}

/*
 * A thread still counts a range that another thread ended, until it sees that end. No range is
 * taken for missing.
 */
static void an_end_elsewhere_leaves_its_place(void **state)
{
	(void)state;
	struct gp_open_ranges *r = fresh(8), *other = gp_open_ranges_open(8);
	apply(r, 1, pushed(64, 0));
	apply(r, 1, pushed(128, 1));
	apply(r, 1, pushed(192, 2));
	apply(r, 2, ended(false, 1, 130)); /* times are kept in multiples of 64 */
	assert_int_equal(closed, 1);
	apply(r, 1, pushed(256, 3));
	const struct gp_range_stack *s = gp_open_ranges_of(r, 1);
	assert_int_equal(s->depth, 4);
	assert_int_equal(s->range[1].source, 0);
	assert_int_equal(s->range[0].source, 2);
	/* a checkpoint keeps this state */
	kept_count = 0;
	gp_open_ranges_visit(r, keep, NULL);
	for (unsigned k = 0; k < kept_count; k++)
		gp_open_ranges_apply(other, 999, &kept[k]);
	struct gp_open_ranges *const both[] = { r, other };
	for (unsigned k = 0; k < 2; k++) {
		apply(both[k], 1, ended(true, 1, 130));
		apply(both[k], 1, popped(2));
		apply(both[k], 1, popped(1));
		apply(both[k], 1, popped(0));
		assert_null(gp_open_ranges_of(both[k], 1));
		const struct gp_range_counts counts = gp_open_ranges_counts(both[k]);
		assert_int_equal(counts.unseen + counts.unbalanced + counts.unkept, 0);
	}
	assert_int_equal(closed, 4);
	assert_int_equal(opened, 4);
	gp_open_ranges_close(r);
	gp_open_ranges_close(other);
}

/* An end that comes before its beginning; and an end that its own thread never confirms. */
static void ends_may_come_early_or_unconfirmed(void **state)
{
	(void)state;
	struct gp_open_ranges *r = fresh(8);
	apply(r, 2, ended(false, 1, 64));
	apply(r, 2, ended(false, 3, 128)); /* of another thread */
	apply(r, 1, pushed(64, 0));
	assert_int_equal(closed, 1);
	apply(r, 1, pushed(128, 1));
	assert_int_equal(closed, 1);
	/* a depth that no longer counts the range */
	apply(r, 1, pushed(192, 1));
	const struct gp_range_stack *s = gp_open_ranges_of(r, 1);
	assert_int_equal(s->depth, 2);
	assert_int_equal(s->range[0].name, 2);
	assert_int_equal(s->range[1].name, 3);
	assert_int_equal(gp_open_ranges_counts(r).unseen, 0);
	/* the own thread confirms an end without the other thread's event: the range has ended */
	apply(r, 1, ended(true, 1, 128));
	assert_int_equal(closed, 2);
	assert_int_equal(gp_open_ranges_of(r, 1)->depth, 1);
	gp_open_ranges_close(r);
}

/* Of five, three have ended elsewhere. */
static void ranges_that_ended_elsewhere_go_first(void **state)
{
	(void)state;
	static const uint32_t names[][4] = { { 1, 9 }, { 1, 5, 9 }, { 1, 0, 5, 9 } };
	for (unsigned depth = 1; depth <= 3; depth++) {
		struct gp_open_ranges *r = fresh(8);
		for (unsigned k = 1; k <= 5; k++)
			apply(r, 1, pushed(64 * k, k - 1));
		for (unsigned k = 2; k <= 4; k++)
			apply(r, 2, ended(false, 1, 64 * k));
		apply(r, 1, pushed(64 * 9, depth));
		const struct gp_range_stack *s = gp_open_ranges_of(r, 1);
		assert_int_equal(s->depth, depth + 1);
		for (unsigned k = 0; k <= depth; k++)
			assert_int_equal(s->range[k].name, names[depth - 1][k]);
		assert_int_equal(gp_open_ranges_counts(r).unseen, depth == 1);
		assert_int_equal(closed, depth == 1 ? 4 : 3);
		gp_open_ranges_close(r);
	}
}

static struct gp_record started_again(uint64_t number, uint64_t since)
{
	return (struct gp_record){ .kind = GP_RANGE_STARTED,
				   .time = 6400,
				   .aux = 1,
				   .range_started = { 1, 0, number, since } };
}

static void started_ranges_are_recorded_again(void **state)
{
	(void)state;
	struct gp_open_ranges *r = fresh(8);
	for (uint64_t number = 1; number <= 3; number++)
		apply(r, 1,
		      (struct gp_record){ .kind = GP_RANGE_START,
					  .time = 64 * number,
					  .aux = 1,
					  .range_start = { 1, 0, number, 0 } });
	apply(r, 2, started_again(2, 128));
	apply(r, 2, started_again(7, 100)); /* while recording was off */
	apply(r, 3,
	      (struct gp_record){ .kind = GP_RANGE_START,
				  .time = 640,
				  .aux = 1,
				  .range_start = { 1, 0, 9, 0 } });
	apply(r, 2, started_again(0, 512));
	assert_int_equal(list_started(r), 3);
	assert_int_equal(started[0]->number, 2);
	assert_int_equal(started[0]->time, 128);
	assert_int_equal(started[1]->number, 7);
	assert_int_equal(started[1]->time, 100);
	assert_int_equal(started[2]->number, 9);
	assert_int_equal(gp_open_ranges_counts(r).unseen, 2);
	apply(r, 2, started_again(0, 6400)); /* once more: none of them is in this record */
	assert_int_equal(list_started(r), 0);
	assert_int_equal(opened, closed);
	gp_open_ranges_close(r);
}

static void start(struct gp_open_ranges *r, uint64_t number, uint64_t source)
{
	apply(r, 1,
	      (struct gp_record){ .kind = GP_RANGE_START,
				  .time = 64 * number,
				  .aux = 1,
				  .range_start = { source, 0, number, 0 } });
}

static void end(struct gp_open_ranges *r, uint64_t number, uint64_t source)
{
	apply(r, 1,
	      (struct gp_record){ .kind = GP_RANGE_END,
				  .time = UINT32_MAX,
				  .range_end = { source, 0, number, 0 } });
}

/*
 * The others keep their order. Sources may use the same numbers, and one source may use a number
 * twice.
 */
static void started_ones_end_in_any_order(void **state)
{
	(void)state;
	enum { HALF = GP_RANGES_STARTED / 2 };
	struct gp_open_ranges *r = fresh(8);
	for (uint64_t number = 1; number <= HALF; number++) {
		start(r, number, 1);
		start(r, number, 2);
	}
	start(r, 1, 3);
	assert_int_equal(gp_open_ranges_counts(r).unkept, 1);
	for (uint64_t number = 1; number <= HALF; number += 2)
		end(r, number, 1 + number / 2 % 2);
	assert_int_equal(list_started(r), GP_RANGES_STARTED - HALF / 2);
	for (unsigned k = 0, at = 0; k < GP_RANGES_STARTED; k++) {
		const uint64_t number = 1 + k / 2, source = 1 + k % 2;
		if (number % 2 != 0 && source == 1 + number / 2 % 2)
			continue;
		assert_int_equal(started[at]->number, number);
		assert_int_equal(started[at++]->source, source);
	}
	for (uint64_t number = 1; number <= HALF; number += 2)
		start(r, 1, 3); /* all with one number */
	assert_int_equal(gp_open_ranges_counts(r).unkept, 1);
	for (unsigned k = 0; k < HALF / 2; k++)
		end(r, 1, 3);
	end(r, 1, 3);
	assert_int_equal(gp_open_ranges_counts(r).unbalanced, 1);
	assert_int_equal(list_started(r), GP_RANGES_STARTED - HALF / 2);
	gp_open_ranges_close(r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(random_histories_match_the_model),
		cmocka_unit_test(missing_events_cost_only_themselves),
		cmocka_unit_test(a_checkpoint_restores_it),
		cmocka_unit_test(bounds_hold),
		cmocka_unit_test(a_range_recorded_again_is_the_same),
		cmocka_unit_test(an_end_elsewhere_leaves_its_place),
		cmocka_unit_test(ends_may_come_early_or_unconfirmed),
		cmocka_unit_test(ranges_that_ended_elsewhere_go_first),
		cmocka_unit_test(started_ranges_are_recorded_again),
		cmocka_unit_test(started_ones_end_in_any_order),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
