/*
 * What lives, with its uses: blocks of the framework and memory of the driver by the addresses that
 * they hold. Owns that memory; which events make and end them is touch_replay.c's.
 */
#ifndef GP_TOUCH_TABLE_H
#define GP_TOUCH_TABLE_H

#include "../../state/page_map.h"

/* Launches are counted since the first event that is kept. Moments are -1 for none. */
struct gp_touch {
	int64_t born_ns, first_ns, last_ns;
	uint64_t born, first, last; /* launches by then */
	uint64_t rest;		    /* launches of the longest rest between two uses */
	int64_t rest_ns;	    /* of that */
	size_t unseen;		    /* of gp_touch_unseen.moments: so many are in those above */
	size_t at_peak;		    /* 1 + its place among what lived at a peak; 0: it did not */
	bool is_old;		    /* uses that it may have had before are not known */
	bool is_used;
};

struct gp_touch_table {
	struct gp_live_table table;
	struct gp_page_map pages;
	struct gp_touch *touch; /* by slot */
	size_t room;
};

bool gp_touch_init(struct gp_touch_table *t);
void gp_touch_release(struct gp_touch_table *t);
/* 0: out of memory. Its address must be free in its family, its size not 0. */
uint32_t gp_touch_add(struct gp_touch_table *t, const struct gp_live_entry *entry,
		      const struct gp_touch *touch);
void gp_touch_drop(struct gp_touch_table *t, uint32_t slot);
/* 0: none. */
uint32_t gp_touch_find(const struct gp_touch_table *t, unsigned space, uint64_t address);
/* What holds the address: a block, else memory of the driver; 0: nothing does. */
uint32_t gp_touch_around(const struct gp_touch_table *t, uint64_t address);
static inline const struct gp_live_entry *gp_touch_entry(const struct gp_touch_table *t,
							 uint32_t slot)
{
	return &gp_table_slot(&t->table, slot)->entry;
}

#endif
