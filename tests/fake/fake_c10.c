/*
 * A caching allocator in PyTorch's manner for machines without a GPU. It rounds to 512 bytes, and
 * splits and merges blocks. It takes small (2 MiB) and large (20 MiB) segments from the driver as
 * the CUDA runtime would. It reports each block, with its mutex held, through its own PLT to the
 * c10 profiler hooks that it exports. Its exact totals and peaks are the reference of every test
 * that needs no GPU. Built as libc10.so.
 */
#include "fake_c10.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include "fake_blocks.h"

static pthread_once_t once = PTHREAD_ONCE_INIT;
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
 * other names for the same symbols, so that the compiler cannot bind these calls to the definitions
 * below
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

/* ---- the table ---- */

static void arena_init(struct arena *a, struct device *d, uint64_t stream, uint64_t user_pool)
{
	*a = (struct arena){ .stream = stream, .id = { 0, user_pool } };
	for (int p = 0; p < POOLS; p++)
		a->pool[p] = (struct pool){ .size = (enum pool_size)p, .device = d, .arena = a };
}

static struct arena *arena_of(struct device *d, uint64_t stream, uint64_t user_pool)
{
	struct arena *a = &d->arena;
	for (; a; a = a->next)
		if (a->stream == stream && a->id[1] == user_pool)
			return a;
	a = calloc(1, sizeof *a);
	if (!a)
		abort();
	arena_init(a, d, stream, user_pool);
	a->next = d->arena.next;
	d->arena.next = a;
	return a;
}

static void with_lock_held(int device, void (*inside)(void *), void *argument)
{
	pthread_mutex_lock(&devices[device].mutex);
	inside(argument);
	pthread_mutex_unlock(&devices[device].mutex);
}

static double fraction(int device)
{
	size_t unused, total;
	if (!devices[device].limit || driver.cuMemGetInfo_v2(&unused, &total) != CUDA_SUCCESS)
		return 1;
	return (double)devices[device].limit / (double)total;
}

struct lister {
	fake_list_segment *segment;
	fake_list_block *block;
	void *context;
};

/* Bytes from `b` to the end of its segment, or to the first gap in what is mapped there. */
static const struct block *list_range(const struct lister *to, const struct block *b)
{
	uint64_t bytes = 0;
	const struct block *end = b;
	for (; end && end->is_mapped; end = end->after)
		bytes += end->bytes;
	const struct arena *a = b->pool->arena;
	to->segment(to->context, b->address, bytes, a->stream, a->id[0], a->id[1],
		    b->pool->expandable != NULL);
	for (; b != end; b = b->after) {
		const struct fake_listed_block one = { b->bytes, b->requested, b->is_allocated,
						       b->is_allocated || b->is_used_elsewhere };
		to->block(to->context, &one);
	}
	return end;
}

static void list_locked(int device, fake_list_segment *segment, fake_list_block *block,
			void *context)
{
	const struct lister to = { segment, block, context };
	const struct device *d = &devices[device];
	for (const struct arena *a = &d->arena; a; a = a->next)
		for (int p = 0; p < POOLS; p++) {
			for (const struct segment *s = a->pool[p].segments; s; s = s->next)
				list_range(&to, s->first);
			for (const struct block *b = a->pool[p].expandable; b;)
				b = b->is_mapped ? list_range(&to, b) : b->after;
		}
}

/* Loads the libraries that PyTorch has beside this one, if this one lies in such a package. */
static void open_tracer(void)
{
	static const struct fake_trace_host host = { with_lock_held, fraction, list_locked };
	void *library = dlopen("libc10_cuda.so", RTLD_NOW | RTLD_LOCAL);
	fake_trace_open_function *open;
	*(void **)&open = library ? dlsym(library, "fake_trace_open") : NULL;
	dlopen("libtorch_cuda.so", RTLD_NOW | RTLD_LOCAL);
	if (open)
		tracer = open(&host);
}

static void init(void)
{
	if (!driver_open(&driver, FROM_PROC_ADDRESS)) {
		fprintf(stderr, "fake c10: no driver\n");
		exit(70);
	}
	/* as in PyTorch: its callbacks call back with the lock held */
	pthread_mutexattr_t recursive;
	pthread_mutexattr_init(&recursive);
	pthread_mutexattr_settype(&recursive, PTHREAD_MUTEX_RECURSIVE);
	for (int i = 0; i < DEVICES; i++) {
		struct device *d = &devices[i];
		pthread_mutex_init(&d->mutex, &recursive);
		d->index = i;
		arena_init(&d->arena, d, 0, 0);
	}
	open_tracer();
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

static void *out_of_memory(struct pool *pool, uint64_t bytes)
{
	struct device *d = pool->device;
	size_t unused = 0, total = 0;
	driver.cuMemGetInfo_v2(&unused, &total);
	trace(pool, FAKE_TRACE_OOM, unused, bytes);
	report_oom_through_plt((int64_t)bytes, d->allocated, d->reserved,
			       (struct device_word){ .type = 1, .index = (int8_t)d->index });
	return NULL;
}

static void *allocate_locked(struct device *d, struct arena *arena, size_t bytes)
{
	uint64_t rounded = bytes < ROUND ? ROUND : (bytes + ROUND - 1) / ROUND * ROUND;
	struct pool *pool = &arena->pool[rounded <= SMALL_MAX ? SMALL : LARGE];
	if (d->are_uses_finished)
		complete_pending(d);
	struct block *b = find_or_make(pool, rounded);
	if (!b) {
		empty_locked(d);
		b = find_or_make(pool, rounded);
	}
	if (!b)
		return out_of_memory(pool, rounded);
	free_list_drop(b);
	if (should_split(b, rounded))
		free_list_add(split(b, rounded));
	b->is_allocated = true;
	b->requested = bytes;
	remember(b);
	trace(pool, FAKE_TRACE_ALLOC, b->address, bytes);
	d->allocated += b->bytes;
	if (d->allocated > d->allocated_peak)
		d->allocated_peak = d->allocated;
	report(d, b->address, (int64_t)b->bytes);
	return (void *)(uintptr_t)b->address;
}

/*
 * Copies to the device as a framework fills its first parameter, outside the lock. Not with
 * FAKE_TORCH_COPIES=off.
 */
static void copy_first(void *block, size_t bytes)
{
	static _Atomic bool is_copied;
	static const char zeros[512];
	const char *copies = getenv("FAKE_TORCH_COPIES");
	if (copies && strcmp(copies, "off") == 0)
		return;
	if (tracer && block && !atomic_exchange(&is_copied, true))
		driver.cuMemcpyHtoDAsync_v2((CUdeviceptr)(uintptr_t)block, zeros,
					    bytes < sizeof zeros ? bytes : sizeof zeros, NULL);
}

static void *allocate_in(int device, size_t bytes, uint64_t stream, uint64_t user_pool)
{
	struct device *d = lock(device);
	void *block = allocate_locked(d, arena_of(d, stream, user_pool), bytes);
	pthread_mutex_unlock(&d->mutex);
	copy_first(block, bytes);
	return block;
}

static void *allocate(int device, size_t bytes)
{
	return allocate_in(device, bytes, 0, 0);
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
	trace(b->pool, FAKE_TRACE_FREE_REQUESTED, b->address, b->requested);
	if (b->is_used_elsewhere)
		add_pending(b);
	else
		complete(b);
	report(d, (uint64_t)(uintptr_t)address, -(int64_t)bytes);
	pthread_mutex_unlock(&d->mutex);
}

static void use_elsewhere(void *address)
{
	struct block *b = forget((uint64_t)(uintptr_t)address);
	remember(b);
	lock(b->pool->device->index);
	b->is_used_elsewhere = true;
	pthread_mutex_unlock(&b->pool->device->mutex);
}

static void finish_uses(int device)
{
	struct device *d = lock(device);
	d->are_uses_finished = true;
	pthread_mutex_unlock(&d->mutex);
}

/* Active bytes as the trackers' reports give them; of a single pool if it is not 0. */
static void snapshot(int device, uint64_t user_pool)
{
	struct device *d = lock(device);
	uint64_t active = d->allocated;
	for (const struct block *b = d->pending; b; b = b->next_pending)
		active += b->bytes;
	trace(&arena_of(d, 0, user_pool)->pool[SMALL], FAKE_TRACE_SNAPSHOT, 0,
	      user_pool ? 0 : active);
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
	.allocate_in = allocate_in,
	.use_elsewhere = use_elsewhere,
	.finish_uses = finish_uses,
	.snapshot = snapshot,
};
