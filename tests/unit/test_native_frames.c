/* The mode that walks along frame pointers: this program is built with them, as a job has to be. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "native_fixture.h"
#include "native_paths.h"

static unsigned found;

static __attribute__((noinline)) void look(void *context)
{
	const unsigned frames = *(const unsigned *)context;
	const unsigned wanted =
		frames < 8 ? frames : 8; /* of depth 9: the first is path_run's callee */
	void *pc[GP_NATIVE_DEPTH];
	const void *here = __builtin_frame_address(0);
	int n = native_fixture.unw_backtrace(pc, GP_NATIVE_DEPTH);
	assert_true(n > (int)wanted);
	for (unsigned i = 0; i < 3; i++) {
		struct gp_native_stack *s = gp_native_stack_now(native_thread(), here);
		assert_non_null(s);
		assert_in_range(s->depth, wanted, 9);
		for (unsigned k = 0; k < wanted; k++)
			assert_int_equal(s->pc[k], (uintptr_t)pc[k + 1]);
		if (s->depth == 9)
			assert_int_equal(s->end, GP_NATIVE_TRUNCATED);
		found++;
	}
}

static void run_paths(void)
{
	uint64_t seed = 1618;
	uint8_t path[40];
	for (unsigned i = 0; i < 500; i++) {
		unsigned frames = 1 + (unsigned)(path_random(&seed) >> 9) % 40;
		for (unsigned k = 0; k < frames; k++)
			path[k] = (uint8_t)(path_random(&seed) >> 30);
		path_run(path, frames, look, &frames);
	}
}

static void equals_on_random_paths(void **state)
{
	(void)state;
	run_paths();
	assert_int_equal(found, 1500);
	assert_in_range(gp_native_thread_counts(native_thread())->hits, 400, 1500);
	assert_int_equal(gp_native_thread_counts(native_thread())->learned, 0);
}

static void *in_thread(void *context)
{
	run_paths();
	native_thread_done();
	return context;
}

static void equals_in_a_thread(void **state)
{
	pthread_t thread;
	(void)state;
	assert_int_equal(pthread_create(&thread, NULL, in_thread, NULL), 0);
	pthread_join(thread, NULL);
	assert_int_equal(found, 3000);
}

/* A frame pointer that is used for something else: an end, not a crash. */
static void survives_what_is_no_frame(void **state)
{
	uintptr_t frames[8] = { 0 };
	const uintptr_t wrong[] = { 0,
				    1,
				    8,
				    4095,
				    (uintptr_t)frames + 3,
				    UINTPTR_MAX,
				    UINTPTR_MAX - 7,
				    (uintptr_t)1 << 46,
				    (uintptr_t)frames };
	(void)state;
	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
		frames[0] = wrong[i];
		frames[1] = (uintptr_t)look;
		struct gp_native_stack *s = gp_native_stack_now(native_thread(), frames);
		assert_non_null(s);
		assert_int_equal(s->depth, 1);
		assert_int_equal(s->pc[0], (uintptr_t)look);
	}
}

#if defined(__SANITIZE_THREAD__)
static void needs_another_build(void **state)
{
	(void)state;
	print_message("skipped: ThreadSanitizer is gone when libunwind ends a thread\n");
	skip();
}
#endif

int main(int argc, char **argv)
{
	(void)argc;
	const struct gp_native_setup setup = { .depth = 9, .has_frame_pointers = true };
	native_must(gp_native_open(&setup) == NULL, "frame pointers need nothing");
	native_fixture_open(argv[0], 9);
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(equals_on_random_paths),
		cmocka_unit_test(equals_in_a_thread),
		cmocka_unit_test(survives_what_is_no_frame),
	};
#if defined(__SANITIZE_THREAD__)
	const struct CMUnitTest none[] = { cmocka_unit_test(needs_another_build) };
	(void)tests;
	return cmocka_run_group_tests(none, NULL, NULL);
#else
	return cmocka_run_group_tests(tests, NULL, NULL);
#endif
}
