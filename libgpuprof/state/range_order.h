/*
 * Entries by their first address. Finds the next one after an address in logarithmic time, however
 * far away it is: a treap (C. R. Aragon and R. G. Seidel, FOCS 1989). Only for spaces that are
 * searched by interval, since it costs 24 bytes an entry. mmap only: it works inside the target.
 */
#ifndef GP_RANGE_ORDER_H
#define GP_RANGE_ORDER_H

#include <stdbool.h>
#include <stdint.h>

struct gp_range_order {
	struct gp_order_node *node; /* 0 is none */
	uint32_t root;
	uint32_t used, room;
	uint32_t free; /* first free node, linked by `left` */
	uint64_t random;
};

bool gp_range_order_init(struct gp_range_order *order);
void gp_range_order_release(struct gp_range_order *order);
uint64_t gp_range_order_memory(const struct gp_range_order *order);

/* Add each slot at most once. False: out of memory, state unchanged. */
bool gp_range_order_add(struct gp_range_order *order, uint64_t address, uint32_t slot);
/* Pass both as they were added. */
void gp_range_order_drop(struct gp_range_order *order, uint64_t address, uint32_t slot);

/* The slot of the first entry that begins at or after `address`; 0: none. */
uint32_t gp_range_order_next(const struct gp_range_order *order, uint64_t address);

#endif
