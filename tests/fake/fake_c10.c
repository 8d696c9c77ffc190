/*
 * A caching allocator in PyTorch's manner for machines without a GPU: rounds to 512 bytes, takes
 * small (2 MiB) and large (20 MiB) segments from the driver as the CUDA runtime would, splits and
 * merges blocks, and reports each block, mutex held, through its own PLT to the c10 profiler hooks
 * that it exports. Keeps exact totals and peaks: the oracle of every test of tier A. Built as
 * libc10.so.
 */
#include "fake_c10.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "driver_door.h"

#define MIB (1ull << 20)
#define ROUND 512ull
#define SMALL_MAX MIB
#define LARGE_MIN (10 * MIB)
#define EXPANDABLE_RESERVATION (64ull << 30)
#define DEVICES 16

enum pool_size { SMALL, LARGE, POOLS };

struct block {
	uint64_t address, bytes;
	struct block *before, *after;	       /* neighbours in the segment */
	struct block *free_next, *free_before; /* in its pool's free list */
	struct block *hash_next;
	struct pool *pool;
	bool is_allocated, is_mapped;
};

struct pool {
	enum pool_size size;
	struct device *device;
	struct block *free;	  /* mapped and not allocated */
	struct block *expandable; /* first block of the reservation */
};

struct device {
	pthread_mutex_t mutex;
	int index;
	uint64_t limit;
	struct pool pool[POOLS];
	uint64_t allocated, allocated_peak, reserved, reserved_peak, reports;
};

static struct device devices[DEVICES];
static struct driver driver;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static bool is_expandable;
static _Atomic int64_t lie;
static _Atomic bool is_dropping;
static _Atomic uint64_t forwarded, ooms_forwarded;

/* ---- the c10 originals, and calls of them that go through the PLT ---- */

struct device_word {
	int8_t type, index;
};
#define REPORT "_ZN3c1027reportMemoryUsageToProfilerEPvlmmNS_6DeviceE"
#define REPORT_OOM "_ZN3c1027reportOutOfMemoryToProfilerElmmNS_6DeviceE"
#define ORIGINAL __attribute__((visibility("default"), noinline))

/*
 * other names for the same symbols: the compiler cannot bind these calls to the definitions below
 */
extern void report_through_plt(void *, int64_t, size_t, size_t, struct device_word) __asm__(REPORT);
extern void report_oom_through_plt(int64_t, size_t, size_t, struct device_word) __asm__(REPORT_OOM);

ORIGINAL void _ZN3c1027reportMemoryUsageToProfilerEPvlmmNS_6DeviceE(void *block, int64_t bytes,
								    size_t allocated,
								    size_t reserved,
								    struct device_word device);
ORIGINAL void _ZN3c1027reportMemoryUsageToProfilerEPvlmmNS_6DeviceE(void *block, int64_t bytes,
								    size_t allocated,
								    size_t reserved,
								    struct device_word device)
{
	(void)block, (void)bytes, (void)allocated, (void)reserved, (void)device;
	forwarded++;
}

ORIGINAL void _ZN3c1027reportOutOfMemoryToProfilerElmmNS_6DeviceE(int64_t bytes, size_t allocated,
								  size_t reserved,
								  struct device_word device);
ORIGINAL void _ZN3c1027reportOutOfMemoryToProfilerElmmNS_6DeviceE(int64_t bytes, size_t allocated,
								  size_t reserved,
								  struct device_word device)
{
	(void)bytes, (void)allocated, (void)reserved, (void)device;
	ooms_forwarded++;
}

static void report(struct device *d, uint64_t address, int64_t bytes)
{
	d->reports++;
	if (is_dropping) {
		is_dropping = false;
		return;
	}
	size_t told = (size_t)((int64_t)d->allocated + lie);
	lie = 0;
	report_through_plt((void *)(uintptr_t)address, bytes, told, d->reserved,
			   (struct device_word){ .type = 1, .index = (int8_t)d->index });
}

/* ---- blocks by address ---- */

#define BUCKETS (1u << 20)
static struct block *bucket[BUCKETS];
static pthread_mutex_t bucket_mutex = PTHREAD_MUTEX_INITIALIZER;

static struct block **bucket_of(uint64_t address)
{
	return &bucket[(address >> 9) * 0x9e3779b97f4a7c15ull >> 44];
}

static void remember(struct block *b)
{
	pthread_mutex_lock(&bucket_mutex);
	b->hash_next = *bucket_of(b->address);
	*bucket_of(b->address) = b;
	pthread_mutex_unlock(&bucket_mutex);
}

static struct block *forget(uint64_t address)
{
	pthread_mutex_lock(&bucket_mutex);
	struct block **at = bucket_of(address);
	while (*at && (*at)->address != address)
		at = &(*at)->hash_next;
	struct block *found = *at;
	if (found)
		*at = found->hash_next;
	pthread_mutex_unlock(&bucket_mutex);
	return found;
}

static struct block *block_new(struct pool *pool, uint64_t address, uint64_t bytes)
{
	struct block *b = calloc(1, sizeof *b);
	if (!b)
		abort();
	*b = (struct block){ .address = address, .bytes = bytes, .pool = pool, .is_mapped = true };
	return b;
}

static void free_list_add(struct block *b)
{
	b->free_before = NULL;
	b->free_next = b->pool->free;
	if (b->free_next)
		b->free_next->free_before = b;
	b->pool->free = b;
}

static void free_list_drop(struct block *b)
{
	if (b->free_before)
		b->free_before->free_next = b->free_next;
	else
		b->pool->free = b->free_next;
	if (b->free_next)
		b->free_next->free_before = b->free_before;
}

/* Cuts `b` to `bytes`; the rest becomes its new right neighbour, in the same state, on no list. */
static struct block *split(struct block *b, uint64_t bytes)
{
	struct block *rest = block_new(b->pool, b->address + bytes, b->bytes - bytes);
	rest->is_mapped = b->is_mapped;
	rest->before = b;
	rest->after = b->after;
	if (rest->after)
		rest->after->before = rest;
	b->after = rest;
	b->bytes = bytes;
	return rest;
}

/* Takes the right neighbour of `b`, which is on no list, into `b`. */
static void absorb_after(struct block *b)
{
	struct block *gone = b->after;
	b->bytes += gone->bytes;
	b->after = gone->after;
	if (b->after)
		b->after->before = b;
	free(gone);
}

static bool is_free(const struct block *b)
{
	return b && b->is_mapped && !b->is_allocated;
}

/* A free block that is on no list joins its free neighbours and the list. */
static struct block *settle(struct block *b)
{
	if (is_free(b->after)) {
		free_list_drop(b->after);
		absorb_after(b);
	}
	if (is_free(b->before)) {
		b = b->before;
		free_list_drop(b);
		absorb_after(b);
	}
	free_list_add(b);
	return b;
}

/* ---- segments ---- */

static void reserved_add(struct device *d, uint64_t bytes)
{
	d->reserved += bytes;
	if (d->reserved > d->reserved_peak)
		d->reserved_peak = d->reserved;
}

static bool is_over_limit(const struct device *d, uint64_t bytes)
{
	return d->limit && d->reserved + bytes > d->limit;
}

static uint64_t segment_bytes(uint64_t bytes)
{
	if (bytes <= SMALL_MAX)
		return 2 * MIB;
	return bytes < LARGE_MIN ? 20 * MIB : (bytes + 2 * MIB - 1) / (2 * MIB) * (2 * MIB);
}

static struct block *segment_new(struct pool *pool, uint64_t bytes)
{
	struct device *d = pool->device;
	CUdeviceptr address;
	uint64_t whole = segment_bytes(bytes);
	if (is_over_limit(d, whole) || driver.cuMemAlloc_v2(&address, whole) != CUDA_SUCCESS)
		return NULL;
	reserved_add(d, whole);
	struct block *b = block_new(pool, address, whole);
	free_list_add(b);
	return b;
}

/* Maps `bytes` of fresh physical memory at `address`, one granule a handle, as PyTorch does. */
static bool map_granules(struct device *d, uint64_t address, uint64_t bytes, uint64_t granule)
{
	struct vmm_prop prop = { .type = 1, .location = { .type = 1, .id = d->index } };
	struct vmm_access access = { .location = prop.location, .flags = 3 };
	for (uint64_t at = 0; at < bytes; at += granule) {
		CUhandle handle;
		if (driver.cuMemCreate(&handle, granule, &prop, 0) != CUDA_SUCCESS ||
		    driver.cuMemMap(address + at, granule, 0, handle, 0) != CUDA_SUCCESS) {
			if (at)
				driver.cuMemUnmap(address, at);
			return false;
		}
		/* the mapping keeps the memory alive */
		driver.cuMemRelease(handle);
	}
	return driver.cuMemSetAccess(address, bytes, &access, 1) == CUDA_SUCCESS;
}

/* Maps enough of an unmapped block, and joins it to a free left neighbour. */
static struct block *expand(struct pool *pool, uint64_t bytes)
{
	struct device *d = pool->device;
	uint64_t granule = pool->size == SMALL ? 2 * MIB : 20 * MIB;
	CUdeviceptr base;
	if (!pool->expandable) {
		if (driver.cuMemAddressReserve(&base, EXPANDABLE_RESERVATION, 0, 0, 0) !=
		    CUDA_SUCCESS)
			return NULL;
		pool->expandable =
			block_new(pool, base, EXPANDABLE_RESERVATION / granule * granule);
		pool->expandable->is_mapped = false;
	}
	for (struct block *b = pool->expandable; b; b = b->after) {
		uint64_t own = is_free(b->before) ? b->before->bytes : 0;
		if (b->is_mapped || own >= bytes)
			continue;
		uint64_t more = (bytes - own + granule - 1) / granule * granule;
		if (more > b->bytes)
			continue;
		if (is_over_limit(d, more) || !map_granules(d, b->address, more, granule))
			return NULL;
		if (more < b->bytes)
			split(b, more);
		b->is_mapped = true;
		reserved_add(d, more);
		return settle(b);
	}
	return NULL;
}

/* The smallest free block that is large enough; ties go to the lowest address. */
static struct block *best_fit(const struct pool *pool, uint64_t bytes)
{
	struct block *best = NULL;
	for (struct block *b = pool->free; b; b = b->free_next)
		if (b->bytes >= bytes && (!best || b->bytes < best->bytes ||
					  (b->bytes == best->bytes && b->address < best->address)))
			best = b;
	return best;
}

static void release_segment(struct block *b)
{
	free_list_drop(b);
	b->pool->device->reserved -= b->bytes;
	driver.cuMemFree_v2(b->address);
	free(b);
}

/* Unmaps the whole granules inside a free block of a reservation. */
static void release_granules(struct block *b, const struct block *first)
{
	uint64_t granule = b->pool->size == SMALL ? 2 * MIB : 20 * MIB;
	uint64_t from =
		(b->address - first->address + granule - 1) / granule * granule + first->address;
	uint64_t to = (b->address + b->bytes - first->address) / granule * granule + first->address;
	if (to <= from)
		return;
	free_list_drop(b);
	if (to < b->address + b->bytes)
		free_list_add(split(b, to - b->address));
	if (from > b->address) {
		struct block *middle = split(b, from - b->address);
		free_list_add(b);
		b = middle;
	}
	driver.cuMemUnmap(b->address, b->bytes);
	b->pool->device->reserved -= b->bytes;
	b->is_mapped = false;
	if (b->after && !b->after->is_mapped)
		absorb_after(b);
	if (b->before && !b->before->is_mapped)
		absorb_after(b->before);
}

static void empty_locked(struct device *d)
{
	for (int p = 0; p < POOLS; p++) {
		struct pool *pool = &d->pool[p];
		struct block *next;
		for (struct block *b = pool->free; b && !pool->expandable; b = next) {
			next = b->free_next;
			if (!b->before && !b->after)
				release_segment(b);
		}
		/*
		 * unmapping changes neighbours: look again from the start until nothing is left to
		 * do
		 */
		for (struct block *b = pool->expandable; b; b = next) {
			next = b->after;
			uint64_t reserved = d->reserved;
			if (is_free(b))
				release_granules(b, pool->expandable);
			if (d->reserved != reserved)
				next = pool->expandable;
		}
	}
}

/* ---- the table ---- */

static void init(void)
{
	if (!driver_open(&driver, DOOR_PROC_ADDRESS)) {
		fprintf(stderr, "fake c10: no driver\n");
		exit(70);
	}
	/* as PyTorch's: its callbacks come back with the lock held */
	pthread_mutexattr_t recursive;
	pthread_mutexattr_init(&recursive);
	pthread_mutexattr_settype(&recursive, PTHREAD_MUTEX_RECURSIVE);
	for (int i = 0; i < DEVICES; i++) {
		struct device *d = &devices[i];
		pthread_mutex_init(&d->mutex, &recursive);
		d->index = i;
		for (int p = 0; p < POOLS; p++)
			d->pool[p] = (struct pool){ .size = (enum pool_size)p, .device = d };
	}
}

static struct device *lock(int device)
{
	pthread_once(&once, init);
	struct device *d = &devices[device];
	static _Thread_local int current = -1;
	if (current != device) {
		driver_use(&driver, device);
		current = device;
	}
	pthread_mutex_lock(&d->mutex);
	return d;
}

static struct block *find_or_make(struct pool *pool, uint64_t bytes)
{
	struct block *b = best_fit(pool, bytes);
	if (b)
		return b;
	return is_expandable ? expand(pool, bytes) : segment_new(pool, bytes);
}

static bool should_split(const struct block *b, uint64_t bytes)
{
	uint64_t rest = b->bytes - bytes;
	return b->pool->size == SMALL || is_expandable ? rest >= ROUND : rest > SMALL_MAX;
}

static void *allocate(int device, size_t bytes)
{
	uint64_t rounded = bytes < ROUND ? ROUND : (bytes + ROUND - 1) / ROUND * ROUND;
	struct device *d = lock(device);
	struct pool *pool = &d->pool[rounded <= SMALL_MAX ? SMALL : LARGE];
	struct block *b = find_or_make(pool, rounded);
	if (!b) {
		empty_locked(d);
		b = find_or_make(pool, rounded);
	}
	if (!b) {
		report_oom_through_plt((int64_t)rounded, d->allocated, d->reserved,
				       (struct device_word){ .type = 1, .index = (int8_t)device });
		pthread_mutex_unlock(&d->mutex);
		return NULL;
	}
	free_list_drop(b);
	if (should_split(b, rounded))
		free_list_add(split(b, rounded));
	b->is_allocated = true;
	remember(b);
	d->allocated += b->bytes;
	if (d->allocated > d->allocated_peak)
		d->allocated_peak = d->allocated;
	report(d, b->address, (int64_t)b->bytes);
	void *address = (void *)(uintptr_t)b->address;
	pthread_mutex_unlock(&d->mutex);
	return address;
}

static void release(void *address)
{
	struct block *b = forget((uint64_t)(uintptr_t)address);
	if (!b) {
		fprintf(stderr, "fake c10: not a block: %p\n", address);
		abort();
	}
	struct device *d = lock(b->pool->device->index);
	uint64_t bytes = b->bytes;
	b->is_allocated = false;
	d->allocated -= bytes;
	settle(b);
	report(d, (uint64_t)(uintptr_t)address, -(int64_t)bytes);
	pthread_mutex_unlock(&d->mutex);
}

static void empty_cache(int device)
{
	struct device *d = lock(device);
	empty_locked(d);
	pthread_mutex_unlock(&d->mutex);
}

static void use_expandable_segments(bool yes)
{
	is_expandable = yes;
}

static void set_limit(int device, uint64_t bytes)
{
	struct device *d = lock(device);
	d->limit = bytes;
	pthread_mutex_unlock(&d->mutex);
}

static void stats(int device, struct fake_c10_stats *out)
{
	struct device *d = lock(device);
	*out = (struct fake_c10_stats){ d->allocated,	  d->allocated_peak, d->reserved,
					d->reserved_peak, d->reports,	     forwarded,
					ooms_forwarded };
	pthread_mutex_unlock(&d->mutex);
}

static void reset_peaks(int device)
{
	struct device *d = lock(device);
	d->allocated_peak = d->allocated;
	d->reserved_peak = d->reserved;
	pthread_mutex_unlock(&d->mutex);
}

static void lie_once(int64_t bytes)
{
	lie = bytes;
}

static void drop_once(void)
{
	is_dropping = true;
}

static void report_again(void *address)
{
	struct block *b = forget((uint64_t)(uintptr_t)address);
	struct device *d = lock(b->pool->device->index);
	remember(b);
	report(d, b->address, (int64_t)b->bytes);
	pthread_mutex_unlock(&d->mutex);
}

static void with_lock(int device, void (*inside)(void *), void *argument)
{
	struct device *d = lock(device);
	inside(argument);
	pthread_mutex_unlock(&d->mutex);
}

extern const struct fake_c10 fake_c10;
__attribute__((visibility("default"))) const struct fake_c10 fake_c10 = {
	.use_expandable_segments = use_expandable_segments,
	.allocate = allocate,
	.release = release,
	.empty_cache = empty_cache,
	.set_limit = set_limit,
	.stats = stats,
	.reset_peaks = reset_peaks,
	.lie_once = lie_once,
	.drop_once = drop_once,
	.report_again = report_again,
	.with_lock = with_lock,
};
