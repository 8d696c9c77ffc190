/*
 * A thread's cache of the ids that Python frames have in the table of stacks. It is small, because
 * the memory of the table is cold in a job. Runs inside hooks: no malloc, no lock.
 */
#ifndef GP_FRAME_IDS_H
#define GP_FRAME_IDS_H

#include <stdbool.h>
#include <stdint.h>

#include "../hot.h"
#include "../python/python_walk.h"

#define GP_FRAMES_KNOWN_LOG 8
#define GP_CODES_KNOWN_LOG 11

/* A Python frame and its id. */
struct gp_known_frame {
	const void *code;
	int32_t offset;
	uint32_t parent, id; /* id 0: none */
	uint32_t code_frees; /* number of code objects that were freed at the address */
	bool is_entry;
	uint8_t bare_entries;
};

/* A code object's id, by gp_python_identity. */
struct gp_known_code {
	uint64_t identity; /* 0: none */
	uint32_t id;
};

/* Zeros are an empty cache. */
struct gp_frame_ids {
	struct gp_known_frame known[1u << GP_FRAMES_KNOWN_LOG][2]; /* the newer one first */
	struct gp_known_code code[1u << GP_CODES_KNOWN_LOG];
};

/* The frame is equal; its parent may differ. */
GP_HOT bool gp_known_frame_is(const struct gp_known_frame *known, const struct gp_python_frame *f)
{
	return known->code == f->code && known->offset == f->offset &&
	       known->is_entry == f->is_entry && known->bare_entries == f->bare_entries &&
	       known->code_frees == f->code_frees;
}

/*
 * The id of a frame whose caller has id `parent`. A new frame is added to the table. 0: no room
 * there. Also sets *last.
 */
uint32_t gp_frame_id(struct gp_frame_ids *ids, struct gp_known_frame *last,
		     const struct gp_python_frame *frame, uint32_t parent);

#endif
