/*
 * Part of gpuprof.h, which includes it: events and live memory as rows of one fixed size, many a
 * call, for programs that load them into arrays. Rows have no padding, and no pointers.
 */
#ifndef GPUPROF_BATCH_H
#define GPUPROF_BATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "gpuprof_memory.h"

/* ---- events ---- */

/* struct gp_event without its text. events.def has the meaning of `value` and `aux` by kind. */
struct gp_event_row {
	int64_t at_ns;
	uint64_t order;
	uint64_t value[4];
	uint32_t aux, stack; /* stack: 0 none */
	uint32_t thread, tid;
	uint16_t kind, code; /* enum gp_kind */
	uint8_t device;	     /* GP_DEVICE_UNKNOWN: none, or not known */
	uint8_t space;	     /* enum gp_space */
	uint16_t zero;
};
_Static_assert(sizeof(struct gp_event_row) == 72, "a row has no padding");

/* Kinds of events: bit k of word k / 64. */
struct gp_kind_set {
	uint64_t bits[2];
};

/*
 * Reads on where gp_recording_next would, and fills at most `most` rows with the next events of
 * these `kinds` (NULL: all). *count gets their number. GP_OK: there may be more. GP_END: these are
 * the last ones. Other failures: as gp_recording_next; the rows before the failure are valid.
 */
enum gp_status gp_recording_read_batch(struct gp_recording *recording,
				       const struct gp_kind_set *kinds, struct gp_event_row *rows,
				       size_t most, size_t *count);

/*
 * The same rows faster, because replays ignore the framework's blocks. From the first call to the
 * next rewind, curves and live memory are undefined, and only this function reads on.
 */
enum gp_status gp_recording_read_rows(struct gp_recording *recording,
				      const struct gp_kind_set *kinds, struct gp_event_row *rows,
				      size_t most, size_t *count);

/* ---- live memory ---- */

enum gp_live_row_is {
	GP_ROW_BLOCK,	/* of the framework, allocated or pending: struct gp_memory_block */
	GP_ROW_SEGMENT, /* of the framework: struct gp_memory_segment */
	GP_ROW_OUTSIDE, /* of the driver, without blocks: struct gp_memory_outside */
};

#define GP_ROW_NO_SEGMENT UINT64_MAX

struct gp_live_row {
	uint64_t address, bytes;
	uint64_t requested_bytes; /* of a block; GP_BYTES_UNKNOWN: not recorded, or not a block */
	int64_t at_ns;		  /* of the allocation */
	uint64_t order;		  /* of a block's allocation; else 0 */
	/* of a block: index of its segment among the rows; else GP_ROW_NO_SEGMENT */
	uint64_t segment;
	/* of the framework's arena; 0 if not recorded */
	uint64_t stream, pool, user_pool;
	uint32_t stack;	    /* of the allocation; 0: none */
	uint8_t device, is; /* enum gp_live_row_is */
	uint8_t space;	    /* of OUTSIDE: enum gp_space */
	uint8_t state;	    /* of a block: enum gp_block_state */
	uint8_t rule;	    /* of a block, if requested: 1 + number of the rule for its role */
	uint8_t role;	    /* of a block, if requested: enum gp_memory_role; else 255 */
	uint8_t has_arena;  /* 1: stream and pool are recorded */
	uint8_t is_expandable, is_small; /* of a segment: 0 or 1 */
	uint8_t zero[3];
};
_Static_assert(sizeof(struct gp_live_row) == 88, "a row has no padding");

struct gp_live_rows {
	int64_t at_ns;
	uint64_t order;	   /* the state includes events with a lower order */
	bool is_uncertain; /* as struct gp_memory */
	bool has_allocator_details;
	char *caveat; /* which parts are unknown, one line of text; NULL: none */
	size_t rows;
	/* segments by device and address, each before its blocks; then OUTSIDE by device */
	struct gp_live_row *row;
};
/*
 * The live set at a moment: gp_memory_build as rows, without gaps. `has_roles`: with rules and
 * roles (gp_memory_find_roles: two or three replays). Rewinds. Free with gp_live_rows_free.
 *
 * The recording keeps states between its checkpoints, in at most 64 MiB. So the first question in a
 * part of the recording replays that part, and later ones some 65,536 events. A part has up to two
 * million events. It keeps none of a running job, or of more than 149,000 live entries.
 */
enum gp_status gp_live_rows_build(struct gp_recording *recording, const struct gp_moment_of *moment,
				  bool has_roles, struct gp_live_rows *out);
void gp_live_rows_free(struct gp_live_rows *rows);

#endif
