/*
 * Leaks in loops of many kinds, of one stack or spread over many; and clean loops without findings.
 */
#include "job_loops.h"

#include <math.h>

#include "analyze/leaks/leak_trend.h"

#define LOOPS (sizeof job_loops / sizeof *job_loops)
#define CLEAN_STEPS 1000u
#define SHORT_STEPS 400u /* caches are nearly full then */
#define LEAK_STEPS 30u
#define LEAK_FROM 4u

/* ---- jobs ---- */

static struct job *open_job(const struct job_loop *loop, uint64_t seed, bool has_stacks,
			    size_t leaks_from, unsigned caches)
{
	struct job *j = fixture_job(loop, "leaks.gpr", seed, 0, 0);
	j->has_stacks = has_stacks || loop->has_no_launches;
	j->caches = caches;
	j->leaks_from = leaks_from;
	j->layers = 2 + (unsigned)(seed % 3);
	job_begin(j);
	return j;
}

static struct gp_recording *record_job(const struct job_loop *loop, uint64_t seed, unsigned steps,
				       bool has_stacks, size_t leaks_from, unsigned caches)
{
	struct job *j = open_job(loop, seed, has_stacks, leaks_from, caches);
	loop->run(j, steps);
	struct gp_recording *r = fixture_read(&j->w);
	free(j);
	return r;
}

static struct gp_recording *read_leaks(struct job *j, struct gp_leaks *leaks)
{
	struct gp_recording *r = fixture_read(&j->w);
	assert_int_equal(gp_leaks_build(r, INT64_MIN, INT64_MAX, leaks), GP_OK);
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

/*
 * The job warms up, fills caches, frees what it collected, evaluates, and keeps 512 bytes a step.
 */
static bool is_leak_found(const struct job_loop *loop, uint64_t seed)
{
	struct gp_leaks leaks;
	struct gp_recording *r = record_job(loop, seed, LEAK_STEPS, true, LEAK_FROM, 5);
	assert_int_equal(gp_leaks_build(r, INT64_MIN, INT64_MAX, &leaks), GP_OK);
	const struct gp_leak *leak = &leaks.leak[0];
	bool is_it = leaks.leaks == 1 && leak->stack == LEAK_STACK;
	bool is_right = is_it && leak->since_step >= LEAK_FROM - 1 &&
			leak->since_step <= LEAK_FROM + 2 && fabs(leak->bytes_per_step - 512) < 1 &&
			fabs(leak->count_per_step - 1) < 0.01 && leak->p_value < GP_TREND_P_MAX &&
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

/*
 * A leak from the first step on is either reported, or the report states that no leak was
 * detectable.
 */
static void leaks_are_found_or_reported_undetectable(void **state)
{
	(void)state;
	size_t reported = 0, undetectable = 0, wrong = 0;
	for (unsigned steps = 3; steps <= 20; steps++)
		for (size_t k = 0; k < LOOPS; k++) {
			struct gp_leaks leaks;
			if (job_loops[k].has_no_blocks)
				continue;
			struct gp_recording *r =
				record_job(&job_loops[k], 91 + k, steps, true, 1, 5);
			assert_int_equal(gp_leaks_build(r, INT64_MIN, INT64_MAX, &leaks), GP_OK);
			bool is_reported = leaks.leaks > 0;
			reported += is_reported;
			undetectable += !leaks.has_verdict;
			wrong += !is_reported && leaks.has_verdict;
			if (!is_reported && leaks.has_verdict)
				print_message("  %s: %zu samples of %u steps are silent\n",
					      job_loops[k].name, leaks.samples, steps);
			assert_true(leaks.has_verdict ==
				    (!leaks.window_ns && leaks.samples >= leaks.samples_least));
			gp_leaks_free(&leaks);
			gp_recording_close(r);
		}
	print_message("%zu leaks of 3 to 20 steps are told, of %zu that cannot be\n", reported,
		      undetectable);
	assert_int_equal(wrong, 0);
	assert_true(reported > 100 && undetectable > 50);
}

/*
 * A leak that began by the reported step is found, also in a stack that allocated much at the
 * beginning. A leak that begins ten samples later does not last long enough.
 */
static void leaks_before_the_reported_step_are_found(void **state)
{
	(void)state;
	static const unsigned plans[] = { 30, 60, 150, 300, 1000 };
	size_t jobs = 0, found = 0, later = 0;
	for (size_t k = 0; k < LOOPS; k++)
		for (size_t i = 0; i < 2 * sizeof plans / sizeof *plans; i++) {
			const struct job_loop *loop = &job_loops[k];
			const unsigned steps = plans[i / 2];
			struct gp_recording *r;
			struct gp_leaks leaks;
			if (loop->has_no_blocks || loop->is_flight_recorder)
				continue;
			r = record_job(loop, 21 + k, steps, true, 0, 5);
			assert_int_equal(gp_leaks_build(r, INT64_MIN, INT64_MAX, &leaks), GP_OK);
			assert_true(leaks.has_verdict && leaks.leaks == 0);
			/* the leak is the last work of the job in a step */
			const size_t reported = leaks.detectable_to_step;
			const size_t from = reported + (i % 2) * (steps - reported) * 2 / 3;
			gp_leaks_free(&leaks);
			gp_recording_close(r);
			struct job *j = open_job(loop, 21 + k, true, from, 5);
			for (unsigned n = 0; n < 200; n++)
				take(j, LEAK_STACK, 512);
			loop->run(j, steps);
			r = fixture_read(&j->w);
			free(j);
			assert_int_equal(gp_leaks_build(r, INT64_MIN, INT64_MAX, &leaks), GP_OK);
			const bool is_reported =
				leaks.leaks == 1 && leaks.leak[0].stack == LEAK_STACK;
			if (i % 2) {
				later += is_reported;
			} else {
				jobs++;
				found += is_reported;
			}
			if (!is_reported && i % 2 == 0)
				print_message("  %s, %u steps from %zu on: %zu leaks\n", loop->name,
					      steps, from, leaks.leaks);
			gp_leaks_free(&leaks);
			gp_recording_close(r);
		}
	print_message("%zu of %zu that begin by the step told are found, %zu later\n", found, jobs,
		      later);
	assert_int_equal(found, jobs);
	assert_true(later * 4 < jobs);
}

/* Exact to the step and the block, also with many steps between samples, and during the warm-up. */
static void the_begin_of_a_leak_is_exact(void **state)
{
	(void)state;
	static const struct {
		unsigned steps;
		size_t from;
	} plans[] = { { 60, 1 },  { 60, 2 },   { 60, 3 },   { 60, 20 },	 { 60, 41 },
		      { 200, 1 }, { 200, 77 }, { 400, 33 }, { 400, 250 } };
	size_t jobs = 0, right = 0;
	for (size_t k = 0; k < LOOPS; k++)
		for (size_t i = 0; i < sizeof plans / sizeof *plans; i++) {
			const struct job_loop *loop = &job_loops[k];
			struct gp_leaks leaks;
			if (loop->has_no_blocks || loop->is_flight_recorder)
				continue;
			struct job *j = open_job(loop, 51 + k, true, plans[i].from, 5);
			loop->run(j, plans[i].steps);
			struct gp_recording *r = read_leaks(j, &leaks);
			assert_true(leaks.leaks > 0);
			const struct gp_leak *leak = &leaks.leak[0];
			const struct gp_step *step = leaks.steps.step;
			const size_t n = leak->since_step;
			const int64_t at_ns = (int64_t)(j->leaked_at - j->w.header.start_ticks);
			jobs++;
			right += leak->since_ns == at_ns;
			if (leak->since_ns != at_ns)
				print_message("  %s, %u steps from %zu: %zu, %lld ns, not %lld\n",
					      loop->name, plans[i].steps, plans[i].from, n,
					      (long long)leak->since_ns, (long long)at_ns);
			assert_true(n >= 1 && step[n - 1].begin_ns <= leak->since_ns);
			assert_true(n == leaks.steps.steps || step[n].begin_ns > leak->since_ns);
			gp_leaks_free(&leaks);
			gp_recording_close(r);
			free(j);
		}
	print_message("since when: %zu of %zu exact\n", right, jobs);
	assert_true(right == jobs);
}

/* Its early segments are gone; live memory is recorded with its birth. */
static void leaks_are_found_in_a_flight_recorder(void **state)
{
	(void)state;
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
	struct gp_recording *r = fixture_read(&j->w);
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

/* Streams that are created and never destroyed. Destroyed streams are not a leak. */
static void handles_that_grow_are_found(void **state)
{
	(void)state;
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
	struct gp_recording *r = read_leaks(j, &leaks);
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

/*
 * The recorder writes a library's definition at the place where its analysis began, with a later
 * time.
 */
static void definitions_are_not_moments(void **state)
{
	(void)state;
	struct gp_leaks leaks;
	struct job *j = open_job(&job_loops[0], 5, true, 1, 0);
	struct gp_record module[3] = { { .kind = GP_MODULE, .aux = 9 } };
	fill_text(module, "/usr/lib/libslow.so");
	module[0].order = j->w.order;
	module[0].time = j->w.time + 3600000000000u;
	for (unsigned k = 0; k <= module->extra; k++)
		j->w.buffer[0][j->w.buffered[0]++] = module[k];
	flush(&j->w, 0);
	job_loops[0].run(j, 40);
	struct gp_recording *r = read_leaks(j, &leaks);
	assert_int_equal(leaks.leaks, 1);
	assert_int_equal(leaks.leak[0].live_count, 39);
	gp_leaks_free(&leaks);
	gp_recording_close(r);
	free(j);
}

/* Without steps, only time can divide the recording. */
static void without_steps_windows_find_leaks(void **state)
{
	(void)state;
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
	struct gp_recording *r = read_leaks(j, &leaks);
	assert_int_equal(leaks.steps.steps, 0);
	assert_true(leaks.window_ns > 0);
	assert_int_equal(leaks.leaks, 1);
	assert_true(leaks.leak[0].count_per_step > 6 && leaks.leak[0].count_per_step < 9);
	gp_leaks_free(&leaks);
	gp_recording_close(r);
	free(j);
}

/* ---- growth that is spread ---- */

/* Each time another one of so many stacks of one line leaks: it is one suspect. */
static bool is_spread_found(const struct job_loop *loop, uint64_t seed, unsigned stacks,
			    unsigned steps)
{
	struct gp_leaks leaks;
	struct job *j = fixture_job(loop, "spread.gpr", seed, 0, 0);
	j->has_stacks = true;
	j->caches = 5;
	j->leaks_from = LEAK_FROM;
	j->spread = SPREAD_HELPER;
	j->spread_stacks = stacks;
	job_begin(j);
	loop->run(j, steps);
	struct gp_recording *r = read_leaks(j, &leaks);
	const struct gp_leak *leak = &leaks.leak[0];
	const bool is_right = leaks.leaks == 1 && leak->by == GP_LEAK_BY_LINE &&
			      leak->stacks > (stacks < steps ? stacks : steps) / 2 &&
			      fabs(leak->count_per_step - 1) < 0.2 &&
			      leak->parts == GP_LEAK_PARTS && leak->part[0].stack == leak->stack &&
			      leak->part[0].births >= leak->part[2].births &&
			      strcmp(leak->owner, "PyTorch") == 0 && leaks.tests > leaks.stacks &&
			      leak->stack >= SPREAD_STACK &&
			      leak->live_bytes == 512 * leak->live_count;
	if (!is_right)
		print_message(
			"  %s: %zu found, the first by %s, %zu stacks, %g a step, %s\n", loop->name,
			leaks.leaks, leaks.leaks ? gp_leak_by_names[leak->by] : "nothing",
			leaks.leaks ? leak->stacks : 0, leaks.leaks ? leak->count_per_step : 0,
			leaks.leaks ? leak->owner : "");
	gp_leaks_free(&leaks);
	gp_recording_close(r);
	free(j);
	return is_right;
}

static void a_spread_leak_is_one_suspect(void **state)
{
	(void)state;
	size_t found = 0, jobs = 0;
	for (size_t k = 0; k < LOOPS; k++) {
		const struct job_loop *loop = &job_loops[k];
		if (loop->has_no_blocks || loop->is_flight_recorder)
			continue;
		found += is_spread_found(loop, 11 + k, 50, 60);
		/* many of these stacks are suspects by themselves */
		found += is_spread_found(loop, 14 + k, 6, 100);
		jobs += 2;
	}
	print_message("%zu of %zu leaks that are spread are one suspect\n", found, jobs);
	assert_true(found + 2 >= jobs);
}

/* A table of as many keys as steps, at a stack of its own: it is reported, and is not a leak. */
static void a_filling_cache_is_not_a_suspect(void **state)
{
	(void)state;
	enum { STEPS = 400 };
	static bool is_in[STEPS];
	struct gp_leaks leaks;
	struct job *j = job_open("fills.gpr", 7, 0, 0);
	j->has_stacks = true;
	j->spread = SPREAD_LINES;
	job_begin(j);
	for (unsigned k = 0; k < STEPS; k++) {
		turn_of_training(j, job_size(j));
		uint64_t key = job_draw(j, STEPS);
		if (!is_in[key])
			take(j, LEAK_STACK, 4096);
		is_in[key] = true;
	}
	struct gp_recording *r = read_leaks(j, &leaks);
	assert_int_equal(leaks.leaks, 0);
	assert_int_equal(leaks.fillings, 1);
	assert_int_equal(leaks.filling[0].stack, LEAK_STACK);
	assert_true(leaks.filling[0].live_count < 300);
	assert_true(fabs(leaks.filling[0].expected_count - STEPS) < STEPS / 4);
	assert_true(leaks.filling[0].pace > 0.2 && leaks.filling[0].pace < 0.55);
	gp_leaks_free(&leaks);
	gp_recording_close(r);
	free(j);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(clean_jobs_are_silent),
		cmocka_unit_test(a_leak_is_found_within_30_steps),
		cmocka_unit_test(leaks_are_found_or_reported_undetectable),
		cmocka_unit_test(leaks_before_the_reported_step_are_found),
		cmocka_unit_test(the_begin_of_a_leak_is_exact),
		cmocka_unit_test(leaks_are_found_in_a_flight_recorder),
		cmocka_unit_test(handles_that_grow_are_found),
		cmocka_unit_test(definitions_are_not_moments),
		cmocka_unit_test(without_steps_windows_find_leaks),
		cmocka_unit_test(a_spread_leak_is_one_suspect),
		cmocka_unit_test(a_filling_cache_is_not_a_suspect),
	};
	return cmocka_run_group_tests(tests, make_directory, drop_directory);
}
