/* The treap behind range_order.h. */
#include "range_order.h"

#include <stddef.h>

#include "live_table.h"

#define ROOM_FIRST 128u

struct gp_order_node {
	uint64_t address;
	uint32_t slot;
	uint32_t priority; /* random; not lower than its children's */
	uint32_t left, right;
};

bool gp_range_order_init(struct gp_range_order *order)
{
	*order = (struct gp_range_order){ .used = 1, .room = ROOM_FIRST };
	order->random = GP_HASH_MULTIPLIER;
	order->node = gp_pages_open(order->room * sizeof *order->node);
	return order->node != NULL;
}

void gp_range_order_release(struct gp_range_order *order)
{
	gp_pages_close(order->node, order->room * sizeof *order->node);
	*order = (struct gp_range_order){ 0 };
}

uint64_t gp_range_order_memory(const struct gp_range_order *order)
{
	return order->used * sizeof *order->node;
}

/* 0: out of memory. */
static uint32_t order_take_node(struct gp_range_order *order)
{
	uint32_t taken = order->free;
	if (taken != 0) {
		order->free = order->node[taken].left;
		return taken;
	}
	if (order->used == order->room) {
		const size_t bytes = order->room * sizeof *order->node;
		void *grown = gp_pages_grow(order->node, bytes, 2 * bytes);
		if (grown == NULL)
			return 0;
		order->node = grown;
		order->room *= 2;
	}
	return order->used++;
}

/* xorshift64 (G. Marsaglia, J. Stat. Softw. 8, 2003) */
static uint32_t order_draw(struct gp_range_order *order)
{
	order->random ^= order->random << 13;
	order->random ^= order->random >> 7;
	order->random ^= order->random << 17;
	return (uint32_t)(order->random >> 32);
}

static bool order_is_before(const struct gp_order_node *node, uint64_t address, uint32_t slot)
{
	return node->address != address ? node->address < address : node->slot < slot;
}

/* Splits a tree into the entries before that place and the others. */
static void order_split(struct gp_order_node *node, uint32_t tree, uint64_t address, uint32_t slot,
			uint32_t *before, uint32_t *behind)
{
	while (tree != 0) {
		if (order_is_before(&node[tree], address, slot)) {
			*before = tree;
			before = &node[tree].right;
			tree = *before;
		} else {
			*behind = tree;
			behind = &node[tree].left;
			tree = *behind;
		}
	}
	*before = *behind = 0;
}

bool gp_range_order_add(struct gp_range_order *order, uint64_t address, uint32_t slot)
{
	const uint32_t added = order_take_node(order);
	if (added == 0)
		return false;
	struct gp_order_node *node = order->node, *n = &node[added];
	*n = (struct gp_order_node){ .address = address, .slot = slot };
	n->priority = order_draw(order);
	uint32_t *link = &order->root;
	while (*link != 0 && node[*link].priority >= n->priority)
		link = order_is_before(&node[*link], address, slot) ? &node[*link].right :
								      &node[*link].left;
	order_split(node, *link, address, slot, &n->left, &n->right);
	*link = added;
	return true;
}

void gp_range_order_drop(struct gp_range_order *order, uint64_t address, uint32_t slot)
{
	struct gp_order_node *node = order->node;
	uint32_t *link = &order->root;
	while (node[*link].address != address || node[*link].slot != slot)
		link = order_is_before(&node[*link], address, slot) ? &node[*link].right :
								      &node[*link].left;
	const uint32_t dropped = *link;
	uint32_t left = node[dropped].left, right = node[dropped].right;
	while (left != 0 && right != 0) {
		if (node[left].priority >= node[right].priority) {
			*link = left;
			link = &node[left].right;
			left = *link;
		} else {
			*link = right;
			link = &node[right].left;
			right = *link;
		}
	}
	*link = left != 0 ? left : right;
	node[dropped].left = order->free;
	order->free = dropped;
}

uint32_t gp_range_order_next(const struct gp_range_order *order, uint64_t address)
{
	const struct gp_order_node *node = order->node;
	uint32_t found = 0;
	for (uint32_t at = order->root; at != 0;) {
		const bool is_behind = node[at].address >= address;
		if (is_behind)
			found = node[at].slot;
		at = is_behind ? node[at].left : node[at].right;
	}
	return found;
}
