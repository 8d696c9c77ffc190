/* The tree of ranges by name, and what was counted for each. */
#ifndef GP_PHASE_TREE_H
#define GP_PHASE_TREE_H

#include "../../gpuprof.h"
#include "../../read/tables/row_table.h"

struct gp_phase_node {
	uint32_t parent; /* 0: none; nodes are counted from 1, a parent before its children */
	uint32_t name, domain;
	uint32_t source;
	enum gp_phase_style style;
	uint32_t first, last, next; /* children by first appearance, and the next of its parent's */
	struct gp_phase own;	    /* bytes and launches without those of its children */
	uint64_t steady_ns;	    /* of the steady calls; so are the next two */
	double mean_ns, squares;
	bool is_seen; /* something was counted for it, or below it */
	/* of names that became one: how many, and theirs; children of several are its own */
	uint64_t names;
	const char *folded;
	bool is_merged;
	uint32_t into; /* the node that it became one with; 0: it is there */
};

struct gp_phase_tree {
	struct gp_row_table nodes; /* number 0 is the root, which is shown nowhere */
};
static inline struct gp_phase_node *gp_phase_node_at(const struct gp_phase_tree *tree,
						     uint32_t number)
{
	return (struct gp_phase_node *)tree->nodes.row + number;
}

void gp_phase_tree_release(struct gp_phase_tree *tree);
/* Number of the node with these; the node REST where there would be too many. 0: no memory. */
uint32_t gp_phase_tree_get(struct gp_phase_tree *tree, uint32_t parent, uint32_t name,
			   uint32_t domain, uint32_t source, enum gp_phase_style style);
/* A call of that length has ended; a steady one counts for the mean. */
void gp_phase_node_add(struct gp_phase_node *node, uint64_t ns, bool is_steady);
/* NULL: it is not known, or no range. The folded one, the recording's, or a constant. */
const char *gp_phase_node_text(const struct gp_phase_node *node,
			       const struct gp_recording *recording);
/* NULL: the default one. */
const char *gp_phase_node_domain(const struct gp_phase_node *node,
				 const struct gp_recording *recording);
/*
 * The tree as it is shown; names that count up are folded where there are more than `fold` of them
 * (0: never). GP_E_MEMORY.
 */
enum gp_status gp_phase_tree_list(struct gp_phase_tree *tree, struct gp_recording *recording,
				  uint64_t fold, struct gp_phases *out);

#endif
