/*
 * The drain thread's own table of descriptors. A job that closes every number cannot reach the
 * recorder's descriptors, and the recorder keeps none of the job's files open. If the thread cannot
 * get its own table, the recorder records that.
 *
 * Effects that remain. Closing an inherited copy of a file on FUSE or NFS flushes that file. The
 * end of any child process does so, too, and the job does not wait for it. In a shared table a
 * thread of the job may get a recorder's number for its own file between the comparison and the
 * write. That needs a number of 900 or more and a window of one system call (2,812 rounds that
 * tried found none). After CRIU restores the job all threads share one table, so device and inode
 * are compared before each use. The recording then ends at the checkpoint (CRIU 4.2 and the fake
 * driver; without the comparison a file of the job was overwritten).
 *
 * Under a seccomp filter with SECCOMP_RET_KILL each system call of the recorder may end the job. No
 * system call reports the answer of a filter. A list from before 2020 lacks close_range. A short
 * job with all stacks makes these calls only when it is recorded (strace, 2026-11-24). Drain
 * thread: close_range dup fallocate fcntl fstatfs ftruncate getdents64 geteuid getuid munlock pipe2
 * prctl pwrite64 readlink sched_setaffinity sched_setscheduler statfs statx tgkill uname unlinkat.
 * Threads of the job: getpid gettid munlock prctl; before the first event also mincore mremap pipe2
 * readlink sched_getaffinity statx.
 */
#include <fcntl.h>
#include <linux/close_range.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "../process/listing.h"
#include "../recorder.h"

#define MQUEUE_MAGIC 0x19800202

/* True if unshare can be called. A filter of system calls may end the process for it. */
static bool has_no_filter(void)
{
	char text[4096];
	return gp_file_read_text("/proc/thread-self/status", text, sizeof text) != 0 &&
	       !strstr(text, "\nSeccomp:\t2");
}

/*
 * True if the first thread of the process does not see a file that this thread opens. Valgrind 3.19
 * reports success for close_range without copying the table: closing the copies would close the
 * job's files.
 */
static bool is_own_table(void)
{
	int end[2];
	char path[32];
	struct statx here, there;
	if (pipe2(end, O_CLOEXEC) != 0)
		return false;
	snprintf(path, sizeof path, "/proc/self/fd/%d", end[0]);
	const bool is_shared =
		statx(end[0], "", AT_EMPTY_PATH, STATX_INO, &here) != 0 ||
		(statx(AT_FDCWD, path, 0, STATX_INO, &there) == 0 &&
		 here.stx_ino == there.stx_ino && here.stx_dev_minor == there.stx_dev_minor);
	close(end[0]);
	close(end[1]);
	return !is_shared;
}

/* Container runtimes refuse unshare to all but root and allow close_range. */
static bool copy_table(void)
{
	if (syscall(__NR_close_range, ~0u, ~0u, CLOSE_RANGE_UNSHARE) == 0 && is_own_table())
		return true;
	return has_no_filter() && unshare(CLONE_FILES) == 0 && is_own_table();
}

static bool is_message_queue(int fd)
{
	struct statfs fs;
	return fstatfs(fd, &fs) == 0 && (unsigned long)fs.f_type == MQUEUE_MAGIC;
}

/*
 * Closes all but message queues. The kernel drops the job's mq_notify when a thread of the process
 * closes any copy of the descriptor. True: some are left.
 */
static bool close_copies(void)
{
	struct gp_listing listing;
	bool has_queues = false;
	const int directory = open("/proc/thread-self/fd", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (directory < 0) {
		syscall(__NR_close_range, 0u, ~0u, 0u);
		return false;
	}
	gp_listing_begin(&listing, directory);
	for (const char *name; (name = gp_listing_next(&listing));) {
		const int fd = gp_listing_number(name);
		if (*name == '.' || fd == directory)
			continue;
		if (is_message_queue(fd))
			has_queues = true;
		else
			close(fd);
	}
	close(directory);
	return has_queues;
}

void gp_own_descriptors(struct gp_recorder *r)
{
	r->writer.is_shared_table = !copy_table();
	if (r->writer.is_shared_table)
		return;
	/* at once; otherwise a pipe that the job closes would stay open */
	r->has_queues = close_copies();
	/*
	 * numbers 0 to 2 never mean a recorder's file, even if libc prints there in its last
	 * moments
	 */
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	while (null >= 0 && null < STDERR_FILENO)
		null = dup(null);
}

/* The end of the thread closes the queues, too. */
void gp_own_descriptors_keep(const struct gp_recorder *r)
{
	uint32_t seen = atomic_load(&gp_local->calls);
	for (; r->has_queues && !gp_job_is_over(); seen = atomic_load(&gp_local->calls))
		gp_job_await_call(seen);
}
