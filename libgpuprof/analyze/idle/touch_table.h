/*
 * Live allocations with their uses: blocks of the framework and memory of the driver, by address.
 * Owns that memory; touch_replay.c decides which events begin and end them.
 */
#ifndef GP_TOUCH_TABLE_H
#define GP_TOUCH_TABLE_H

#include "../../state/page_map.h"

/* Launches are counted from the first kept event. Moments are -1 for none. */
struct gp_touch {
	int64_t born_ns, first_ns, last_ns;
	uint64_t born, first, last; /* counts of launches at these moments */
	uint64_t rest;		    /* launches in the longest pause between two uses */
	int64_t rest_ns;	    /* time of that pause */
	size_t unseen;		    /* count of unseen moments in the fields above */
	size_t at_peak;		    /* 1 + its index in the parts of a peak; 0: none */
	bool is_old;		    /* its earlier uses are unknown */
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
/* 0: out of memory. Its address must be free in its family, and its size not 0. */
uint32_t gp_touch_add(struct gp_touch_table *t, const struct gp_live_entry *entry,
		      const struct gp_touch *touch);
void gp_touch_drop(struct gp_touch_table *t, uint32_t slot);
/* 0: none. */
uint32_t gp_touch_find(const struct gp_touch_table *t, unsigned space, uint64_t address);
/* The allocation that contains the address: a block, else memory of the driver; 0: none. */
uint32_t gp_touch_around(const struct gp_touch_table *t, uint64_t address);
static inline const struct gp_live_entry *gp_touch_entry(const struct gp_touch_table *t,
							 uint32_t slot)
{
	return &gp_table_slot(&t->table, slot)->entry;
}

#endif
