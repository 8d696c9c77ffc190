/*
 * Ended entries that the live state keeps for late events and for events that undo others. It keeps
 * the last driver frees, since a refused one is restored. It keeps frees without an entry, since
 * the allocation may still come. It keeps entries that were replaced while live, since their free
 * may still come. Small rings, searched only on those rare paths.
 */
#ifndef GP_LIVE_PAST_H
#define GP_LIVE_PAST_H

#include "live_table.h"

#define GP_PAST_FREED GP_LIVE_UNDONE_MOST
#define GP_PAST_ORPHANS 256u

struct gp_past_freed {
	struct gp_live_entry entry;
	uint64_t order; /* of the FREE or UNMAP; UINT64_MAX: empty */
};

enum gp_orphan { GP_ORPHAN_NONE, GP_ORPHAN_FREE, GP_ORPHAN_REPLACED };

struct gp_past_orphan {
	uint64_t address;
	uint64_t bytes; /* of an orphan BLOCK_FREE, else 0 */
	uint64_t order; /* of the free, or of the replaced allocation */
	uint64_t until; /* REPLACED: order of the entry that replaced it */
	uint8_t kind;	/* enum gp_orphan */
	uint8_t family;
	uint8_t space;
	bool is_anomaly; /* it was counted as an anomaly */
	/* a BLOCK_FREE: a completion will follow; REPLACED: by a completion, so none follows */
	bool is_pending;
};

struct gp_live_past {
	uint64_t freed_next, orphan_next;
	struct gp_past_freed freed[GP_PAST_FREED];
	struct gp_past_orphan orphan[GP_PAST_ORPHANS];
};

void gp_past_init(struct gp_live_past *past);
void gp_past_add_freed(struct gp_live_past *past, const struct gp_live_entry *entry,
		       uint64_t order);
static inline const struct gp_past_freed *gp_past_newest_freed(const struct gp_live_past *past)
{
	return &past->freed[(past->freed_next + GP_PAST_FREED - 1) % GP_PAST_FREED];
}
/*
 * Takes the next entry, oldest first, that the free of that order removed. False: none is left.
 * `at` is 0 for the first, and the result of the last call after that.
 */
bool gp_past_take_freed(struct gp_live_past *past, uint64_t order, unsigned *at,
			struct gp_live_entry *out);

/* The same without taking it. NULL: none is left. */
const struct gp_live_entry *gp_past_next_freed(const struct gp_live_past *past, uint64_t order,
					       unsigned *at);

/*
 * True if an entry at that address, of a space in `spaces`, was alive at `order` and has been freed
 * since.
 */
bool gp_past_was_freed(const struct gp_live_past *past, uint32_t spaces, uint64_t address,
		       uint64_t order);

/* Returns the kept copy. */
struct gp_past_orphan *gp_past_add_orphan(struct gp_live_past *past,
					  const struct gp_past_orphan *orphan);
/* Completes the last pending BLOCK_FREE without an allocation at that address before `order`. */
bool gp_past_complete(struct gp_live_past *past, uint64_t address, uint64_t order);
/*
 * Takes the first free of that key without an allocation that came after `order` (and before
 * `before`).
 */
bool gp_past_take_free(struct gp_live_past *past, enum gp_family family, uint64_t address,
		       uint64_t order, uint64_t before, struct gp_past_orphan *out);
/* Takes the orphan free with exactly that order. */
bool gp_past_take_refused(struct gp_live_past *past, uint64_t order, struct gp_past_orphan *out);
/* Takes the entry of that key that was alive at `order` and was replaced later. */
bool gp_past_take_replaced(struct gp_live_past *past, enum gp_family family, uint64_t address,
			   uint64_t order, struct gp_past_orphan *out);

#endif
