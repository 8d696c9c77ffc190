/* A group as the replay finds it. */
#ifndef GP_LIFE_RAW_H
#define GP_LIFE_RAW_H

#include "../../gpuprof.h"

struct gp_life_raw {
	const char *without;		   /* reason for a missing stack; NULL: has one */
	const struct gp_range_path *range; /* NULL: not kept */
	int64_t at_ns;			   /* of a moment at which the stack has its meaning */
	uint32_t stack, epoch;
	uint32_t number; /* for lives; others may stand for the same row after a fold */
	uint16_t arena;
	uint8_t of, device, role;
	bool is_part;
};

#endif
