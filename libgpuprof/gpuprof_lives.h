/*
 * Part of gpuprof.h, which includes it: the lives of all memory of a recording, and its exact
 * curves, as blocks of bytes for a program that draws them (`gpuprof report`). A life is the time
 * in which one curve counts one piece of memory with one role. Moments (`*_ns`) count from
 * start_unix_ns, sizes are bytes.
 *
 * A block of lives: 8 numbers (LEB128, unsigned): lives n, the bytes of the 6 columns, 0. Then the
 * columns of n numbers each:
 *   1 birth_ns, less that of the life before (the first: absolute)
 *   2 0: live at to_ns; else death_ns - birth_ns + 1
 *   3 bytes
 *   4 index of the group
 *   5 address, less that of the life before (the first: less 0), zigzag
 *   6 order of the allocation, likewise
 * A block of a curve: 5 numbers: points n, the bytes of the 4 columns. Then the columns:
 *   1 moment, less that of the point before (the first: absolute)
 *   2 most bytes, less those of the point before (the first: less 0), zigzag
 *   3 most less fewest bytes
 *   4 empty
 * A point holds up to the next one. Differences of 64 bits wrap.
 */
#ifndef GPUPROF_LIVES_H
#define GPUPROF_LIVES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "format/event.h"
#include "format/status.h"
#include "gpuprof_memory.h"

struct gp_recording;
struct gp_steps;

/* Of one recording: 60 MB of blocks, which a browser still draws at once. */
#define GP_LIVES_MOST 4194304u
#define GP_LIVES_A_BLOCK 131072u
/* Of one curve, while it is exact: 25 MB. */
#define GP_LIVES_POINTS_MOST 4194304u
#define GP_LIVES_MARKS_MOST 65536u
/* Different groups, and frames of all stacks; what is beyond has no stack or range. */
#define GP_LIVES_GROUPS_MOST 1048576u
#define GP_LIVES_PLACES_MOST 4194304u

/* At each moment, the sums of the lives of a device are its curves if no events are missing. */
enum gp_lives_of {
	GP_LIVES_OF_BLOCK = 0,	 /* of the framework: ALLOCATED */
	GP_LIVES_OF_SEGMENT = 1, /* holds the framework's blocks: RESERVED and DRIVER */
	GP_LIVES_OF_DRIVER = 2,	 /* other memory of the driver: DRIVER */
	GP_LIVES_OF_PINNED = 3,	 /* of the host, which has no device: PINNED */
	/*
	 * RESERVED alone: a segment whose memory the driver took back (a server asleep), or which
	 * is another process's.
	 */
	GP_LIVES_OF_UNMAPPED = 4,
	GP_LIVES_OF_PENDING = 5, /* a freed block that other streams still use: no curve */
};

struct gp_lives_frame {
	uint32_t text; /* gp_frame_label */
	bool is_python;
};
/* Frames, innermost first: gp_lives.place from `first` on has their indices. */
struct gp_lives_stack {
	size_t first, frames;
};
/* Texts as `--by KEY` of reports writes them; 0, "": it has none. */
struct gp_lives_group {
	unsigned device; /* GP_DEVICE_UNKNOWN: the host */
	uint8_t of;	 /* enum gp_lives_of */
	bool is_part;	 /* of an expandable segment: parts that touch are one segment */
	uint32_t stack;	 /* index; 0: none */
	uint32_t role, phase, module, operator, library, line, range;
	uint32_t pool;	/* "default", "private 0.1"; "": of no pool, or not recorded */
	uint32_t arena; /* index; 0: not recorded, or no memory of the framework */
};
struct gp_lives_curve {
	unsigned device; /* GP_DEVICE_UNKNOWN: the host */
	enum gp_curve of;
	bool is_exact; /* false: a point is the span up to the next one; peaks are still exact */
	uint64_t points;
	size_t data; /* number of its block of bytes */
};
/* Bounds of a request for new memory. A curve without points: never known. */
struct gp_lives_capacity {
	uint64_t total_bytes; /* 0: unknown */
	/*
	 * `used`: bytes in use on the device, by all processes (gp_frag_driver_used). `limit`: what
	 * the framework may reserve. Both are unknown before their first point; `of` has no
	 * meaning.
	 */
	struct gp_lives_curve used, limit;
};
enum gp_lives_mark_kind {
	GP_LIVES_OOM,	  /* of the framework, or of the driver */
	GP_LIVES_GAP,	  /* recording resumes */
	GP_LIVES_CAPTURE, /* of a CUDA graph begins */
	GP_LIVES_STEP,	  /* begins */
	GP_LIVES_LOST,	  /* events are missing from here on */
	GP_LIVES_MARK_KINDS,
};
extern const char *const gp_lives_mark_names[GP_LIVES_MARK_KINDS]; /* "oom", "gap", ... */
struct gp_lives_mark {
	int64_t at_ns;
	enum gp_lives_mark_kind kind;
	uint32_t text;	 /* 0: none */
	uint64_t number; /* STEP: from 1; else 0 */
};

/*
 * A life as gp_lives_sink.life gets it. It counts after the memory events from `from_order` to
 * before `to_order`: so sums by order are the curves after each event.
 */
struct gp_lives_life {
	int64_t from_ns, to_ns; /* to_ns: of the kept events if it is live at the end */
	bool is_live;		/* at the end: has no to_order */
	uint64_t from_order, to_order;
	uint64_t order; /* of the allocation, which may be older than the life */
	uint64_t address, bytes;
	uint64_t requested_bytes; /* of a block; GP_BYTES_UNKNOWN: not recorded */
	uint32_t number;	  /* in gp_lives.number */
	unsigned device;	  /* GP_DEVICE_UNKNOWN: the host */
	uint8_t of;		  /* enum gp_lives_of */
};
/* The group of lives with one number, and a stack with its moment, for gp_recording_stack. */
struct gp_lives_number {
	int64_t stack_at_ns;
	uint32_t group;
	uint32_t stack;	     /* 0: none */
	const char *without; /* the reason, a static text; NULL: there is a stack */
};

struct gp_lives {
	int64_t from_ns, to_ns; /* of the kept events */
	size_t devices;
	unsigned device[GP_DEVICES];		       /* with curves, ascending */
	struct gp_lives_capacity capacity[GP_DEVICES]; /* by number of the device */
	size_t texts;
	const char *const *text; /* [0] is "" */
	size_t frames, stacks, places, groups, arenas, curves, marks;
	struct gp_lives_frame *frame;
	struct gp_lives_stack *stack; /* [0] has no frames */
	uint32_t *place;
	struct gp_lives_group *group;
	struct gp_arena *arena;	      /* [0] is not known; graphs are not set */
	struct gp_lives_curve *curve; /* by device: ALLOCATED, RESERVED, DRIVER; then PINNED */
	struct gp_lives_mark *mark;   /* by moment */
	uint64_t marks_left_out;      /* beyond GP_LIVES_MARKS_MOST */
	uint64_t count;		      /* lives in the blocks */
	/*
	 * Lives shorter than that are in no block; 0: all are. A power of two, the least with
	 * which GP_LIVES_MOST are enough. UINT64_MAX: even of memory that is live at the end, some
	 * is left out.
	 */
	uint64_t shorter_than_ns;
	uint64_t left_out;
	size_t blocks;
	size_t *block;	/* numbers of the blocks of lives, by birth */
	size_t numbers; /* only with gp_lives_sink.life; several may have one group */
	struct gp_lives_number *number;
	struct gp_lives_texts *owner;
};

/*
 * Receives blocks of bytes: of lives first, by birth, then of curves and capacities. Or single
 * lives.
 */
struct gp_lives_sink {
	/*
	 * `bytes` are valid during the call only. Sets *number, which gp_lives has instead of the
	 * bytes. A status other than GP_OK ends gp_lives_build, which returns it. All replays are
	 * over at the first call.
	 */
	enum gp_status (*write)(void *context, const unsigned char *bytes, size_t count,
				size_t *number);
	void *context;
	/*
	 * NULL: lives are written as blocks. Else `write` is not called, and the result has neither
	 * blocks nor curves. This gets each life when it ends, in the last replay, and no life is
	 * left out. A life NULL: the replay begins again, since a running job overwrote events.
	 * All lives so far are void.
	 */
	enum gp_status (*life)(void *context, const struct gp_lives_life *life);
};

/*
 * `steps` become marks; NULL: none do. Three to five replays; rewinds. Needs memory for the live
 * set, for roles (2 bytes an allocation, 2 bits a memory event), and for the encoded blocks: 80 MB
 * of lives, and 25 MB for each curve with GP_LIVES_POINTS_MOST points. Free with gp_lives_free,
 * also after a failure. GP_E_MEMORY.
 */
enum gp_status gp_lives_build(struct gp_recording *recording, const struct gp_steps *steps,
			      const struct gp_lives_sink *sink, struct gp_lives *out);
void gp_lives_free(struct gp_lives *lives);

#endif
