/*
 * A signal's handler with ranges of its own, at every single instruction of a push, a pop and a
 * thread's end. The processor's trap flag makes that signal. The interrupted code must not be
 * affected.
 */
/* ThreadSanitizer delays signals. */
#if defined(__x86_64__) && !defined(__SANITIZE_THREAD__)

#include "range_words.h"

#include <pthread.h>
#include <signal.h>

static _Thread_local bool is_stepped;
static _Thread_local uint64_t steps;
static uint32_t other;

static void step(bool is_on)
{
	is_stepped = is_on;
	if (is_on)
		__asm__ volatile("sub $128, %%rsp\n\tpushfq\n\torq $0x100, (%%rsp)\n\tpopfq\n\t"
				 "add $128, %%rsp" ::
					 : "cc", "memory");
	else
		__asm__ volatile("sub $128, %%rsp\n\tpushfq\n\tandq $~0x100, (%%rsp)\n\tpopfq\n\t"
				 "add $128, %%rsp" ::
					 : "cc", "memory");
}

static struct gp_range_handle *push_kept(const char *text, const void *key)
{
	return gp_range_push_kept(
		&(struct gp_range){ .source = GP_RANGE_TORCH, .text = text, .bytes = GP_TO_NUL },
		key);
}

/* The kernel clears the flag in the handler. */
static void have_ranges(int signal)
{
	(void)signal;
	uint64_t key;
	if (!is_stepped)
		return;
	steps++;
	const uint32_t depth = gp_range_push(&(struct gp_range){
		.source = GP_RANGE_NVTX, .domain = other, .text = "inner", .bytes = GP_TO_NUL });
	struct gp_range_handle *kept = push_kept("inner kept", &key);
	gp_range_pop_kept(GP_RANGE_TORCH, kept, &key);
	CHECK(gp_range_pop(GP_RANGE_NVTX, other) == depth);
}

static void heed_traps(void)
{
	struct sigaction action = { .sa_handler = have_ranges };
	CHECK(sigaction(SIGTRAP, &action, NULL) == 0);
	other = gp_range_name(0, "other", 5);
	put_alloc(512);
	step(false); /* pages the code in, and gets the thread its ring */
}

static void interrupted(void)
{
	static uint64_t key[GP_RANGES_DEEP];
	struct gp_range_handle *kept[GP_RANGES_DEEP];
	heed_traps();
	for (unsigned k = 0; k < 3; k++) {
		step(true);
		CHECK(push(0, "plain") == 0);
		kept[0] = push_kept("first", &key[0]);
		kept[1] = push_kept("second", &key[1]);
		gp_range_pop_kept(GP_RANGE_TORCH, kept[0], &key[0]); /* out of turn */
		gp_range_pop_kept(GP_RANGE_TORCH, kept[1], &key[1]);
		CHECK(pop(0) == 0);
		step(false);
	}
	CHECK(steps > 1000);
	/* all places are free again, each once */
	for (unsigned k = 0; k < GP_RANGES_DEEP; k++) {
		kept[k] = push_kept("all", &key[k]);
		CHECK(atomic_load(&kept[k]->key) == (uintptr_t)&key[k]);
	}
	for (unsigned k = GP_RANGES_DEEP; k-- > 0;)
		gp_range_pop_kept(GP_RANGE_TORCH, kept[k], &key[k]);
	CHECK(push(0, "last") == 0);
	CHECK(pop(0) == 0);
}

/*
 * Only ranges of handlers outside of the recorder's own work are recorded: as many begins as ends.
 */
static void assert_balanced(const char *name, uint64_t at_least)
{
	static const struct gp_phases_options asked = { .device = GP_DEVICE_UNKNOWN,
							.of = GP_CURVES,
							.from_ns = INT64_MIN,
							.to_ns = INT64_MAX };
	const struct gp_info *info;
	struct gp_recording *r = opened(name, &info);
	struct gp_phases p;
	assert_int_equal(gp_phases_build(r, &asked, &p), GP_OK);
	uint64_t calls = 0;
	for (size_t k = 0; k < p.phases; k++) {
		calls += p.phase[k].style == GP_PHASE_OUTSIDE ? 0 : p.phase[k].calls;
		assert_int_equal(p.phase[k].open, 0);
	}
	assert_int_equal(p.unbalanced, 0);
	assert_true(calls >= at_least);
	gp_phases_free(&p);
	gp_recording_close(r);
}

static void each_instruction_of_a_range_may_be_interrupted(void **state)
{
	(void)state;
	assert_int_equal(in_child("interrupted.gpr", "0", interrupted), 0);
	assert_balanced("interrupted.gpr", 10 + GP_RANGES_DEEP);
}

/* ---- a thread's end ---- */

static pthread_key_t behind; /* its destructor runs after ours, with which the thread ends */
static _Atomic uint64_t steps_of_end;

static void step_no_further(void *unused)
{
	(void)unused;
	step(false);
	atomic_fetch_add(&steps_of_end, steps);
	steps = 0;
}

static void *leave_open(void *key)
{
	put_alloc((uint64_t)(uintptr_t)key);
	push(0, "left");
	push_kept("left kept", key);
	CHECK(pthread_setspecific(behind, key) == 0);
	step(true);
	return NULL;
}

static void end_interrupted(void)
{
	static uint64_t key[4];
	heed_traps();
	CHECK(pthread_key_create(&behind, step_no_further) == 0);
	for (unsigned k = 0; k < 4; k++) {
		pthread_t thread;
		CHECK(pthread_create(&thread, NULL, leave_open, &key[k]) == 0);
		CHECK(pthread_join(thread, NULL) == 0);
	}
	CHECK(atomic_load(&steps_of_end) > 1000);
}

static void each_instruction_of_a_threads_end_may_be_interrupted(void **state)
{
	(void)state;
	assert_int_equal(in_child("end_interrupted.gpr", "0", end_interrupted), 0);
	assert_balanced("end_interrupted.gpr", 8);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_instruction_of_a_range_may_be_interrupted),
		cmocka_unit_test(each_instruction_of_a_threads_end_may_be_interrupted),
	};
	return cmocka_run_group_tests(tests, make_directory, drop_directory);
}

#else
int main(void)
{
	return 0; /* this machine has no signal at each instruction */
}
#endif
