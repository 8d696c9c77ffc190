/*
 * The next recorder moves the ring of a killed process beside its recording. On this disk each
 * write takes longer than the time between two turns. The job's events and its end do not wait for
 * that. The recorder's writes go through this file. Rings without recordings are removed when they
 * are old, or when they hold too much.
 */
#include "recorded_child.h"

#include <fcntl.h>
#include <glob.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <time.h>

#include <linux/magic.h>

#define SLOW_NS 6000000	  /* a turn is due after 5 ms */
#define PIECES_AT_END 20u /* the end waits for 100 ms: 17 pieces, and those in progress */
#define PIECES_LEAST 30u  /* pieces that the dead process left */
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

static uint64_t place_bytes = UINT64_C(1) << 40;

/* In place of libc's: the rings may lie in the test's own directory. */
int fstatfs(int fd, struct statfs *out)
{
	(void)fd;
	*out = (struct statfs){ .f_type = TMPFS_MAGIC,
				.f_bsize = 4096,
				.f_blocks = place_bytes / 4096,
				.f_bavail = 1 << 20 };
	return 0;
}

int statfs(const char *path, struct statfs *out)
{
	(void)path;
	return fstatfs(-1, out);
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

/* ---- many directories ---- */

#define PLACES 5u

static void record_and_clear(void)
{
	allocate();
	while (!atomic_load(&gp_recorder.is_asleep))
		sched_yield();
	await_end();
}

/* A job in a directory of its own, "0" to "4", is killed. */
static void kill_in(unsigned place)
{
	char path[128], recording[32];
	snprintf(recording, sizeof recording, "%u", place);
	name_of(path, sizeof path, recording);
	assert_int_equal(mkdir(path, 0700), 0);
	snprintf(recording, sizeof recording, "%u/killed.gpr", place);
	assert_int_equal(in_child(recording, "0", be_killed), 128);
}

static void remove_place(unsigned place)
{
	char name[32], path[128];
	snprintf(name, sizeof name, "%u/killed.gpr", place);
	name_of(path, sizeof path, name);
	assert_int_equal(unlink(path), 0);
	snprintf(name, sizeof name, "%u", place);
	name_of(path, sizeof path, name);
	assert_int_equal(rmdir(path), 0);
}

/* The ring that a job of this place left, if it lies in the folder of all rings. */
static bool find_ring(unsigned place, char *path, size_t capacity)
{
	char pattern[128], output[128], name[32];
	struct gp_control c;
	glob_t found;
	bool is_found = false;
	snprintf(name, sizeof name, "%u/killed.gpr", place);
	name_of(output, sizeof output, name);
	name_of(pattern, sizeof pattern, "rings/gpuprof-ring-*[0-9]");
	if (glob(pattern, 0, NULL, &found) != 0)
		return false;
	for (size_t k = 0; k < found.gl_pathc && !is_found; k++) {
		const int fd = open(found.gl_pathv[k], O_RDONLY);
		assert_int_equal(pread(fd, &c, sizeof c, 0), sizeof c);
		close(fd);
		is_found = strcmp(c.output, output) == 0;
		if (is_found)
			snprintf(path, capacity, "%s", found.gl_pathv[k]);
	}
	globfree(&found);
	return is_found;
}

static bool has_ring(unsigned place)
{
	char path[128];
	return find_ring(place, path, sizeof path);
}

static void rings_go_to_their_own_directories(void **state)
{
	(void)state;
	char there[128], link[128];
	kill_in(0);
	remove_place(0);
	/* a link to another mount, which might be a network's, and one to the same */
	kill_in(1);
	name_of(link, sizeof link, "1");
	name_of(there, sizeof there, "elsewhere");
	assert_int_equal(rename(link, there), 0);
	assert_int_equal(symlink("/proc/self", link), 0);
	kill_in(2);
	name_of(link, sizeof link, "2");
	name_of(there, sizeof there, "linked");
	assert_int_equal(rename(link, there), 0);
	assert_int_equal(symlink("linked", link), 0);
	kill_in(3);
	kill_in(4);
	assert_int_equal(in_child("next.gpr", "0", record_and_clear), 0);
	assert_int_equal(count("rings/gpuprof-ring-*[0-9]"), 2);
	assert_true(has_ring(0));
	assert_true(has_ring(1));
	assert_int_equal(count("linked/gpuprof-ring-*[0-9]"), 1);
	assert_int_equal(count("3/gpuprof-ring-*[0-9]"), 1);
	assert_int_equal(count("4/gpuprof-ring-*[0-9]"), 1);
}

static void rings_without_recordings_hold_a_tenth(void **state)
{
	(void)state;
	char path[128];
	struct stat st;
	for (unsigned k = 0; k < PLACES; k++) {
		kill_in(k);
		remove_place(k);
	}
	assert_true(find_ring(0, path, sizeof path));
	assert_int_equal(stat(path, &st), 0);
	/* two fit, three do not */
	place_bytes = (uint64_t)st.st_blocks * 512 * 25;
	assert_int_equal(in_child("next.gpr", "0", record_and_clear), 0);
	place_bytes = UINT64_C(1) << 40;
	for (unsigned k = 0; k < PLACES; k++)
		assert_int_equal(has_ring(k), k + 2 >= PLACES);
}

static void make_silent(unsigned place, int64_t seconds)
{
	char path[128];
	const struct timespec then[2] = { { .tv_sec = time(NULL) - seconds },
					  { .tv_sec = time(NULL) - seconds } };
	const uint64_t other_boot = UINT64_MAX;
	assert_true(find_ring(place, path, sizeof path));
	const int fd = open(path, O_RDWR);
	assert_int_equal(pwrite(fd, &other_boot, sizeof other_boot,
				offsetof(struct gp_control, heartbeat_ns)),
			 sizeof other_boot);
	assert_int_equal(futimens(fd, then), 0);
	close(fd);
}

static void rings_without_recordings_stay_seven_days(void **state)
{
	(void)state;
	for (unsigned k = 0; k < 2; k++) {
		kill_in(k);
		remove_place(k);
	}
	make_silent(0, GP_RING_KEEP_S + 60);
	make_silent(1, GP_RING_KEEP_S - 60);
	assert_int_equal(in_child("next.gpr", "0", record_and_clear), 0);
	assert_false(has_ring(0));
	assert_true(has_ring(1));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_job_records_while_a_ring_is_moved, make_places,
						drop_directory),
		cmocka_unit_test_setup_teardown(a_job_ends_while_a_ring_is_moved, make_places,
						drop_directory),
		cmocka_unit_test_setup_teardown(rings_go_to_their_own_directories, make_places,
						drop_directory),
		cmocka_unit_test_setup_teardown(rings_without_recordings_hold_a_tenth, make_places,
						drop_directory),
		cmocka_unit_test_setup_teardown(rings_without_recordings_stay_seven_days,
						make_places, drop_directory),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
