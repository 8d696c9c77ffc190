/*
 * The live state reports which entries an event touches (gp_live_watch). After the event, each of
 * them is compared with what its slot counted before. Mapped memory is counted once: as long as a
 * mapping lies in a segment and is of one physical memory, the mapping has the life, and the
 * physical memory only that of its other bytes.
 */
#include "life_follow.h"

#include <stdlib.h>
#include <string.h>

#include "../../read/tables/array.h"

struct gp_life_slot {
	uint64_t birth_ns, birth_order, address, order;
	uint64_t bytes;			   /* counted; 0: in no curve */
	uint64_t spare;			   /* of a block: 1 + bytes that were not requested */
	const struct gp_range_path *range; /* of its allocation */
	uint64_t other; /* MAPPED: order of its physical memory; RESERVATION: its bytes */
	uint32_t group;
	uint8_t of, device;
	uint8_t space; /* of the entry; GP_SPACE_NONE: there is none */
	bool is_listed;
	bool is_holder; /* a reservation of the framework */
	bool has_arena; /* the group has one, or its memory never does */
};

struct life_physical {
	uint64_t order;	       /* the key */
	uint64_t bytes;	       /* that the mapping counts */
	uint32_t slot, mapped; /* mapped: slot of the mapping; 0: none */
};

/* A life that the state before a checkpoint had. */
struct life_before {
	uint64_t key;
	struct gp_life_slot slot;
	bool is_taken;
};

struct life_part {
	uint64_t bytes;
	uint8_t of, device;
};

#define NO_ORDER UINT64_MAX

/* ---- which slots to compare ---- */

static void follow_list(struct gp_life_follow *f, uint32_t slot)
{
	if (slot == 0 || f->is_out_of_memory)
		return;
	if (!gp_array_reach(&f->slot, &f->slots, slot, sizeof *f->slot) ||
	    !gp_array_reserve(&f->listed, &f->list_room, f->listeds, 1, sizeof *f->listed)) {
		f->is_out_of_memory = true;
		return;
	}
	if (!f->slot[slot].is_listed)
		f->listed[f->listeds++] = slot;
	f->slot[slot].is_listed = true;
}

/* The mappings of a reservation that became the framework's, or no longer is. */
static void follow_mapped(struct gp_life_follow *f, uint64_t from, uint64_t bytes)
{
	const struct gp_live *live = f->recording->live;
	const struct gp_live_entry *e;
	for (uint64_t at = from; (e = gp_live_next_mapped(live, at)) != NULL;) {
		if (e->address - from >= bytes || !gp_looks_take(&f->looks, 1))
			return;
		follow_list(f, gp_live_slot_find(live, GP_SPACE_MAPPED, e->address));
		if (e->address == UINT64_MAX)
			return;
		at = e->address + 1;
	}
}

/*
 * A reported segment counts nothing itself, but may fill the reservation where it begins. It has
 * the arena of memory that was there before, as where the reports begin late.
 */
static void follow_segment(struct gp_life_follow *f, const struct gp_live_entry *e)
{
	const struct gp_live *live = f->recording->live;
	const struct gp_live_entry *holder = gp_live_find_holder(live, e->address);
	const uint32_t mapped = gp_live_slot_find(live, GP_SPACE_MAPPED, e->address);
	if (holder != NULL)
		follow_list(f, gp_live_slot_find(live, holder->space, holder->address));
	if (mapped != 0 && mapped < f->slots && !f->slot[mapped].has_arena)
		follow_mapped(f, e->address, e->bytes);
	follow_list(f, gp_live_slot_find(live, GP_SPACE_RESERVATION, e->address));
}

static void follow_see(void *context, uint32_t slot)
{
	struct gp_life_follow *f = context;
	const struct gp_live_entry *e = gp_live_slot(f->recording->live, slot);
	if (e != NULL && e->space == GP_SPACE_SEGMENT)
		follow_segment(f, e);
	else
		follow_list(f, slot);
}

/* ---- what an entry counts ---- */

static struct life_physical *physical_find(const struct gp_life_follow *f, uint64_t order)
{
	return gp_row_of_key(&f->physical, sizeof(struct life_physical), order);
}

/* True: the mapping in `slot` has the life of its physical memory. */
static bool mapped_takes(struct gp_life_follow *f, const struct gp_live_entry *e, uint32_t slot,
			 unsigned device)
{
	struct life_physical *p = physical_find(f, e->stream);
	const struct gp_live_entry *memory =
		p != NULL ? gp_live_slot(f->recording->live, p->slot) : NULL;
	if (memory == NULL || memory->space != GP_SPACE_PHYSICAL || memory->order != p->order ||
	    !gp_live_is_driver(memory) || memory->device != device || memory->bytes < e->bytes ||
	    (p->mapped != 0 && p->mapped != slot))
		return false;
	if (p->mapped == 0)
		follow_list(f, p->slot);
	p->mapped = slot;
	p->bytes = e->bytes;
	f->slot[slot].other = p->order;
	return true;
}

static void mapped_gives_back(struct gp_life_follow *f, uint32_t slot)
{
	struct life_physical *p = physical_find(f, f->slot[slot].other);
	f->slot[slot].other = NO_ORDER;
	if (p == NULL || p->mapped != slot)
		return;
	p->mapped = 0;
	p->bytes = 0;
	follow_list(f, p->slot);
}

static struct life_part mapped_part(struct gp_life_follow *f, const struct gp_live_entry *e,
				    uint32_t slot)
{
	const struct gp_live_entry *in =
		gp_live_find(f->recording->live, GP_SPACE_RESERVATION, e->address);
	const bool is_held = in != NULL && (in->flags & GP_LIVE_SEGMENT) != 0;
	if (is_held && mapped_takes(f, e, slot, in->device))
		return (struct life_part){ e->bytes, GP_LIVES_OF_SEGMENT, in->device };
	mapped_gives_back(f, slot);
	return is_held ? (struct life_part){ e->bytes, GP_LIVES_OF_UNMAPPED, in->device } :
			 (struct life_part){ 0 };
}

static struct life_part driver_part(const struct gp_life_follow *f, const struct gp_live_entry *e)
{
	const bool is_segment = (e->flags & GP_LIVE_SEGMENT) != 0;
	struct life_part part = { e->bytes, GP_LIVES_OF_DRIVER, e->device };
	if (!gp_live_is_driver(e)) {
		part.of = GP_LIVES_OF_UNMAPPED;
		part.bytes = is_segment ? e->bytes : 0;
	} else if (e->space == GP_SPACE_PHYSICAL) {
		const struct life_physical *p = physical_find(f, e->order);
		part.bytes -= p != NULL && p->bytes <= e->bytes ? p->bytes : 0;
	} else if (is_segment) {
		part.of = GP_LIVES_OF_SEGMENT;
	}
	return part;
}

/* A segment that fills a reservation is reserved although it is not mapped. */
static struct life_part reservation_part(const struct gp_life_follow *f,
					 const struct gp_live_entry *e)
{
	const bool is_asleep = (e->flags & GP_LIVE_SEGMENT) != 0 && e->stream < e->bytes &&
			       gp_live_is_filled(f->recording->live, e);
	return (struct life_part){ is_asleep ? e->bytes - e->stream : 0, GP_LIVES_OF_UNMAPPED,
				   e->device };
}

static struct life_part life_part(struct gp_life_follow *f, const struct gp_live_entry *e,
				  uint32_t slot)
{
	struct life_part part = { e->bytes, GP_LIVES_OF_PINNED, GP_DEVICE_UNKNOWN };
	if (gp_live_is_pinned(e))
		return part;
	if (e->space == GP_SPACE_BLOCK) {
		part.of =
			(e->flags & GP_LIVE_PENDING) == 0 ? GP_LIVES_OF_BLOCK : GP_LIVES_OF_PENDING;
		part.device = e->device;
	} else if (e->space == GP_SPACE_MAPPED) {
		part = mapped_part(f, e, slot);
	} else if (e->space == GP_SPACE_RESERVATION) {
		part = reservation_part(f, e);
	} else {
		part = driver_part(f, e);
	}
	return part.device < GP_DEVICES ? part : (struct life_part){ 0 };
}

/* ---- lives ---- */

static void life_end(struct gp_life_follow *f, const struct gp_life_slot *s, bool is_live)
{
	const struct gp_life_row row = { .birth_ns = s->birth_ns,
					 .span = is_live ? 0 : f->now_ns - s->birth_ns + 1,
					 .bytes = s->bytes,
					 .address = s->address,
					 .order = s->order,
					 .group = s->group };
	if (s->bytes != 0 && f->sink->life == NULL)
		gp_life_store_add(f->store, &row);
	if (s->bytes == 0 || f->sink->life == NULL || f->refused != GP_OK)
		return;
	const bool is_requested = s->spare != 0 && s->spare - 1 <= s->bytes;
	const struct gp_lives_life life = { .from_ns = (int64_t)s->birth_ns,
					    .to_ns = (int64_t)f->now_ns,
					    .is_live = is_live,
					    .from_order = s->birth_order,
					    .to_order = f->now_order,
					    .order = s->order,
					    .address = s->address,
					    .bytes = s->bytes,
					    .requested_bytes = is_requested ?
								       s->bytes - (s->spare - 1) :
								       GP_BYTES_UNKNOWN,
					    .number = s->group,
					    .device = s->device,
					    .of = s->of };
	f->refused = f->sink->life(f->sink->context, &life);
}

static uint64_t before_key(const struct gp_life_slot *s)
{
	return gp_hash_pair(gp_hash_pair(s->order, s->address), s->space);
}

/* The same entry in the state before the checkpoint; NULL: it is not there. */
static struct life_before *before_find(const struct gp_life_follow *f, const struct gp_life_slot *s)
{
	struct life_before *b = gp_row_of_key(&f->before, sizeof *b, before_key(s));
	const bool is_same = b != NULL && b->slot.order == s->order &&
			     b->slot.address == s->address && b->slot.space == s->space;
	return is_same ? b : NULL;
}

/* The life goes on if the state before the checkpoint had it. */
static bool life_continues(struct gp_life_follow *f, struct gp_life_slot *s)
{
	struct life_before *b = before_find(f, s);
	if (b == NULL || b->is_taken || b->slot.of != s->of || b->slot.bytes != s->bytes ||
	    b->slot.device != s->device)
		return false;
	b->is_taken = true;
	s->birth_ns = b->slot.birth_ns;
	s->birth_order = b->slot.birth_order;
	s->group = b->slot.group;
	s->has_arena = b->slot.has_arena;
	return true;
}

/* Takes the arena as soon as it is known. The life goes on. */
static void life_settle_arena(struct gp_life_follow *f, struct gp_life_slot *s,
			      const struct gp_live_entry *e)
{
	const uint64_t arena = gp_life_arena_of(f->recording->live, e, (enum gp_lives_of)s->of);
	s->has_arena = arena != 0 || s->of == GP_LIVES_OF_DRIVER || s->of == GP_LIVES_OF_PINNED;
	if (arena != 0)
		s->group = gp_life_group_in(f->groups, s->group, arena);
}

static void life_begin(struct gp_life_follow *f, struct gp_life_slot *s,
		       const struct gp_live_entry *e, const struct life_part *part)
{
	s->of = part->of;
	s->device = part->device;
	s->bytes = part->bytes;
	if (s->bytes == 0 || (f->before.rows > 0 && life_continues(f, s)))
		return;
	s->birth_ns = f->now_ns;
	s->birth_order = f->now_order;
	s->group =
		gp_life_group_of(f->groups, e, s->range, (enum gp_lives_of)part->of, part->device);
	s->has_arena = part->of == GP_LIVES_OF_DRIVER || part->of == GP_LIVES_OF_PINNED ||
		       gp_life_arena_of(f->recording->live, e, (enum gp_lives_of)part->of) != 0;
}

/* ---- entries that come and go ---- */

static void slot_leave(struct gp_life_follow *f, uint32_t slot)
{
	const struct gp_life_slot s = f->slot[slot];
	if (s.space == GP_SPACE_MAPPED)
		mapped_gives_back(f, slot);
	struct life_physical *p = s.space == GP_SPACE_PHYSICAL ? physical_find(f, s.order) : NULL;
	if (p != NULL && p->slot == slot) {
		follow_list(f, p->mapped);
		gp_row_drop_key(&f->physical, sizeof *p, p);
	}
}

static void slot_enter(struct gp_life_follow *f, uint32_t slot, const struct gp_live_entry *e)
{
	struct gp_life_slot *s = &f->slot[slot];
	s->space = e->space;
	s->address = e->address;
	s->order = e->order;
	s->spare = e->space == GP_SPACE_BLOCK ? e->owner : 0;
	s->other = e->space == GP_SPACE_RESERVATION ? e->bytes : NO_ORDER;
	const struct life_before *before = f->before.rows > 0 ? before_find(f, s) : NULL;
	s->range = before != NULL ? before->slot.range :
				    gp_range_of_order(f->groups->ranges, e->order);
	if (e->space != GP_SPACE_PHYSICAL)
		return;
	struct life_physical *p = gp_row_get_key(&f->physical, sizeof *p, e->order);
	f->is_out_of_memory |= p == NULL;
	if (p != NULL)
		p->slot = slot;
}

static void holder_see(struct gp_life_follow *f, uint32_t slot, bool is_holder)
{
	struct gp_life_slot *s = &f->slot[slot];
	if (s->space != GP_SPACE_RESERVATION || s->is_holder == is_holder)
		return;
	s->is_holder = is_holder;
	follow_mapped(f, s->address, s->other);
}

static void slot_compare(struct gp_life_follow *f, uint32_t slot)
{
	const struct gp_live_entry *e = gp_live_slot(f->recording->live, slot);
	struct gp_life_slot *s = &f->slot[slot];
	const bool is_same = e != NULL && s->space == e->space && s->order == e->order &&
			     s->address == e->address;
	s->is_listed = false;
	if (!is_same) {
		holder_see(f, slot, false);
		slot_leave(f, slot);
		s = &f->slot[slot];
		life_end(f, s, false);
		*s = (struct gp_life_slot){ .is_listed = s->is_listed };
		if (e != NULL)
			slot_enter(f, slot, e);
	}
	const bool is_holder = e != NULL && (e->flags & GP_LIVE_SEGMENT) != 0;
	holder_see(f, slot, is_holder);
	const struct life_part part = e != NULL ? life_part(f, e, slot) : (struct life_part){ 0 };
	s = &f->slot[slot];
	if (part.bytes == s->bytes && part.of == s->of && part.device == s->device) {
		if (s->bytes != 0 && !s->has_arena)
			life_settle_arena(f, s, e);
		return;
	}
	life_end(f, s, false);
	if (e != NULL)
		life_begin(f, s, e, &part);
}

static void compare_listed(struct gp_life_follow *f)
{
	for (size_t k = 0; k < f->listeds && !f->is_out_of_memory; k++)
		slot_compare(f, f->listed[k]);
	f->listeds = 0;
}

/* ---- the replay ---- */

/* Blocks that a backward reuses become another role's: the life goes on in another group. */
static void see_roles(struct gp_life_follow *f)
{
	const struct gp_live_entry *e;
	while ((e = gp_roles_changed(f->groups->roles, &f->changes)) != NULL) {
		const uint32_t slot =
			gp_live_slot_find(f->recording->live, GP_SPACE_BLOCK, e->address);
		struct gp_life_slot *s = slot < f->slots ? &f->slot[slot] : NULL;
		if (s == NULL || s->bytes == 0)
			continue;
		const uint32_t group = gp_life_group_of(f->groups, e, s->range,
							(enum gp_lives_of)s->of, s->device);
		if (group == s->group)
			continue;
		life_end(f, s, false);
		s->group = group;
		s->birth_ns = f->now_ns;
		s->birth_order = f->now_order;
	}
}

/* Takes the lives of the state before the checkpoint. */
static void keep_before(struct gp_life_follow *f)
{
	for (size_t k = 0; k < f->slots && !f->is_out_of_memory; k++) {
		const struct gp_life_slot *s = &f->slot[k];
		if (s->space == GP_SPACE_NONE)
			continue;
		struct life_before *b = gp_row_get_key(&f->before, sizeof *b, before_key(s));
		f->is_out_of_memory |= b == NULL;
		if (b == NULL)
			return;
		life_end(f, &b->slot, false); /* of an equal key, in a damaged recording */
		b->slot = *s;
	}
	if (f->slots > 0)
		memset(f->slot, 0, f->slots * sizeof *f->slot);
	gp_row_table_clear(&f->physical);
}

/*
 * Lists the entries of a space, or of all. Physical memory only enters: it is compared after its
 * mappings.
 */
static void list_all(struct gp_life_follow *f, unsigned space)
{
	const struct gp_live *live = f->recording->live;
	for (uint32_t slot = 0; slot < gp_live_slots(live) && !f->is_out_of_memory; slot++) {
		const struct gp_live_entry *e = gp_live_slot(live, slot);
		if (e == NULL || (space != GP_SPACE_NONE && e->space != space))
			continue;
		follow_list(f, slot);
		if (space != GP_SPACE_PHYSICAL || f->is_out_of_memory)
			continue;
		slot_enter(f, slot, e);
		f->slot[slot].is_listed = false;
	}
}

static void end_before(struct gp_life_follow *f)
{
	const struct life_before *b = f->before.row;
	for (uint32_t k = 0; k < f->before.rows; k++)
		if (!b[k].is_taken)
			life_end(f, &b[k].slot, false);
	gp_row_table_release(&f->before);
}

bool gp_life_follow_load(struct gp_life_follow *f)
{
	struct gp_live *live = f->recording->live;
	if (!gp_live_watch(live, follow_see, f))
		return false;
	keep_before(f);
	list_all(f, GP_SPACE_PHYSICAL);
	f->listeds = 0;
	list_all(f, GP_SPACE_MAPPED);
	list_all(f, GP_SPACE_NONE);
	compare_listed(f);
	end_before(f);
	see_roles(f);
	return true;
}

void gp_life_follow_event(struct gp_life_follow *f)
{
	gp_looks_add(&f->looks);
	if (f->listeds > 0)
		compare_listed(f);
	see_roles(f);
}

void gp_life_follow_end(struct gp_life_follow *f)
{
	for (size_t k = 0; k < f->slots; k++)
		life_end(f, &f->slot[k], true);
}

void gp_life_follow_release(struct gp_life_follow *f)
{
	if (f->recording != NULL && f->recording->live != NULL)
		gp_live_watch(f->recording->live, NULL, NULL);
	free(f->slot);
	free(f->listed);
	gp_row_table_release(&f->physical);
	gp_row_table_release(&f->before);
}
