/* Walks over the parts of a segment, and remembers where it ended. */
#include "block_list.h"

#include <stdlib.h>

#include "../tables/array.h"

void gp_block_list_begin(struct gp_block_list *l, size_t which)
{
	l->which = which;
	l->blocks = 0;
	l->parts = 0;
}

static bool block_list_append(struct gp_block_list *l, const struct gp_block_walk *walk)
{
	if (!gp_array_reserve(&l->block, &l->room, l->blocks, 1, sizeof *l->block))
		return false;
	l->block[l->blocks++] =
		(struct gp_block_ref){ .offset = walk->offset, .header = walk->header };
	return true;
}

bool gp_block_list_add(struct gp_block_list *l, enum gp_block_type type)
{
	const struct gp_segment *s = &l->index->segment[l->which];
	for (size_t i = l->parts > 0 ? l->parts - 1 : 0; i < s->parts; i++) {
		struct gp_block_walk walk = gp_part_walk(l->file, &l->index->part[s->part + i]);
		walk.at = i < l->parts ? l->collected : walk.at;
		while (gp_block_walk_next(&walk))
			if (walk.header.type == type &&
			    !gp_index_is_repeated(l->index, walk.offset) &&
			    !block_list_append(l, &walk))
				return false;
		l->parts = i + 1;
		l->collected = walk.at;
	}
	return true;
}

void gp_block_list_back(struct gp_block_list *l, const struct gp_block_list *before)
{
	if (l->blocks > before->blocks)
		l->blocks = before->blocks;
	l->parts = before->parts;
	l->collected = before->collected;
}

static int block_list_compare(const void *left, const void *right)
{
	const struct gp_block_ref *a = left, *b = right;
	if (a->header.thread != b->header.thread)
		return a->header.thread < b->header.thread ? -1 : 1;
	if (a->header.sequence != b->header.sequence)
		return a->header.sequence < b->header.sequence ? -1 : 1;
	return (a->offset > b->offset) - (a->offset < b->offset);
}

void gp_block_list_sort(struct gp_block_list *l)
{
	if (l->blocks > 1)
		qsort(l->block, l->blocks, sizeof *l->block, block_list_compare);
}
