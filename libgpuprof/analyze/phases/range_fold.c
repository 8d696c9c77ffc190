/*
 * Nodes of each tree map to nodes of the common tree with equal texts. A name that is frequent in
 * one recording is not part of a numbered series, whatever the others have. So calls are the
 * highest count of any recording.
 */
#include "range_fold.h"

#include <stdlib.h>
#include <string.h>

#include "phase_fold.h"

void gp_range_fold_release(struct gp_range_fold *f)
{
	gp_phase_tree_release(&f->tree);
	gp_row_table_release(&f->texts);
	gp_phases_free(&f->folded);
	free(f->path);
	*f = (struct gp_range_fold){ 0 };
}

/* *out is 0 without a text. False: out of memory. */
static bool text_get(struct gp_range_fold *f, const char *text, uint32_t *out)
{
	*out = 0;
	if (text == NULL)
		return true;
	const uint32_t key = (uint32_t)gp_hash_bytes(text, strlen(text));
	const char **row = f->texts.row;
	for (uint32_t step = 0; (*out = gp_row_next(&f->texts, key, &step)) != 0;)
		if (strcmp(row[*out - 1], text) == 0)
			return true;
	row = gp_row_add(&f->texts, sizeof *row, key);
	if (row == NULL)
		return false;
	*row = text;
	*out = f->texts.rows;
	return true;
}

/* NULL: none. */
static const char *text_at(const struct gp_range_fold *f, uint32_t id)
{
	const char *const *row = f->texts.row;
	return id != 0 ? row[id - 1] : NULL;
}

bool gp_range_fold_add(struct gp_range_fold *f, const struct gp_phase_tree *tree,
		       const struct gp_recording *recording, uint32_t *into)
{
	for (uint32_t k = 1; k < tree->nodes.rows; k++) {
		const struct gp_phase_node *n = gp_phase_node_at(tree, k);
		uint32_t name, domain;
		if (!text_get(f, gp_phase_node_text(n, recording), &name) ||
		    !text_get(f, gp_phase_node_domain(n, recording), &domain))
			return false;
		into[k] = gp_phase_tree_get(&f->tree, n->parent != 0 ? into[n->parent] : 0, name,
					    domain, n->source, n->style);
		if (into[k] == 0)
			return false;
		struct gp_phase_node *node = gp_phase_node_at(&f->tree, into[k]);
		if (node->style != GP_PHASE_REST)
			node->folded = text_at(f, name);
		node->is_seen |= n->is_seen;
		if (n->own.calls > node->own.calls)
			node->own.calls = n->own.calls;
	}
	return true;
}

bool gp_range_fold_settle(struct gp_range_fold *f)
{
	const struct gp_phase_tree *t = &f->tree;
	if (!gp_phase_tree_fold(&f->tree, NULL, GP_RANGE_FOLD, &f->folded))
		return false;
	f->path = calloc((size_t)t->nodes.rows + 1, sizeof *f->path);
	for (uint32_t k = 1; k < t->nodes.rows && f->path != NULL; k++) {
		const struct gp_phase_node *n = gp_phase_node_at(t, k);
		f->path[k] = (struct gp_range_path){
			.known = n->style == GP_PHASE_NESTED	? GP_RANGE_IN :
				 n->style == GP_PHASE_AMBIGUOUS ? GP_RANGE_AMBIGUOUS :
								  GP_RANGE_BEYOND,
			.up = n->parent != 0 ? gp_range_fold_at(f, n->parent) : NULL,
			.name = n->folded,
			.domain = text_at(f, n->domain),
			.source = n->source,
		};
	}
	return f->path != NULL;
}

const struct gp_range_path *gp_range_fold_at(const struct gp_range_fold *f, uint32_t number)
{
	const struct gp_phase_node *node = gp_phase_node_at(&f->tree, number);
	for (; node->into != 0; node = gp_phase_node_at(&f->tree, number))
		number = node->into;
	return &f->path[number];
}
