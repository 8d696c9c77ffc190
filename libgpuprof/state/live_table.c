/* Slots and index behind live_table.h. */
#include "live_table.h"

#include <stdatomic.h>
#include <sys/mman.h>

#define INDEX_BITS_FIRST 12u
#define EMPTY 0u
#define DELETED 1u

const uint8_t gp_families[GP_SPACES] = {
	[GP_SPACE_NONE] = GP_FAMILY_VIRTUAL,
	[GP_SPACE_DEVICE] = GP_FAMILY_VIRTUAL,
	[GP_SPACE_ASYNC] = GP_FAMILY_VIRTUAL,
	[GP_SPACE_MANAGED] = GP_FAMILY_VIRTUAL,
	[GP_SPACE_HOST] = GP_FAMILY_HOST,
	[GP_SPACE_HOST_REGISTER] = GP_FAMILY_HOST,
	[GP_SPACE_ARRAY] = GP_FAMILY_ARRAY,
	[GP_SPACE_PHYSICAL] = GP_FAMILY_PHYSICAL,
	[GP_SPACE_RESERVATION] = GP_FAMILY_RESERVATION,
	[GP_SPACE_MAPPED] = GP_FAMILY_MAPPED,
	[GP_SPACE_IPC] = GP_FAMILY_VIRTUAL,
	[GP_SPACE_EXTERNAL] = GP_FAMILY_EXTERNAL,
	[GP_SPACE_GRAPH] = GP_FAMILY_VIRTUAL,
	[GP_SPACE_MULTICAST] = GP_FAMILY_MULTICAST,
	[GP_SPACE_BLOCK] = GP_FAMILY_BLOCK,
	[GP_SPACE_SEGMENT] = GP_FAMILY_SEGMENT,
	[GP_SPACE_RESOURCE] = GP_FAMILY_RESOURCE,
};

/*
 * After mlockall(MCL_FUTURE) the kernel locks a new mapping, and fills it at once if it is readable
 * or writable. So it is mapped without access and unlocked before it gets both.
 */
void *gp_pages_map(size_t bytes)
{
	void *pages =
		mmap(NULL, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (pages == MAP_FAILED)
		return NULL;
	munlock(pages, bytes);
	if (mprotect(pages, bytes, PROT_READ | PROT_WRITE) == 0)
		return pages;
	munmap(pages, bytes);
	return NULL;
}

_Atomic uint64_t gp_pages_mapped;

void *gp_pages_open(size_t bytes)
{
	void *pages = gp_pages_map(bytes);
	if (pages == NULL)
		return NULL;
	atomic_fetch_add(&gp_pages_mapped, bytes);
#if defined(GP_PRELOAD) /* a forked child of the job does not need the drain thread's state */
	madvise(pages, bytes, MADV_DONTFORK);
#endif
	return pages;
}

void *gp_pages_grow(void *pages, size_t bytes, size_t grown)
{
	void *moved = mremap(pages, bytes, grown, MREMAP_MAYMOVE);
	return moved != MAP_FAILED ? moved : NULL;
}

void gp_pages_close(void *pages, size_t bytes)
{
	if (pages != NULL)
		munmap(pages, bytes);
}

static size_t index_bytes(const struct gp_live_table *table)
{
	return sizeof(uint32_t) << table->index_bits;
}

bool gp_table_init(struct gp_live_table *table)
{
	*table = (struct gp_live_table){ .index_bits = INDEX_BITS_FIRST, .slots = GP_SLOT_FIRST };
	table->slot_mask = GP_CHUNK_SLOTS - 1;
	table->chunk = gp_pages_open(GP_CHUNKS * sizeof(void *));
	table->index = gp_pages_open(index_bytes(table));
	if (table->chunk != NULL && table->index != NULL)
		return true;
	gp_table_release(table);
	return false;
}

void gp_table_release(struct gp_live_table *table)
{
	for (uint32_t i = 0; i < table->chunks; i++)
		gp_pages_close(table->chunk[i], GP_CHUNK_SLOTS * sizeof(struct gp_live_slot));
	gp_pages_close(table->chunk, GP_CHUNKS * sizeof(void *));
	gp_pages_close(table->index, index_bytes(table));
	*table = (struct gp_live_table){ 0 };
}

uint64_t gp_table_memory(const struct gp_live_table *table)
{
	return table->chunks *
		       (uint64_t)(GP_CHUNK_SLOTS * sizeof(struct gp_live_slot) + sizeof(void *)) +
	       index_bytes(table);
}

static uint64_t entry_hash(const struct gp_live_entry *entry)
{
	return gp_table_hash(gp_key_family(entry), gp_key_number(entry));
}

static void place(struct gp_live_table *table, uint32_t slot, uint64_t hash)
{
	uint64_t mask = (1ull << table->index_bits) - 1;
	uint64_t at = hash >> (64 - table->index_bits);
	while (table->index[at] > DELETED)
		at = (at + 1) & mask;
	if (table->index[at] == DELETED)
		table->deleted--;
	table->index[at] = ((uint32_t)hash & ~table->slot_mask) | slot;
	table->used++;
}

/*
 * A new index of 2^bits words; the slots stay in place. False: out of memory, the old one remains.
 */
static bool rebuild(struct gp_live_table *table, uint32_t bits, uint32_t slot_mask)
{
	uint32_t *fresh = gp_pages_open(sizeof(uint32_t) << bits);
	if (fresh == NULL)
		return false;
	gp_pages_close(table->index, index_bytes(table));
	table->index = fresh;
	table->index_bits = bits;
	table->slot_mask = slot_mask;
	table->used = table->deleted = 0;
	for (uint32_t slot = GP_SLOT_FIRST; slot < table->slots; slot++) {
		const struct gp_live_entry *entry = &gp_table_slot(table, slot)->entry;
		if (entry->space != GP_SPACE_NONE)
			place(table, slot, entry_hash(entry));
	}
	return true;
}

/*
 * Makes room for one more index word. At most 5/8 are in use, deleted ones included, since an
 * allocation searches to the end of its run. At least 3/16 are in use after growth, which is 21
 * bytes an entry.
 */
static bool live_table_make_room(struct gp_live_table *table)
{
	uint64_t words = 1ull << table->index_bits;
	if ((uint64_t)table->used + table->deleted + 1 <= words / 8 * 5)
		return true;
	uint32_t bits = table->index_bits + (table->used > words / 8 * 3 ? 1 : 0);
	if (rebuild(table, bits, table->slot_mask))
		return true;
	return (uint64_t)table->used + table->deleted + 1 < words; /* slower, but still correct */
}

static uint32_t take_slot(struct gp_live_table *table)
{
	uint32_t slot = table->free;
	if (slot != 0) {
		table->free = gp_table_slot(table, slot)->next;
		return slot;
	}
	if (table->slots / GP_CHUNK_SLOTS == table->chunks) {
		if (table->chunks == GP_CHUNKS)
			return 0;
		void *chunk = gp_pages_open(GP_CHUNK_SLOTS * sizeof(struct gp_live_slot));
		if (chunk == NULL)
			return 0;
		table->chunk[table->chunks++] = chunk;
	}
	if (table->slots > table->slot_mask &&
	    !rebuild(table, table->index_bits, table->slot_mask * 2 + 1))
		return 0;
	return table->slots++;
}

uint32_t gp_table_add(struct gp_live_table *table, const struct gp_live_entry *entry)
{
	if (!live_table_make_room(table))
		return 0;
	uint32_t slot = take_slot(table);
	if (slot == 0)
		return 0;
	struct gp_live_slot *s = gp_table_slot(table, slot);
	s->entry = *entry;
	s->next = 0;
	place(table, slot, entry_hash(entry));
	return slot;
}

/* Removes it from the index. */
static void displace(struct gp_live_table *table, uint32_t slot)
{
	uint64_t hash = entry_hash(&gp_table_slot(table, slot)->entry);
	uint64_t mask = (1ull << table->index_bits) - 1;
	uint32_t word = ((uint32_t)hash & ~table->slot_mask) | slot;
	uint64_t at = hash >> (64 - table->index_bits);
	while (table->index[at] != word)
		at = (at + 1) & mask;
	table->used--;
	if (table->index[(at + 1) & mask] != EMPTY) {
		table->index[at] = DELETED;
		table->deleted++;
	} else {
		/* the end of a run: probes do not need this word, nor the deleted ones before it */
		table->index[at] = EMPTY;
		for (at = (at - 1) & mask; table->index[at] == DELETED; at = (at - 1) & mask) {
			table->index[at] = EMPTY;
			table->deleted--;
		}
	}
}

bool gp_table_release_handle(struct gp_live_table *table, uint32_t slot, bool is_released)
{
	struct gp_live_entry *entry = &gp_table_slot(table, slot)->entry;
	if (!live_table_make_room(table))
		return false;
	displace(table, slot);
	entry->flags = (uint16_t)(is_released ? entry->flags | GP_LIVE_RELEASED :
						entry->flags & ~GP_LIVE_RELEASED);
	place(table, slot, entry_hash(entry));
	return true;
}

void gp_table_drop(struct gp_live_table *table, uint32_t slot)
{
	struct gp_live_slot *s = gp_table_slot(table, slot);
	displace(table, slot);
	s->entry.space = GP_SPACE_NONE;
	s->next = table->free;
	table->free = slot;
}
