/*
 * In which phase of a training step each allocation was made, and in which it ended. One replay;
 * keeps 2 bytes an allocation, 2 bits a memory event, and a row for each live allocation.
 */
#ifndef GP_ROLE_LIVES_H
#define GP_ROLE_LIVES_H

#include "../../read/tables/row_table.h"
#include "../observe.h"

enum gp_life_phase {
	GP_LIFE_OUTSIDE, /* of all phases */
	GP_LIFE_FORWARD,
	GP_LIFE_BACKWARD,
	GP_LIFE_OPTIMIZER,
	GP_LIFE_ZERO_GRAD,
	GP_LIFE_DATA,
	GP_LIFE_UNCLEAR, /* one of several threads' phases */
	GP_LIFE_OLDER,	 /* before the kept events */
};
enum gp_life_end {
	GP_LIFE_OPEN,	  /* it was not freed, or an OOM cut short the phase in which it was made */
	GP_LIFE_SAME,	  /* freed in the call of a phase, or between two, in which it was made */
	GP_LIFE_ENDED_IN, /* plus enum gp_life_phase: freed in another call of that phase */
};

struct gp_life {
	uint16_t born : 3;	/* enum gp_life_phase */
	uint16_t end : 4;	/* enum gp_life_end */
	uint16_t backwards : 2; /* that began while it lived; 3: or more */
	uint16_t is_recorded : 1;
	uint16_t is_early : 1;	      /* made before the first forward, backward or optimizer */
	uint16_t is_kept : 1;	      /* it lived until no further phase began */
	uint16_t is_captured : 1;     /* made while a graph was captured */
	uint16_t is_filled : 1;	      /* the first event after it copied host memory into it */
	uint16_t is_after_filled : 1; /* it replaced a filled block that no phase used */
	uint16_t is_reused : 1;	      /* a forward made it, a backward ended, zero_grad freed it */
};

/* A block that is_reused: an activation up to the end of a backward, then a gradient. */
struct gp_life_reuse {
	uint64_t from; /* the next order at that end */
	uint64_t order, address;
};

/* Memory events without a hole between them. */
struct gp_life_run {
	uint64_t order; /* used as the key */
	uint64_t count;
	size_t first; /* index of the first memory event */
};

#define GP_LIFE_MADE_EVENTS 64u /* bits of gp_life_made.events */
/* Of 64 memory events: which are allocations, and the index of the first one's life. */
struct gp_life_made {
	uint64_t events;
	size_t first;
};

struct gp_role_lives {
	struct gp_life *life; /* by allocation */
	struct gp_life_made *made;
	struct gp_life_run *run;
	size_t lives, life_room, events, made_room, runs, run_room;
	/* sizes, in 512 bytes, of what was made in a backward and outlived it */
	struct gp_row_table gradient_sizes;
	struct gp_row_table early_sizes; /* of what is early and kept */
	uint64_t *backward_end;		 /* the next order at each end of a backward, ascending */
	struct gp_life_reuse *reuse;	 /* ascending */
	size_t backward_ends, backward_end_room, reuses, reuse_room;
	bool has_forward, has_backward, has_optimizer, has_copies;
};

/* Free the analysis's context afterwards, also after a failure, and release `out`. GP_E_MEMORY. */
enum gp_status gp_role_lives_analysis(struct gp_recording *recording, struct gp_role_lives *out,
				      struct gp_analysis *analysis);
void gp_role_lives_release(struct gp_role_lives *lives);
/* Of the allocation with that order; zeros: it is not recorded. */
struct gp_life gp_role_life(const struct gp_role_lives *lives, uint64_t order);
/* The first end of a backward after that allocation and another event; UINT64_MAX: none. */
uint64_t gp_role_backward_end(const struct gp_role_lives *lives, uint64_t order);
/* The key of the tables of sizes. `owner`: as in struct gp_live_entry. */
uint64_t gp_role_size(uint64_t bytes, uint64_t owner);

#endif
