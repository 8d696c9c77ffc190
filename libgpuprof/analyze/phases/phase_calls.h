/*
 * Calls of ranges, and the live allocations made in them. Memory that a call retains at its end
 * goes to the call around it. Memory grows with open calls and live allocations.
 */
#ifndef GP_PHASE_CALLS_H
#define GP_PHASE_CALLS_H

#include <stdbool.h>
#include <stdint.h>

#include "../../read/tables/row_table.h"

struct gp_phase_call {
	uint32_t node;
	uint32_t up;   /* the call around it; 0: none. In a free place: the next one */
	uint32_t refs; /* references: being open, calls directly inside it, and live allocations */
	bool is_open, is_nested;
	uint64_t live_bytes; /* live bytes allocated in it or left to it */
	uint64_t since;	     /* number of the curve's value at its beginning */
	int64_t from_ns;
};

struct gp_phase_birth {
	uint64_t address, bytes;
	uint64_t number;	/* births are numbered */
	uint32_t call;		/* 0: in no call */
	uint32_t before, after; /* live: by number; free place: `after` is the next */
	uint8_t space, device;
};

struct gp_phase_calls {
	struct gp_phase_call *call; /* call[0] is unused */
	uint32_t calls, free_call;
	size_t call_room;
	struct gp_phase_birth *birth; /* birth[0] is unused */
	uint32_t births, free_birth, newest;
	size_t birth_room;
	struct gp_row_index index; /* finds births by address and space */
	uint64_t number;	   /* of the newest birth */
	uint64_t live_bytes;
	/*
	 * Live bytes by number of birth, a Fenwick tree. NULL before the first query, or if memory
	 * is short.
	 */
	uint64_t *sum;
	uint64_t sums;
};

void gp_phase_calls_release(struct gp_phase_calls *calls);
/* The number of a call that begins. 0: out of memory. */
uint32_t gp_phase_call_begin(struct gp_phase_calls *calls, uint32_t node, uint32_t up);
/* Ends a call; returns its retained bytes. Its number is invalid from now on. */
uint64_t gp_phase_call_end(struct gp_phase_calls *calls, uint32_t call);
/* Adds an allocation, in a call or in none (0). False: out of memory. */
bool gp_phase_calls_born(struct gp_phase_calls *calls, const struct gp_phase_birth *birth);
/* Removes an allocation; an unknown one is ignored. */
void gp_phase_calls_dead(struct gp_phase_calls *calls, uint8_t space, uint64_t address);
/* The live bytes of births after birth `number`. */
uint64_t gp_phase_calls_born_since(struct gp_phase_calls *calls, uint64_t number);

#endif
