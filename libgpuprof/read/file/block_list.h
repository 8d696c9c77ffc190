/* The blocks of one type in a segment, by their headers. A running job adds blocks. */
#ifndef GP_BLOCK_LIST_H
#define GP_BLOCK_LIST_H

#include "recording.h"

struct gp_block_ref {
	uint64_t offset;
	struct gp_block_header header;
};

/* `file` and `index` are set by the owner, who frees `block`; the rest begins as zeros. */
struct gp_block_list {
	const struct gp_file *file;
	struct gp_index *index;
	size_t which; /* the segment: its index */
	struct gp_block_ref *block;
	size_t blocks, room;
	size_t parts;	    /* parts of the segment whose blocks were read */
	uint64_t collected; /* the end of these blocks in the last one */
};

/* An empty list of segment index->segment[which]. */
void gp_block_list_begin(struct gp_block_list *list, size_t which);
/* Reads the headers of the blocks behind those that were read. False: out of memory. */
bool gp_block_list_add(struct gp_block_list *list, enum gp_block_type type);
/* Drops the blocks that were added to a copy of the list since, so that they are read again. */
void gp_block_list_back(struct gp_block_list *list, const struct gp_block_list *before);
/* By thread and sequence. */
void gp_block_list_sort(struct gp_block_list *list);

#endif
