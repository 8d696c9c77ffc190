/*
 * Native stacks equal the backtraces of libunwind and of glibc, in every shape of a stack that a
 * job may have. Stacks from the memo equal those of a walk.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <ucontext.h>
#include <unistd.h>

#include <cmocka.h>

#include "native_fixture.h"
#include "native_paths.h"

/* ---- comparing ---- */

static void same(const struct gp_native_stack *s, void **pc, int n, const char *reference)
{
	/* their result begins with the frame of the caller */
	unsigned expected = n - 1 > (int)GP_NATIVE_DEPTH ? GP_NATIVE_DEPTH : (unsigned)n - 1;
	bool is_same = s->depth == expected;
	for (unsigned k = 0; is_same && k < expected; k++)
		is_same = s->pc[k] == (uintptr_t)pc[k + 1];
	if (is_same)
		return;
	for (unsigned k = 0; k < s->depth || k < expected; k++)
		print_message("%2u ours %#lx %s %p\n", k, k < s->depth ? s->pc[k] : 0, reference,
			      k < expected ? pc[k + 1] : NULL);
	fail_msg("stack of %u frames (end %u), %s has %u", s->depth, s->end, reference, expected);
}

static _Atomic unsigned compared;
static bool is_reference_stale; /* libunwind keeps its data of an unloaded library */
static _Thread_local enum gp_native_end last_end;

/* Returns the number of frames. */
static __attribute__((noinline)) unsigned compare_here(void)
{
	void *pc[GP_NATIVE_DEPTH + 16];
	struct gp_native_thread *t = native_thread();
	const void *here = __builtin_frame_address(0);
	errno = 12345;
	struct gp_native_stack *s = gp_native_stack_walk(t, here);
	assert_int_equal(errno, 12345);
	assert_non_null(s);
	const unsigned depth = s->depth;
	last_end = (enum gp_native_end)s->end;
	if (!is_reference_stale)
		same(s, pc, native_unw_backtrace(pc, GP_NATIVE_DEPTH + 1), "unw_backtrace");
	same(s, pc, native_fixture.backtrace(pc, GP_NATIVE_DEPTH + 1), "backtrace");
	for (unsigned i = 0; i < 3; i++) {
		errno = 54321;
		s = native_stack_now(t, here);
		assert_int_equal(errno, 54321);
		assert_non_null(s);
		same(s, pc, native_fixture.backtrace(pc, GP_NATIVE_DEPTH + 1), "backtrace, memo");
		assert_int_equal(s->end, last_end);
	}
	compared++;
	return depth;
}

static void compare_leaf(void *context)
{
	unsigned depth = compare_here();
	if (context)
		*(unsigned *)context = depth;
}

/* ---- shapes ---- */

static __attribute__((noinline)) int recurse(int n)
{
	int below = n ? recurse(n - 1) : (int)compare_here();
	__asm__ volatile("" : "+r"(below));
	return below + 1;
}

static void equals_in_recursion(void **state)
{
	(void)state;
	for (int n = 0; n < 90; n += 7)
		recurse(n);
}

static __attribute__((noinline)) int tail_two(int n)
{
	return n + (int)compare_here();
}
static __attribute__((noinline)) int tail_one(int n)
{
	return tail_two(n * 3);
}

static int by_comparing(const void *a, const void *b)
{
	compare_here();
	return *(const int *)a - *(const int *)b;
}

static __attribute__((noinline)) unsigned variable_room(unsigned n)
{
	volatile char *room = __builtin_alloca(n * 24 + 1);
	room[n] = 1;
	return compare_here() + (unsigned)room[n];
}

static __attribute__((noinline)) unsigned aligned_room(unsigned n)
{
	__attribute__((aligned(128))) volatile char room[256];
	room[n & 255] = 1;
	return (n ? variable_room(n) : compare_here()) + (unsigned)room[0];
}

/* Arguments on the stack of a realigned frame: the compiler keeps the caller's frame in memory. */
static __attribute__((noinline)) unsigned realigned(unsigned a, unsigned b, unsigned c, unsigned d,
						    unsigned e, unsigned f, unsigned g, unsigned h)
{
	__attribute__((aligned(64))) volatile char room[64];
	volatile char *more = __builtin_alloca(h);
	room[a & 63] = 1;
	more[h - 1] = 1;
	unsigned below = h > 20 ? realigned(b, c, d, e, f, g, a, h - 9) : compare_here();
	return below + (unsigned)room[g & 63] + (unsigned)more[h - 1];
}

static __attribute__((noinline)) unsigned framed(unsigned n)
{
	unsigned below = n ? framed(n - 1) : aligned_room(7);
	__asm__ volatile("" : "+r"(below));
	return below + 1;
}

static void equals_in_many_shapes(void **state)
{
	int numbers[] = { 5, 3, 9, 1, 7 };
	(void)state;
	tail_one(2);
	qsort(numbers, 5, sizeof *numbers, by_comparing);
	for (unsigned n = 0; n < 40; n++)
		variable_room(n);
	for (unsigned n = 0; n < 9; n++)
		aligned_room(n);
	for (unsigned n = 0; n < 20; n++)
		framed(n);
	for (unsigned n = 1; n < 150; n += 7)
		realigned(1, 2, 3, 4, 5, 6, 7, n);
	/* farther than an entry can represent: all three times it is walked */
	const uint64_t hits = native_hits;
	variable_room(30000);
	assert_int_equal(native_hits, hits);
	variable_room(20000);
	assert_int_equal(native_hits, hits + 1);
}

static void equals_on_random_paths(void **state)
{
	uint8_t path[80];
	uint64_t seed = 4711;
	(void)state;
	for (unsigned i = 0; i < 3000; i++) {
		unsigned frames = (unsigned)(path_random(&seed) >> 9) % 80;
		for (unsigned k = 0; k < frames; k++)
			path[k] = (uint8_t)(path_random(&seed) >> 30);
		path_run(path, frames, compare_leaf, NULL);
	}
}

static void on_signal(int number)
{
	(void)number;
	recurse(3);
}

static void raise_below(unsigned n)
{
	if (n)
		raise_below(n - 1);
	else
		raise(SIGUSR1);
	__asm__ volatile("" ::: "memory");
}

static void with_handler(int flags)
{
	struct sigaction action = { .sa_handler = on_signal, .sa_flags = flags }, old;
	sigaction(SIGUSR1, &action, &old);
	for (unsigned n = 0; n < 12; n++)
		raise_below(n);
	sigaction(SIGUSR1, &old, NULL);
}

/* A handler that interrupts code at any place, also in prologues. */
static volatile sig_atomic_t ticks;
static void on_tick(int number)
{
	(void)number;
	compare_here();
	ticks++;
}

static void equals_in_signal_handlers(void **state)
{
	(void)state;
	with_handler(0);
	struct sigaction action = { .sa_handler = on_tick, .sa_flags = SA_RESTART }, old;
	uint8_t path[20] = { 0 };
	uint64_t seed = 99;
	sigaction(SIGALRM, &action, &old);
	timer_t timer;
	struct sigevent event = { .sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGALRM };
	assert_int_equal(timer_create(CLOCK_MONOTONIC, &event, &timer), 0);
	const struct itimerspec every = { { 0, 300000 }, { 0, 300000 } };
	timer_settime(timer, 0, &every, NULL);
	unsigned sum = 0;
	while (ticks < 300) {
		path[path_random(&seed) % 20]++;
		path_run(path, 20, (void (*)(void *))native_no_op, &sum);
	}
	timer_delete(timer);
	sigaction(SIGALRM, &old, NULL);
}

static void equals_on_alternate_stack(void **state)
{
	(void)state;
	const size_t bytes = 256u << 10;
	char *pages = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_ptr_not_equal(pages, MAP_FAILED);
	stack_t stack = { .ss_sp = pages, .ss_size = bytes }, old;
	assert_int_equal(sigaltstack(&stack, &old), 0);
	const uint64_t foreign = native_foreign_walks;
	with_handler(SA_ONSTACK);
	assert_true(native_foreign_walks > foreign);
	sigaltstack(&old, NULL);
	munmap(pages, bytes);
}

/* ---- other stacks ---- */

static void *in_thread(void *context)
{
	(void)context;
	for (int i = 0; i < 70; i += 10)
		recurse(i);
	framed(5);
	native_thread_done();
	return NULL;
}

static void equals_in_threads(void **state)
{
	pthread_t thread[8];
	(void)state;
	for (unsigned i = 0; i < 8; i++)
		assert_int_equal(pthread_create(&thread[i], NULL, in_thread, NULL), 0);
	for (unsigned i = 0; i < 8; i++)
		pthread_join(thread[i], NULL);
}

#if defined(__SANITIZE_ADDRESS__)
#define LEFT 16384 /* its frames are large */
#else
#define LEFT 1500
#endif

/* Recurses until `limit`: then a stack is taken with less than a page left. */
static __attribute__((noinline)) unsigned recurse_to(uintptr_t limit)
{
	volatile char room[64];
	room[0] = 0;
	if ((uintptr_t)__builtin_frame_address(0) > limit)
		return recurse_to(limit) + (unsigned)room[0] + 1;
	struct gp_native_stack *s =
		gp_native_stack_now(native_thread(), __builtin_frame_address(0));
	return s && s->depth == GP_NATIVE_DEPTH && s->end == GP_NATIVE_TRUNCATED ? 1 : 100000;
}

static void *at_the_limit(void *lowest)
{
	unsigned frames = 0;
	native_thread();
	recurse(80);
	/* so that its code is in the cache */
	recurse_to((uintptr_t)__builtin_frame_address(0) - 8000);
	for (unsigned i = 0; i < 3; i++)
		frames = recurse_to((uintptr_t)lowest + LEFT);
	native_thread_done();
	return (void *)(uintptr_t)frames;
}

static void takes_stacks_near_the_end_of_the_stack(void **state)
{
	const size_t page = 4096, bytes = 512u << 10;
	void *frames = NULL;
	pthread_t thread;
	pthread_attr_t attributes;
	(void)state;
	char *pages = mmap(NULL, bytes + 2 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_ptr_not_equal(pages, MAP_FAILED);
	assert_int_equal(mprotect(pages + page, bytes, PROT_READ | PROT_WRITE), 0);
	pthread_attr_init(&attributes);
	assert_int_equal(pthread_attr_setstack(&attributes, pages + page, bytes), 0);
	assert_int_equal(pthread_create(&thread, &attributes, at_the_limit, pages + page), 0);
	pthread_join(thread, &frames);
	assert_in_range((uintptr_t)frames, 100, 20000);
	munmap(pages, bytes + 2 * page);
}

static ucontext_t main_context, coroutine_context;
static unsigned coroutine_turns;

static void coroutine(void)
{
	for (;;) {
		recurse((int)(coroutine_turns % 9));
		framed(3);
		coroutine_turns++;
		swapcontext(&coroutine_context, &main_context);
	}
}

static void equals_in_coroutines(void **state)
{
	(void)state;
	const size_t bytes = 256u << 10;
	/* an unmapped page on either side: a read beyond the stack crashes */
	char *pages = mmap(NULL, bytes + 8192, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_int_equal(mprotect(pages + 4096, bytes, PROT_READ | PROT_WRITE), 0);
	getcontext(&coroutine_context);
	coroutine_context.uc_stack.ss_sp = pages + 4096;
	coroutine_context.uc_stack.ss_size = bytes;
	coroutine_context.uc_link = &main_context;
	makecontext(&coroutine_context, coroutine, 0);
	for (unsigned i = 0; i < 20; i++) {
		swapcontext(&main_context, &coroutine_context);
		recurse((int)i);
	}
	assert_int_equal(coroutine_turns, 20);
	munmap(pages, bytes + 8192);
}

/* ---- libraries that are loaded and unloaded ---- */

static void equals_after_another_library_took_the_place(void **state)
{
	typedef void callee(void (*leaf)(void *), void *context);
	char path[2][4096];
	void *last = NULL;
	unsigned same_place = 0;
	(void)state;
	is_reference_stale = true;
	native_beside(path[0], "native/libcallee_small.so");
	native_beside(path[1], "native/libcallee_large.so");
	for (unsigned i = 0; i < 12; i++) {
		void *library = dlopen(path[i % 2], RTLD_NOW | RTLD_LOCAL);
		assert_non_null(library);
		callee *call;
		*(void **)&call = dlsym(library, "native_callee");
		for (unsigned k = 0; k < 3; k++) {
			unsigned depth = 0;
			call(compare_leaf, &depth);
			assert_in_range(depth, 3, GP_NATIVE_DEPTH);
		}
		same_place += last == *(void **)&call;
		last = *(void **)&call;
		dlclose(library);
	}
	is_reference_stale = false;
	assert_true(gp_native_has_load_counter());
	assert_in_range(same_place, 1, 11); /* otherwise the test has no effect */
}

/* ---- code without unwind information ---- */

/* push %rbx; call *%rdi; pop %rbx; ret */
static const unsigned char made_code[] = { 0x53, 0xff, 0xd7, 0x5b, 0xc3 };

static unsigned made_depth;
static uintptr_t made_pc;
static void made_leaf(void)
{
	struct gp_native_stack *s =
		gp_native_stack_now(native_thread(), __builtin_frame_address(0));
	assert_non_null(s);
	made_depth = s->depth;
	made_pc = s->pc[0];
	last_end = (enum gp_native_end)s->end;
}

static void ends_at_made_code_without_a_second_search(void **state)
{
	(void)state;
	void *code = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_ptr_not_equal(code, MAP_FAILED);
	memcpy(code, made_code, sizeof made_code);
	void (*made)(void (*)(void));
	memcpy(&made, &code, sizeof code);
	made(made_leaf);
	for (unsigned i = 0; i < 100; i++) {
		made(made_leaf);
		assert_int_equal(last_end, GP_NATIVE_FOREIGN);
		assert_int_equal(made_depth, 1);
	}
	/* the table has the rule: libunwind is not called again */
	assert_int_equal(gp_native_rule_find(made_pc), gp_native_rule(GP_NATIVE_NONE, 0, 0));
	munmap(code, 4096);
}

static void leaves_no_descriptor_open(void **state)
{
	(void)state;
	assert_int_equal(native_fixture.descriptors_after, native_fixture.descriptors_before);
}

static void leaves_own_frames_out(void **state)
{
	uint8_t path[30] = { 1, 2, 3 };
	unsigned depth = 0;
	(void)state;
	path_run(path, 30, compare_leaf, &depth);
	assert_int_equal(last_end, GP_NATIVE_WHOLE);
	assert_in_range(depth, 33, 45);
	assert_in_range(compared, 3000, 1000000);
}

#if defined(__SANITIZE_THREAD__)
static void needs_another_build(void **state)
{
	(void)state;
	print_message("skipped: ThreadSanitizer keeps signals back in loops, and libunwind's end "
		      "of a thread comes after its own\n");
	skip();
}
#endif

int main(int argc, char **argv)
{
	(void)argc;
	native_fixture_open(argv[0], GP_NATIVE_DEPTH);
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(leaves_no_descriptor_open),
		cmocka_unit_test(equals_in_recursion),
		cmocka_unit_test(equals_in_many_shapes),
		cmocka_unit_test(equals_on_random_paths),
		cmocka_unit_test(equals_in_signal_handlers),
		cmocka_unit_test(equals_on_alternate_stack),
		cmocka_unit_test(equals_in_threads),
		cmocka_unit_test(takes_stacks_near_the_end_of_the_stack),
		cmocka_unit_test(equals_in_coroutines),
		cmocka_unit_test(equals_after_another_library_took_the_place),
		cmocka_unit_test(ends_at_made_code_without_a_second_search),
		cmocka_unit_test(leaves_own_frames_out),
	};
#if defined(__SANITIZE_THREAD__)
	const struct CMUnitTest none[] = { cmocka_unit_test(needs_another_build) };
	(void)tests;
	return cmocka_run_group_tests(none, NULL, NULL);
#else
	return cmocka_run_group_tests(tests, NULL, NULL);
#endif
}
