/*
 * Ranges and marks of a source: names, stacks, ranges from before the recording, bounds, forks,
 * threads. Each test runs in a forked child: a process records once.
 */
#include "range_words.h"

#include <sys/stat.h>

/* ---- stacks of ranges ---- */

static void stack_of_ranges(void)
{
	put_alloc(512);
	uint32_t other = gp_range_name(0, "other", GP_TO_NUL);
	CHECK(push(0, "a") == 0);
	CHECK(push(other, "b") == 1);
	put_alloc(1024);
	CHECK(pop(0) == 0); /* of another domain than the innermost */
	CHECK(push(0, "a") == 1);
	CHECK(pop(0) == 1);
	CHECK(pop(0) == -1);
	CHECK(pop(other) == 0);
	struct gp_range what = { .source = GP_RANGE_NVTX, .text = "s", .bytes = 1 };
	uint64_t one = gp_range_start(&what), two = gp_range_start(&what);
	CHECK(one != 0 && two != one);
	gp_range_end(GP_RANGE_NVTX, one);
	gp_range_mark(&(struct gp_range){ .source = GP_RANGE_TORCH,
					  .name = gp_range_name(0, "m", 1),
					  .payload_type = GP_PAYLOAD_INT64,
					  .payload = 42 });
	gp_range_mark(&(struct gp_range){ .source = GP_RANGE_TORCH });
	gp_range_name_object(GP_OBJECT_STREAM, 0x50, "side", GP_TO_NUL);
}

static void ranges_nest_and_cross(void **state)
{
	(void)state;
	assert_int_equal(in_child("nest.gpr", "0", stack_of_ranges), 0);
	assert_string_equal(words_of("nest.gpr"), "* +a0 +b1 * -1 +a1 -1 ? -0 (s (s ) !m !NULL");
	const struct gp_info *info;
	struct gp_recording *r = opened("nest.gpr", &info);
	assert_true(info->has_ranges);
	struct gp_event e;
	bool is_seen = false;
	while (gp_recording_next(r, &e) == GP_OK) {
		if (e.record.kind == GP_RANGE_PUSH && e.record.range_push.domain)
			assert_string_equal(gp_recording_text(r, GP_RANGE_NAME,
							      (uint32_t)e.record.range_push.domain),
					    "other");
		if (e.record.kind != GP_MARK || e.record.aux == 0)
			continue;
		is_seen = true;
		assert_int_equal(e.record.code, GP_PAYLOAD_INT64);
		assert_int_equal(e.record.range_start.payload, 42);
		assert_int_equal(e.record.range_start.source, GP_RANGE_TORCH);
	}
	assert_true(is_seen);
	assert_string_equal(
		gp_recording_text(r, GP_OBJECT_NAME, GP_OBJECT_KEY(GP_OBJECT_STREAM, 0x50ull)),
		"side");
	gp_recording_close(r);
}

static void only_ranges(void)
{
	for (unsigned k = 0; k < 100; k++) {
		push(0, "cpu");
		pop(0);
	}
}

static void ranges_alone_begin_no_recording(void **state)
{
	(void)state;
	char path[128];
	assert_int_equal(in_child("alone.gpr", "0", only_ranges), 0);
	name_of(path, sizeof path, "alone.gpr");
	assert_int_not_equal(access(path, F_OK), 0);
}

static void *other_thread(void *barrier)
{
	push(0, "worker");
	pthread_barrier_wait(barrier);
	pthread_barrier_wait(barrier);
	put_alloc(4096);
	pop(0);
	return NULL;
}

static void open_before(void)
{
	pthread_barrier_t barrier;
	pthread_t thread;
	pthread_barrier_init(&barrier, NULL, 2);
	push(0, "over");
	pop(0);
	push(0, "step");
	push(0, "forward");
	pthread_create(&thread, NULL, other_thread, &barrier);
	pthread_barrier_wait(&barrier);
	put_alloc(512);
	pop(0);
	pop(0);
	pthread_barrier_wait(&barrier);
	pthread_join(thread, NULL);
}

static void open_ranges_are_recorded_at_the_begin(void **state)
{
	(void)state;
	assert_int_equal(in_child("before.gpr", "0", open_before), 0);
	assert_string_equal(words_of("before.gpr"), "~step0 ~forward1 * -1 -0 ~worker0 * -0");
}

static void *push_without_memory(void *unused)
{
	push(0, "lost");
	put_alloc(4096);
	CHECK(pop(0) == -1);
	CHECK(atomic_load(&gp_thread.ring->lost_other) == 2);
	return unused;
}

static void without_keys(void)
{
	put_alloc(512);
	push(0, "step");
	run_thread(push_without_memory, NULL);
	pop(0);
}

/* If the thread's end would not free the memory: an end is not recorded without a beginning. */
static void ranges_without_memory_are_lost_at_both_ends(void **state)
{
	enum { KEYS = 40 };
	pthread_key_t key[KEYS];
	(void)state;
	for (unsigned k = 0; k < KEYS; k++)
		assert_int_equal(pthread_key_create(&key[k], NULL), 0);
	assert_int_equal(in_child("keys.gpr", "0", without_keys), 0);
	for (unsigned k = 0; k < KEYS; k++)
		pthread_key_delete(key[k]);
	assert_string_equal(words_of("keys.gpr"), "* +step0 * -0");
}

static void *leave_open(void *unused)
{
	push(0, "outer");
	push(0, "inner");
	for (unsigned k = 2; k < GP_RANGES_DEEP + 3; k++)
		push(0, "deep");
	for (unsigned k = 2; k < GP_RANGES_DEEP; k++)
		pop(0);
	put_alloc(4096);
	return unused;
}

static void thread_ends(void)
{
	put_alloc(512);
	run_thread(leave_open, NULL);
}

/* Otherwise they would last as long as the recording, and count as calls that never ended. */
static void open_ranges_end_with_their_thread(void **state)
{
	(void)state;
	char words[4096];
	assert_int_equal(in_child("ending.gpr", "0", thread_ends), 0);
	snprintf(words, sizeof words, "%s", words_of("ending.gpr"));
	assert_int_equal(strncmp(words, "* +outer0 +inner1 +deep2", 24), 0);
	const char *behind = strrchr(words, '*');
	assert_non_null(behind);
	size_t ends = 0;
	for (const char *at = behind; *at; at++)
		ends += *at == '-';
	assert_int_equal(ends, 5); /* three that were too deep ended first */
	assert_string_equal(behind + strlen(behind) - 6, " -1 -0");
}

/* Like `gpuprof ctl`. */
static void set_level(uint32_t level)
{
	atomic_store(&gp_control->requested_level, level);
	while (atomic_load(&gp_control->level) != level)
		gp_futex_wake(&gp_recorder.wake), sched_yield();
	while ((atomic_load(&gp_local->word) & 3) != level)
		sched_yield();
}

static void open_while_stopped(void)
{
	put_alloc(512);
	push(0, "a");
	set_level(GP_LEVEL_OFF);
	push(0, "b");
	pop(0);
	pop(0);
	push(0, "c");
	push(0, "d");
	set_level(GP_LEVEL_ALL);
	put_alloc(1024);
	pop(0);
	pop(0);
}

static void open_ranges_are_recorded_when_it_goes_on(void **state)
{
	(void)state;
	assert_int_equal(in_child("stopped.gpr", "0", open_while_stopped), 0);
	assert_string_equal(words_of("stopped.gpr"), "* +a0 ~c0 ~d1 * -1 -0");
}

static void fork_inside(void)
{
	char path[128];
	put_alloc(512);
	push(0, "parent");
	push(0, "both");
	pid_t pid = fork();
	if (pid == 0) {
		name_of(path, sizeof path, "forked.gpr");
		memcpy(gp_settings.output, path, sizeof path);
		pop(0); /* recording is still off */
		push(0, "both");
		put_alloc(1024);
		push(0, "child");
		gp_recorder_end();
		_exit(0);
	}
	CHECK(end_of(pid) == 0);
	pop(0);
	pop(0);
}

static void a_forked_child_records_its_own_ranges(void **state)
{
	(void)state;
	assert_int_equal(in_child("forking.gpr", "0", fork_inside), 0);
	assert_string_equal(words_of("forking.gpr"), "* +parent0 +both1 -1 -0");
	assert_string_equal(words_of("forked.gpr"), "~parent0 ~both1 * +child2");
}

static void too_deep(void)
{
	put_alloc(512);
	for (unsigned k = 0; k < GP_RANGES_DEEP + 10; k++)
		CHECK(push(0, "deep") == k);
	for (unsigned k = GP_RANGES_DEEP + 10; k-- > 0;)
		CHECK(pop(0) == k);
	CHECK(pop(0) == -1);
}

static void depth_is_bounded_and_the_loss_is_counted(void **state)
{
	(void)state;
	assert_int_equal(in_child("deep.gpr", "0", too_deep), 0);
	const struct gp_info *info;
	struct gp_recording *r = opened("deep.gpr", &info);
	assert_int_equal(info->counts[GP_RANGE_PUSH], GP_RANGES_DEEP);
	assert_int_equal(info->counts[GP_RANGE_POP], GP_RANGES_DEEP + 1);
	assert_int_equal(info->lost_other, 20);
	gp_recording_close(r);
}

static void long_names(void)
{
	static char text[1 << 20];
	put_alloc(512);
	memset(text, 'x', sizeof text - 1);
	push(0, text);
	text[GP_RANGE_NAME_MAX] = '\0';
	push(0, text);
	text[0] = 'y'; /* another name at the same address */
	push(0, text);
	gp_range_push(&(struct gp_range){
		.source = GP_RANGE_NVTX, .text = text, .bytes = GP_RANGE_NAME_MAX });
	gp_range_push(&(struct gp_range){ .source = GP_RANGE_NVTX, .text = "yes", .bytes = 1 });
	gp_range_push(&(struct gp_range){ .source = GP_RANGE_NVTX, .text = "", .bytes = 0 });
}

static void long_names_are_cut_and_marked(void **state)
{
	(void)state;
	assert_int_equal(in_child("long.gpr", "0", long_names), 0);
	const struct gp_info *info;
	struct gp_recording *r = opened("long.gpr", &info);
	assert_int_equal(info->names_cut, 1);
	uint32_t id[6];
	unsigned count = 0;
	struct gp_event e;
	while (gp_recording_next(r, &e) == GP_OK)
		if (e.record.kind == GP_RANGE_PUSH)
			id[count++] = e.record.aux;
	assert_int_equal(count, 6);
	const char *text = gp_recording_text(r, GP_RANGE_NAME, id[0]);
	assert_int_equal(strlen(text), GP_RANGE_NAME_MAX);
	assert_int_not_equal(id[1], id[0]);
	assert_string_equal(gp_recording_text(r, GP_RANGE_NAME, id[1]), text);
	assert_int_equal(gp_recording_text(r, GP_RANGE_NAME, id[2])[0], 'y');
	assert_int_equal(id[3], id[2]);
	assert_string_equal(gp_recording_text(r, GP_RANGE_NAME, id[4]), "y");
	assert_int_not_equal(id[5], 0);
	assert_null(gp_recording_text(r, GP_RANGE_NAME, id[5]));
	gp_recording_close(r);
}

#define MANY 1000000u
static void many_names(void)
{
	char text[32];
	put_alloc(512);
	for (unsigned k = 0; k < MANY; k++) {
		snprintf(text, sizeof text, "step %u", k);
		push(0, text);
		pop(0);
	}
}

static void a_million_names_are_bounded_and_counted(void **state)
{
	(void)state;
	assert_int_equal(in_child("names.gpr", "0", many_names), 0);
	const struct gp_info *info;
	struct gp_recording *r = opened("names.gpr", &info);
	assert_int_equal(info->counts[GP_RANGE_PUSH] + info->counts[GP_RANGE_POP] +
				 info->lost_other,
			 2 * MANY);
	assert_int_equal(info->counts[GP_RANGE_NAME], GP_RANGE_NAMES);
	assert_int_equal(info->ranges_unnamed, MANY - GP_RANGE_NAMES);
	gp_recording_close(r);
}

/*
 * A kept segment lists the ranges that were open at its begin, even if they were pushed long
 * before.
 */
static void long_run(void)
{
	put_alloc(512);
	push(0, "run");
	for (uint64_t k = 1; k <= 1500000; k++) {
		if (k % 1000 == 0)
			push(0, "epoch");
		put_memory(k % 2 ? GP_ALLOC : GP_FREE, (k + 1) / 2 * 512 * ((k + 1) / 2 % 7 + 1));
		if (k % 1000 == 999 && k > 1000)
			pop(0);
	}
}

static enum gp_status count_open(void *context, const struct gp_record *record)
{
	uint64_t *open = context;
	if (record->kind != GP_RANGE_OPEN)
		return GP_OK;
	open[record->range_open.place]++;
	return record->range_open.owner == 1 && record->code == 0 ? GP_OK : GP_E_DAMAGED;
}

static void checkpoints_hold_open_ranges(void **state)
{
	(void)state;
	assert_int_equal(in_child("segments.gpr", "1M", long_run), 0);
	const struct gp_info *info;
	struct gp_recording *r = opened("segments.gpr", &info);
	assert_true(info->kept_from_ns > 0);
	assert_true(info->has_ranges);
	struct gp_event e;
	uint64_t pushes = 0, open[2] = { 0 };
	assert_int_equal(gp_merge_visit(r->merge, r->first, GP_BLOCK_CHECKPOINT, count_open, open),
			 GP_OK);
	assert_int_equal(open[0], 1);
	assert_true(open[1] <= 1);
	while (gp_recording_next(r, &e) == GP_OK) {
		if (e.record.kind != GP_RANGE_PUSH)
			continue;
		assert_string_equal(gp_recording_text(r, GP_RANGE_NAME, e.record.aux), "epoch");
		assert_int_equal(e.record.range_push.depth, 1);
		pushes++;
	}
	assert_true(pushes > 10);
	/* so a report has the ranges around the kept events */
	struct gp_phases phases = phases_of(r);
	assert_int_equal(phases.phases, 2);
	assert_string_equal(phases.phase[0].name, "run");
	assert_int_equal(phases.phase[0].open, 1);
	assert_true(phases.phase[0].time_ns > info->duration_ns - info->kept_from_ns);
	assert_string_equal(phases.phase[1].name, "epoch");
	assert_int_equal(phases.phase[1].depth, 1);
	assert_true(phases.phase[1].calls >= pushes);
	assert_int_equal(phases.unseen + phases.unbalanced, 0);
	gp_phases_free(&phases);
	gp_recording_close(r);
}

#define STORM 8u
#define ROUNDS 20000u
static void *storm(void *number)
{
	char text[32];
	for (unsigned k = 0; k < ROUNDS; k++) {
		uint64_t which = (k * 7 + (uintptr_t)number) % 900;
		snprintf(text, sizeof text, "name %u", (unsigned)which);
		keep_pace();
		gp_range_push(&(struct gp_range){ .source = GP_RANGE_NVTX,
						  .text = text,
						  .bytes = GP_TO_NUL,
						  .payload_type = GP_PAYLOAD_UINT64,
						  .payload = which });
		pop(0);
	}
	return NULL;
}

static void thread_storm(void)
{
	put_alloc(512);
	run_threads(STORM, storm);
}

static void threads_share_names(void **state)
{
	(void)state;
	assert_int_equal(in_child("storm.gpr", "0", thread_storm), 0);
	const struct gp_info *info;
	struct gp_recording *r = opened("storm.gpr", &info);
	static uint32_t id_of[900];
	char text[32];
	struct gp_event e;
	uint64_t pushes = 0;
	memset(id_of, 0, sizeof id_of);
	while (gp_recording_next(r, &e) == GP_OK) {
		if (e.record.kind != GP_RANGE_PUSH)
			continue;
		uint64_t which = e.record.range_push.payload;
		snprintf(text, sizeof text, "name %u", (unsigned)which);
		assert_string_equal(gp_recording_text(r, GP_RANGE_NAME, e.record.aux), text);
		assert_true(id_of[which] == 0 || id_of[which] == e.record.aux);
		id_of[which] = e.record.aux;
		pushes++;
	}
	/* events of a thread that waited long for its first ring are lost, and counted */
	assert_true(pushes + info->lost_other >= STORM * ROUNDS);
	assert_true(pushes > ROUNDS);
	gp_recording_close(r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ranges_nest_and_cross),
		cmocka_unit_test(ranges_alone_begin_no_recording),
		cmocka_unit_test(open_ranges_are_recorded_at_the_begin),
		cmocka_unit_test(ranges_without_memory_are_lost_at_both_ends),
		cmocka_unit_test(open_ranges_end_with_their_thread),
		cmocka_unit_test(open_ranges_are_recorded_when_it_goes_on),
		cmocka_unit_test(a_forked_child_records_its_own_ranges),
		cmocka_unit_test(depth_is_bounded_and_the_loss_is_counted),
		cmocka_unit_test(long_names_are_cut_and_marked),
		cmocka_unit_test(a_million_names_are_bounded_and_counted),
		cmocka_unit_test(checkpoints_hold_open_ranges),
		cmocka_unit_test(threads_share_names),
	};
	return cmocka_run_group_tests(tests, make_directory, drop_directory);
}
