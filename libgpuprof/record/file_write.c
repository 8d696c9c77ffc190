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

#include "clock.h"
#include "record.h"
#include "settings.h"

static bool write_all(int fd, const unsigned char *bytes, size_t n, uint64_t offset)
{
	while (n) {
		ssize_t written = pwrite(fd, bytes, n, (off_t)offset);
		if (written < 0 && errno == EINTR)
			continue;
		if (written <= 0)
			return false;
		bytes += written;
		n -= (size_t)written;
		offset += (uint64_t)written;
	}
	return true;
}

static bool is_still_ours(const struct gp_file_writer *w)
{
	struct statx now;
	return statx(w->fd, "", AT_EMPTY_PATH, STATX_INO, &now) == 0 && now.stx_ino == w->inode &&
	       now.stx_dev_major == w->device_major && now.stx_dev_minor == w->device_minor;
}

/* The job closed our number (and may have given it to something else): never write there again. */
static bool reopen(struct gp_file_writer *w)
{
	w->fd = open(w->path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
	return w->fd >= 0 && is_still_ours(w);
}

static bool put_at(struct gp_file_writer *w, const unsigned char *bytes, size_t n, uint64_t offset)
{
	bool is_written = (!w->is_shared_table || is_still_ours(w) || reopen(w)) &&
			  write_all(w->fd, bytes, n, offset);
	if (!is_written)
		gp_say(true, "cannot write the recording, events are being lost:", w->path);
	w->is_failing = !is_written;
	return is_written;
}

static void read_text(const char *path, char *out, size_t capacity)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, out, capacity - 1);
	if (fd >= 0)
		close(fd);
	out[n > 0 ? n : 0] = '\0';
}

static void describe_process(struct gp_file_header *h)
{
	read_text("/proc/sys/kernel/random/boot_id", h->boot_id, sizeof h->boot_id);
	h->boot_id[strcspn(h->boot_id, "\n")] = '\0';
	if (gethostname(h->hostname, sizeof h->hostname) != 0)
		h->hostname[0] = '\0';
	h->hostname[sizeof h->hostname - 1] = '\0';
	int fd = open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? 0 : read(fd, h->command, sizeof h->command - 1);
	if (fd >= 0)
		close(fd);
	n = n < 0 ? 0 : n;
	while (n > 0 && h->command[n - 1] == '\0')
		n--;
	for (ssize_t k = 0; k < n; k++)
		if (h->command[k] == '\0')
			h->command[k] = ' ';
	h->command[n] = '\0';
}

int gp_file_high(int fd)
{
	int high = fcntl(fd, F_DUPFD_CLOEXEC, 900);
	if (high < 0)
		return fd;
	close(fd);
	return high;
}

static int open_new(struct gp_file_writer *w, const char *name)
{
	for (unsigned attempt = 0; attempt < 1000; attempt++) {
		if (!gp_output_attempt(name, attempt, w->path, sizeof w->path)) {
			errno = ENAMETOOLONG;
			return -1;
		}
		int fd = open(w->path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
		if (fd >= 0)
			return w->is_shared_table ? gp_file_high(fd) : fd;
		if (errno != EEXIST)
			return -1;
	}
	return -1;
}

bool gp_file_create(struct gp_file_writer *w, const char *name)
{
	describe_process(&w->header);
	w->fd = open_new(w, name);
	if (w->fd < 0)
		return false;
	struct statx st;
	if (statx(w->fd, "", AT_EMPTY_PATH, STATX_INO, &st) != 0)
		return false;
	w->device_major = st.stx_dev_major;
	w->device_minor = st.stx_dev_minor;
	w->inode = st.stx_ino;
	unsigned char bytes[GP_FILE_HEADER];
	gp_file_header_encode(&w->header, bytes);
	return write_all(w->fd, bytes, sizeof bytes, 0);
}

static bool put_plain_block(struct gp_file_writer *w, enum gp_block_type type, uint16_t flags,
			    uint64_t offset)
{
	struct gp_control *c = w->control;
	struct gp_clock_triple now = gp_clock_triple();
	struct gp_block_header header = {
		.type = (uint16_t)type,
		.flags = flags,
		.segment = (uint32_t)atomic_load(&c->segment),
		.part = (uint32_t)atomic_load(&c->part),
		.thread = GP_THREAD_NONE,
		.first_order = atomic_load(&c->cut),
		.last_order = atomic_load(&c->cut),
		.ticks = now.ticks,
		.mono_ns = now.mono_ns,
		.unix_ns = now.unix_ns,
	};
	unsigned char bytes[GP_BLOCK_HEADER];
	gp_block_header_encode(&header, bytes);
	if (!put_at(w, bytes, sizeof bytes, offset))
		return false;
	/* partner: an adopter of our ring file; everything before write_offset is whole */
	atomic_store_explicit(&c->write_offset, offset + sizeof bytes, memory_order_release);
	w->segment_bytes += sizeof bytes;
	return true;
}

static bool begin_part(struct gp_file_writer *w, uint64_t segment, uint64_t part, uint64_t cut)
{
	struct gp_control *c = w->control;
	uint64_t offset = atomic_load(&c->write_offset);
	if (w->header.slots) {
		uint64_t slot = (atomic_load(&c->slot) + 1) % w->header.slots;
		if (offset == 0)
			slot = 0;
		atomic_store(&c->slot, slot);
		offset = gp_slot_offset(&w->header, slot);
	} else if (offset == 0) {
		offset = GP_FILE_HEADER;
	}
	atomic_store(&c->segment, segment);
	atomic_store(&c->part, part);
	atomic_store(&c->cut, cut);
	atomic_store(&c->write_offset, offset);
	return put_plain_block(w, GP_BLOCK_SEGMENT, 0, offset);
}

bool gp_file_segment(struct gp_file_writer *w, uint64_t segment, uint64_t cut)
{
	w->segment_bytes = 0;
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

/* The block was encoded before the part that it lies in began. */
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
		/* a segment may not overwrite its own beginning */
		if (atomic_load(&c->part) + 2 >= w->header.slots ||
		    bytes + 2 * GP_BLOCK_HEADER > w->header.slot_bytes) {
			gp_say(true,
			       "the flight recorder is too small for this job, events are being "
			       "lost: GPUPROF_RING",
			       NULL);
			return false;
		}
		if (!begin_part(w, atomic_load(&c->segment), atomic_load(&c->part) + 1,
				atomic_load(&c->cut)) ||
		    !move_to_part(block, atomic_load(&c->part)))
			return false;
	}
	uint64_t offset = atomic_load(&c->write_offset);
	if (!put_at(w, block, bytes, offset))
		return false;
	/* partner: an adopter of our ring file */
	atomic_store_explicit(&c->write_offset, offset + bytes, memory_order_release);
	w->segment_bytes += bytes;
	return true;
}

bool gp_file_end_segment(struct gp_file_writer *w, uint16_t flags)
{
	return put_plain_block(w, GP_BLOCK_END, flags, atomic_load(&w->control->write_offset));
}

void gp_file_close(struct gp_file_writer *w)
{
	if (!w->is_shared_table || is_still_ours(w))
		close(w->fd);
	w->fd = -1;
}
