/*
 * The blocks of the fake caching allocator: segments from the driver, split and merged. Expandable
 * segments grow; blocks in use by other streams are freed later. The device's mutex is held.
 */
#ifndef FAKE_BLOCKS_H
#define FAKE_BLOCKS_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

#include "driver_entry.h"
#include "fake_trace.h"

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
	uint64_t requested;
	bool is_allocated, is_mapped;
	bool is_used_elsewhere; /* uses by other streams: the freed block stays until finish_uses */
	struct block *next_pending;
};

/* A segment, as the driver allocated it. */
struct segment {
	struct block *first;
	struct segment *next;
};

struct pool {
	enum pool_size size;
	struct device *device;
	struct arena *arena;
	struct block *free;	  /* mapped and not allocated */
	struct block *expandable; /* first block of the reservation */
	struct segment *segments;
};

/* A pool of a stream: a free block is reused only in its own pool. */
struct arena {
	uint64_t stream, id[2];
	struct pool pool[POOLS];
	struct arena *next;
};

struct device {
	pthread_mutex_t mutex;
	int index;
	uint64_t limit;
	struct arena arena; /* the default one; others follow */
	struct block *pending;
	bool are_uses_finished;
	uint64_t allocated, allocated_peak, reserved, reserved_peak, reports;
};

static struct device devices[DEVICES];
static struct driver driver;
static bool is_expandable;
static fake_trace_function *tracer; /* NULL: only the reports, no trackers */

static void trace(const struct pool *pool, enum fake_trace_action action, uint64_t address,
		  uint64_t bytes)
{
	if (tracer && pool->device->index < FAKE_TRACE_DEVICES)
		tracer(pool->device->index, (int)action, address, bytes, pool->arena->stream,
		       pool->arena->id[0], pool->arena->id[1]);
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

/* Cuts `b` to `bytes`. The rest becomes its right neighbour, in the same state and on no list. */
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

/* Merges the right neighbour of `b`, which must be on no list, into `b`. */
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
	return b && b->is_mapped && !b->is_allocated && !b->is_used_elsewhere;
}

/* Merges a free block that is on no list with its free neighbours, and adds it to the list. */
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
	trace(pool, FAKE_TRACE_SEGMENT_ALLOC, address, whole);
	struct block *b = block_new(pool, address, whole);
	struct segment *s = calloc(1, sizeof *s);
	if (!s)
		abort();
	*s = (struct segment){ b, pool->segments };
	pool->segments = s;
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

/* Maps enough of an unmapped block, and merges it with a free left neighbour. */
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
		trace(pool, FAKE_TRACE_SEGMENT_MAP, b->address, more);
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
	trace(b->pool, FAKE_TRACE_SEGMENT_FREE, b->address, b->bytes);
	b->pool->device->reserved -= b->bytes;
	driver.cuMemFree_v2(b->address);
	struct segment **at = &b->pool->segments, *gone;
	while ((*at)->first != b)
		at = &(*at)->next;
	gone = *at;
	*at = gone->next;
	free(gone);
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
	trace(b->pool, FAKE_TRACE_SEGMENT_UNMAP, b->address, b->bytes);
	b->is_mapped = false;
	if (b->after && !b->after->is_mapped)
		absorb_after(b);
	if (b->before && !b->before->is_mapped)
		absorb_after(b->before);
}

static void empty_pool(struct pool *pool)
{
	const struct device *d = pool->device;
	struct block *next;
	for (struct block *b = pool->free; b && !pool->expandable; b = next) {
		next = b->free_next;
		if (!b->before && !b->after)
			release_segment(b);
	}
	/* unmapping changes neighbours, so the loop starts again until no block is left */
	for (struct block *b = pool->expandable; b; b = next) {
		next = b->after;
		uint64_t reserved = d->reserved;
		if (is_free(b))
			release_granules(b, pool->expandable);
		if (d->reserved != reserved)
			next = pool->expandable;
	}
}

/* ---- frees that wait for other streams ---- */

static void complete(struct block *b)
{
	trace(b->pool, FAKE_TRACE_FREE_COMPLETED, b->address, b->requested);
	b->is_used_elsewhere = false;
	settle(b);
}

/* In the order of their frees. */
static void complete_pending(struct device *d)
{
	while (d->pending) {
		struct block *b = d->pending;
		d->pending = b->next_pending;
		complete(b);
	}
	d->are_uses_finished = false;
}

static void add_pending(struct block *b)
{
	struct block **at = &b->pool->device->pending;
	while (*at)
		at = &(*at)->next_pending;
	b->next_pending = NULL;
	*at = b;
}

static void empty_locked(struct device *d)
{
	complete_pending(d);
	for (struct arena *a = &d->arena; a; a = a->next)
		for (int p = 0; p < POOLS; p++)
			empty_pool(&a->pool[p]);
}

#endif
