/*
 * Ring files that other processes of this user left where ours lies. A sealed one is removed. One
 * whose events are not in its recording is moved beside that recording, where every reading command
 * looks: memory is free again, and no event is lost. Runs once, on the drain thread; what is in
 * doubt stays for a reading command (read/adoption.c).
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "listing.h"
#include "recorder.h"

#define PIECE 32768u
#define TURN_NS 5000000u     /* between two turns; on a slow disk one piece takes longer */
#define ENDING_NS 100000000u /* the job waits for its end: the rest stays for the next recorder */

/* What has to go on meanwhile. */
struct clearing {
	struct gp_recorder *r;
	bool (*turn)(struct gp_recorder *);
	uint64_t turned_ns, ending_ns; /* the last turn; when the end of the job was seen, or 0 */
};

struct left_ring {
	int fd;
	const struct gp_control *control;
	const char *name;
};

static bool is_ours(int fd, uint64_t *bytes)
{
	struct statx st;
	if (statx(fd, "", AT_EMPTY_PATH, STATX_BASIC_STATS, &st) != 0)
		return false;
	*bytes = st.stx_size;
	return S_ISREG(st.stx_mode) && st.stx_uid == geteuid() && st.stx_nlink == 1;
}

/* Nobody else holds the lock: its owner cannot be alive, or it says that this proves nothing. */
static bool is_dead(const struct gp_control *c, const struct gp_control *own)
{
	if (c->is_lock_sure || strncmp(c->boot_id, own->boot_id, sizeof c->boot_id) != 0)
		return true;
	return c->pid_namespace == own->pid_namespace && syscall(SYS_kill, c->pid, 0) != 0 &&
	       errno == ESRCH;
}

/* Is `output` a file in the directory of our own recording? That one answers, and is writable. */
static bool is_beside_ours(const struct gp_recorder *r, const char *output)
{
	const char *slash = strrchr(r->writer.path, '/');
	const size_t n = slash ? (size_t)(slash - r->writer.path) + 1 : 0;
	return n != 0 && memchr(output, '\0', sizeof gp_control->output) &&
	       strncmp(output, r->writer.path, n) == 0 && !strchr(output + n, '/') &&
	       access(output, W_OK) == 0;
}

static bool is_zero(const char *piece, size_t n)
{
	return piece[0] == 0 && memcmp(piece, piece + 1, n - 1) == 0;
}

/* Makes a turn where one is due. False: the job has waited for this long enough. */
static bool may_go_on(struct clearing *c)
{
	if (gp_clock_raw_ns(CLOCK_MONOTONIC_RAW) - c->turned_ns >= TURN_NS) {
		c->turn(c->r);
		c->turned_ns = gp_clock_raw_ns(CLOCK_MONOTONIC_RAW);
	}
	if (!atomic_load(&c->r->is_ending))
		return true;
	const uint64_t now = gp_clock_raw_ns(CLOCK_MONOTONIC_RAW);
	if (c->ending_ns == 0)
		c->ending_ns = now;
	return now - c->ending_ns < ENDING_NS;
}

/* Data only: what was never written stays a hole. False: not all of it. */
static bool copy_data(struct clearing *c, int from, int to, uint64_t bytes)
{
	char piece[PIECE];
	for (off_t at = 0; (at = lseek(from, at, SEEK_DATA)) >= 0;) {
		const ssize_t n = may_go_on(c) ? pread(from, piece, sizeof piece, at) : 0;
		if (n <= 0)
			return false;
		at += n;
		if (is_zero(piece, (size_t)n))
			continue;
		if (pwrite(to, piece, (size_t)n, at - n) != n)
			return false;
	}
	return errno == ENXIO && ftruncate(to, (off_t)bytes) == 0;
}

/*
 * Under another name until it is whole: a reader that finds both adopts one, and then the other has
 * nothing that the recording lacks.
 */
static bool move_beside(struct clearing *c, const struct left_ring *left, uint64_t bytes)
{
	char to[sizeof left->control->output + 300], whole[sizeof to];
	const char *output = left->control->output;
	const int directory = (int)(strrchr(output, '/') - output);
	if (!is_beside_ours(c->r, output))
		return false;
	snprintf(whole, sizeof whole, "%.*s/%s", directory, output, left->name);
	snprintf(to, sizeof to, "%.*s/%s.part", directory, output, left->name);
	/* rings that lie beside their recordings anyway; or whoever began this was killed */
	if (access(whole, F_OK) == 0)
		return false;
	const int fd = open(to, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
	const bool is_moved =
		fd >= 0 && copy_data(c, left->fd, fd, bytes) && rename(to, whole) == 0;
	if (fd >= 0)
		close(fd);
	if (fd >= 0 && !is_moved)
		unlink(to);
	return is_moved;
}

static void clear_open(struct clearing *clearing, const struct left_ring *left)
{
	const struct gp_recorder *r = clearing->r;
	const struct gp_control *c = left->control;
	struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_len = 1 };
	uint64_t bytes;
	/* the lock first: a reading command that had it may have removed the file */
	if (atomic_load(&c->magic) != GP_CONTROL_MAGIC || c->version != GP_CONTROL_VERSION ||
	    fcntl(left->fd, F_SETLK, &lock) != 0 || !is_ours(left->fd, &bytes) ||
	    !is_dead(c, gp_control))
		return;
	/* where the job can reach descriptors a copy might go anywhere */
	if (atomic_load(&c->is_sealed) ||
	    (!r->writer.is_shared_table && move_beside(clearing, left, bytes)))
		unlinkat(r->ring_dir_fd, left->name, 0);
}

static void clear_one(struct clearing *c, const char *name)
{
	uint64_t bytes = 0;
	struct left_ring left = { .name = name };
	left.fd = openat(c->r->ring_dir_fd, name,
			 O_RDWR | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (left.fd < 0)
		return;
	if (is_ours(left.fd, &bytes) && bytes >= GP_CONTROL_BYTES) {
		void *page = mmap(NULL, GP_CONTROL_USED, PROT_READ, MAP_SHARED, left.fd, 0);
		left.control = page;
		if (page != MAP_FAILED) {
			clear_open(c, &left);
			munmap(page, GP_CONTROL_USED);
		}
	}
	close(left.fd);
}

void gp_ring_left_clear(struct gp_recorder *r, bool (*turn)(struct gp_recorder *))
{
	if (r->is_private)
		return;
	char prefix[64];
	const char *own = strrchr(r->ring_path, '/') + 1;
	const int n = snprintf(prefix, sizeof prefix, "gpuprof-ring-%u-", (unsigned)geteuid());
	struct clearing clearing = { .r = r, .turn = turn };
	struct gp_listing listing;
	/* of its own: the offset of ring_dir_fd may be the job's to move */
	const int directory = openat(r->ring_dir_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	gp_listing_begin(&listing, directory);
	for (const char *name; (name = gp_listing_next(&listing));)
		/* to open and close our own would drop our lock on it */
		if (strncmp(name, prefix, (size_t)n) == 0 && strcmp(name, own) != 0 &&
		    !strchr(name, '.')) {
			clear_one(&clearing, name);
			if (!may_go_on(&clearing) || atomic_load(&r->is_ending))
				break;
		}
	if (directory >= 0)
		close(directory);
}
