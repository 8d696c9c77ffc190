/*
 * Ring files that other processes of this user left in this ring place. A sealed one is removed.
 * One with events that its recording lacks is moved beside that recording, where every reading
 * command searches. That frees memory and keeps all events. One whose recording is gone is removed
 * when it is old, or when such rings hold too much. Runs once, on the drain thread; uncertain files
 * stay for a reading command (read/processes/adoption.c).
 *
 * The way to another recording begins at the last directory that both paths share, and crosses no
 * mount (openat2). A network file system that does not answer would stop the drain thread. If the
 * way ends early, the recording was removed or moved, or another container had it. The ring then
 * stays for 7 days, because the user may find the recording and repair it. A recording that is
 * moved later than its ring leaves the ring behind; `info` prints its name.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <linux/openat2.h>

#include "../process/listing.h"
#include "../recorder.h"

#define PIECE 32768u
#define TURN_NS 5000000u     /* between two turns; on a slow disk one piece takes longer */
#define ENDING_NS 100000000u /* the job waits for its end: the rest stays for the next recorder */

#define GONE_KEPT 64u  /* the oldest ones; each recorder makes its own list */
#define GONE_SHARE 10u /* a tenth of the file system; a recorder takes a quarter at most */
#define NAME_BYTES 64u /* of a ring file, which ends in two numbers */

/* A ring whose recording is not at its path. */
struct gone_ring {
	uint64_t silent_ns, bytes;
	char name[NAME_BYTES];
};

struct clearing {
	struct gp_recorder *r;
	bool (*turn)(struct gp_recorder *); /* work that must continue meanwhile */
	/* time of the last turn; when the end of the job was seen, or 0 */
	uint64_t turned_ns, ending_ns;
	bool has_paths;	     /* the paths lead to the same place as at the start */
	bool is_giving_up;   /* the current ring is removed if its recording is gone */
	uint64_t gone_bytes; /* bytes of all rings without a recording */
	unsigned gone;
	struct gone_ring oldest[GONE_KEPT];
};

struct left_ring {
	int fd;
	const struct gp_control *control;
	const char *name;
	struct statx st;
};

static bool is_ours(struct left_ring *left)
{
	const struct statx *st = &left->st;
	return statx(left->fd, "", AT_EMPTY_PATH, STATX_BASIC_STATS, &left->st) == 0 &&
	       S_ISREG(st->stx_mode) && st->stx_uid == geteuid() && st->stx_nlink == 1;
}

/* No process holds the lock: its owner is dead, or did not set is_lock_sure. */
static bool is_dead(const struct gp_control *c, const struct gp_control *own)
{
	if (c->is_lock_sure || strncmp(c->boot_id, own->boot_id, sizeof c->boot_id) != 0)
		return true;
	return c->pid_namespace == own->pid_namespace && syscall(SYS_kill, c->pid, 0) != 0 &&
	       errno == ESRCH;
}

/*
 * The directory of `output`, reached without crossing a mount from a directory that also contains
 * ours. Another mount may be a network's that does not answer. -1: there is none, or (EXDEV,
 * ENOSYS) unknown.
 */
static int open_directory_of(const struct gp_recorder *r, const char *output)
{
	char path[sizeof gp_control->output];
	const char *own = r->writer.path;
	size_t shared = 0, n = 0;
	for (size_t i = 0; output[i]; i++)
		if (output[i] == '/')
			n = i + 1;
	for (size_t i = 0; i < n && output[i] == own[i]; i++)
		if (output[i] == '/')
			shared = i + 1;
	memcpy(path, output, n);
	path[n] = '\0';
	const struct open_how how = { .flags = O_PATH | O_DIRECTORY | O_CLOEXEC,
				      .resolve = RESOLVE_NO_XDEV | RESOLVE_NO_MAGICLINKS };
	path[shared - (shared > 1)] = '\0';
	const int from = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (from < 0 || shared == n)
		return from;
	memcpy(path, output, n);
	const int found = (int)syscall(__NR_openat2, from, path + shared, &how, sizeof how);
	const int error = errno;
	close(from);
	errno = error;
	return found;
}

/*
 * Our own path leads to our own recording, so other paths do not lead elsewhere, as after chroot.
 */
static bool has_paths(const struct gp_recorder *r)
{
	const int fd = open(r->writer.path, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	const bool is_own = gp_file_is(fd, &r->writer.id);
	if (fd >= 0)
		close(fd);
	return is_own;
}

static bool is_zero(const char *piece, size_t n)
{
	return piece[0] == 0 && memcmp(piece, piece + 1, n - 1) == 0;
}

/* Runs a turn if one is due. False: the job has waited for this long enough. */
static bool may_go_on(struct clearing *c)
{
	if (gp_now_ns() - c->turned_ns >= TURN_NS) {
		c->turn(c->r);
		c->turned_ns = gp_now_ns();
	}
	if (!atomic_load(&c->r->is_ending))
		return true;
	const uint64_t now = gp_now_ns();
	if (c->ending_ns == 0)
		c->ending_ns = now;
	return now - c->ending_ns < ENDING_NS;
}

/* Data only: unwritten parts stay holes. False: not all was copied. */
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
 * Under another name until it is complete. A reader that finds both adopts one; the other then has
 * no event that the recording lacks.
 */
static bool move_into(struct clearing *c, const struct left_ring *left, int directory)
{
	char part[NAME_BYTES + 8];
	snprintf(part, sizeof part, "%s.part", left->name);
	/*
	 * rings that lie beside their recordings from the start; or the process that began this was
	 * killed
	 */
	if (faccessat(directory, left->name, F_OK, 0) == 0)
		return false;
	const int fd = openat(directory, part,
			      O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
	const bool is_moved = fd >= 0 && copy_data(c, left->fd, fd, left->st.stx_size) &&
			      renameat(directory, part, directory, left->name) == 0;
	if (fd >= 0)
		close(fd);
	if (fd >= 0 && !is_moved)
		unlinkat(directory, part, 0);
	return is_moved;
}

/* Time since the last write to the file or, in this boot, the last heartbeat of the owner. */
static uint64_t silent_ns(const struct left_ring *left)
{
	const struct statx_timestamp *written = &left->st.stx_mtime;
	const uint64_t wrote_ns = (uint64_t)written->tv_sec * 1000000000u + written->tv_nsec;
	const uint64_t beat_ns = atomic_load(&left->control->heartbeat_ns);
	const uint64_t now_ns = gp_clock_raw_ns(CLOCK_REALTIME);
	const uint64_t raw_ns = gp_now_ns();
	const uint64_t file_ns = wrote_ns < now_ns ? now_ns - wrote_ns : 0;
	const uint64_t owner_ns = beat_ns <= raw_ns ? raw_ns - beat_ns : UINT64_MAX;
	return file_ns < owner_ns ? file_ns : owner_ns;
}

static void note_gone(struct clearing *c, const struct left_ring *left, uint64_t silent)
{
	struct gone_ring *at = &c->oldest[c->gone];
	const uint64_t bytes = left->st.stx_blocks * 512;
	c->gone_bytes += bytes;
	if (c->gone == GONE_KEPT) {
		at = &c->oldest[0];
		for (unsigned k = 1; k < GONE_KEPT; k++)
			at = c->oldest[k].silent_ns < at->silent_ns ? &c->oldest[k] : at;
		if (silent <= at->silent_ns)
			return;
	} else {
		c->gone++;
	}
	*at = (struct gone_ring){ .silent_ns = silent, .bytes = bytes };
	memcpy(at->name, left->name, strlen(left->name) + 1);
}

/* True: remove it now. */
static bool give_up(struct clearing *c, const struct left_ring *left)
{
	const uint64_t silent = silent_ns(left);
	if (c->is_giving_up || silent > GP_RING_KEEP_S * UINT64_C(1000000000))
		return true;
	note_gone(c, left, silent);
	return false;
}

/*
 * True: it is not needed here any more. A link may lead to another mount, or to where the recording
 * was moved: a reading command must decide.
 */
static bool save(struct clearing *c, const struct left_ring *left)
{
	const char *output = left->control->output;
	struct statx st;
	/* if the job can reach descriptors, a copy might go to another file */
	if (!c->has_paths || *output != '/' || !memchr(output, '\0', sizeof left->control->output))
		return false;
	const int directory = open_directory_of(c->r, output);
	const char *name = strrchr(output, '/') + 1;
	const int flags = AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT;
	bool is_saved = false;
	if (directory < 0 || statx(directory, name, flags, STATX_TYPE, &st) != 0)
		is_saved = (errno == ENOENT || errno == ENOTDIR) && give_up(c, left);
	else if (S_ISREG(st.stx_mode) && faccessat(directory, name, W_OK, 0) == 0)
		is_saved = move_into(c, left, directory);
	if (directory >= 0)
		close(directory);
	return is_saved;
}

static void clear_open(struct clearing *clearing, struct left_ring *left)
{
	const struct gp_control *c = left->control;
	struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_len = 1 };
	/* the lock first: a reading command that had it may have removed the file */
	if (atomic_load(&c->magic) != GP_CONTROL_MAGIC || c->version != GP_CONTROL_VERSION ||
	    fcntl(left->fd, F_SETLK, &lock) != 0 || !is_ours(left) || !is_dead(c, gp_control))
		return;
	if (atomic_load(&c->is_sealed) || save(clearing, left))
		unlinkat(clearing->r->ring_dir_fd, left->name, 0);
}

static void clear_one(struct clearing *c, const char *name)
{
	struct left_ring left = { .name = name };
	left.fd = openat(c->r->ring_dir_fd, name,
			 O_RDWR | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (left.fd < 0)
		return;
	if (is_ours(&left) && left.st.stx_size >= GP_CONTROL_BYTES) {
		void *page = mmap(NULL, GP_CONTROL_USED, PROT_READ, MAP_SHARED, left.fd, 0);
		left.control = page;
		if (page != MAP_FAILED) {
			clear_open(c, &left);
			munmap(page, GP_CONTROL_USED);
		}
	}
	close(left.fd);
}

/* Removes the oldest whose recording is gone, until the rest is small enough. */
static void clear_gone(struct clearing *c)
{
	struct statfs fs;
	if (fstatfs(c->r->ring_dir_fd, &fs) != 0)
		return;
	const uint64_t most = (uint64_t)fs.f_blocks * (uint64_t)fs.f_bsize / GONE_SHARE;
	uint64_t held = c->gone_bytes;
	c->is_giving_up = true;
	while (held > most && c->gone > 0 && may_go_on(c)) {
		struct gone_ring *oldest = &c->oldest[0];
		for (unsigned k = 1; k < c->gone; k++)
			if (c->oldest[k].silent_ns > oldest->silent_ns)
				oldest = &c->oldest[k];
		clear_one(c, oldest->name);
		held -= oldest->bytes;
		*oldest = c->oldest[--c->gone];
	}
}

/* May belong to another process: opening and closing our own file would drop our lock on it. */
static bool is_anothers(const struct gp_recorder *r, const char *name)
{
	char prefix[64];
	const int n = snprintf(prefix, sizeof prefix, "gpuprof-ring-%u-", (unsigned)geteuid());
	return strncmp(name, prefix, (size_t)n) == 0 && strlen(name) < NAME_BYTES &&
	       strcmp(name, strrchr(r->ring_path, '/') + 1) != 0 && !strchr(name, '.');
}

void gp_ring_left_clear(struct gp_recorder *r, bool (*turn)(struct gp_recorder *))
{
	if (r->is_private)
		return;
	struct clearing clearing = { .r = r, .turn = turn };
	struct gp_listing listing;
	clearing.has_paths = !r->writer.is_shared_table && has_paths(r);
	/* a descriptor of its own: the job may move the offset of ring_dir_fd */
	const int directory = openat(r->ring_dir_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	gp_listing_begin(&listing, directory);
	bool is_whole = true;
	for (const char *name; is_whole && (name = gp_listing_next(&listing));) {
		if (!is_anothers(r, name))
			continue;
		clear_one(&clearing, name);
		is_whole = may_go_on(&clearing) && !atomic_load(&r->is_ending);
	}
	if (directory >= 0)
		close(directory);
	clear_gone(&clearing);
}
