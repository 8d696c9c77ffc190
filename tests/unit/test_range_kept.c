/*
 * Ranges that end on other threads, out of turn, after their thread, or that were started before
 * recording began. Checked are the events of the recording and the phases of a report.
 */
#include "range_words.h"

static struct gp_range_handle *push_kept(const char *text, const void *key)
{
	keep_pace();
	return gp_range_push_kept(
		&(struct gp_range){ .source = GP_RANGE_TORCH, .text = text, .bytes = GP_TO_NUL },
		key);
}

static void pop_kept(struct gp_range_handle *handle, const void *key)
{
	keep_pace();
	gp_range_pop_kept(GP_RANGE_TORCH, handle, key);
}

/* ---- sums of phases ---- */

struct sums {
	uint64_t calls, open, bytes; /* bytes: only of the phase of that name */
	uint64_t unseen, unbalanced;
};

static struct sums sums_of(const char *name, const char *phase)
{
	const struct gp_info *info;
	struct gp_recording *r = opened(name, &info);
	struct gp_phases p = phases_of(r);
	struct sums s = { .unseen = p.unseen, .unbalanced = p.unbalanced };
	for (size_t k = 0; k < p.phases; k++) {
		const struct gp_phase *f = &p.phase[k];
		if (f->style == GP_PHASE_OUTSIDE)
			continue;
		s.calls += f->calls;
		s.open += f->open;
		s.bytes += f->name && strcmp(f->name, phase) == 0 ? f->allocated_bytes : 0;
	}
	gp_phases_free(&p);
	gp_recording_close(r);
	return s;
}

static void same_sums(const struct sums is, const struct sums be)
{
	print_message("%llu calls, %llu open, %llu bytes, %llu unseen, %llu unbalanced\n",
		      (unsigned long long)is.calls, (unsigned long long)is.open,
		      (unsigned long long)is.bytes, (unsigned long long)is.unseen,
		      (unsigned long long)is.unbalanced);
	assert_memory_equal(&is, &be, sizeof is);
}

#define assert_sums(name, phase, ...) same_sums(sums_of(name, phase), (struct sums)__VA_ARGS__)

/* ---- one range ---- */

struct kept {
	struct gp_range_handle *handle;
	uint64_t key;
};

static void *end_and_allocate(void *argument)
{
	struct kept *k = argument;
	pop_kept(k->handle, &k->key);
	put_alloc(1 << 20);
	return NULL;
}

static void end_elsewhere(void)
{
	struct kept k;
	put_alloc(512);
	k.handle = push_kept("async", &k.key);
	put_alloc(1024);
	run_thread(end_and_allocate, &k);
	put_alloc(2048);
	push(0, "next");
	put_alloc(4096);
	pop(0);
}

static void a_range_that_another_thread_ends_has_ended(void **state)
{
	(void)state;
	assert_int_equal(in_child("elsewhere.gpr", "0", end_elsewhere), 0);
	assert_string_equal(words_of("elsewhere.gpr"), "* +async0 * x * * / +next0 * -0");
	assert_sums("elsewhere.gpr", "async", { .calls = 2, .bytes = 512 });
	assert_sums("elsewhere.gpr", "next", { .calls = 2, .bytes = 512 });
}

static void end_out_of_turn(void)
{
	struct kept a, b, c;
	put_alloc(512);
	a.handle = push_kept("a", &a.key);
	push(0, "between");
	b.handle = push_kept("b", &b.key);
	c.handle = push_kept("c", &c.key);
	pop_kept(b.handle, &b.key);
	put_alloc(1024);
	pop_kept(c.handle, &c.key);
	pop_kept(a.handle, &a.key); /* the innermost of its kind: a pop is recorded */
	put_alloc(2048);
	pop(0);
	/* the handles are free again, for any order of ends */
	for (unsigned k = 0; k < 3 * GP_RANGES_DEEP; k++) {
		a.handle = push_kept("a", &a.key);
		CHECK(a.handle);
		pop_kept(a.handle, &a.key);
	}
}

static void each_end_is_that_of_its_own_range(void **state)
{
	(void)state;
	assert_int_equal(in_child("turn.gpr", "0", end_out_of_turn), 0);
	char words[64];
	snprintf(words, sizeof words, "%s", words_of("turn.gpr"));
	assert_string_equal(words,
			    "* +a0 +between1 +b2 +c3 / * -2 -1 * -0 +a0 -0 +a0 -0 +a0 -0 +a0");
	assert_sums("turn.gpr", "c", { .calls = 4 + 3 * GP_RANGES_DEEP, .bytes = 512 });
	assert_sums("turn.gpr", "between", { .calls = 4 + 3 * GP_RANGES_DEEP, .bytes = 1024 });
}

/* ---- threads that end, and reuse of their handles ---- */

static pthread_barrier_t barrier;

static void *leave_kept(void *argument)
{
	struct kept *k = argument;
	put_alloc(4096);
	k->handle = push_kept("left", &k->key);
	return NULL;
}

static void *take_the_place(void *argument)
{
	struct kept *k = argument;
	put_alloc(8192);
	k->handle = push_kept("other", &k->key);
	pthread_barrier_wait(&barrier);
	pthread_barrier_wait(&barrier);
	put_alloc(16384);
	pop_kept(k->handle, &k->key);
	return NULL;
}

static void outlive_its_thread(void)
{
	struct kept left, other;
	pthread_t thread;
	pthread_barrier_init(&barrier, NULL, 2);
	put_alloc(512);
	run_thread(leave_kept, &left);
	pthread_create(&thread, NULL, take_the_place, &other);
	pthread_barrier_wait(&barrier);
	CHECK(other.handle == left.handle);
	pop_kept(left.handle, &left.key);
	pthread_barrier_wait(&barrier);
	pthread_join(thread, NULL);
	/* the same place again, now with a range of this thread */
	other.handle = push_kept("own", &other.key);
	CHECK(other.handle == left.handle);
	pop_kept(left.handle, &left.key);
	put_alloc(1024);
	pop_kept(other.handle, &other.key);
}

static void an_end_after_its_thread_ends_no_other_range(void **state)
{
	(void)state;
	assert_int_equal(in_child("outlive.gpr", "0", outlive_its_thread), 0);
	assert_string_equal(words_of("outlive.gpr"), "* * +left0 -0 * +other0 * -0 +own0 * -0");
	assert_sums("outlive.gpr", "other", { .calls = 3, .bytes = 512 });
	assert_sums("outlive.gpr", "own", { .calls = 3, .bytes = 512 });
}

/* ---- deeper than the bound ---- */

#define DEEPER (GP_RANGES_DEEP + 3)

static void end_the_outermost_first(void)
{
	static struct kept k[DEEPER];
	put_alloc(512);
	for (unsigned i = 0; i < DEEPER; i++) {
		k[i].handle = push_kept("deep", &k[i].key);
		CHECK(k[i].handle);
	}
	run_thread(end_and_allocate, &k[0]);
	pop_kept(k[1].handle, &k[1].key);
	for (unsigned i = DEEPER; i-- > 2;)
		pop_kept(k[i].handle, &k[i].key);
	push(0, "behind");
	put_alloc(1024);
	pop(0);
}

static void too_deep_ones_take_no_place(void **state)
{
	(void)state;
	assert_int_equal(in_child("deeper.gpr", "0", end_the_outermost_first), 0);
	assert_sums("deeper.gpr", "behind", { .calls = GP_RANGES_DEEP + 1, .bytes = 512 });
	const char *words = words_of("deeper.gpr");
	assert_non_null(strstr(words, " x * x -"));
	assert_non_null(strstr(words, " / / +behind0 * -0"));
}

static void *end_the_deep_ones(void *argument)
{
	static uint64_t address = 1 << 20;
	struct kept *k = argument, own;
	put_alloc(address += 512);
	own.handle = push_kept("own", &own.key);
	for (unsigned i = DEEPER; i-- > GP_RANGES_DEEP;)
		pop_kept(k[i].handle, &k[i].key);
	put_alloc(address += 512);
	pop_kept(own.handle, &own.key);
	return NULL;
}

/* They do not end others, on either thread. */
static void end_deep_ones_elsewhere(void)
{
	static struct kept k[DEEPER];
	put_alloc(512);
	for (unsigned i = 0; i < DEEPER; i++)
		k[i].handle = push_kept("deep", &k[i].key);
	run_thread(end_the_deep_ones, k);
	pop_kept(k[GP_RANGES_DEEP - 1].handle, &k[GP_RANGES_DEEP - 1].key);
	CHECK(push(0, "instead") == GP_RANGES_DEEP - 1);
	CHECK(push(0, "deep") == GP_RANGES_DEEP);
	CHECK(pop(0) == GP_RANGES_DEEP);
	CHECK(pop(0) == GP_RANGES_DEEP - 1);
	for (unsigned i = GP_RANGES_DEEP - 1; i-- > 0;)
		pop_kept(k[i].handle, &k[i].key);
	/* the same with ranges that no thread keeps: they end before the others */
	for (unsigned i = 0; i < DEEPER; i++)
		k[i].handle = push_kept("deep", &k[i].key);
	run_thread(end_the_deep_ones, k);
	for (unsigned i = GP_RANGES_DEEP; i-- > 0;)
		CHECK(gp_range_pop(GP_RANGE_TORCH, 0) == i);
	CHECK(push(0, "behind") == 0);
	put_alloc(1024);
	pop(0);
}

static void ranges_too_deep_end_only_themselves(void **state)
{
	(void)state;
	assert_int_equal(in_child("deep_elsewhere.gpr", "0", end_deep_ones_elsewhere), 0);
	assert_sums("deep_elsewhere.gpr", "own",
		    { .calls = 2 * GP_RANGES_DEEP + 4, .bytes = 1024 });
	assert_sums("deep_elsewhere.gpr", "behind",
		    { .calls = 2 * GP_RANGES_DEEP + 4, .bytes = 512 });
	const struct gp_info *info;
	struct gp_recording *r = opened("deep_elsewhere.gpr", &info);
	assert_int_equal(info->lost_other, 2 * (3 + 3) + 2); /* pushes and pops */
	gp_recording_close(r);
}

/* ---- ranges from before the recording ---- */

static void *end_one(void *argument)
{
	struct kept *k = argument;
	pop_kept(k->handle, &k->key);
	return NULL;
}

static void kept_before(void)
{
	struct kept recorded = { 0 }, unrecorded = { 0 };
	unrecorded.handle = push_kept("untold", &unrecorded.key);
	recorded.handle = push_kept("told", &recorded.key);
	run_thread(end_one, &unrecorded); /* recording is still off */
	put_alloc(512);
	run_thread(end_one, &recorded);
	put_alloc(1024);
	push(0, "next");
	pop(0);
}

static void ranges_from_before_recording_end_elsewhere(void **state)
{
	(void)state;
	assert_int_equal(in_child("kept_before.gpr", "0", kept_before), 0);
	assert_string_equal(words_of("kept_before.gpr"), "/ ~told0 * x * / +next0 -0");
	assert_sums("kept_before.gpr", "told", { .calls = 2, .bytes = 512 });
}

static uint64_t start(const char *text)
{
	keep_pace();
	return gp_range_start(
		&(struct gp_range){ .source = GP_RANGE_NVTX, .text = text, .bytes = GP_TO_NUL });
}

static void started_before(void)
{
	const uint64_t over = start("over"), early = start("early");
	gp_range_end(GP_RANGE_NVTX, over);
	put_alloc(512);
	gp_range_end(GP_RANGE_NVTX, early);
	put_alloc(1024);
}

static void ranges_started_before_recording_are_recorded(void **state)
{
	(void)state;
	assert_int_equal(in_child("started.gpr", "0", started_before), 0);
	assert_string_equal(words_of("started.gpr"), "[early * ) *");
	assert_sums("started.gpr", "early", { .calls = 1, .bytes = 512 });
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

static void started_while_stopped(void)
{
	put_alloc(512);
	const uint64_t ends = start("ends"), stays = start("stays");
	set_level(GP_LEVEL_OFF);
	const uint64_t later = start("later"), never = start("never");
	gp_range_end(GP_RANGE_NVTX, never);
	gp_range_end(GP_RANGE_NVTX, ends);
	set_level(GP_LEVEL_ALL);
	put_alloc(1024);
	gp_range_end(GP_RANGE_NVTX, later);
	put_alloc(2048);
	gp_range_end(GP_RANGE_NVTX, stays);
	set_level(GP_LEVEL_OFF);
	set_level(GP_LEVEL_ALL);
	put_alloc(4096);
}

static void open_ranges_are_recorded_when_it_goes_on(void **state)
{
	(void)state;
	assert_int_equal(in_child("goes_on.gpr", "0", started_while_stopped), 0);
	const char *words = words_of("goes_on.gpr");
	assert_true(strcmp(words, "* (ends (stays [stays [later ] * ) * ) ] *") == 0 ||
		    strcmp(words, "* (ends (stays [later [stays ] * ) * ) ] *") == 0);
	assert_sums("goes_on.gpr", "later", { .calls = 3, .bytes = 512, .unseen = 1 });
	assert_sums("goes_on.gpr", "stays", { .calls = 3, .bytes = 1024, .unseen = 1 });
}

#define MANY 6000u

static void start_too_many(void)
{
	static uint64_t number[MANY];
	for (unsigned k = 0; k < MANY; k++)
		number[k] = start("one of many");
	put_alloc(512);
	set_level(GP_LEVEL_OFF);
	set_level(GP_LEVEL_ALL);
	put_alloc(1024);
	for (unsigned k = 0; k < MANY; k++) {
		keep_pace();
		gp_range_end(GP_RANGE_NVTX, number[k]);
	}
	for (unsigned k = 0; k < MANY; k++)
		for (unsigned j = k + 1; j < k + 10 && j < MANY; j++)
			CHECK(number[k] != number[j]);
}

static void ranges_beyond_the_room_cause_no_ends(void **state)
{
	(void)state;
	assert_int_equal(in_child("many.gpr", "0", start_too_many), 0);
	const struct gp_info *info;
	struct gp_recording *r = opened("many.gpr", &info);
	const uint64_t recorded = info->counts[GP_RANGE_STARTED];
	assert_in_range(recorded, 2 * 3800, 2 * 4096); /* the same twice, and no end of a list */
	assert_int_equal(info->counts[GP_RANGE_END] + info->lost_other, MANY);
	gp_recording_close(r);
	assert_sums("many.gpr", "", { .calls = recorded / 2, .unbalanced = MANY - recorded / 2 });
}

static void fork_inside(void)
{
	char path[128];
	struct kept k;
	put_alloc(512);
	k.handle = push_kept("both", &k.key);
	const uint64_t number = start("started");
	pid_t pid = fork();
	if (pid == 0) {
		name_of(path, sizeof path, "kept_child.gpr");
		memcpy(gp_settings.output, path, sizeof path);
		put_alloc(1024);
		gp_range_end(GP_RANGE_NVTX, number);
		run_thread(end_one, &k);
		put_alloc(2048);
		pop_kept(push_kept("child", &k), &k);
		gp_recorder_end();
		_exit(0);
	}
	CHECK(end_of(pid) == 0);
	pop_kept(k.handle, &k.key);
	gp_range_end(GP_RANGE_NVTX, number);
}

static void a_forked_child_has_its_own(void **state)
{
	(void)state;
	assert_int_equal(in_child("kept_fork.gpr", "0", fork_inside), 0);
	assert_string_equal(words_of("kept_fork.gpr"), "* +both0 (started -0 )");
	assert_string_equal(words_of("kept_child.gpr"), "~both0 [started * ) x * / +child0 -0");
}

/* ---- a storm ---- */

#define STORM 8u
#define ROUNDS 20000u
#define OPEN_MOST 60

/* The ranges that each thread ends. */
static struct box {
	pthread_mutex_t lock;
	unsigned count;
	struct kept *kept[STORM * OPEN_MOST];
} boxes[STORM];
static struct kept storm_kept[STORM][ROUNDS];
static _Atomic int open_of[STORM], open_in_all, at_work;

static void end_given(unsigned which)
{
	struct box *box = &boxes[which];
	for (;;) {
		pthread_mutex_lock(&box->lock);
		struct kept *k = box->count ? box->kept[--box->count] : NULL;
		pthread_mutex_unlock(&box->lock);
		if (!k)
			return;
		pop_kept(k->handle, &k->key);
		atomic_fetch_sub(&open_of[(k - storm_kept[0]) / ROUNDS], 1);
		atomic_fetch_sub(&open_in_all, 1);
	}
}

static void give(struct kept *k, unsigned which)
{
	struct box *box = &boxes[which];
	pthread_mutex_lock(&box->lock);
	box->kept[box->count++] = k;
	pthread_mutex_unlock(&box->lock);
}

/* On a busy machine it comes late; only memory events are lost until then, no ranges. */
static void await_ring(uint64_t address)
{
	for (bool is_there = false; !is_there; sched_yield()) {
		CHECK(gp_enter());
		struct gp_record *r = gp_reserve(GP_ALLOC);
		is_there = r != NULL;
		if (r) {
			r->space = GP_SPACE_DEVICE;
			r->alloc.address = address;
			r->alloc.bytes = 512;
			gp_commit_memory(r);
		}
		gp_leave();
	}
}

static void *storm(void *number)
{
	const unsigned own = (unsigned)(uintptr_t)number;
	uint64_t seed = own + 1;
	await_ring(1024 + 512 * own);
	pthread_barrier_wait(&barrier);
	for (unsigned k = 0; k < ROUNDS; k++) {
		seed = seed * 6364136223846793005u + 1442695040888963407u;
		struct kept *kept = &storm_kept[own][k];
		atomic_fetch_add(&open_of[own], 1);
		atomic_fetch_add(&open_in_all, 1);
		kept->handle = push_kept("storm", &kept->key);
		CHECK(kept->handle);
		/* to the own box: out of turn, mostly */
		give(kept, (unsigned)(seed >> 40) % STORM);
		do
			end_given(own);
		while (atomic_load(&open_of[own]) > OPEN_MOST && sched_yield() == 0);
	}
	atomic_fetch_sub(&at_work, 1);
	while (atomic_load(&at_work) > 0 || atomic_load(&open_in_all) > 0) {
		end_given(own);
		sched_yield();
	}
	return NULL;
}

static void end_each_others(void)
{
	pthread_barrier_init(&barrier, NULL, STORM);
	put_alloc(512);
	for (unsigned k = 0; k < STORM; k++)
		pthread_mutex_init(&boxes[k].lock, NULL);
	atomic_store(&at_work, STORM);
	run_threads(STORM, storm);
}

static void threads_end_each_others_ranges(void **state)
{
	(void)state;
	assert_int_equal(in_child("kept_storm.gpr", "0", end_each_others), 0);
	const struct gp_info *info;
	struct gp_recording *r = opened("kept_storm.gpr", &info);
	assert_int_equal(info->lost_other, 0);
	assert_int_equal(info->counts[GP_RANGE_PUSH], STORM * ROUNDS);
	assert_true(info->counts[GP_RANGE_CLOSE] > STORM * ROUNDS);
	gp_recording_close(r);
	assert_sums("kept_storm.gpr", "", { .calls = STORM * ROUNDS });
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_range_that_another_thread_ends_has_ended),
		cmocka_unit_test(each_end_is_that_of_its_own_range),
		cmocka_unit_test(an_end_after_its_thread_ends_no_other_range),
		cmocka_unit_test(too_deep_ones_take_no_place),
		cmocka_unit_test(ranges_too_deep_end_only_themselves),
		cmocka_unit_test(ranges_from_before_recording_end_elsewhere),
		cmocka_unit_test(ranges_started_before_recording_are_recorded),
		cmocka_unit_test(open_ranges_are_recorded_when_it_goes_on),
		cmocka_unit_test(ranges_beyond_the_room_cause_no_ends),
		cmocka_unit_test(a_forked_child_has_its_own),
		cmocka_unit_test(threads_end_each_others_ranges),
	};
	return cmocka_run_group_tests(tests, make_directory, drop_directory);
}
