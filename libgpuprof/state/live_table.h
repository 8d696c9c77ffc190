/*
 * Live entries by (family, address). Slots never move and lie in chunks. An open-addressing index
 * has 32-bit slot numbers with a few hash bits each, so a probe seldom reads a slot in vain. Owns
 * only that memory; live.c defines what entries mean. mmap only: it works inside the target.
 */
#ifndef GP_LIVE_TABLE_H
#define GP_LIVE_TABLE_H

#include <stddef.h>

#include "../format/seeded_hash.h"
#include "live.h"

/*
 * Spaces share a family if an address can be live in only one of them. Equal addresses in two
 * families are normal.
 */
enum gp_family {
	GP_FAMILY_VIRTUAL, /* DEVICE, ASYNC, MANAGED, IPC, GRAPH: cuMemFree takes any of them */
	GP_FAMILY_HOST,
	GP_FAMILY_ARRAY,
	GP_FAMILY_PHYSICAL,
	GP_FAMILY_RESERVATION,
	GP_FAMILY_MAPPED,
	GP_FAMILY_EXTERNAL,
	GP_FAMILY_MULTICAST,
	GP_FAMILY_BLOCK,
	GP_FAMILY_SEGMENT,
	GP_FAMILY_RESOURCE,
	GP_FAMILY_COMPLETION, /* not of an entry: the event that ends a pending BLOCK */
	GP_FAMILY_RELEASED,   /* PHYSICAL with a released handle, by its order */
	GP_FAMILIES,
};
extern const uint8_t gp_families[GP_SPACES];
static inline enum gp_family gp_family_of(unsigned space)
{
	return (enum gp_family)gp_families[space];
}

struct gp_live_slot {
	struct gp_live_entry entry; /* space is GP_SPACE_NONE: the slot is free */
	uint32_t next;		    /* free: next free slot; in the page map: next of its bucket */
	uint32_t walk;		    /* number of the last walk that is done with it */
};
_Static_assert(sizeof(struct gp_live_slot) == 64, "a live entry is one cache line");

#define GP_CHUNK_SLOTS 32768u
#define GP_CHUNKS 65536u
#define GP_SLOT_FIRST 2u /* 0 and 1 mean empty and deleted in the index */

struct gp_live_table {
	struct gp_live_slot **chunk; /* GP_CHUNKS pointers, touched only as far as used */
	uint32_t *index;
	uint32_t index_bits;
	uint32_t slot_mask;	/* index word: hash bits | slot number within this mask */
	uint32_t used, deleted; /* index words */
	uint32_t slots;		/* slots from GP_SLOT_FIRST to here were used before */
	uint32_t chunks;
	uint32_t free; /* first free slot; 0: none */
};

/*
 * Zeroed pages that the kernel provides when they are touched. They stay unlocked even if the
 * process locks its memory. NULL: out of memory.
 */
void *gp_pages_map(size_t bytes);
/* In the job's process, forked children do not inherit them. */
void *gp_pages_open(size_t bytes);
/* Bytes of tables mapped so far, including those already unmapped. */
extern _Atomic uint64_t gp_pages_mapped;
/* Grows pages to `grown` bytes, maybe at a new address; the new ones are zeros. NULL: unchanged. */
void *gp_pages_grow(void *pages, size_t bytes, size_t grown);
void gp_pages_close(void *pages, size_t bytes);

bool gp_table_init(struct gp_live_table *table);
void gp_table_release(struct gp_live_table *table);
uint64_t gp_table_memory(const struct gp_live_table *table);

/*
 * Adds a copy of `entry` and returns its slot. 0: out of memory, state unchanged. Does not check
 * for an older entry of the same key: the caller must.
 */
uint32_t gp_table_add(struct gp_live_table *table, const struct gp_live_entry *entry);
void gp_table_drop(struct gp_live_table *table, uint32_t slot);
/* Sets or clears GP_LIVE_RELEASED, which changes the key of the entry. False: out of memory. */
bool gp_table_release_handle(struct gp_live_table *table, uint32_t slot, bool is_released);

static inline struct gp_live_slot *gp_table_slot(const struct gp_live_table *table, uint32_t slot)
{
	return &table->chunk[slot / GP_CHUNK_SLOTS][slot % GP_CHUNK_SLOTS];
}

/* Spreads evenly spaced addresses evenly over the high bits. */
static inline uint64_t gp_table_hash(enum gp_family family, uint64_t address)
{
	return (address + ((uint64_t)family << 56)) * GP_HASH_MULTIPLIER;
}

/*
 * PHYSICAL memory with a released handle is found by the order of its allocation. A driver may
 * return the same handle again while old memory with it is still mapped.
 */
static inline bool gp_is_released(const struct gp_live_entry *entry)
{
	return entry->space == GP_SPACE_PHYSICAL && (entry->flags & GP_LIVE_RELEASED) != 0;
}
static inline enum gp_family gp_key_family(const struct gp_live_entry *entry)
{
	return gp_is_released(entry) ? GP_FAMILY_RELEASED : gp_family_of(entry->space);
}
static inline uint64_t gp_key_number(const struct gp_live_entry *entry)
{
	return gp_is_released(entry) ? entry->order : entry->address;
}

/* The slot of a key, (family, number); 0: none. */
static inline uint32_t gp_table_find(const struct gp_live_table *table, enum gp_family family,
				     uint64_t number)
{
	uint64_t hash = gp_table_hash(family, number);
	uint64_t mask = (1ull << table->index_bits) - 1;
	uint32_t tag = (uint32_t)hash & ~table->slot_mask;
	for (uint64_t at = hash >> (64 - table->index_bits);; at = (at + 1) & mask) {
		uint32_t word = table->index[at];
		if (word == 0)
			return 0;
		if ((word & ~table->slot_mask) != tag || word == 1)
			continue;
		uint32_t slot = word & table->slot_mask;
		const struct gp_live_entry *entry = &gp_table_slot(table, slot)->entry;
		if (gp_key_number(entry) == number && gp_key_family(entry) == family)
			return slot;
	}
}

#endif
