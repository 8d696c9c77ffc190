/*
 * The recorder alone, without wrappers and driver: threads commit records, the drain writes, the
 * file is read back block by block. Each test runs in a forked child: a process records once.
 */
#include "recorded_child.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/stat.h>

struct totals {
	uint64_t losses,
		frees_before_loss; /* LOST records; frees that lie in the file before one */
	uint64_t allocs, frees, segments, live, ends;
	bool is_sealed;
	uint64_t seen[64]; /* orders below 4096, as bits */
};

/* The simplest possible reader of a keep-all file: block after block. */
static struct totals read_back(const char *name)
{
	struct totals totals = { 0 };
	char path[128];
	name_of(path, sizeof path, name);
	int fd = open(path, O_RDONLY);
	assert_true(fd >= 0);
	struct stat st;
	fstat(fd, &st);
	assert_int_equal(st.st_mode & 0777, 0600);
	unsigned char *bytes = malloc((size_t)st.st_size);
	assert_int_equal(read(fd, bytes, (size_t)st.st_size), st.st_size);
	close(fd);
	struct gp_file_header header;
	assert_int_equal(gp_file_header_decode(bytes, &header), GP_OK);
	struct gp_block_scratch *scratch =
		gp_block_scratch_init(aligned_alloc(64, (gp_block_scratch_bytes() + 63) & ~63ull),
				      gp_block_scratch_bytes());
	struct gp_record *records = malloc(GP_BLOCK_RECORDS * sizeof *records);
	for (uint64_t at = GP_FILE_HEADER; at < (uint64_t)st.st_size;) {
		struct gp_block_header block;
		assert_int_equal(gp_block_header_decode(bytes + at, &block), GP_OK);
		totals.segments += block.type == GP_BLOCK_SEGMENT;
		totals.ends += block.type == GP_BLOCK_END;
		totals.is_sealed = block.flags & GP_BLOCK_SEALED;
		uint64_t slots = 0;
		if (block.records)
			assert_int_equal(gp_block_decode(scratch, &block,
							 bytes + at + GP_BLOCK_HEADER, records,
							 &slots),
					 GP_OK);
		for (uint64_t k = 0; k < slots; k += 1u + records[k].extra) {
			totals.allocs += records[k].kind == GP_ALLOC;
			totals.frees += records[k].kind == GP_FREE;
			totals.losses += records[k].kind == GP_LOST;
			if (records[k].kind == GP_LOST)
				totals.frees_before_loss = totals.frees;
			totals.live += records[k].kind == GP_LIVE;
			if (gp_event_infos[records[k].kind].class == GP_CLASS_MEMORY &&
			    records[k].order < 4096)
				totals.seen[records[k].order / 64] |= 1ull << records[k].order % 64;
		}
		at += GP_BLOCK_HEADER + block.stored_bytes;
	}
	free(records);
	free(scratch);
	free(bytes);
	return totals;
}

static void two_events(void)
{
	put_memory(GP_ALLOC, 0x1000);
	put_memory(GP_FREE, 0x1000);
}

static void test_two_events(void **state)
{
	(void)state;
	assert_int_equal(in_child("two.gpr", "0", two_events), 0);
	struct totals t = read_back("two.gpr");
	assert_int_equal(t.allocs, 1);
	assert_int_equal(t.frees, 1);
	assert_true(t.is_sealed);
	assert_int_equal(t.seen[0], 3); /* orders 0 and 1, no hole */
}

static void no_events(void)
{
}

static void test_no_event_no_file(void **state)
{
	(void)state;
	char path[128];
	assert_int_equal(in_child("none.gpr", "0", no_events), 0);
	name_of(path, sizeof path, "none.gpr");
	assert_int_not_equal(access(path, F_OK), 0);
}

static void lose_before_a_block(void)
{
	put_memory(GP_ALLOC, 0x1000);
	/* a thread without a ring */
	atomic_fetch_add(&gp_control->lost[0], 1);
	for (uint64_t k = 0; k < 3 * GP_BLOCK_RECORDS; k++)
		put_memory(GP_FREE, k * 512);
}

/* A file that ends early, or still grows, contains no event without the earlier loss before it. */
static void test_a_loss_is_written_before_later_events(void **state)
{
	(void)state;
	assert_int_equal(in_child("lose.gpr", "0", lose_before_a_block), 0);
	struct totals t = read_back("lose.gpr");
	assert_int_equal(t.frees, 3 * GP_BLOCK_RECORDS);
	assert_int_equal(t.losses, 1);
	assert_int_equal(t.frees_before_loss, 0);
}

/* A thread that waited for a ring in vain: each event requests one again. */
static void *wait_in_vain(void *argument)
{
	struct gp_thread *t = &gp_thread;
	const uint64_t deadline = gp_clock_raw_ns(CLOCK_MONOTONIC_RAW) + 100000000000u;
	t->word = atomic_load(&gp_local->word);
	t->level = t->word & 3;
	t->generation = gp_recorder.generation;
	while (!t->ring && gp_clock_raw_ns(CLOCK_MONOTONIC_RAW) < deadline) {
		CHECK(gp_enter());
		struct gp_record *r = gp_reserve(GP_ALLOC);
		if (r)
			gp_commit_memory(r);
		gp_leave();
		sched_yield();
	}
	CHECK(t->ring);
	return argument;
}

static void many_in_vain(void)
{
	pthread_t thread[6];
	put_memory(GP_ALLOC, 0x1000);
	for (unsigned k = 0; k < 6; k++)
		CHECK(pthread_create(&thread[k], NULL, wait_in_vain, NULL) == 0);
	for (unsigned k = 0; k < 6; k++)
		pthread_join(thread[k], NULL);
}

static void test_a_thread_without_a_ring_requests_again(void **state)
{
	(void)state;
	assert_int_equal(in_child("vain.gpr", "0", many_in_vain), 0);
	assert_int_equal(read_back("vain.gpr").allocs, 7);
}

static void *many(void *argument)
{
	uint64_t base = (uint64_t)(uintptr_t)argument << 40;
	for (uint64_t k = 1; k <= 100000; k++) {
		put_memory(GP_ALLOC, base + k * 512);
		if (k > 100)
			put_memory(GP_FREE, base + (k - 100) * 512);
	}
	return NULL;
}

static void four_threads(void)
{
	pthread_t thread[4];
	for (uintptr_t k = 0; k < 4; k++)
		pthread_create(&thread[k], NULL, many, (void *)(k + 1));
	for (int k = 0; k < 4; k++)
		pthread_join(thread[k], NULL);
}

static void test_four_threads(void **state)
{
	(void)state;
	assert_int_equal(in_child("four.gpr", "0", four_threads), 0);
	struct totals t = read_back("four.gpr");
	assert_int_equal(t.allocs, 400000);
	assert_int_equal(t.frees, 400000 - 400);
	assert_true(t.is_sealed);
	for (unsigned k = 0; k < 64; k++)
		assert_int_equal(t.seen[k], UINT64_MAX);
}

/* A flushed event has left the ring, together with later events that have no order number. */
static void *urgent(void *argument)
{
	for (uint64_t k = 1; k <= 200; k++) {
		put_memory(GP_ALLOC, (uint64_t)(uintptr_t)argument << 40 | k * 512);
		CHECK(gp_enter());
		struct gp_record *r = gp_reserve(GP_DEVICE_MEMORY);
		CHECK(r);
		gp_commit(r);
		gp_flush_soon();
		uint64_t request = atomic_load(&gp_control->flushes_requested);
		gp_leave();
		while (atomic_load(&gp_control->flushes_done) < request)
			sched_yield();
		CHECK(atomic_load(&gp_thread.ring->tail) == gp_thread.head);
	}
	return NULL;
}

/* Like `gpuprof snapshot`. */
static void *request_snapshots(void *argument)
{
	uint64_t newest = 0;
	for (uint32_t k = 0; k < 200; k++) {
		uint32_t mine = atomic_fetch_add(&gp_control->snapshots_requested, 1) + 1;
		while ((int32_t)(atomic_load(&gp_control->snapshots_done) - mine) < 0)
			sched_yield();
		/* not of all numbers: a thread may be stopped in the middle of an event */
		uint64_t order = atomic_load(&gp_control->snapshot_order);
		CHECK(order >= newest && order <= atomic_load(&gp_control->next_order));
		newest = order;
	}
	return argument;
}

static void urgent_among_many(void)
{
	void *(*const body[])(void *) = { many, many, urgent, urgent, request_snapshots };
	pthread_t thread[5];
	put_memory(GP_ALLOC, 0x1000);
	for (uintptr_t k = 0; k < 5; k++)
		pthread_create(&thread[k], NULL, body[k], (void *)(k + 1));
	for (int k = 0; k < 5; k++)
		pthread_join(thread[k], NULL);
}

static void test_flushes_and_snapshots_among_threads(void **state)
{
	(void)state;
	assert_int_equal(in_child("urgent.gpr", "0", urgent_among_many), 0);
	struct totals t = read_back("urgent.gpr");
	assert_int_equal(t.allocs, 200000 + 2 * 200 + 1);
	assert_int_equal(t.frees, 200000 - 200);
	assert_true(t.is_sealed);
}

static void three_segments(void)
{
	for (uint64_t k = 1; k <= 2500000; k++) {
		put_memory(GP_ALLOC, k * 512);
		if (k > 50000)
			put_memory(GP_FREE, (k - 50000) * 512);
	}
}

static void test_checkpoints_hold_the_live_set(void **state)
{
	(void)state;
	assert_int_equal(in_child("segments.gpr", "0", three_segments), 0);
	struct totals t = read_back("segments.gpr");
	assert_int_equal(t.allocs, 2500000);
	assert_true(t.segments >= 2);
	assert_int_equal(t.segments, t.ends);
	/* the cut may lie between an allocation and its free */
	assert_in_range(t.live, (t.segments - 1) * 50000, (t.segments - 1) * 50001);
}

/* A flushed event is in the file after a turn, and survives a kill that removes all else. */
static void flushed_and_killed(void)
{
	for (uint64_t i = 0; i < 100; i++)
		put_memory(GP_ALLOC, 0x1000 + i);
	gp_flush_soon();
	/* the current turn may have begun before */
	uint32_t began = atomic_load(&gp_recorder.progress), seen = began;
	while (seen - began < 2) {
		gp_futex_wait(&gp_recorder.progress, seen, 1000000000u);
		seen = atomic_load(&gp_recorder.progress);
	}
	CHECK(atomic_load(&gp_thread.ring->tail) == gp_thread.head);
	unlink(gp_recorder.ring_path);
	kill(getpid(), SIGKILL);
}

static void test_flushed_before_a_kill(void **state)
{
	(void)state;
	assert_int_equal(in_child("flushed.gpr", "1G", flushed_and_killed), 128);
	assert_int_equal(read_back("flushed.gpr").allocs, 100);
}

static void *short_thread(void *argument)
{
	put_memory(GP_ALLOC, (uint64_t)(uintptr_t)argument);
	return NULL;
}

static void short_threads(void)
{
	for (uintptr_t k = 1; k <= 2000; k++) {
		pthread_t thread;
		CHECK(pthread_create(&thread, NULL, short_thread, (void *)(k << 20)) == 0);
		pthread_join(thread, NULL);
	}
	CHECK(atomic_load(&gp_control->rings) <= 8);
}

static void test_short_threads_share_rings(void **state)
{
	(void)state;
	assert_int_equal(in_child("short.gpr", "0", short_threads), 0);
	assert_int_equal(read_back("short.gpr").allocs, 2000);
}

static void forking(void)
{
	put_memory(GP_ALLOC, 0x1000);
	for (int k = 0; k < 3; k++) {
		pid_t pid = fork();
		if (pid == 0) {
			put_memory(GP_ALLOC, 0x2000);
			gp_recorder_end();
			_exit(0);
		}
		int status;
		waitpid(pid, &status, 0);
		CHECK(status == 0);
	}
	put_memory(GP_FREE, 0x1000);
}

static void test_children_record_for_themselves(void **state)
{
	(void)state;
	assert_int_equal(in_child("fork.gpr", "0", forking), 0);
	static const char *const names[] = { "fork.2.gpr", "fork.3.gpr", "fork.4.gpr" };
	assert_int_equal(read_back("fork.gpr").frees, 1);
	for (int k = 0; k < 3; k++)
		assert_int_equal(read_back(names[k]).allocs, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_two_events),
		cmocka_unit_test(test_no_event_no_file),
		cmocka_unit_test(test_a_loss_is_written_before_later_events),
		cmocka_unit_test(test_a_thread_without_a_ring_requests_again),
		cmocka_unit_test(test_four_threads),
		cmocka_unit_test(test_flushes_and_snapshots_among_threads),
		cmocka_unit_test(test_checkpoints_hold_the_live_set),
		cmocka_unit_test(test_flushed_before_a_kill),
		cmocka_unit_test(test_short_threads_share_rings),
		cmocka_unit_test(test_children_record_for_themselves),
	};
	return cmocka_run_group_tests(tests, make_directory, drop_directory);
}
