/* Leaks in loops of many kinds, none in clean ones, and the statistics against brute force. */
#include "job_loops.h"

#include <math.h>

#include "analyze/leak_trend.h"

#define LOOPS (sizeof job_loops / sizeof *job_loops)
#define CLEAN_STEPS 1000u
#define SHORT_STEPS 400u /* caches are nearly full then */
#define LEAK_STEPS 30u
#define LEAK_FROM 4u

/* ---- jobs ---- */

static struct gp_recording *record_job(const struct job_loop *loop, uint64_t seed, unsigned steps,
				       bool has_stacks, size_t leaks_from, unsigned caches)
{
	struct gp_recording *r;
	struct job *j = job_open("leaks.gpr", seed, 0, 0);
	j->is_named = !loop->is_unnamed;
	j->has_launches = !loop->has_no_launches;
	j->has_blocks = !loop->has_no_blocks;
	j->has_stacks = has_stacks || loop->has_no_launches;
	j->caches = caches;
	j->leaks_from = leaks_from;
	j->layers = 2 + (unsigned)(seed % 3);
	job_begin(j);
	loop->run(j, steps);
	writer_close(&j->w, true);
	assert_int_equal(gp_recording_open(j->w.path, &r, NULL), GP_OK);
	free(j);
	return r;
}

static size_t count_alarms(const struct job_loop *loop, uint64_t seed, unsigned steps,
			   bool has_stacks)
{
	struct gp_leaks leaks;
	struct gp_recording *r = record_job(loop, seed, steps, has_stacks, 0, 100);
	assert_int_equal(gp_leaks_build(r, INT64_MIN, INT64_MAX, &leaks), GP_OK);
	for (size_t k = 0; k < leaks.leaks; k++)
		print_message("  %s, seed %u: stack %u, %.3g a step since %zu, p %.2g\n",
			      loop->name, (unsigned)seed, leaks.leak[k].stack,
			      leaks.leak[k].count_per_step, leaks.leak[k].since_step,
			      leaks.leak[k].p_value);
	size_t alarms = leaks.leaks;
	assert_true(leaks.samples > 0);
	gp_leaks_free(&leaks);
	gp_recording_close(r);
	return alarms;
}

static void clean_jobs_are_silent(void **state)
{
	(void)state;
	size_t jobs = 0, alarms = 0;
	for (size_t k = 0; k < LOOPS; k++) {
		alarms += count_alarms(&job_loops[k], 31 + k, CLEAN_STEPS, k % 2 == 0);
		alarms += count_alarms(&job_loops[k], 61 + k, SHORT_STEPS, k % 2 != 0);
		jobs += 2;
	}
	print_message("%zu false alarms in %zu clean jobs of %u and %u steps\n", alarms, jobs,
		      CLEAN_STEPS, SHORT_STEPS);
	assert_int_equal(alarms, 0);
	assert_true(jobs >= 40);
}

/* It warms up, fills caches, drops what it gathered, evaluates, and keeps 512 bytes a step. */
static bool is_leak_found(const struct job_loop *loop, uint64_t seed)
{
	struct gp_leaks leaks;
	struct gp_recording *r = record_job(loop, seed, LEAK_STEPS, true, LEAK_FROM, 5);
	assert_int_equal(gp_leaks_build(r, INT64_MIN, INT64_MAX, &leaks), GP_OK);
	const struct gp_leak *leak = &leaks.leak[0];
	bool is_it = leaks.leaks == 1 && leak->stack == LEAK_STACK;
	bool is_right = is_it && leak->since_step >= LEAK_FROM - 1 &&
			leak->since_step <= LEAK_FROM + 2 && fabs(leak->bytes_per_step - 512) < 1 &&
			fabs(leak->count_per_step - 1) < 0.01 && leak->p_value < GP_LEAK_P_MAX &&
			leak->live_bytes == 512 * leak->live_count && leak->examples == 3;
	if (!is_right)
		print_message(
			"  %s: %zu found, %zu steps; stack %u, %g bytes, %g since %zu, p %g\n",
			loop->name, leaks.leaks, leaks.steps.steps, leak->stack,
			leak->bytes_per_step, leak->count_per_step, leak->since_step,
			leak->p_value);
	gp_leaks_free(&leaks);
	gp_recording_close(r);
	return is_right;
}

static void a_leak_is_found_within_30_steps(void **state)
{
	(void)state;
	size_t found = 0, jobs = 0;
	for (size_t k = 0; k < LOOPS; k++) {
		if (job_loops[k].has_no_blocks || job_loops[k].is_flight_recorder)
			continue;
		found += is_leak_found(&job_loops[k], 71 + k);
		jobs++;
	}
	print_message("%zu of %zu jobs that keep 512 bytes a step are found within %u steps\n",
		      found, jobs, LEAK_STEPS);
	assert_int_equal(found, jobs);
}

/* Its early segments are gone; what lives carries its birth. */
static void a_flight_recorder_tells_as_well(void **state)
{
	(void)state;
	struct gp_recording *r;
	struct gp_leaks leaks;
	const struct gp_info *info;
	struct job *j = job_open("ring.gpr", 5, 4, 65536);
	j->has_stacks = true;
	j->caches = 8;
	j->layers = 3;
	j->leaks_from = LEAK_FROM;
	job_begin(j);
	for (unsigned k = 0; k < 400; k++) {
		turn_of_training(j, job_size(j));
		if (k % 20 == 19)
			next_segment(&j->w);
	}
	writer_close(&j->w, true);
	assert_int_equal(gp_recording_open(j->w.path, &r, NULL), GP_OK);
	assert_int_equal(gp_recording_info(r, &info), GP_OK);
	assert_true(info->kept_from_ns > 0);
	assert_int_equal(gp_leaks_build(r, INT64_MIN, INT64_MAX, &leaks), GP_OK);
	assert_true(leaks.steps.steps > 20 && leaks.steps.steps < 300);
	assert_int_equal(leaks.leaks, 1);
	assert_int_equal(leaks.leak[0].stack, LEAK_STACK);
	assert_true(leaks.leak[0].live_count > 390);
	assert_true(leaks.leak[0].births < leaks.leak[0].live_count);
	gp_leaks_free(&leaks);
	gp_recording_close(r);
	free(j);
}

/* Streams that are made and never given back; those that are, are none. */
static void handles_that_grow_are_found(void **state)
{
	(void)state;
	struct gp_recording *r;
	struct gp_leaks leaks;
	struct job *j = job_open("handles.gpr", 5, 0, 0);
	j->has_stacks = true;
	job_begin(j);
	for (unsigned k = 0; k < 40; k++) {
		turn_of_training(j, job_size(j));
		put(&j->w, 0,
		    (struct gp_record){ .kind = GP_RESOURCE,
					.aux = GP_RESOURCE_STREAM,
					.stack = LEAK_STACK,
					.resource.handle = 0x5000 + k });
		struct gp_record event = { .kind = GP_RESOURCE,
					   .aux = GP_RESOURCE_EVENT,
					   .stack = LEAK_STACK,
					   .resource.handle = 0x9000 + k };
		put(&j->w, 0, event);
		event.kind = GP_RESOURCE_GONE;
		put(&j->w, 0, event);
		put(&j->w, 0,
		    (struct gp_record){
			    .kind = GP_ALLOC,
			    .space = GP_SPACE_HOST,
			    .stack = LEAK_STACK + 1,
			    .alloc = { .address = 0x100000 + 0x10000ull * k, .bytes = 4096 } });
	}
	writer_close(&j->w, true);
	assert_int_equal(gp_recording_open(j->w.path, &r, NULL), GP_OK);
	assert_int_equal(gp_leaks_build(r, INT64_MIN, INT64_MAX, &leaks), GP_OK);
	assert_int_equal(leaks.leaks, 2);
	assert_true(leaks.leak[0].is_object && leaks.leak[1].is_object);
	assert_int_equal(leaks.leak[0].space, GP_SPACE_HOST);
	assert_true(fabs(leaks.leak[0].bytes_per_step - 4096) < 1);
	assert_int_equal(leaks.leak[1].space, GP_SPACE_RESOURCE);
	assert_int_equal(leaks.leak[1].of, GP_RESOURCE_STREAM);
	assert_true(fabs(leaks.leak[1].count_per_step - 1) < 0.01);
	assert_true(leaks.leak[1].steps_until_full < 0 && leaks.leak[1].ns_until_full < 0);
	gp_leaks_free(&leaks);
	gp_recording_close(r);
	free(j);
}

/* Nothing to cut time by but time. */
static void without_steps_windows_tell(void **state)
{
	(void)state;
	struct gp_recording *r;
	struct gp_leaks leaks;
	struct job *j = job_open("windows.gpr", 5, 0, 0);
	job_begin(j);
	for (unsigned k = 0; k < 4000; k++) {
		if (job_draw(j, 3) == 0)
			launch(j, 1 + (unsigned)job_draw(j, 40));
		else
			operate_short(j, 1 + (unsigned)job_draw(j, 40), 1, 4096);
		if (job_draw(j, 8) == 0)
			take(j, LEAK_STACK, 512);
	}
	writer_close(&j->w, true);
	assert_int_equal(gp_recording_open(j->w.path, &r, NULL), GP_OK);
	assert_int_equal(gp_leaks_build(r, INT64_MIN, INT64_MAX, &leaks), GP_OK);
	assert_int_equal(leaks.steps.steps, 0);
	assert_true(leaks.window_ns > 0);
	assert_int_equal(leaks.leaks, 1);
	assert_true(leaks.leak[0].count_per_step > 6 && leaks.leak[0].count_per_step < 9);
	gp_leaks_free(&leaks);
	gp_recording_close(r);
	free(j);
}

/* ---- statistics ---- */

static uint64_t random_state = 88172645463325252u;

static double draw_real(void)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return (double)(random_state >> 11) / 9007199254740992.0;
}

/* The slope below and above which as many pairs lie, by counting. */
static void slopes_are_medians(void **state)
{
	(void)state;
	for (unsigned round = 0; round < 200; round++) {
		size_t n = 2 + (size_t)(draw_real() * 60), below = 0, above = 0, pairs = 0;
		double at[GP_LEAK_SAMPLES], value[GP_LEAK_SAMPLES];
		for (size_t k = 0; k < n; k++) {
			at[k] = (double)k + draw_real() * 0.9;
			value[k] = draw_real() * 100 + (round % 3 ? 3 * at[k] : 0);
		}
		double slope = gp_trend_slope(at, value, n);
		for (size_t i = 0; i < n; i++) {
			for (size_t k = i + 1; k < n; k++) {
				double own = (value[k] - value[i]) / (at[k] - at[i]);
				below += own < slope - 1e-9;
				above += own > slope + 1e-9;
				pairs++;
			}
		}
		assert_true(below <= pairs / 2 && above <= pairs / 2);
	}
}

/* All 8! orders of eight values: how many are at least as rising. */
static size_t count_orders(double *value, size_t from, size_t n, long least)
{
	if (from == n) {
		long s = 0;
		for (size_t i = 0; i < n; i++)
			for (size_t k = i + 1; k < n; k++)
				s += (value[k] > value[i]) - (value[k] < value[i]);
		return s >= least;
	}
	size_t orders = 0;
	for (size_t k = from; k < n; k++) {
		double kept = value[from];
		value[from] = value[k];
		value[k] = kept;
		orders += count_orders(value, from + 1, n, least);
		kept = value[from];
		value[from] = value[k];
		value[k] = kept;
	}
	return orders;
}

static void chances_are_those_of_all_orders(void **state)
{
	(void)state;
	for (unsigned round = 0; round < 12; round++) {
		double value[8], copy[8];
		long s = 0;
		for (size_t k = 0; k < 8; k++)
			value[k] = (double)k + draw_real() * (double)(round * 2);
		for (size_t k = 0; k < 8 && round % 2; k++)
			value[k] = floor(value[k] / 3); /* some are the same */
		for (size_t i = 0; i < 8; i++)
			for (size_t k = i + 1; k < 8; k++)
				s += (value[k] > value[i]) - (value[k] < value[i]);
		memcpy(copy, value, sizeof copy);
		double exact = (double)count_orders(copy, 0, 8, s) / 40320;
		double chance = gp_trend_chance(value, 8);
		if (s <= 0)
			assert_true(chance >= 1);
		else
			assert_true(fabs(chance - exact) < (round % 2 ? 0.02 : 1e-12));
	}
	const double flat[8] = { 0 };
	assert_true(gp_trend_chance(flat, 8) >= 1);
	assert_true(gp_trend_can_tell(8, 40) && !gp_trend_can_tell(8, 41)); /* 8! is 40,320 */
	assert_true(gp_trend_can_tell(9, 300) && !gp_trend_can_tell(7, 1));
}

struct story {
	double count[GP_LEAK_SAMPLES], bytes[GP_LEAK_SAMPLES], at[GP_LEAK_SAMPLES];
	uint32_t births[GP_LEAK_SAMPLES];
};

/* What is born at each sample, and how many samples it lives; 0: for ever. */
static bool grows(const unsigned *born, const unsigned *lives, size_t n, struct gp_trend *out)
{
	static struct story s;
	memset(&s, 0, sizeof s);
	for (size_t k = 0; k < n; k++) {
		s.at[k] = (double)k;
		for (size_t i = 0; i <= k; i++)
			if (lives[i] == 0 || i + lives[i] > k)
				s.count[k] += born[i];
		s.bytes[k] = 512 * s.count[k];
		s.births[k] = lives[k] == 0 || k + lives[k] > n - 1 ? born[k] : 0;
	}
	const struct gp_series series = { n, s.at, s.bytes, s.count, s.births };
	return gp_trend_find(&series, out) && out->p * 100 < GP_LEAK_P_MAX;
}

static void only_what_grows_for_good_is_a_leak(void **state)
{
	(void)state;
	enum { N = 60 };
	unsigned born[N], lives[N];
	struct gp_trend t;
#define STORY(birth, life)                 \
	for (unsigned k = 0; k < N; k++) { \
		born[k] = (birth);         \
		lives[k] = (life);         \
	}
	STORY(1, 0)
	assert_true(grows(born, lives, N, &t));
	assert_int_equal(t.since, 0);
	STORY(k >= 30, 0) /* it begins late */
	assert_true(grows(born, lives, N, &t));
	assert_true(t.since >= 22 && t.since <= 30);
	STORY(k % 3 == 0, 0) /* each third step */
	assert_true(grows(born, lives, N, &t));
	assert_true(fabs(t.count_per_step - 1.0 / 3) < 0.05);
	STORY(k % 4 == 0, 0) /* each fourth, such as an evaluation */
	assert_true(grows(born, lives, N, &t));
	STORY(k % 5 == 3 ? 8 : 0, 0) /* eight in each fifth */
	assert_true(grows(born, lives, N, &t));
	STORY(k == 0 ? 500 : 1, k == 0 ? 1 : 0) /* it sets itself up */
	assert_true(grows(born, lives, N, &t));
	STORY(1 + (k % 7 == 0) * 5, k % 2 ? 3 : 0) /* half of it is given back */
	assert_true(grows(born, lives, N, &t));
	STORY(k < 20, 0) /* a cache that is full */
	assert_false(grows(born, lives, N, &t));
	STORY(k == 0 ? 100 : 0, 0) /* made once */
	assert_false(grows(born, lives, N, &t));
	STORY(1, 10) /* the last ten */
	assert_false(grows(born, lives, N, &t));
	STORY(1, 10 - k % 10) /* emptied every ten */
	assert_false(grows(born, lives, N, &t));
	STORY(1, 25 - k % 25) /* and with the last time cut off */
	assert_false(grows(born, lives, N, &t));
	STORY(k < 55 ? 0 : 1, 0) /* too short a time to tell */
	assert_false(grows(born, lives, N, &t));
	STORY(k < 8 ? 8 - k : k == 12 || k == 20 || k == 33, 0) /* fills ever more slowly */
	assert_false(grows(born, lives, N, &t));
	STORY(k * 2654435761u >> 28 & 3, 1 + (k * 40503u >> 5 & 7)) /* comes and goes */
	assert_false(grows(born, lives, N, &t));
#undef STORY
	assert_false(grows(born, lives, 7, &t));
}

/* Caches of `keys`, one drawn at a time: those that keep all, those that give up any when full. */
static size_t count_cache_alarms(unsigned steps, unsigned keys, bool gives_up)
{
	enum { N = GP_LEAK_SAMPLES, MOST = 1024 };
	size_t alarms = 0;
	for (unsigned seed = 0; seed < 40; seed++) {
		struct story s = { .count = { 0 } };
		unsigned born[MOST] = { 0 }, live = 0;
		for (unsigned step = 0, sample = 0; sample < N; step++) {
			if (step >= sample * (steps - 1) / (N - 1)) {
				s.at[sample] = step;
				s.count[sample] = live;
				s.bytes[sample++] = 512 * live;
			}
			unsigned key = (unsigned)(draw_real() * keys);
			if (!gives_up && born[key])
				continue;
			key = gives_up && live < keys ? live : key;
			live += !born[key];
			born[key] = sample; /* it is first seen by that one */
		}
		for (unsigned k = 0; k < keys; k++)
			if (born[k] && born[k] < N)
				s.births[born[k]]++;
		const struct gp_series series = { N, s.at, s.bytes, s.count, s.births };
		struct gp_trend t;
		alarms += gp_trend_find(&series, &t) && t.p * 100 < GP_LEAK_P_MAX;
	}
	return alarms;
}

static void caches_are_no_leaks(void **state)
{
	(void)state;
	for (unsigned steps = 200; steps <= 1000; steps += 200) {
		for (unsigned share = 3; share <= 10; share++)
			assert_int_equal(count_cache_alarms(steps, steps / share, false), 0);
		assert_int_equal(count_cache_alarms(steps, steps / 4, true), 0);
		assert_int_equal(count_cache_alarms(steps, steps / 2, true), 0);
		assert_int_equal(count_cache_alarms(steps, steps * 7 / 10, true), 0);
	}
}

/* One of so many bytes at each sample. */
static bool replaced_grows(const double *bytes, size_t n, struct gp_trend *out)
{
	struct story s = { .count = { 0 } };
	for (size_t k = 0; k < n; k++) {
		s.at[k] = (double)k;
		s.count[k] = 1;
		s.bytes[k] = bytes[k];
	}
	s.births[n - 1] = 1;
	const struct gp_series series = { n, s.at, s.bytes, s.count, s.births };
	return gp_trend_find(&series, out) && out->p * 100 < GP_LEAK_P_MAX;
}

/* What is joined to itself and more: there is one all the time, and it grows. */
static void what_is_replaced_by_larger_ones_grows(void **state)
{
	(void)state;
	enum { N = 40 };
	double bytes[N];
	struct gp_trend t;
	for (unsigned k = 0; k < N; k++)
		bytes[k] = 512 * (k + 1);
	assert_true(replaced_grows(bytes, N, &t));
	assert_true(t.is_replaced && fabs(t.bytes_per_step - 512) < 1e-9);
	assert_true(fabs(t.count_per_step) < 1e-9 && t.births == 1 && t.born_spans == 1);
	for (unsigned k = 0; k < N; k++) /* rounded: not larger each time */
		bytes[k] = 512 * floor((k + 1) * 0.7);
	assert_true(replaced_grows(bytes, N, &t));
	for (unsigned k = 0; k < N; k++) /* large enough from a moment on */
		bytes[k] = 512 * (k < 25 ? k + 1 : 25);
	assert_false(replaced_grows(bytes, N, &t));
	for (unsigned k = 0; k < N; k++) /* as long as the longest so far */
		bytes[k] = 512 * (k < 2 ? 3 : k < 7 ? 9 : k < 20 ? 12 : 13);
	assert_false(replaced_grows(bytes, N, &t));
	for (unsigned k = 0; k < N; k++) /* as long as this one is */
		bytes[k] = 512 * (double)(1 + (k * 2654435761u >> 28));
	assert_false(replaced_grows(bytes, N, &t));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(clean_jobs_are_silent),
		cmocka_unit_test(a_leak_is_found_within_30_steps),
		cmocka_unit_test(a_flight_recorder_tells_as_well),
		cmocka_unit_test(handles_that_grow_are_found),
		cmocka_unit_test(without_steps_windows_tell),
		cmocka_unit_test(slopes_are_medians),
		cmocka_unit_test(chances_are_those_of_all_orders),
		cmocka_unit_test(only_what_grows_for_good_is_a_leak),
		cmocka_unit_test(caches_are_no_leaks),
		cmocka_unit_test(what_is_replaced_by_larger_ones_grows),
	};
	return cmocka_run_group_tests(tests, make_directory, drop_directory);
}
