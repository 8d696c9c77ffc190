/*
 * Checks of a snapshot, its sums, and its release (torch_snapshot.h).
 */
#include "torch_snapshot.h"

_Static_assert(sizeof(struct gp_torch_block) == 40, "");
_Static_assert(offsetof(struct gp_torch_block, is_allocated) == 20, "");
_Static_assert(offsetof(struct gp_torch_block, context) == 24, "");
_Static_assert(sizeof(struct gp_torch_segment) == 120, "");
_Static_assert(offsetof(struct gp_torch_segment, stream) == 48, "");
_Static_assert(offsetof(struct gp_torch_segment, is_expandable) == 57, "");
_Static_assert(offsetof(struct gp_torch_segment, pool) == 64, "");
_Static_assert(offsetof(struct gp_torch_segment, blocks) == 80, "");
_Static_assert(sizeof(struct gp_torch_snapshot) == 1024, "");

#define LOWEST 4096u		      /* no valid address is lower */
#define HIGHEST (1ull << 47)	      /* or higher */
#define DEVICE_BYTES_MAX (1ull << 44) /* of one segment */
#define SEGMENT_ALIGNED 512u
#define POOL_ID_MOST UINT32_MAX /* as in traces: a greater number is not an id */

static bool is_vector(const struct gp_torch_vector *v, size_t element, size_t most,
		      bool may_be_none)
{
	uintptr_t begin = (uintptr_t)v->begin, end = (uintptr_t)v->end, limit = (uintptr_t)v->limit;
	if (begin == end)
		return may_be_none && limit >= end;
	return begin >= LOWEST && begin % 8 == 0 && begin < end && end <= limit &&
	       limit < HIGHEST && (end - begin) % element == 0 && (end - begin) / element <= most;
}

static bool is_block(const struct gp_torch_block *b)
{
	if (b->is_allocated > 1 || b->is_active > 1 || b->is_allocated > b->is_active)
		return false;
	return b->bytes > 0 && b->bytes <= DEVICE_BYTES_MAX &&
	       (!b->is_active || b->requested <= b->bytes);
}

static bool are_blocks(const struct gp_torch_segment *s)
{
	const struct gp_torch_block *b;
	uint64_t bytes = 0, allocated = 0, active = 0;
	for (size_t left = gp_torch_blocks(s, &b); left > 0; left--, b++) {
		if (!is_block(b) || b->bytes > s->bytes - bytes)
			return false;
		bytes += b->bytes;
		allocated += b->is_allocated ? b->bytes : 0;
		active += b->is_active ? b->bytes : 0;
	}
	return bytes == s->bytes && allocated == s->allocated && active == s->active;
}

static bool is_segment(const struct gp_torch_segment *s, unsigned devices)
{
	if (s->device < 0 || (unsigned)s->device >= devices)
		return false;
	if (s->address < LOWEST || s->address % SEGMENT_ALIGNED != 0 || s->bytes == 0 ||
	    s->bytes > DEVICE_BYTES_MAX)
		return false;
	if (s->is_large > 1 || s->is_expandable > 1 || s->pool[0] > POOL_ID_MOST ||
	    s->pool[1] > POOL_ID_MOST)
		return false;
	return is_vector(&s->blocks, sizeof(struct gp_torch_block), GP_TORCH_BLOCKS_MAX, false);
}

bool gp_torch_snapshot_is_sound(const struct gp_torch_snapshot *snapshot, unsigned devices)
{
	const struct gp_torch_segment *s;
	if (!is_vector(&snapshot->segments, sizeof *s, GP_TORCH_SEGMENTS_MAX, true))
		return false;
	/* check all segments first: after an invalid one, the blocks of others cannot be located */
	size_t count = gp_torch_segments(snapshot, &s);
	for (size_t k = 0; k < count; k++)
		if (!is_segment(&s[k], devices))
			return false;
	for (size_t k = 0; k < count; k++)
		if (!are_blocks(&s[k]))
			return false;
	return true;
}

struct gp_torch_sums gp_torch_snapshot_sums(const struct gp_torch_snapshot *snapshot,
					    unsigned device)
{
	struct gp_torch_sums sums = { 0, 0, 0, 0 };
	const struct gp_torch_segment *s;
	for (size_t left = gp_torch_segments(snapshot, &s); left > 0; left--, s++) {
		const struct gp_torch_block *b;
		if ((unsigned)s->device != device)
			continue;
		sums.allocated += s->allocated;
		sums.reserved += s->bytes;
		sums.active += s->active;
		sums.items++;
		for (size_t blocks = gp_torch_blocks(s, &b); blocks > 0; blocks--, b++)
			sums.items += b->is_active;
	}
	return sums;
}

/* libstdc++'s control block; the pointer to its functions comes first. */
struct gp_torch_count {
	const void *functions;
	int32_t uses, watchers;
};

/*
 * Drops our reference. The allocator's own block also holds the context, so ours is not the last
 * one. If the allocator has dropped its own by now, the context is leaked instead of destroyed
 * here.
 */
static void let_go(const struct gp_torch_shared *shared)
{
	if (!shared->count)
		return;
	int32_t uses = __atomic_load_n(&shared->count->uses, __ATOMIC_RELAXED);
	while (uses > 1)
		if (__atomic_compare_exchange_n(&shared->count->uses, &uses, uses - 1, false,
						__ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
			return;
}

static void free_vector(const struct gp_torch_vector *v, void (*give_back)(void *))
{
	if (v->begin)
		give_back((void *)(uintptr_t)v->begin);
}

void gp_torch_snapshot_free(struct gp_torch_snapshot *snapshot, void (*give_back)(void *))
{
	const struct gp_torch_segment *s;
	const struct gp_torch_block *b;
	if (!give_back)
		return;
	for (size_t left = gp_torch_segments(snapshot, &s); left > 0; left--, s++) {
		for (size_t blocks = gp_torch_blocks(s, &b); blocks > 0; blocks--, b++)
			let_go(&b->context);
		let_go(&s->context);
		free_vector(&s->blocks, give_back);
	}
	free_vector(&snapshot->segments, give_back);
	/*
	 * contexts in the entries of a history cannot be located, so they are leaked; only the
	 * arrays are freed
	 */
	const struct gp_torch_vector *of_device = snapshot->traces.begin;
	if (is_vector(&snapshot->traces, sizeof *of_device, 256, true)) {
		for (; (const void *)of_device < snapshot->traces.end; of_device++)
			if (is_vector(of_device, 1, SIZE_MAX, true))
				free_vector(of_device, give_back);
		free_vector(&snapshot->traces, give_back);
	}
	*snapshot = (struct gp_torch_snapshot){ .others = { 0 } };
}
