/*
 * A flushed event is in the file after that turn of the drain thread, even with other requests or
 * events in flight. The recorder's writes go through this file, so that a test can hold a turn in
 * its middle.
 */
#include "recorded_child.h"

#include <pthread.h>
#include <sys/syscall.h>

#define WAIT_NS 100000000u /* the longest wait of a job */

static _Atomic bool is_armed, is_held, is_free, was_done_early;
static _Atomic uint32_t writes; /* of events, from the moment when it is armed */
static _Atomic uint32_t go_at;	/* the value of gp_recorder.wake; 0: not set yet */

static bool is_of_events(const void *from, size_t bytes)
{
	struct gp_block_header header;
	return bytes >= GP_BLOCK_HEADER && gp_block_header_decode(from, &header) == GP_OK &&
	       header.type == GP_BLOCK_EVENTS;
}

static bool is_done(void)
{
	return atomic_load(&gp_control->flushes_done) ==
	       atomic_load(&gp_control->flushes_requested);
}

/* The first write is held until the next request, later ones until they are released. */
static void hold(void)
{
	if (atomic_fetch_add(&writes, 1) == 0) {
		atomic_store(&is_held, true);
		while (atomic_load(&go_at) == 0 ||
		       (int32_t)(atomic_load(&gp_recorder.wake) - atomic_load(&go_at)) < 0)
			sched_yield();
		return;
	}
	if (is_done())
		atomic_store(&was_done_early, true);
	while (!atomic_load(&is_free))
		sched_yield();
}

ssize_t pwrite(int fd, const void *from, size_t bytes, off_t at)
{
	if (atomic_load(&is_armed) && is_of_events(from, bytes))
		hold();
	return syscall(SYS_pwrite64, fd, from, bytes, at);
}

ssize_t pwrite64(int fd, const void *from, size_t bytes, off_t at) __attribute__((alias("pwrite")));

static bool is_all_written(void)
{
	return atomic_load(&gp_thread.ring->tail) == gp_thread.head;
}

static void await_done(void)
{
	while (!is_done())
		sched_yield();
	CHECK(is_all_written());
}

/* Requests a flush after an event that has no order number of its own. */
static void request_behind_an_event(void)
{
	CHECK(gp_enter());
	struct gp_record *r = gp_reserve(GP_DEVICE_MEMORY);
	CHECK(r);
	gp_commit(r);
	gp_flush_soon();
	gp_leave();
}

/* The turn of the first request has already looked at the rings. */
static void begin_two_in_a_turn(void)
{
	put_memory(GP_ALLOC, 0x1000);
	gp_flush_soon();
	await_done();
	atomic_store(&is_armed, true);
	request_behind_an_event();
	while (!atomic_load(&is_held))
		sched_yield();
	atomic_store(&go_at, atomic_load(&gp_recorder.wake) + 1);
}

static void two_in_a_turn(void)
{
	atomic_store(&is_free, true);
	begin_two_in_a_turn();
	request_behind_an_event();
	while (!is_all_written())
		sched_yield();
	CHECK(!atomic_load(&was_done_early));
	await_done();
}

/* If a kill would remove the rings, the job waits for its own event, and not for another one. */
static void two_in_a_turn_of_private_rings(void)
{
	begin_two_in_a_turn();
	atomic_store(&gp_recorder.is_full, true);
	const uint64_t began = gp_clock_raw_ns(CLOCK_MONOTONIC_RAW);
	request_behind_an_event();
	CHECK(gp_clock_raw_ns(CLOCK_MONOTONIC_RAW) - began >= WAIT_NS);
	atomic_store(&is_free, true);
	await_done();
}

static _Atomic bool is_in_flight, is_to_land;

static void *fly(void *argument)
{
	CHECK(gp_enter());
	struct gp_record *r = gp_reserve(GP_ALLOC);
	CHECK(r);
	atomic_store(&is_in_flight, true);
	while (!atomic_load(&is_to_land))
		sched_yield();
	gp_commit_memory(r);
	gp_leave();
	return argument;
}

/* All events of this thread come after a number that is still unpublished. */
static void behind_a_number_in_flight(void)
{
	pthread_t thread;
	CHECK(pthread_create(&thread, NULL, fly, NULL) == 0);
	while (!atomic_load(&is_in_flight))
		sched_yield();
	put_memory(GP_ALLOC, 0x1000);
	request_behind_an_event();
	for (unsigned turns = 0; turns < 4; turns++) {
		uint32_t seen = atomic_load(&gp_recorder.progress);
		gp_futex_wait(&gp_recorder.progress, seen, 1000000000u);
		/* a number that comes too late is skipped */
		CHECK(!is_done() || is_all_written());
	}
	atomic_store(&is_to_land, true);
	await_done();
	pthread_join(thread, NULL);
}

static void test_two_in_a_turn(void **state)
{
	(void)state;
	assert_int_equal(in_child("two.gpr", "0", two_in_a_turn), 0);
}

static void test_two_in_a_turn_of_private_rings(void **state)
{
	(void)state;
	assert_int_equal(in_child("private.gpr", "0", two_in_a_turn_of_private_rings), 0);
}

static void test_behind_a_number_in_flight(void **state)
{
	(void)state;
	assert_int_equal(in_child("flight.gpr", "0", behind_a_number_in_flight), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_two_in_a_turn),
		cmocka_unit_test(test_two_in_a_turn_of_private_rings),
		cmocka_unit_test(test_behind_a_number_in_flight),
	};
	return cmocka_run_group_tests(tests, make_directory, drop_directory);
}
