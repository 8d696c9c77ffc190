/*
 * The next recorder moves the ring of a killed process beside its recording, on a disk where each
 * write takes longer than the time between two turns: the job's events and its end do not wait for
 * that. What the recorder writes goes through this file.
 */
#include "recorded_child.h"

#include <glob.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <time.h>

#include <linux/magic.h>

#define SLOW_NS 6000000	  /* a turn is due after 5 ms */
#define PIECES_AT_END 20u /* the end waits for 100 ms: 17 of them, and what is under way */
#define PIECES_LEAST 30u  /* that the dead process left */
#define RECORDS_A_PIECE 512u

static _Atomic bool is_disk_slow, waits_for_end, is_starved;
static _Atomic uint32_t pieces, last_progress;

static bool is_copy(int fd)
{
	char link[64], path[256];
	snprintf(link, sizeof link, "/proc/thread-self/fd/%d", fd);
	const ssize_t n = readlink(link, path, sizeof path - 1);
	path[n > 0 ? n : 0] = '\0';
	return strstr(path, ".part") != NULL;
}

static void copy_slowly(void)
{
	const uint32_t progress = atomic_load(&gp_recorder.progress);
	if (atomic_fetch_add(&pieces, 1) != 0 && progress == atomic_load(&last_progress))
		atomic_store(&is_starved, true);
	atomic_store(&last_progress, progress);
	while (atomic_load(&waits_for_end) && !atomic_load(&gp_recorder.is_ending))
		sched_yield();
	nanosleep(&(const struct timespec){ .tv_nsec = SLOW_NS }, NULL);
}

ssize_t pwrite(int fd, const void *from, size_t bytes, off_t at)
{
	if (atomic_load(&is_disk_slow) && is_copy(fd))
		copy_slowly();
	return syscall(SYS_pwrite64, fd, from, bytes, at);
}

ssize_t pwrite64(int fd, const void *from, size_t bytes, off_t at) __attribute__((alias("pwrite")));

/* In place of libc's: the rings may lie in the test's own directory. */
int statfs(const char *path, struct statfs *out)
{
	(void)path;
	*out = (struct statfs){ .f_type = TMPFS_MAGIC, .f_bsize = 4096, .f_bavail = 1 << 20 };
	return 0;
}

static size_t count(const char *pattern)
{
	char path[128];
	glob_t found;
	name_of(path, sizeof path, pattern);
	const size_t files = glob(path, 0, NULL, &found) == 0 ? found.gl_pathc : 0;
	globfree(&found);
	return files;
}

static void allocate(void)
{
	if (!gp_enter())
		return;
	struct gp_record *r = gp_reserve(GP_ALLOC);
	if (r)
		gp_commit_memory(r);
	gp_leave();
}

static void be_killed(void)
{
	allocate();
	while (atomic_load(&gp_thread.ring->region) + 1u < GP_RING_REGIONS)
		allocate();
	for (unsigned k = 0; k < PIECES_LEAST * RECORDS_A_PIECE; k++)
		allocate();
	kill(getpid(), SIGKILL);
}

static void await_end(void)
{
	gp_recorder_end();
	while (atomic_load(&gp_recorder.state) != GP_RECORDER_ENDED)
		sched_yield();
}

static void record_while_moved(void)
{
	atomic_store(&is_disk_slow, true);
	allocate();
	while (count("gpuprof-ring-*[0-9]") < 1)
		sched_yield();
	await_end();
	CHECK(atomic_load(&pieces) >= PIECES_LEAST);
	CHECK(!atomic_load(&is_starved));
}

static void end_while_moved(void)
{
	atomic_store(&is_disk_slow, true);
	atomic_store(&waits_for_end, true);
	allocate();
	while (atomic_load(&pieces) == 0)
		sched_yield();
	await_end();
	CHECK(atomic_load(&pieces) <= PIECES_AT_END);
	CHECK(count("rings/gpuprof-ring-*[0-9]") == 1);
}

static int make_places(void **state)
{
	char rings[128];
	if (make_directory(state) != 0)
		return 1;
	name_of(rings, sizeof rings, "rings");
	setenv("GPUPROF_RING_DIR", rings, 1);
	return mkdir(rings, 0700);
}

static void a_job_records_while_a_ring_is_moved(void **state)
{
	(void)state;
	assert_int_equal(in_child("killed.gpr", "0", be_killed), 128);
	assert_int_equal(count("rings/gpuprof-ring-*[0-9]"), 1);
	assert_int_equal(in_child("during.gpr", "0", record_while_moved), 0);
	assert_int_equal(count("rings/gpuprof-ring-*[0-9]"), 0);
	assert_int_equal(count("gpuprof-ring-*[0-9]"), 1);
}

static void a_job_ends_while_a_ring_is_moved(void **state)
{
	(void)state;
	assert_int_equal(in_child("killed.gpr", "0", be_killed), 128);
	assert_int_equal(in_child("ends.gpr", "0", end_while_moved), 0);
	assert_int_equal(count("gpuprof-ring-*[0-9]"), 0);
	assert_int_equal(in_child("next.gpr", "0", record_while_moved), 0);
	assert_int_equal(count("rings/gpuprof-ring-*[0-9]"), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_job_records_while_a_ring_is_moved, make_places,
						drop_directory),
		cmocka_unit_test_setup_teardown(a_job_ends_while_a_ring_is_moved, make_places,
						drop_directory),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
