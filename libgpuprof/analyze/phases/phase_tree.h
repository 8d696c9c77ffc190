/* The tree of ranges by name, with the counts of each. */
#ifndef GP_PHASE_TREE_H
#define GP_PHASE_TREE_H

#include "../../gpuprof.h"
#include "../../read/tables/row_table.h"

struct gp_phase_node {
	uint32_t parent; /* 0: none; nodes are numbered from 1, a parent before its children */
	uint32_t name, domain;
	uint32_t source;
	enum gp_phase_style style;
	uint32_t first, last, next; /* its children in order of appearance; the next sibling */
	struct gp_phase own;	    /* bytes and launches without those of its children */
	uint64_t steady_ns;	    /* of the steady calls, like the next two */
	double mean_ns, squares;
	bool is_seen; /* it or a node below it has events */
	/*
	 * Of folded names: their number and text; is_merged: it has the children of several nodes.
	 */
	uint64_t names;
	const char *folded;
	bool is_merged;
	uint32_t into; /* the node that it was joined with; 0: it was not */
};

struct gp_phase_tree {
	struct gp_row_table nodes; /* nodes[0] is the root, which is never shown */
};
static inline struct gp_phase_node *gp_phase_node_at(const struct gp_phase_tree *tree,
						     uint32_t number)
{
	return (struct gp_phase_node *)tree->nodes.row + number;
}

void gp_phase_tree_release(struct gp_phase_tree *tree);
/* The number of the node with these values; the node REST above the bound. 0: out of memory. */
uint32_t gp_phase_tree_get(struct gp_phase_tree *tree, uint32_t parent, uint32_t name,
			   uint32_t domain, uint32_t source, enum gp_phase_style style);
/* Adds an ended call of that length; a steady one counts for the mean. */
void gp_phase_node_add(struct gp_phase_node *node, uint64_t ns, bool is_steady);
/* NULL: unknown, or not a range. Otherwise the folded text, the recording's, or a constant. */
const char *gp_phase_node_text(const struct gp_phase_node *node,
			       const struct gp_recording *recording);
/* NULL: the default domain. */
const char *gp_phase_node_domain(const struct gp_phase_node *node,
				 const struct gp_recording *recording);
/*
 * Lists the tree for output. Numbered names are folded if there are more than `fold` of them (0:
 * never). GP_E_MEMORY.
 */
enum gp_status gp_phase_tree_list(struct gp_phase_tree *tree, struct gp_recording *recording,
				  uint64_t fold, struct gp_phases *out);

#endif
