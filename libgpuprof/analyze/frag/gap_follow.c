/*
 * Follows blocks one by one. Segments come and go seldom: memory of the driver becomes a segment
 * when its first block appears. If an event contradicts earlier ones (it came late, or undoes
 * another), the maps are rebuilt from the state.
 */
#include "gap_follow.h"

#include "../memory/memory_view.h"

#define SPACES_WHOLE                                                             \
	(1u << GP_SPACE_DEVICE | 1u << GP_SPACE_ASYNC | 1u << GP_SPACE_MANAGED | \
	 1u << GP_SPACE_GRAPH | 1u << GP_SPACE_IPC)
#define LOOKS_AN_ENTRY 16u
#define GROUP_SHIFT 21u /* reservations begin at multiples of 2 MiB */

static bool gap_follow_is_whole(unsigned space)
{
	return space < GP_SPACES && (SPACES_WHOLE >> space & 1) != 0;
}

/*
 * Adjacent ranges of one reservation form one piece. If the reservation is unknown, those of one
 * arena do.
 */
static uint32_t group_at(const struct gp_live *live, uint64_t address, uint64_t arena)
{
	const struct gp_live_entry *e = gp_live_find(live, GP_SPACE_RESERVATION, address);
	if (e != NULL)
		return (uint32_t)(e->address >> GROUP_SHIFT) | 1u << 31;
	return (uint32_t)arena & 0xffffu;
}

/* ---- rebuild from the state ---- */

static enum gp_status take_block(struct gp_gap_map *map, const struct gp_memory_block *b)
{
	enum gp_status status =
		b->state != GP_STATE_FREE ? gp_gap_map_take(map, b->address, b->bytes) : GP_OK;
	return status == GP_END ? GP_OK : status;
}

static enum gp_status gap_follow_fill(struct gp_gap_follow *f, const struct gp_memory *m)
{
	enum gp_status status = GP_OK;
	for (size_t i = 0; i < m->segments && status == GP_OK; i++) {
		const struct gp_memory_segment *s = &m->segment[i];
		if (s->device >= GP_DEVICES)
			continue;
		struct gp_gap_map *map = &f->map[s->device];
		uint32_t group = s->is_expandable ? group_at(f->live, s->address, s->arena) : 0;
		status = gp_gap_map_add(map, s->address, s->bytes, group);
		for (size_t k = s->first; k < s->first + s->blocks && status == GP_OK; k++)
			status = take_block(map, &m->block[k]);
	}
	return status;
}

static enum gp_status make_all(struct gp_gap_follow *f)
{
	struct gp_memory memory = { 0 };
	struct gp_memory_view view = { .recording = f->recording, .out = &memory };
	f->live = f->recording->live;
	f->loaded = f->recording->loaded;
	for (unsigned i = 0; i < GP_DEVICES; i++) {
		if (f->map[i].bytes != 0)
			f->moved |= UINT64_C(1) << i;
		gp_gap_map_clear(&f->map[i]);
		f->map[i].looks = NULL;
	}
	enum gp_status status = gp_memory_list(&view);
	if (status == GP_OK)
		status = gp_memory_list_segments(&view);
	if (status == GP_OK)
		status = gp_memory_tile(&view);
	if (status == GP_OK)
		status = gap_follow_fill(f, &memory);
	for (unsigned i = 0; i < GP_DEVICES; i++) {
		if (f->map[i].bytes != 0)
			f->moved |= UINT64_C(1) << i;
		f->map[i].looks = &f->looks;
	}
	gp_memory_view_release(&view);
	gp_memory_free(&memory);
	return status;
}

/*
 * Lists and sorts all live entries. Limited by looks, because a recording may require it at each
 * event.
 */
static enum gp_status make_anew(struct gp_gap_follow *f)
{
	f->is_due = !gp_looks_take(&f->looks, gp_live_entries(f->recording->live) * LOOKS_AN_ENTRY);
	return f->is_due ? GP_OK : make_all(f);
}

/* ---- segments ---- */

static struct gp_gap_map *map_of(struct gp_gap_follow *f, unsigned device)
{
	if (device >= GP_DEVICES)
		return NULL;
	f->moved |= UINT64_C(1) << device;
	return &f->map[device];
}

/*
 * Removes the range from all devices: an address belongs to one device, but the end of memory may
 * not name it.
 */
static enum gp_status cut_everywhere(struct gp_gap_follow *f, uint64_t address, uint64_t bytes)
{
	enum gp_status status = GP_OK;
	for (unsigned i = 0; i < GP_DEVICES && status == GP_OK; i++) {
		uint64_t before = f->map[i].bytes;
		if (before != 0)
			status = gp_gap_map_cut(&f->map[i], address, bytes);
		f->moved |= f->map[i].bytes != before ? UINT64_C(1) << i : 0;
	}
	return status;
}

static void drop_everywhere(struct gp_gap_follow *f, uint64_t address)
{
	for (unsigned i = 0; i < GP_DEVICES; i++)
		if (f->map[i].bytes != 0 && gp_gap_map_drop(&f->map[i], address))
			f->moved |= UINT64_C(1) << i;
}

/* The driver's memory at `address`, if it contains blocks of the framework. */
static const struct gp_live_entry *find_whole(const struct gp_live *live, uint64_t address)
{
	const struct gp_live_entry *e = NULL;
	for (unsigned space = 0; space < GP_SPACES && e == NULL; space++)
		if (gap_follow_is_whole(space))
			e = gp_live_find(live, space, address);
	return e != NULL && (e->flags & GP_LIVE_SEGMENT) != 0 ? e : NULL;
}

static enum gp_status add_mapped(struct gp_gap_follow *f, uint64_t address, uint64_t bytes,
				 unsigned device, uint64_t arena)
{
	struct gp_gap_map *map = map_of(f, device);
	return map != NULL ?
		       gp_gap_map_add(map, address, bytes, group_at(f->live, address, arena)) :
		       GP_OK;
}

/*
 * Pages of a reservation that contains blocks belong to it at once. Others belong to it once the
 * allocator reports them.
 */
static enum gp_status add_pages(struct gp_gap_follow *f, const struct gp_record *r)
{
	const struct gp_live_entry *e = gp_live_find(f->live, GP_SPACE_RESERVATION, r->map.address);
	bool is_segment =
		e != NULL && (e->flags & GP_LIVE_SEGMENT) != 0 && !gp_live_is_filled(f->live, e);
	return is_segment ? add_mapped(f, r->map.address, r->map.bytes, e->device, 0) : GP_OK;
}

/* A segment that fills its reservation stays while it is not mapped. */
static enum gp_status cut_pages(struct gp_gap_follow *f, const struct gp_record *r)
{
	const struct gp_live_entry *e =
		gp_live_find(f->live, GP_SPACE_RESERVATION, r->unmap.address);
	return e != NULL && gp_live_is_filled(f->live, e) ?
		       GP_OK :
		       cut_everywhere(f, r->unmap.address, r->unmap.bytes);
}

/* Handles the first block in memory that was not a segment so far. */
static enum gp_status meet_segment(struct gp_gap_follow *f, const struct gp_record *r)
{
	uint64_t address = r->block_alloc.address;
	const struct gp_live_entry *e = find_whole(f->live, address);
	if (e != NULL) {
		struct gp_gap_map *map = map_of(f, e->device);
		if (map == NULL || gp_gap_map_add(map, e->address, e->bytes, 0) != GP_OK)
			return map == NULL ? GP_OK : GP_E_MEMORY;
		enum gp_status status = gp_gap_map_take(map, address, r->block_alloc.bytes);
		return status == GP_END ? GP_OK : status;
	}
	e = gp_live_find(f->live, GP_SPACE_RESERVATION, address);
	return e != NULL ? make_anew(f) : GP_OK;
}

/*
 * The allocator reports a segment that existed before. The first report for a reservation adds all
 * pages that are mapped in it.
 */
static enum gp_status find_segment(struct gp_gap_follow *f, const struct gp_record *r)
{
	struct gp_gap_map *map = map_of(f, r->device);
	if (map == NULL)
		return GP_OK;
	uint64_t before = map->bytes;
	uint32_t group =
		r->kind == GP_SEGMENT_MAP ? group_at(f->live, r->segment_map.address, r->code) : 0;
	enum gp_status status =
		gp_gap_map_add(map, r->segment_alloc.address, r->segment_alloc.bytes, group);
	return status == GP_OK && map->bytes != before ? make_anew(f) : status;
}

static enum gp_status follow_segment(struct gp_gap_follow *f, const struct gp_record *r)
{
	struct gp_gap_map *map;
	if (r->kind == GP_SEGMENT_ALLOC || r->kind == GP_SEGMENT_MAP) {
		if (r->aux != 0)
			return find_segment(f, r);
		if (gp_memory_waits_for_block(f->live, r->segment_alloc.address, r->order))
			return GP_OK;
	}
	switch (r->kind) {
	case GP_ALLOC:
		/* the end of older memory at these addresses was not recorded */
		return gap_follow_is_whole(r->space) ?
			       cut_everywhere(f, r->alloc.address, r->alloc.bytes) :
			       GP_OK;
	case GP_FREE:
		if (gap_follow_is_whole(r->space) || r->space == GP_SPACE_RESERVATION ||
		    r->space == GP_SPACE_NONE)
			drop_everywhere(f, r->free.address);
		return GP_OK;
	case GP_MAP:
		return add_pages(f, r);
	case GP_UNMAP:
		return cut_pages(f, r);
	case GP_SEGMENT_ALLOC:
		map = map_of(f, r->device);
		return map != NULL ? gp_gap_map_add(map, r->segment_alloc.address,
						    r->segment_alloc.bytes, 0) :
				     GP_OK;
	case GP_SEGMENT_FREE:
		/* if there is an entry, the free of the driver's memory follows */
		if (find_whole(f->live, r->segment_free.address) == NULL)
			drop_everywhere(f, r->segment_free.address);
		return GP_OK;
	case GP_SEGMENT_MAP:
		return add_mapped(f, r->segment_map.address, r->segment_map.bytes, r->device,
				  r->code);
	case GP_SEGMENT_UNMAP:
		return cut_everywhere(f, r->segment_unmap.address, r->segment_unmap.bytes);
	case GP_FREE_FAILED:
	case GP_UNMAP_FAILED:
	case GP_OWNER_GONE:
		return make_anew(f);
	default:
		return GP_OK;
	}
}

/* ---- blocks ---- */

static enum gp_status follow(struct gp_gap_follow *f, const struct gp_record *r)
{
	unsigned device = r->device;
	/*
	 * a block from before the recorder was attached: mostly in the map already, and taken again
	 */
	bool is_found = r->kind == GP_BLOCK_EXISTING && r->aux != 0;
	if ((r->kind == GP_BLOCK_ALLOC || is_found) && device < GP_DEVICES) {
		enum gp_status status = gp_gap_map_take(&f->map[device], r->block_alloc.address,
							r->block_alloc.bytes);
		f->moved |= UINT64_C(1) << device;
		return status == GP_END ? meet_segment(f, r) : status;
	}
	bool is_freed = r->kind == GP_BLOCK_FREE && r->aux == 0;
	if ((is_freed || r->kind == GP_BLOCK_COMPLETED) && device < GP_DEVICES) {
		f->moved |= UINT64_C(1) << device;
		gp_gap_map_give(&f->map[device], r->block_free.address);
		return GP_OK;
	}
	return follow_segment(f, r);
}

enum gp_status gp_gap_follow_begin(struct gp_gap_follow *f, struct gp_recording *recording)
{
	*f = (struct gp_gap_follow){ .recording = recording };
	gp_looks_open(&f->looks);
	return make_all(f);
}

void gp_gap_follow_release(struct gp_gap_follow *f)
{
	for (unsigned i = 0; i < GP_DEVICES; i++)
		gp_gap_map_release(&f->map[i]);
}

static bool is_of_memory(const struct gp_record *r)
{
	return r->kind < GP_KINDS && gp_event_infos[r->kind].class == GP_CLASS_MEMORY;
}

void gp_gap_follow_before(struct gp_gap_follow *f, const struct gp_record *r)
{
	const struct gp_recording *recording = f->recording;
	if (!is_of_memory(r))
		return;
	f->is_late = r->order < gp_live_count(recording->live, GP_COUNT_NEWEST_ORDER);
	f->is_loaded = recording->live != f->live || recording->loaded != f->loaded;
	gp_looks_add(&f->looks);
}

enum gp_status gp_gap_follow_after(struct gp_gap_follow *f, const struct gp_record *r)
{
	if (!is_of_memory(r))
		return GP_OK;
	if (__builtin_expect(f->is_loaded, 0)) /* the checkpoint had all live entries */
		return make_all(f);
	if (__builtin_expect(f->is_late || f->is_due, 0)) {
		enum gp_status status = make_anew(f);
		if (f->is_late || !f->is_due || status != GP_OK)
			return status;
	}
	return follow(f, r);
}
