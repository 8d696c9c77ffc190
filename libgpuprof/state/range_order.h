/*
 * Entries by their first address, so that the next one behind an address is found in logarithmic
 * time, however far away it is: a treap (C. R. Aragon and R. G. Seidel, FOCS 1989). Of spaces alone
 * whose ranges are sought by the stretch, since it costs 24 bytes an entry. mmap only: it works
 * inside the target.
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

/* Each slot at most once. False: out of memory, nothing changed. */
bool gp_range_order_add(struct gp_range_order *order, uint64_t address, uint32_t slot);
/* Both as they were added. */
void gp_range_order_drop(struct gp_range_order *order, uint64_t address, uint32_t slot);

/* The slot of the first that begins at `address` or behind it; 0: none. */
uint32_t gp_range_order_next(const struct gp_range_order *order, uint64_t address);

#endif
