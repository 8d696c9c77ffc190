/*
 * The place of the rings: /dev/shm, else beside the recording on a local disk, else private memory.
 * Space is reserved with posix_fallocate before it is mapped: a store into a hole of a full tmpfs
 * is SIGBUS in the job.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>

#include "../recorder.h"
#include "../stacks/stack_table.h"

#define KEEP_FREE (32u << 20) /* never the last of /dev/shm: DataLoader workers live there too */
#define XFS_MAGIC 0x58465342

/*
 * True if a store into reserved space always succeeds on this file system. Not on a network file
 * system. Not on BTRFS either, which writes stored data again to a new place: when it is full, the
 * store is SIGBUS.
 */
static bool keeps_reserved(const struct statfs *fs)
{
	switch ((unsigned long)fs->f_type) {
	case TMPFS_MAGIC:
	case RAMFS_MAGIC:
	case EXT4_SUPER_MAGIC:
	case OVERLAYFS_SUPER_MAGIC:
	case XFS_MAGIC:
	case F2FS_SUPER_MAGIC:
		return true;
	default:
		return false;
	}
}

/* True if `more` bytes may be taken from `fs`. On a tmpfs at most a quarter of the free space. */
static bool ring_place_has_room(const struct statfs *fs, uint64_t taken, uint64_t more)
{
	uint64_t free_bytes = (uint64_t)fs->f_bavail * (uint64_t)fs->f_bsize;
	if (free_bytes < more + KEEP_FREE)
		return false;
	return (unsigned long)fs->f_type != TMPFS_MAGIC || taken + more <= (free_bytes + taken) / 4;
}

static uint64_t pid_namespace(void)
{
	struct statx st; /* not stat, which would require glibc 2.33 */
	return statx(AT_FDCWD, "/proc/self/ns/pid", 0, STATX_INO, &st) == 0 ? st.stx_ino : 0;
}

static void format_name(char *out, size_t capacity, const char *directory, uint64_t start,
			unsigned attempt)
{
	int n = snprintf(out, capacity, "%s/gpuprof-ring-%u-%u-%llu", directory, (unsigned)getuid(),
			 (unsigned)getpid(), (unsigned long long)start);
	if (attempt && n > 0 && (size_t)n < capacity)
		snprintf(out + n, capacity - (size_t)n, "-%u", attempt + 1);
}

static bool open_in(struct gp_recorder *r, const char *directory)
{
	struct statfs fs;
	if (statfs(directory, &fs) != 0 || !keeps_reserved(&fs) ||
	    !ring_place_has_room(&fs, 0, GP_CONTROL_BYTES + 2ull * GP_RING_BYTES))
		return false;
	uint64_t start = gp_own_process_start();
	int fd = -1;
	for (unsigned attempt = 0; attempt < 100; attempt++) {
		format_name(r->ring_path, sizeof r->ring_path, directory, start, attempt);
		fd = open(r->ring_path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
		if (fd >= 0 || errno != EEXIST)
			break;
	}
	if (fd < 0)
		return false;
	if (r->writer.is_shared_table)
		fd = gp_file_high(fd);
	void *page = MAP_FAILED;
	if (posix_fallocate(fd, 0, GP_CONTROL_BYTES) == 0)
		page = mmap(NULL, GP_CONTROL_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (page == MAP_FAILED) {
		unlink(r->ring_path);
		close(fd);
		return false;
	}
	/* after chroot the path leads elsewhere; -1: only the path is known */
	r->ring_dir_fd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (r->writer.is_shared_table && r->ring_dir_fd >= 0)
		r->ring_dir_fd = gp_file_high(r->ring_dir_fd);
	madvise(page, GP_CONTROL_BYTES, MADV_DONTFORK);
	__atomic_store_n(&gp_control, page, __ATOMIC_RELAXED);
	r->ring_fd = fd;
	r->ring_id = gp_file_identify(fd);
	r->ring_dir_id = gp_file_identify(r->ring_dir_fd);
	r->is_private = false;
	return true;
}

static bool open_private(struct gp_recorder *r)
{
	__atomic_store_n(&gp_control, gp_pages(GP_CONTROL_BYTES), __ATOMIC_RELAXED);
	r->ring_path[0] = '\0';
	r->ring_fd = r->ring_dir_fd = -1;
	r->is_private = true;
	return gp_control != NULL;
}

static bool open_beside_recording(struct gp_recorder *r)
{
	char directory[1024];
	strcpy(directory, r->writer.path);
	char *slash = strrchr(directory, '/');
	if (!slash || slash - directory > 150)
		return false;
	slash[slash == directory] = '\0';
	return open_in(r, directory);
}

/*
 * A process that can take this lock detects that this one is dead. The table of descriptors is the
 * drain thread's own (unless is_shared_table), so the job cannot drop the lock by closing a number.
 */
static void take_lock(struct gp_recorder *r)
{
	struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_len = 1 };
	bool is_locked = fcntl(r->ring_fd, F_SETLK, &lock) == 0;
	gp_control->is_lock_sure = is_locked && !r->writer.is_shared_table;
}

bool gp_ring_place_open(struct gp_recorder *r, uint32_t (*first_word)(struct gp_recorder *))
{
	if (!open_in(r, gp_settings.ring_dir) && !open_beside_recording(r) && !open_private(r))
		return false;
	struct gp_control *c = gp_control;
	c->version = GP_CONTROL_VERSION;
	c->pid = (uint32_t)getpid();
	c->pid_namespace = pid_namespace();
	c->process_start = gp_own_process_start();
	c->clock = r->writer.header.clock;
	c->slots = r->writer.header.slots;
	c->slot_bytes = r->writer.header.slot_bytes;
	memcpy(c->boot_id, r->writer.header.boot_id, sizeof c->boot_id);
	memcpy(c->output, r->writer.path, sizeof c->output);
	/* before another process can request a level */
	r->first_word = first_word(r);
	atomic_store(&c->level, gp_word_level(r->first_word));
	atomic_store(&c->uses, gp_settings.has_uses);
	atomic_store(&c->requested_uses, gp_settings.has_uses);
	if (!r->is_private)
		take_lock(r);
	/*
	 * the rest of the page is filled before the magic makes it valid for others; partner: the
	 * load in gp_ring_file_open
	 */
	atomic_store_explicit(&c->magic, GP_CONTROL_MAGIC, memory_order_release);
	return true;
}

/* ---- rings, in parts ---- */

#define FIRST_PART GP_REGION_OFFSET(1u)	   /* header and region 0 */
#define STACKS_BYTES (GP_RING_SLOTS * 64u) /* of a chunk's region */

/*
 * Maps `bytes` of ring `index` from `offset` in its place. Populated, because the job's threads
 * touch the pages.
 */
static void *map_shared(struct gp_recorder *r, uint32_t index, uint64_t offset, uint64_t bytes)
{
	struct statfs fs;
	const off_t at = (off_t)(gp_ring_offset(index) + offset);
	if (!gp_file_is(r->ring_fd, &r->ring_id) || fstatfs(r->ring_fd, &fs) != 0 ||
	    !ring_place_has_room(&fs, r->ring_bytes, bytes) ||
	    posix_fallocate(r->ring_fd, at, (off_t)bytes) != 0)
		return NULL;
	void *part = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE,
			  r->ring_fd, at);
	if (part == MAP_FAILED)
		return NULL;
	madvise(part, bytes, MADV_DONTFORK);
	return part;
}

static void *map_part(struct gp_recorder *r, bool is_shared, uint32_t index, uint64_t offset,
		      uint64_t bytes)
{
	void *part = is_shared ? map_shared(r, index, offset, bytes) : gp_pages(bytes);
	if (part)
		r->ring_bytes += bytes;
	return part;
}

static void unmap_part(struct gp_recorder *r, void *part, uint64_t bytes)
{
	munmap(part, bytes);
	r->ring_bytes -= bytes;
}

/* The header of place `index`, with region 0 or as a chunk of the table of stacks. */
static bool map_place(struct gp_recorder *r, uint32_t index, bool is_shared, bool is_stacks)
{
	const unsigned last = GP_RING_REGIONS - 1;
	const uint64_t head_bytes = is_stacks ? GP_RING_HEADER : FIRST_PART;
	struct gp_ring_view view = { .next_order = UINT64_MAX, .is_shared = is_shared };
	/* a reader maps whole places */
	if (is_shared && (!gp_file_is(r->ring_fd, &r->ring_id) ||
			  ftruncate(r->ring_fd, (off_t)gp_ring_offset(index + 1)) != 0))
		return false;
	view.ring = map_part(r, is_shared, index, 0, head_bytes);
	if (!view.ring)
		return false;
	if (!is_stacks) {
		view.slots[0] = gp_region_slots(view.ring, 0);
	} else if (!(view.slots[last] =
			     map_part(r, is_shared, index, GP_REGION_OFFSET(last), STACKS_BYTES))) {
		unmap_part(r, view.ring, head_bytes);
		return false;
	}
	atomic_store(&view.regions, 1);
	r->views[index] = view;
	return true;
}

/*
 * If the place is full, a thread's ring is private memory, and so are all further ones: indices in
 * the file stay without holes. The alternative is to lose all events of the thread.
 */
static bool map_place_anywhere(struct gp_recorder *r, uint32_t index, bool is_stacks)
{
	if (!r->is_private && !r->is_full) {
		if (map_place(r, index, true, is_stacks))
			return true;
		r->is_full = true;
		gp_log(true,
		       "no room for more rings, what further threads do in the last second does "
		       "not survive a kill:",
		       r->ring_path);
	}
	return map_place(r, index, false, is_stacks);
}

/* Adds one place, as a free ring or as a chunk of the table of stacks. */
static struct gp_ring_view *ring_add(struct gp_recorder *r, enum gp_ring_state state,
				     uint32_t number)
{
	uint32_t index = atomic_load(&gp_control->rings);
	const bool is_stacks = state == GP_RING_STACKS;
	/* required: the recorder's own ring and one for the job; a table of stacks has a chunk */
	const bool is_allowed =
		index < 2 ||
		(is_stacks && number ?
			 gp_budget_may_grow(r, STACKS_BYTES) :
			 gp_budget_may_begin(r, is_stacks ? STACKS_BYTES : FIRST_PART));
	if (index >= GP_RINGS_MAX || !is_allowed || !map_place_anywhere(r, index, is_stacks))
		return NULL;
	struct gp_ring *ring = r->views[index].ring;
	ring->thread = number;
	atomic_store(&ring->state, state);
	/* partner: acquire load in find_ring and in other processes */
	atomic_store_explicit(&gp_control->rings, index + 1, memory_order_release);
	return &r->views[index];
}

bool gp_ring_place_add(struct gp_recorder *r)
{
	const bool is_made = ring_add(r, GP_RING_FREE, 0) != NULL;
	/* partners: the loads in await_ring and gp_rings_hand_out */
	atomic_store(&r->is_out_of_rings, !is_made);
	if (is_made)
		return true;
	gp_log(true, "no memory for one more thread's ring, its events are being lost", NULL);
	return false;
}

bool gp_ring_place_grow(struct gp_recorder *r, struct gp_ring_view *view)
{
	const uint32_t region = atomic_load(&view->regions);
	if (region >= GP_RING_REGIONS || !gp_budget_may_grow(r, GP_REGION_SLOTS(region) * 64u))
		return false;
	view->slots[region] = map_part(r, view->is_shared, (uint32_t)(view - r->views),
				       GP_REGION_OFFSET(region), GP_REGION_SLOTS(region) * 64u);
	if (!view->slots[region])
		return false;
	/* partner: acquire load in go_on_in_next_region */
	atomic_store_explicit(&view->regions, region + 1, memory_order_release);
	return true;
}

bool gp_ring_place_add_stacks(struct gp_recorder *r)
{
	struct gp_ring_view *view = ring_add(r, GP_RING_STACKS, gp_stack_table_chunks());
	if (!view)
		return false;
	struct gp_ring *ring = view->ring;
	void *entries = view->slots[GP_RING_REGIONS - 1];
	/* a thread that could not wait may have been faster */
	while (!gp_stack_table_add_chunk(ring->thread, entries))
		if (++ring->thread >= GP_STACK_CHUNKS_MAX)
			return false; /* no number is left, and readers skip this one */
	return true;
}

/*
 * Replaces the memory in the same place. A hole in the file would be SIGBUS on a full tmpfs. A ring
 * gets fresh memory, because it has no reader. A chunk of the table of stacks gets a copy. The
 * control page stays.
 */
static bool replace_part(void *part, uint64_t bytes, bool is_kept)
{
	void *pages = gp_pages(bytes);
	if (!pages)
		return false;
	if (is_kept)
		memcpy(pages, part, bytes);
	if (mremap(pages, bytes, bytes, MREMAP_MAYMOVE | MREMAP_FIXED, part) != MAP_FAILED)
		return true;
	munmap(pages, bytes);
	return false;
}

static bool replace(const struct gp_ring_view *view)
{
	const bool is_stacks = atomic_load(&view->ring->state) == GP_RING_STACKS;
	bool is_replaced = true;
	for (unsigned g = 1; g < GP_RING_REGIONS; g++)
		if (view->slots[g])
			is_replaced &=
				replace_part(view->slots[g], GP_REGION_SLOTS(g) * 64u, is_stacks);
	/* the header as well: a thread that is inside a call still uses its values */
	return replace_part(view->ring, is_stacks ? GP_RING_HEADER : FIRST_PART, true) &&
	       is_replaced;
}

void gp_ring_place_empty(struct gp_recorder *r)
{
	/* an unsealed file is left for adoption */
	const bool is_file_ours =
		gp_file_is(r->ring_fd, &r->ring_id) && atomic_load(&gp_control->is_sealed);
	const uint32_t rings = atomic_load(&gp_control->rings);
	for (uint32_t k = 0; k < rings; k++)
		if (replace(&r->views[k]) && is_file_ours)
			fallocate(r->ring_fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
				  (off_t)gp_ring_offset(k), GP_RING_BYTES);
	if (!is_file_ours)
		return;
	fallocate(r->ring_fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, GP_CONTROL_USED,
		  GP_CONTROL_BYTES - GP_CONTROL_USED);
	close(r->ring_fd);
	r->ring_fd = -1;
}

void gp_ring_place_close(struct gp_recorder *r)
{
	if (r->is_private)
		return;
	/* through the directory's descriptor: the job may have another root by now */
	const bool is_held = gp_file_is(r->ring_dir_fd, &r->ring_dir_id);
	if ((!is_held || unlinkat(r->ring_dir_fd, strrchr(r->ring_path, '/') + 1, 0) != 0) &&
	    unlink(r->ring_path) != 0)
		gp_ring_place_empty(r);
	if (is_held)
		close(r->ring_dir_fd);
	r->ring_dir_fd = -1;
}
