/*
 * Entries while a thread is already inside: calls inside calls, jumps, and a signal's handler. The
 * handler runs at every single instruction of a record, on each kind of stack. The processor's trap
 * flag makes that signal.
 */
/* ThreadSanitizer delays signals. */
#if defined(__x86_64__) && !defined(__SANITIZE_THREAD__)

#include "recorded_child.h"

#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <ucontext.h>

#ifndef SS_AUTODISARM
#define SS_AUTODISARM (1U << 31)
#endif

#define STACK_BYTES (256u << 10)
#define HANDLER_BYTES 7777u

static uint64_t lost(void)
{
	return atomic_load(&gp_thread.ring->lost_memory);
}

/* A function that forwards a call. Returns whether its frame was the outermost. */
static __attribute__((noinline)) bool enter_and_leave(void)
{
	const bool is_outermost = gp_enter();
	if (is_outermost)
		gp_leave();
	return is_outermost;
}

static void begin(void)
{
	put_memory(GP_ALLOC, 512);
	CHECK(lost() == 0);
}

/* ---- calls inside calls ---- */

static void nested(void)
{
	begin();
	for (unsigned k = 0; k < 10; k++) {
		CHECK(gp_enter());
		CHECK(!enter_and_leave());
		struct gp_record *r = gp_reserve(GP_ALLOC);
		gp_commit_memory(r);
		gp_leave();
	}
	CHECK(lost() == 0);
}

static void a_call_inside_a_call_is_a_part_of_it(void **state)
{
	(void)state;
	assert_int_equal(in_child("nested.gpr", "0", nested), 0);
}

/* ---- jumps ---- */

static sigjmp_buf landing;

static __attribute__((noinline)) void enter_and_jump(void)
{
	CHECK(gp_enter());
	siglongjmp(landing, 1);
}

static __attribute__((noinline)) bool deeper(unsigned frames)
{
	volatile char room[200];
	room[frames % sizeof room] = 1;
	const bool is_outermost = frames ? deeper(frames - 1) : enter_and_leave();
	return room[frames % sizeof room] && is_outermost;
}

static void jumped(void)
{
	begin();
	for (volatile unsigned k = 0; k < 40; k++) {
		if (sigsetjmp(landing, 1) == 0)
			enter_and_jump();
		CHECK(deeper(k));
		CHECK(lost() == k + 1);
	}
}

static void events_after_a_jump_are_recorded_at_any_depth(void **state)
{
	(void)state;
	assert_int_equal(in_child("jumped.gpr", "0", jumped), 0);
}

/* ---- other stacks ---- */

static ucontext_t back, away;
static bool was_outermost;

static void enter_and_switch(void)
{
	CHECK(gp_enter());
	setcontext(&back);
}

static void enter_elsewhere(void)
{
	was_outermost = enter_and_leave();
}

static void on_stack(char *stack, void (*body)(void))
{
	volatile bool is_back = false;
	getcontext(&back);
	if (is_back)
		return;
	is_back = true;
	getcontext(&away);
	away.uc_stack = (stack_t){ .ss_sp = stack, .ss_size = STACK_BYTES };
	away.uc_link = &back;
	makecontext(&away, body, 0);
	setcontext(&away);
}

static char *pages_for(size_t bytes)
{
	char *pages = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(pages != MAP_FAILED);
	return pages;
}

static void switched(void)
{
	char *stack = pages_for(STACK_BYTES);
	begin();
	/* left on a coroutine's stack, which is then unmapped or not */
	on_stack(stack, enter_and_switch);
	CHECK(enter_and_leave() && lost() == 1);
	on_stack(stack, enter_and_switch);
	munmap(stack, STACK_BYTES);
	CHECK(enter_and_leave() && lost() == 2);
	/* inside, and a coroutine calls: the outer call continues, the inner one is counted */
	stack = pages_for(STACK_BYTES);
	CHECK(gp_enter());
	on_stack(stack, enter_elsewhere);
	CHECK(!was_outermost && lost() == 3);
	gp_leave();
	on_stack(stack, enter_elsewhere);
	CHECK(was_outermost && lost() == 3);
}

static void other_stacks_are_recognized(void **state)
{
	(void)state;
	assert_int_equal(in_child("switched.gpr", "0", switched), 0);
}

/* ---- handlers ---- */

static volatile bool is_stepped;
static volatile uint64_t handled, handled_outermost;

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

/* The kernel clears the flag in the handler. */
static void allocate_in_handler(int signal)
{
	(void)signal;
	if (!is_stepped)
		return;
	handled++;
	if (!gp_enter())
		return;
	struct gp_record *r = gp_reserve(GP_ALLOC);
	CHECK(r);
	r->alloc.address = handled;
	r->alloc.bytes = HANDLER_BYTES;
	gp_commit_memory(r);
	gp_leave();
	handled_outermost++;
}

static void check_record(const struct gp_record *r)
{
	if (r->kind == GP_ALLOC) {
		CHECK(r->alloc.bytes == HANDLER_BYTES && r->v[2] == 0 && r->aux == 0);
	} else {
		CHECK(r->kind == GP_LAUNCH && r->launch.kernel == 1 && r->launch.stream == 2);
		CHECK(r->launch.grid == 3 && r->launch.block == 4 && r->aux == 5);
	}
}

static void launch_stepped(unsigned rounds)
{
	for (unsigned k = 0; k < rounds; k++) {
		keep_pace();
		const uint64_t head = gp_thread.head, lost_before = lost();
		handled = handled_outermost = 0;
		step(true);
		const bool is_outermost = gp_enter_launch();
		struct gp_record *r = gp_reserve(GP_LAUNCH);
		r->launch.kernel = 1;
		r->launch.stream = 2;
		r->launch.grid = 3;
		r->launch.block = 4;
		r->aux = 5;
		gp_commit(r);
		gp_leave();
		step(false);
		CHECK(is_outermost && handled > 20 && handled_outermost < handled);
		CHECK(gp_thread.head - head == 1 + handled_outermost);
		CHECK(lost() - lost_before == handled - handled_outermost);
		for (uint64_t at = head; at < gp_thread.head; at++)
			check_record(gp_view_slot(&gp_recorder.views[gp_thread.ring_index], at));
	}
}

struct place {
	char *handler_stack; /* NULL: handlers run on the thread's own stack */
	bool is_in_frame;    /* or in an array of one of its frames */
	int flags;
};

static void *be_interrupted(void *argument)
{
	const struct place *place = argument;
	char in_frame[64 << 10];
	stack_t stack = { .ss_sp = place->is_in_frame ? in_frame : place->handler_stack,
			  .ss_size = sizeof in_frame,
			  .ss_flags = place->flags };
	struct sigaction action = { .sa_handler = allocate_in_handler, .sa_flags = SA_ONSTACK };
	CHECK(!stack.ss_sp || sigaltstack(&stack, NULL) == 0);
	CHECK(sigaction(SIGTRAP, &action, NULL) == 0);
	put_memory(GP_ALLOC, 512);
	step(false); /* pages the code in */
	launch_stepped(20);
	/* AddressSanitizer unmaps the alternate stack of a thread that ends */
	stack.ss_flags = SS_DISABLE;
	CHECK(sigaltstack(&stack, NULL) == 0);
	return NULL;
}

/* Stacks in one mapping: memory beside a thread's stack may be read as well. */
static void interrupted(void)
{
	char *pages = pages_for(3 * STACK_BYTES);
	const struct place places[] = {
		{ NULL, false, 0 },
		{ NULL, true, 0 },
		{ pages, false, 0 },
		{ pages, false, (int)SS_AUTODISARM },
		{ pages + 2 * STACK_BYTES, false, 0 },
		{ pages + 2 * STACK_BYTES, false, (int)SS_AUTODISARM },
	};
	for (unsigned k = 0; k < sizeof places / sizeof *places; k++) {
		pthread_attr_t attributes;
		pthread_t thread;
		struct place place = places[k];
		CHECK(pthread_attr_init(&attributes) == 0);
		CHECK(pthread_attr_setstack(&attributes, pages + STACK_BYTES, STACK_BYTES) == 0);
		CHECK(pthread_create(&thread, &attributes, be_interrupted, &place) == 0);
		CHECK(pthread_join(thread, NULL) == 0);
	}
}

static void no_handler_takes_a_reserved_slot(void **state)
{
	(void)state;
	assert_int_equal(in_child("interrupted.gpr", "0", interrupted), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_call_inside_a_call_is_a_part_of_it),
		cmocka_unit_test(events_after_a_jump_are_recorded_at_any_depth),
		cmocka_unit_test(other_stacks_are_recognized),
		cmocka_unit_test(no_handler_takes_a_reserved_slot),
	};
	return cmocka_run_group_tests(tests, make_directory, drop_directory);
}

#else

int main(void)
{
	return 0;
}

#endif
