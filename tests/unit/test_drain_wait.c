/*
 * The waits of all the job's threads for the drain thread have one bound for the process, and leave
 * room for launches. An idle drain thread makes fewer than 20 turns a second. The recorder's disk
 * and system calls go through functions of this file.
 */
/* ThreadSanitizer calls `syscall` before the function of this file can run. */
#if !defined(__SANITIZE_THREAD__)

#include "recorded_child.h"

#include <dlfcn.h>
#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <time.h>

#define MS 1000000ll
#define SLOW_MS 50
#define THREADS 4
#define CREDIT_MS 300 /* less than the disk needs for the events of one thread */
#define NEVER (INT64_MAX / 2)
#define RESTS 40 /* the last 20 are those of an idle process */

static _Atomic bool is_disk_hung, is_disk_slow;
static _Atomic unsigned in_hung_write;
static _Thread_local unsigned futex_calls;
static _Atomic unsigned rests = RESTS;
static int64_t rest_ns[RESTS];

typedef long system_call(long number, ...);

/* Each rest of the drain thread ends at once, so that the test does not wait for it. */
static bool is_rest_skipped(long number, const long *a)
{
	const unsigned k = atomic_load(&rests);
	if (k == RESTS || number != SYS_futex || !gp_thread.is_drain || a[1] != FUTEX_WAIT_PRIVATE)
		return false;
	const struct timespec *timeout = (const struct timespec *)a[3];
	rest_ns[k] = timeout->tv_sec * 1000 * MS + timeout->tv_nsec;
	atomic_store(&rests, k + 1);
	return true;
}

long syscall(long number, ...)
{
	static system_call *real;
	va_list more;
	long a[6];
	va_start(more, number);
	for (unsigned k = 0; k < 6; k++)
		a[k] = va_arg(more, long);
	va_end(more);
	if (!real)
		*(void **)&real = dlsym(RTLD_NEXT, "syscall");
	futex_calls += number == SYS_futex;
	if (is_rest_skipped(number, a)) {
		errno = ETIMEDOUT;
		return -1;
	}
	return real(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}

ssize_t pwrite(int fd, const void *from, size_t bytes, off_t at)
{
	while (atomic_load(&is_disk_hung)) {
		atomic_store(&in_hung_write, 1);
		nanosleep(&(const struct timespec){ .tv_nsec = MS }, NULL);
	}
	if (atomic_load(&is_disk_slow))
		nanosleep(&(const struct timespec){ .tv_nsec = SLOW_MS * MS }, NULL);
	return syscall(SYS_pwrite64, fd, from, bytes, at);
}

ssize_t pwrite64(int fd, const void *from, size_t bytes, off_t at) __attribute__((alias("pwrite")));

static int64_t now_ns(void)
{
	return (int64_t)gp_clock_raw_ns(CLOCK_MONOTONIC_RAW);
}

/* Leaves a credit of so many ms; the whole credit is 10 s, and a tenth of the time. */
static void leave_credit_ms(int64_t ms)
{
	atomic_store(&gp_recorder.waits_paid_ns, now_ns() + 10 * (10000 - ms) * MS);
}

static void allocate_often(unsigned times)
{
	for (unsigned k = 0; k < times; k++) {
		CHECK(gp_enter());
		gp_put((struct gp_record){ .kind = GP_ALLOC });
		gp_leave();
	}
}

static void launch_often(unsigned times)
{
	for (unsigned k = 0; k < times; k++) {
		CHECK(gp_enter_launch());
		gp_put((struct gp_record){ .kind = GP_LAUNCH });
		gp_leave();
	}
}

static void hang_disk(void)
{
	allocate_often(1);
	atomic_store(&is_disk_hung, true);
	while (!atomic_load(&in_hung_write))
		sched_yield();
}

static void repair_disk(void)
{
	const uint32_t progress = atomic_load(&gp_recorder.progress);
	atomic_store(&is_disk_hung, false);
	while (atomic_load(&gp_recorder.progress) == progress)
		sched_yield();
}

static uint64_t lost_memory(void)
{
	uint64_t lost = atomic_load(&gp_control->lost[0]);
	for (uint32_t k = 1; k < atomic_load(&gp_control->rings); k++)
		lost += atomic_load(&gp_recorder.views[k].ring->lost_memory);
	return lost;
}

static void lose_without_credit(void)
{
	hang_disk();
	atomic_store(&gp_recorder.waits_paid_ns, NEVER);
	allocate_often(3 * GP_RING_SLOTS);
	const uint64_t lost = lost_memory();
	CHECK(lost != 0);
	const unsigned calls = futex_calls;
	allocate_often(1000);
	CHECK(lost_memory() == lost + 1000);
	CHECK(futex_calls == calls);
	repair_disk();
}

/* The last eighth of a ring is left to memory events. */
static void fill_with_launches(void)
{
	const struct gp_thread *t = &gp_thread;
	allocate_often(1);
	while (t->region + 1u < GP_RING_REGIONS)
		launch_often(1);
	launch_often(1000); /* so that no look at the tail comes just where launches end */
	gp_flush_soon();
	while (atomic_load(&t->ring->tail) != t->head)
		sched_yield();
	hang_disk();
	atomic_store(&gp_recorder.waits_paid_ns, NEVER);
	while (atomic_load(&t->ring->lost_launch) == 0)
		launch_often(1);
	CHECK(t->head - atomic_load(&t->ring->tail) == GP_RING_SLOTS / 8 * 7);
	allocate_often(GP_RING_SLOTS / 8);
	CHECK(lost_memory() == 0);
	allocate_often(1);
	CHECK(lost_memory() == 1);
	repair_disk();
}

/* A thread that outruns the disk waits at its memory events, so its launches find room. */
static void launch_between_allocations(void)
{
	allocate_often(1);
	atomic_store(&is_disk_slow, true);
	for (unsigned k = 0; k < 3 * GP_RING_SLOTS / 1000; k++) {
		allocate_often(1);
		launch_often(1000);
	}
	CHECK(lost_memory() == 0);
	CHECK(atomic_load(&gp_thread.ring->lost_launch) == 0);
	atomic_store(&is_disk_slow, false);
}

static pthread_barrier_t barrier;

static void *fill_ring(void *unused)
{
	allocate_often(1);
	pthread_barrier_wait(&barrier);
	pthread_barrier_wait(&barrier);
	allocate_often(3 * GP_RING_SLOTS);
	return unused;
}

static void wait_at_once(void)
{
	pthread_t thread[THREADS];
	pthread_barrier_init(&barrier, NULL, THREADS + 1);
	for (unsigned k = 0; k < THREADS; k++)
		CHECK(pthread_create(&thread[k], NULL, fill_ring, NULL) == 0);
	pthread_barrier_wait(&barrier);
	/*
	 * the threads have their rings; their waits for these rings are counted by the end of this
	 * turn
	 */
	while (atomic_load(&gp_recorder.waited_since_ns) != 0)
		sched_yield();
	hang_disk();
	leave_credit_ms(10000);
	const int64_t began = now_ns();
	pthread_barrier_wait(&barrier);
	for (unsigned k = 0; k < THREADS; k++)
		pthread_join(thread[k], NULL);
	CHECK(lost_memory() != 0);
	repair_disk();
	/* a second without a turn ends each wait: that is the sum of their waits */
	const int64_t paid = atomic_load(&gp_recorder.waits_paid_ns);
	CHECK(paid >= began + 10000 * MS && paid <= now_ns() + 10000 * MS);
}

static void *fill_ring_alone(void *unused)
{
	allocate_often(3 * GP_RING_SLOTS);
	return unused;
}

static void wait_one_after_the_other(void)
{
	pthread_t thread;
	allocate_often(1);
	atomic_store(&is_disk_slow, true);
	leave_credit_ms(CREDIT_MS);
	for (unsigned k = 0; k < THREADS; k++) {
		CHECK(pthread_create(&thread, NULL, fill_ring_alone, NULL) == 0);
		pthread_join(thread, NULL);
	}
	CHECK(lost_memory() != 0);
	atomic_store(&is_disk_slow, false);
}

static void rest_while_idle(void)
{
	int64_t slept_ns = 0;
	allocate_often(1);
	atomic_store(&rests, 0);
	while (atomic_load(&rests) < RESTS)
		sched_yield();
	for (unsigned k = RESTS - 20; k < RESTS; k++)
		slept_ns += rest_ns[k];
	CHECK(slept_ns > 1000 * MS);
}

static void threads_without_credit_make_no_system_call(void **state)
{
	(void)state;
	assert_int_equal(in_child("refused.gpr", "0", lose_without_credit), 0);
}

static void launches_leave_an_eighth_of_a_ring(void **state)
{
	(void)state;
	assert_int_equal(in_child("eighth.gpr", "0", fill_with_launches), 0);
}

static void launches_between_memory_events_find_room(void **state)
{
	(void)state;
	assert_int_equal(in_child("between.gpr", "0", launch_between_allocations), 0);
}

static void waits_at_the_same_time_count_once(void **state)
{
	(void)state;
	assert_int_equal(in_child("at_once.gpr", "0", wait_at_once), 0);
}

static void a_new_thread_has_no_credit_of_its_own(void **state)
{
	(void)state;
	assert_int_equal(in_child("in_turn.gpr", "0", wait_one_after_the_other), 0);
}

static void an_idle_recorder_turns_fewer_than_20_times_a_second(void **state)
{
	(void)state;
	assert_int_equal(in_child("idle.gpr", "0", rest_while_idle), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(threads_without_credit_make_no_system_call),
		cmocka_unit_test(launches_leave_an_eighth_of_a_ring),
		cmocka_unit_test(launches_between_memory_events_find_room),
		cmocka_unit_test(waits_at_the_same_time_count_once),
		cmocka_unit_test(a_new_thread_has_no_credit_of_its_own),
		cmocka_unit_test(an_idle_recorder_turns_fewer_than_20_times_a_second),
	};
	return cmocka_run_group_tests(tests, make_directory, drop_directory);
}

#else
int main(void)
{
	return 0; /* this build cannot count */
}
#endif
