/*
 * A thread takes its ring. If a signal handler of the job jumps out of that, no ring stays behind
 * without a thread that writes to it.
 */
/* ThreadSanitizer delays signals. */
#if defined(__x86_64__) && !defined(__SANITIZE_THREAD__)

#include "recorded_child.h"
#include "single_step.h"

#include <pthread.h>
#include <setjmp.h>
#include <signal.h>

#define NEVER_THERE 2 /* exit status: the thread did not reach `jump_at` */

/* How far a thread can be with the ring that it takes. */
enum stage { NONE_YET, STATE_CHANGED, THREAD_NOTED, STAGES };
static enum stage jump_at;

static sigjmp_buf landing;

static void jump(int signal)
{
	(void)signal;
	siglongjmp(landing, 1);
}

static void allocate_once(void)
{
	if (!gp_enter())
		return;
	struct gp_record *r = gp_reserve(GP_ALLOC);
	if (r)
		gp_commit_memory(r);
	gp_leave();
}

/* Rings in use; `unnoted`: those without a noted thread. */
static unsigned count_rings(unsigned *unnoted)
{
	const uint32_t rings = atomic_load(&gp_control->rings);
	unsigned count = 0;
	*unnoted = 0;
	for (uint32_t k = 1; k < rings; k++) {
		const struct gp_ring *ring = gp_recorder.views[k].ring;
		const bool is_used = atomic_load(&ring->state) == GP_RING_ACTIVE;
		count += is_used;
		*unnoted += is_used && atomic_load(&ring->tid) == 0;
	}
	return count;
}

/* The main thread has one of them. */
static enum stage stage_now(void)
{
	unsigned unnoted;
	if (gp_thread.ring || count_rings(&unnoted) < 2)
		return NONE_YET;
	return unnoted ? STATE_CHANGED : THREAD_NOTED;
}

static void jump_when_stepped(int signal, siginfo_t *info, void *context)
{
	static bool is_sent;
	(void)signal;
	(void)info;
	(void)context;
	if (!is_sent && stage_now() == jump_at) {
		is_sent = true;
		pthread_kill(pthread_self(), SIGUSR1);
	}
}

static void *begin_step_by_step(void *unused)
{
	unsigned unnoted;
	if (sigsetjmp(landing, 1) == 0) {
		single_step_begin(jump_when_stepped);
		allocate_once();
		single_step_end();
		_exit(NEVER_THERE);
	}
	do
		allocate_once();
	while (!gp_thread.ring);
	CHECK(count_rings(&unnoted) == 2 && unnoted == 0);
	return unused;
}

static void jump_while_joining(void)
{
	pthread_t thread;
	allocate_once();
	signal(SIGUSR1, jump);
	CHECK(pthread_create(&thread, NULL, begin_step_by_step, NULL) == 0);
	pthread_join(thread, NULL);
}

static void a_jump_leaves_no_ring_behind(void **state)
{
	(void)state;
	for (jump_at = STATE_CHANGED; jump_at < STAGES; jump_at++)
		assert_int_equal(in_child("jumped.gpr", "0", jump_while_joining), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_jump_leaves_no_ring_behind),
	};
	return cmocka_run_group_tests(tests, make_directory, drop_directory);
}

#else
int main(void)
{
	return 0; /* only x86-64 runs a handler between two instructions */
}
#endif
