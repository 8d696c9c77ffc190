/*
 * Ring files of other processes: finds them by name in the ring places, maps them, and tests
 * whether their owner lives. Opens only regular files of this user, never through a link: every
 * user can write to /dev/shm.
 */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "../regular_file.h"
#include "recording.h"

#define LOOKS_MAX 1000u /* attempts while the owner writes to a ring */
#define HEARTBEAT_NS 5000000000u
#define AWAIT_NS 1000000000u /* do not wait for a disk that takes longer for a block */
#define LOOK_NS 50000000     /* the end of a process sends no notice, so poll */

/*
 * Finds the places that hold data. The first place always counts: it is the recorder's own ring. A
 * place that is entirely a hole was never written. A file of a few bytes can have thousands of
 * these, and reading each would cost pages.
 */
static void find_rings(struct gp_ring_file *file)
{
	const uint64_t most = (file->bytes - GP_CONTROL_BYTES) / GP_RING_BYTES;
	const uint32_t named = atomic_load(&file->control->rings);
	const uint32_t places = named < most ? named : (uint32_t)most;
	for (uint32_t i = 0; i < places; i++) {
		const off_t begin = (off_t)gp_ring_offset(i);
		const off_t at = i == 0 ? begin : lseek(file->fd, begin, SEEK_DATA);
		if (at < 0 && errno == ENXIO)
			return;
		if (at > begin)
			i = (uint32_t)(((uint64_t)at - GP_CONTROL_BYTES) / GP_RING_BYTES);
		if (i < places)
			file->place[file->rings++] = (uint16_t)i;
	}
}

enum gp_status gp_ring_file_open(const char *path, bool is_writable, struct gp_ring_file *out)
{
	*out = (struct gp_ring_file){ .fd = gp_regular_open(path, O_RDWR | O_NOFOLLOW) };
	if (out->fd < 0)
		return GP_E_OPEN;
	struct stat st;
	enum gp_status status = GP_E_NOT_RECORDING;
	if (fstat(out->fd, &st) != 0 || !S_ISREG(st.st_mode) || st.st_uid != geteuid() ||
	    st.st_nlink != 1 || st.st_size < (off_t)GP_CONTROL_BYTES ||
	    st.st_size > (off_t)gp_ring_offset(GP_RINGS_MAX))
		goto close;
	snprintf(out->path, sizeof out->path, "%s", path);
	out->bytes = (uint64_t)st.st_size;
	int protection = is_writable ? PROT_READ | PROT_WRITE : PROT_READ;
	out->control = mmap(NULL, out->bytes, protection, MAP_SHARED, out->fd, 0);
	status = GP_E_MEMORY;
	if (out->control == MAP_FAILED)
		goto close;
	/* partner: the last store of gp_ring_place_open */
	if (atomic_load_explicit(&out->control->magic, memory_order_acquire) == GP_CONTROL_MAGIC &&
	    out->control->version == GP_CONTROL_VERSION) {
		find_rings(out);
		return GP_OK;
	}
	status = GP_E_NOT_RECORDING;
	munmap(out->control, out->bytes);
close:
	close(out->fd);
	out->fd = -1;
	out->control = NULL;
	return status;
}

void gp_ring_file_close(struct gp_ring_file *file)
{
	if (file->control != NULL)
		munmap(file->control, file->bytes);
	if (file->fd >= 0)
		close(file->fd);
	*file = (struct gp_ring_file){ .fd = -1 };
}

struct gp_ring *gp_ring_file_ring(const struct gp_ring_file *file, uint32_t index)
{
	return (struct gp_ring *)((char *)file->control + gp_ring_offset(file->place[index]));
}

/* ---- is the owner alive? ---- */

static bool read_text(const char *path, char *out, size_t capacity)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, out, capacity - 1);
	if (fd >= 0)
		close(fd);
	out[n > 0 ? n : 0] = '\0';
	return n > 0;
}

static bool read_boot_id(char out[64])
{
	bool is_read = read_text("/proc/sys/kernel/random/boot_id", out, 64);
	out[strcspn(out, "\n")] = '\0';
	return is_read;
}

bool gp_process_start(unsigned pid, uint64_t *start)
{
	char path[64], text[1024];
	snprintf(path, sizeof path, "/proc/%u/stat", pid);
	if (!read_text(path, text, sizeof text))
		return false;
	const char *at = strrchr(text, ')'); /* the name may contain blanks and brackets */
	if (at == NULL || at[1] != ' ' || at[2] == 'Z' || at[2] == 'X')
		return false;
	for (int field = 2; at != NULL && field < 22; field++)
		at = strchr(at + 1, ' ');
	*start = at != NULL ? strtoull(at + 1, NULL, 10) : 0;
	return at != NULL;
}

static bool is_same_process(unsigned pid, uint64_t start)
{
	uint64_t now;
	return gp_process_start(pid, &now) && now == start;
}

uint64_t gp_clock_read(clockid_t clock)
{
	struct timespec now;
	clock_gettime(clock, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static bool is_heart_beating(const struct gp_control *control)
{
	const uint64_t ns = gp_clock_read(CLOCK_MONOTONIC_RAW);
	uint64_t beat = atomic_load(&control->heartbeat_ns);
	return beat <= ns && ns - beat < HEARTBEAT_NS;
}

bool gp_is_own_namespace(const struct gp_control *c)
{
	struct stat own;
	return stat("/proc/self/ns/pid", &own) == 0 && own.st_ino == c->pid_namespace;
}

enum gp_owner gp_ring_file_owner(const struct gp_ring_file *file)
{
	const struct gp_control *c = file->control;
	struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_len = 1 };
	if (fcntl(file->fd, F_GETLK, &lock) != 0)
		return GP_OWNER_UNKNOWN;
	if (lock.l_type != F_UNLCK) /* a pid is valid only in its own namespace */
		return gp_is_own_namespace(c) && lock.l_pid != (pid_t)c->pid ? GP_OWNER_INHERITED :
									       GP_OWNER_ALIVE;
	char boot_id[64];
	if (!read_boot_id(boot_id))
		return GP_OWNER_UNKNOWN;
	if (strncmp(boot_id, c->boot_id, sizeof c->boot_id) != 0)
		return GP_OWNER_DEAD;
	if (c->is_lock_sure)
		return GP_OWNER_DEAD;
	if (gp_is_own_namespace(c))
		return is_same_process(c->pid, c->process_start) ? GP_OWNER_ALIVE : GP_OWNER_DEAD;
	return is_heart_beating(c) ? GP_OWNER_ALIVE : GP_OWNER_DEAD;
}

/* ---- events that are still in the rings ---- */

/* The number of the first MEMORY event in a ring that is in use; UINT64_MAX: none. */
static uint64_t first_order(const struct gp_ring *ring)
{
	for (unsigned look = 0; look < LOOKS_MAX; look++) {
		/* partner: release store in gp_drain_flush; the file has all events before it */
		uint64_t tail = atomic_load_explicit(&ring->tail, memory_order_acquire);
		/* partner: release store in gp_commit and gp_commit_memory */
		uint64_t head = atomic_load_explicit(&ring->head, memory_order_acquire);
		uint64_t order = UINT64_MAX;
		for (uint64_t at = tail; at < head && head - tail <= GP_RING_PENDING;) {
			const struct gp_record *r = gp_ring_slot(ring, at);
			/*
			 * acquire, so that the loads of the slot stay before the load of the tail
			 * below
			 */
			uint16_t kind = __atomic_load_n(&r->kind, __ATOMIC_ACQUIRE);
			if (kind < GP_KINDS && gp_event_infos[kind].class == GP_CLASS_MEMORY) {
				order = __atomic_load_n(&r->order, __ATOMIC_ACQUIRE);
				break;
			}
			at += 1u + __atomic_load_n(&r->extra, __ATOMIC_ACQUIRE);
		}
		/* the slots were valid if the tail has not moved */
		if (atomic_load_explicit(&ring->tail, memory_order_relaxed) == tail)
			return order;
	}
	return 0;
}

static uint64_t first_unwritten(const struct gp_ring_file *file)
{
	/* Load it before the rings: events without a number get at least this one. */
	uint64_t first = atomic_load(&file->control->next_order);
	for (uint32_t i = 0; i < file->rings; i++) {
		const struct gp_ring *ring = gp_ring_file_ring(file, i);
		if (atomic_load(&ring->state) == GP_RING_STACKS)
			continue;
		uint64_t order = first_order(ring);
		first = order < first ? order : first;
	}
	/* some rings are private memory, or new */
	return atomic_load(&file->control->rings) == file->rings ? first : UINT64_MAX;
}

static bool open_its(const struct gp_file_header *header, struct gp_ring_file *file)
{
	if (header->ring_path[0] == '\0' ||
	    gp_ring_file_open(header->ring_path, false, file) != GP_OK)
		return false;
	const struct gp_control *c = file->control;
	if (c->pid == header->pid && strncmp(c->boot_id, header->boot_id, sizeof c->boot_id) == 0)
		return true;
	gp_ring_file_close(file);
	return false;
}

bool gp_ring_file_is_written(const struct gp_file_header *header)
{
	struct gp_ring_file file;
	if (!open_its(header, &file))
		return false;
	bool is_written = gp_ring_file_owner(&file) == GP_OWNER_ALIVE;
	gp_ring_file_close(&file);
	return is_written;
}

bool gp_ring_file_is_anothers(const struct gp_file_header *header)
{
	char boot_id[64];
	struct stat st;
	return header->ring_path[0] != '\0' && lstat(header->ring_path, &st) == 0 &&
	       S_ISREG(st.st_mode) && st.st_uid != geteuid() && read_boot_id(boot_id) &&
	       strncmp(boot_id, header->boot_id, sizeof header->boot_id) == 0;
}

uint64_t gp_ring_file_unwritten(const struct gp_file_header *header)
{
	struct gp_ring_file file;
	if (!open_its(header, &file))
		return UINT64_MAX;
	uint64_t first = first_unwritten(&file);
	gp_ring_file_close(&file);
	return first;
}

bool gp_ring_file_position(const struct gp_file_header *header, uint64_t *unwritten,
			   uint64_t *written)
{
	struct gp_ring_file file;
	if (!open_its(header, &file))
		return false;
	const struct gp_control *c = file.control;
	const bool is_written =
		gp_ring_file_owner(&file) == GP_OWNER_ALIVE && atomic_load(&c->is_sealed) == 0;
	*unwritten = first_unwritten(&file);
	/* after the rings; partner: the release store of gp_file_put, before the ring's tail */
	*written = atomic_load_explicit(&c->write_offset, memory_order_acquire);
	gp_ring_file_close(&file);
	return is_written;
}

void gp_ring_file_await(const struct gp_file_header *header)
{
	struct gp_ring_file file;
	if (!open_its(header, &file))
		return;
	struct gp_control *c = file.control;
	const uint64_t until = gp_clock_read(CLOCK_MONOTONIC) + AWAIT_NS;
	/* Load it once: a job that polls for memory keeps increasing it. */
	const uint64_t requested = atomic_load(&c->flushes_requested);
	while (gp_ring_file_owner(&file) == GP_OWNER_ALIVE &&
	       gp_clock_read(CLOCK_MONOTONIC) < until) {
		uint32_t seen = atomic_load(&c->flushes);
		/* partner: the drain thread's store in gp_flush_end */
		if (atomic_load_explicit(&c->flushes_done, memory_order_acquire) >= requested)
			break;
		const struct timespec timeout = { 0, LOOK_NS };
		syscall(SYS_futex, &c->flushes, FUTEX_WAIT, seen, &timeout, NULL, 0);
	}
	gp_ring_file_close(&file);
}

/* ---- where ring files are ---- */

/* gpuprof-ring-<uid>-<pid>-<start>, where uid is our own */
static bool is_ring_name(const char *name)
{
	char prefix[64];
	int n = snprintf(prefix, sizeof prefix, "gpuprof-ring-%u-", (unsigned)geteuid());
	if (strncmp(name, prefix, (size_t)n) != 0)
		return false;
	for (name += n; *name != '\0'; name++)
		if (!isdigit((unsigned char)*name) && *name != '-')
			return false;
	return true;
}

static void visit_directory(const char *directory, void (*visit)(void *context, const char *path),
			    void *context)
{
	DIR *entries = opendir(directory);
	if (entries == NULL)
		return;
	for (const struct dirent *entry; (entry = readdir(entries)) != NULL;) {
		char path[512];
		if (!is_ring_name(entry->d_name))
			continue;
		int n = snprintf(path, sizeof path, "%s/%s", directory, entry->d_name);
		if (n > 0 && (size_t)n < sizeof path)
			visit(context, path);
	}
	closedir(entries);
}

void gp_ring_file_visit(const char *also, void (*visit)(void *context, const char *path),
			void *context)
{
	const char *chosen = getenv("GPUPROF_RING_DIR");
	char place[3][256] = { "/dev/shm" };
	snprintf(place[1], sizeof place[1], "%s", chosen != NULL ? chosen : "");
	snprintf(place[2], sizeof place[2], "%s", also != NULL ? also : "");
	struct stat seen[3];
	unsigned places = 0;
	for (unsigned i = 0; i < 3; i++) {
		bool is_known = place[i][0] == '\0' || stat(place[i], &seen[places]) != 0;
		for (unsigned k = 0; k < places && !is_known; k++)
			is_known = seen[k].st_dev == seen[places].st_dev &&
				   seen[k].st_ino == seen[places].st_ino;
		if (is_known)
			continue;
		places++;
		visit_directory(place[i], visit, context);
	}
}
