/* Uses as a call tree. A node is found by its parent and the identity of its frame. */
#include <stdlib.h>
#include <string.h>

#include "../../read/tables/row_table.h"
#include "group_key.h"

#define NONE SIZE_MAX
#define MODULES_MOST 64u /* in each other; outer ones are left out */

struct builder {
	struct gp_recording *recording;
	const struct gp_grouping *how;
	struct gp_read_stack *stack;
	struct gp_tree *tree;
	struct gp_identity *identity; /* by node: the identity of all frames from its root to it */
	size_t room;		      /* of nodes */
	struct gp_row_index index;
};

static bool grow(struct builder *b)
{
	const size_t room = b->room != 0 ? b->room * 2 : 128;
	struct gp_tree_node *node = realloc(b->tree->node, room * sizeof *node);
	if (node == NULL)
		return false;
	b->tree->node = node;
	struct gp_identity *identity = realloc(b->identity, room * sizeof *identity);
	if (identity == NULL)
		return false;
	b->identity = identity;
	b->room = room;
	return true;
}

/* The child of `parent` with that frame; NONE: out of memory. */
static size_t call_tree_find(struct builder *b, size_t parent, struct gp_identity identity,
			     const struct gp_frame *frame)
{
	const uint32_t hash = gp_row_hash(gp_identity_hash(identity));
	for (uint32_t step = 0, at; (at = gp_row_index_next(&b->index, hash, &step)) != 0;)
		if (gp_identity_is(b->identity[at - 1], identity))
			return at - 1;
	const size_t fresh = b->tree->nodes;
	if ((fresh == b->room && !grow(b)) ||
	    !gp_row_index_add(&b->index, hash, (uint32_t)fresh + 1))
		return NONE;
	b->identity[fresh] = identity;
	b->tree->node[fresh] = (struct gp_tree_node){
		.frame = *frame, .parent = parent, .child = NONE, .next = NONE
	};
	b->tree->nodes++;
	return fresh;
}

static size_t add_node(struct builder *b, size_t parent, struct gp_identity identity,
		       const struct gp_frame *frame, const struct gp_use *use)
{
	size_t node = call_tree_find(b, parent, identity, frame);
	if (node != NONE) {
		b->tree->node[node].bytes += use->bytes;
		b->tree->node[node].count += use->count;
	}
	return node;
}

static size_t add_frame(struct builder *b, size_t parent, struct gp_identity *identity,
			const struct gp_frame *frame, const struct gp_use *use)
{
	*identity = gp_frame_identity(*identity, frame);
	return add_node(b, parent, *identity, frame, use);
}

/* A root with the reason why all or the outer frames are missing; NONE: out of memory. */
static size_t add_reason(struct builder *b, const struct gp_use *use, const char *why,
			 struct gp_identity *identity)
{
	const struct gp_frame frame = { .unknown = why };
	*identity = gp_text_identity((struct gp_identity){ 1, 1 }, why);
	return add_frame(b, NONE, identity, &frame, use);
}

static bool add_without(struct builder *b, const struct gp_use *use, const char *why)
{
	struct gp_identity identity;
	return add_reason(b, use, why, &identity) != NONE;
}

/* Drops native frames without a name if other frames have one. */
static void drop_unnamed(struct gp_read_stack *s)
{
	size_t kept = 0, named = 0;
	for (size_t k = 0; k < s->frames; k++)
		named += s->frame[k].function != NULL;
	for (size_t k = 0; k < s->frames && named > 0; k++)
		if (s->frame[k].function != NULL || s->frame[k].is_python)
			s->frame[kept++] = s->frame[k];
	s->frames = named > 0 ? kept : s->frames;
}

/* The module and those that it is in; false: out of memory. */
static bool add_modules(struct builder *b, const struct gp_use *use)
{
	struct gp_torch_module chain[MODULES_MOST];
	size_t n = 0, at = NONE;
	uint32_t id = b->stack->stack.module;
	for (; n < MODULES_MOST && gp_recording_module(b->recording, id, &chain[n]); n++)
		id = chain[n].within;
	while (n-- > 0) {
		const struct gp_frame frame = { .function =
							chain[n].name[0] ? chain[n].name : "(root)",
						.module = chain[n].class };
		/* a module is in one other: its id is enough, and each module has one node */
		const struct gp_identity identity = { chain[n].id, 3 };
		if ((at = add_node(b, at, identity, &frame, use)) == NONE)
			return false;
	}
	return true;
}

static bool add_use(struct builder *b, const struct gp_use *use)
{
	struct gp_read_stack *s = b->stack;
	const struct gp_use_place place = gp_use_place(b->recording, use, b->how, s);
	if (place.without != NULL)
		return add_without(b, use, place.without);
	if (b->how->by == GP_BY_MODULE && s->stack.module == 0)
		return add_without(b, use,
				   s->names.modules[0] ? "modules were not recorded, only classes" :
							 s->no_module);
	if (b->how->by == GP_BY_MODULE)
		return add_modules(b, use);
	if (s->frames == 0)
		return add_without(b, use,
				   s->stack.missing ? s->stack.missing : "a stack without frames");
	if (!b->how->is_native)
		drop_unnamed(s);
	struct gp_identity identity = { 2, 2 };
	size_t at = NONE;
	/* the outermost remaining frame must not look like the first frame of the thread */
	const char *cut = gp_read_stack_cut(s, b->how->is_native);
	if (cut != NULL && (at = add_reason(b, use, cut, &identity)) == NONE)
		return false;
	for (size_t k = s->frames; k-- > 0;)
		if ((at = add_frame(b, at, &identity, &s->frame[k], use)) == NONE)
			return false;
	return true;
}

/* ---- order by bytes ---- */

static int call_tree_compare(const void *left, const void *right, void *nodes)
{
	const struct gp_tree_node *node = nodes;
	const size_t a = *(const size_t *)left, b = *(const size_t *)right;
	const struct gp_tree_node *x = &node[a], *y = &node[b];
	if (x->bytes != y->bytes)
		return x->bytes < y->bytes ? 1 : -1;
	return (a > b) - (a < b);
}

/* Walks the nodes from the least to the greatest, and puts each at the front of its siblings. */
static bool link_nodes(struct gp_tree *tree)
{
	size_t *order = calloc(tree->nodes + 1, sizeof *order);
	if (order == NULL)
		return false;
	for (size_t k = 0; k < tree->nodes; k++)
		order[k] = k;
	if (tree->nodes > 1)
		qsort_r(order, tree->nodes, sizeof *order, call_tree_compare, tree->node);
	for (size_t k = tree->nodes; k-- > 0;) {
		struct gp_tree_node *n = &tree->node[order[k]];
		size_t *first = n->parent == NONE ? &tree->root : &tree->node[n->parent].child;
		n->next = *first;
		*first = order[k];
	}
	free(order);
	return true;
}

enum gp_status gp_tree_build(struct gp_recording *recording, const struct gp_use *use, size_t uses,
			     const struct gp_grouping *how, struct gp_tree *out)
{
	*out = (struct gp_tree){ .root = NONE };
	struct gp_grouping by_stack = *how;
	out->is_of_modules = how->by == GP_BY_MODULE;
	by_stack.by = out->is_of_modules ? GP_BY_MODULE : GP_BY_STACK;
	struct builder b = { .recording = recording, .how = &by_stack, .tree = out };
	b.stack = calloc(1, sizeof *b.stack);
	bool is_fine = b.stack != NULL;
	for (size_t k = 0; k < uses && is_fine; k++)
		is_fine = add_use(&b, &use[k]);
	is_fine = is_fine && link_nodes(out);
	free(b.stack);
	free(b.identity);
	gp_row_index_release(&b.index);
	if (!is_fine)
		gp_tree_free(out);
	return is_fine ? GP_OK : GP_E_MEMORY;
}

void gp_tree_free(struct gp_tree *tree)
{
	free(tree->node);
	*tree = (struct gp_tree){ .root = NONE };
}
