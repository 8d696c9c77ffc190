/*
 * Recording on disk: pwrite at a known offset, never append, never trust a descriptor that the job
 * can reach.
 */
#include "file_write.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../recorder.h"

static bool write_all(int fd, const unsigned char *bytes, size_t n, uint64_t offset)
{
	while (n) {
		ssize_t written = pwrite(fd, bytes, n, (off_t)offset);
		if (written < 0 && errno == EINTR)
			continue;
		if (written == 0)
			errno = ENOSPC;
		if (written <= 0)
			return false;
		bytes += written;
		n -= (size_t)written;
		offset += (uint64_t)written;
	}
	return true;
}

struct gp_file_id gp_file_identify(int fd)
{
	struct statx now;
	if (fd < 0 || statx(fd, "", AT_EMPTY_PATH, STATX_INO, &now) != 0)
		return (struct gp_file_id){ .inode = 0 };
	return (struct gp_file_id){ now.stx_ino, now.stx_dev_major, now.stx_dev_minor };
}

bool gp_file_is(int fd, const struct gp_file_id *id)
{
	const struct gp_file_id now = gp_file_identify(fd);
	return now.inode && now.inode == id->inode && now.device_major == id->device_major &&
	       now.device_minor == id->device_minor;
}

/*
 * The job closed this descriptor and may have reused its number: never write there again. If the
 * thread lost its own table, this process is a copy, and the recording belongs to another one.
 */
static bool is_ours_or_reopened(struct gp_file_writer *w)
{
	if (gp_file_is(w->fd, &w->id))
		return true;
	if (w->is_shared_table) {
		w->fd = open(w->path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
		if (w->fd < 0)
			return false;
		if (gp_file_is(w->fd, &w->id))
			return true;
	}
	errno = ESTALE;
	return false;
}

static bool fail(struct gp_file_writer *w)
{
	atomic_fetch_add(&w->control->failed_blocks, 1);
	atomic_store(&w->control->has_hole, 1);
	return false;
}

static bool put_at(struct gp_file_writer *w, const unsigned char *bytes, size_t n, uint64_t offset)
{
	if (is_ours_or_reopened(w) && write_all(w->fd, bytes, n, offset))
		return true;
	gp_log_errno("cannot write", w->path, errno);
	gp_log_hint("events are lost and counted until there is room again");
	return fail(w);
}

bool gp_file_put_header(struct gp_file_writer *w)
{
	unsigned char bytes[GP_FILE_HEADER];
	gp_file_header_encode(&w->header, bytes);
	return is_ours_or_reopened(w) && write_all(w->fd, bytes, sizeof bytes, 0);
}

size_t gp_file_read_text(const char *path, char *out, size_t capacity)
{
	const int fd = open(path, O_RDONLY | O_CLOEXEC);
	const ssize_t n = fd < 0 ? 0 : read(fd, out, capacity - 1);
	const size_t bytes = n > 0 ? (size_t)n : 0;
	if (fd >= 0)
		close(fd);
	out[bytes] = '\0';
	return bytes;
}

static void describe_process(struct gp_file_header *h)
{
	gp_file_read_text("/proc/sys/kernel/random/boot_id", h->boot_id, sizeof h->boot_id);
	h->boot_id[strcspn(h->boot_id, "\n")] = '\0';
	if (gethostname(h->hostname, sizeof h->hostname) != 0)
		h->hostname[0] = '\0';
	h->hostname[sizeof h->hostname - 1] = '\0';
	size_t n = gp_file_read_text("/proc/self/cmdline", h->command, sizeof h->command);
	while (n > 0 && h->command[n - 1] == '\0')
		n--;
	for (size_t k = 0; k < n; k++)
		if (h->command[k] == '\0')
			h->command[k] = ' ';
}

int gp_file_high(int fd)
{
	int high = fcntl(fd, F_DUPFD_CLOEXEC, 900);
	if (high < 0)
		return fd;
	close(fd);
	return high;
}

/* Only regular files get the next free name: `/dev/null.2` makes no sense. */
static bool is_file(const char *path, uint64_t *made_ns)
{
	struct statx st;
	*made_ns = 0;
	if (statx(AT_FDCWD, path, AT_SYMLINK_NOFOLLOW, STATX_TYPE | STATX_BTIME | STATX_MTIME, &st))
		return errno == ENOENT; /* removed meanwhile */
	const struct statx_timestamp *made =
		st.stx_mask & STATX_BTIME ? &st.stx_btime : &st.stx_mtime;
	*made_ns = (uint64_t)made->tv_sec * 1000000000u + made->tv_nsec;
	bool is_regular = S_ISREG(st.stx_mode);
	errno = S_ISDIR(st.stx_mode) ? EISDIR : EEXIST;
	return is_regular;
}

static int open_new(struct gp_file_writer *w, const char *name)
{
	uint64_t made_ns;
	w->taken_ns = 0;
	for (unsigned attempt = 0; attempt < 1000; attempt++) {
		if (!gp_output_attempt(name, attempt, w->path, sizeof w->path)) {
			errno = ENAMETOOLONG;
			return -1;
		}
		int fd = open(w->path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
		if (fd >= 0)
			return w->is_shared_table ? gp_file_high(fd) : fd;
		if (errno != EEXIST || !is_file(w->path, &made_ns))
			return -1;
		w->taken_ns = made_ns > w->taken_ns ? made_ns : w->taken_ns;
	}
	return -1;
}

bool gp_file_create(struct gp_file_writer *w, const char *name)
{
	describe_process(&w->header);
	w->fd = open_new(w, name);
	if (w->fd < 0)
		return false;
	w->id = gp_file_identify(w->fd);
	return w->id.inode && gp_file_put_header(w);
}

struct gp_block_header gp_file_block(const struct gp_file_writer *w, enum gp_block_type type,
				     uint16_t flags, uint32_t thread)
{
	const struct gp_clock_triple now = gp_clock_triple();
	return (struct gp_block_header){
		.type = (uint16_t)type,
		.flags = flags,
		.segment = (uint32_t)atomic_load(&w->control->segment),
		.part = (uint32_t)atomic_load(&w->control->part),
		.thread = thread,
		.ticks = now.ticks,
		.mono_ns = now.mono_ns,
		.unix_ns = now.unix_ns,
	};
}

static bool put_plain_block(struct gp_file_writer *w, enum gp_block_type type, uint16_t flags,
			    uint64_t offset)
{
	struct gp_control *c = w->control;
	struct gp_block_header header = gp_file_block(w, type, flags, GP_THREAD_NONE);
	unsigned char bytes[GP_BLOCK_HEADER];
	header.first_order = header.last_order = atomic_load(&c->cut);
	gp_block_header_encode(&header, bytes);
	if (!put_at(w, bytes, sizeof bytes, offset))
		return false;
	/* partner: an adopter of this ring file; the part is complete before write_offset */
	atomic_store_explicit(&c->write_offset, offset + sizeof bytes, memory_order_release);
	return true;
}

struct position {
	uint64_t segment, part, cut, slot, offset; /* offset 0: no block is written yet */
};

static struct position position_of(const struct gp_control *c)
{
	return (struct position){ atomic_load(&c->segment), atomic_load(&c->part),
				  atomic_load(&c->cut), atomic_load(&c->slot),
				  atomic_load(&c->write_offset) };
}

/* For `ctl` and for debugging: an adopter finds its place in the recording itself. */
static void set_position(struct gp_control *c, const struct position *to)
{
	atomic_store(&c->segment, to->segment);
	atomic_store(&c->part, to->part);
	atomic_store(&c->cut, to->cut);
	atomic_store(&c->slot, to->slot);
	atomic_store(&c->write_offset, to->offset);
}

static bool begin_part(struct gp_file_writer *w, uint64_t segment, uint64_t part, uint64_t cut)
{
	struct gp_control *c = w->control;
	const struct position old = position_of(c);
	struct position new = { segment, part, cut, 0, GP_FILE_HEADER };
	if (w->header.slots) {
		new.slot = old.offset ? (old.slot + 1) % w->header.slots : 0;
		new.offset = gp_slot_offset(&w->header, new.slot);
	} else if (old.offset) {
		new.offset = old.offset;
	}
	set_position(c, &new);
	if (put_plain_block(w, GP_BLOCK_SEGMENT, 0, new.offset))
		return true;
	set_position(c, &old); /* a begun part continues there when there is room */
	return false;
}

bool gp_file_segment(struct gp_file_writer *w, uint64_t segment, uint64_t cut)
{
	return begin_part(w, segment, 0, cut);
}

uint64_t gp_file_room(const struct gp_file_writer *w)
{
	if (w->header.slots == 0)
		return UINT64_MAX;
	uint64_t used = atomic_load(&w->control->write_offset) -
			gp_slot_offset(&w->header, atomic_load(&w->control->slot));
	/* an END block always fits */
	return used + GP_BLOCK_HEADER > w->header.slot_bytes ?
		       0 :
		       w->header.slot_bytes - GP_BLOCK_HEADER - used;
}

/* The block was encoded before its part began. */
static bool move_to_part(unsigned char *block, uint64_t part)
{
	struct gp_block_header header;
	if (gp_block_header_decode(block, &header) != GP_OK)
		return false;
	header.part = (uint32_t)part;
	gp_block_header_encode(&header, block);
	return true;
}

bool gp_file_put(struct gp_file_writer *w, unsigned char *block, size_t bytes)
{
	struct gp_control *c = w->control;
	if (bytes > gp_file_room(w)) {
		/* a segment must not overwrite its own beginning */
		if (atomic_load(&c->part) + 2 >= w->header.slots ||
		    bytes + 2 * GP_BLOCK_HEADER > w->header.slot_bytes) {
			gp_log(true,
			       "the flight recorder is too small for this job, events are being "
			       "lost: GPUPROF_RING",
			       NULL);
			return fail(w);
		}
		if (!begin_part(w, atomic_load(&c->segment), atomic_load(&c->part) + 1,
				atomic_load(&c->cut)) ||
		    !move_to_part(block, atomic_load(&c->part)))
			return false;
	}
	uint64_t offset = atomic_load(&c->write_offset);
	if (!put_at(w, block, bytes, offset))
		return false;
	/* partner: an adopter of this ring file */
	atomic_store_explicit(&c->write_offset, offset + bytes, memory_order_release);
	return true;
}

bool gp_file_end_segment(struct gp_file_writer *w, uint16_t flags)
{
	return put_plain_block(w, GP_BLOCK_END, flags, atomic_load(&w->control->write_offset));
}

void gp_file_reopen_segment(struct gp_file_writer *w)
{
	atomic_fetch_sub(&w->control->write_offset, GP_BLOCK_HEADER);
}

void gp_file_close(struct gp_file_writer *w)
{
	if (w->fd < 0)
		return;
	if (gp_file_is(w->fd, &w->id))
		close(w->fd);
	w->fd = -1;
}
