/*
 * Calls of ranges, and what was allocated in them that is still live: memory that a call leaves
 * behind when it ends goes to the call around it. Memory by what is open and what is live.
 */
#ifndef GP_PHASE_CALLS_H
#define GP_PHASE_CALLS_H

#include <stdbool.h>
#include <stdint.h>

#include "../../read/tables/row_table.h"

struct gp_phase_call {
	uint32_t node;
	uint32_t up;   /* the call around it; 0: none, or a free place: the next one */
	uint32_t refs; /* open, calls right below, and live allocations: who knows its number */
	bool is_open, is_nested;
	uint64_t live_bytes; /* allocated in it, or left to it, and live */
	uint64_t since;	     /* number of the curve's value when it began */
	int64_t from_ns;
};

struct gp_phase_birth {
	uint64_t address, bytes;
	uint64_t number;	/* births are counted */
	uint32_t call;		/* 0: in none */
	uint32_t before, after; /* by number, among the live; free places: `after` is the next */
	uint8_t space, device;
};

struct gp_phase_calls {
	struct gp_phase_call *call; /* number 0 is none */
	uint32_t calls, free_call;
	size_t call_room;
	struct gp_phase_birth *birth; /* number 0 is none */
	uint32_t births, free_birth, newest;
	size_t birth_room;
	struct gp_row_index index; /* of births by address and space */
	uint64_t number;	   /* of the newest birth */
	uint64_t live_bytes;
	/*
	 * live bytes by number of birth, a Fenwick tree; not there before the first question, or
	 * without memory for it
	 */
	uint64_t *sum;
	uint64_t sums;
};

void gp_phase_calls_release(struct gp_phase_calls *calls);
/* Number of a call that begins. 0: no memory. */
uint32_t gp_phase_call_begin(struct gp_phase_calls *calls, uint32_t node, uint32_t up);
/* It has ended: what it left behind. Its number means nothing from now on. */
uint64_t gp_phase_call_end(struct gp_phase_calls *calls, uint32_t call);
/* An allocation, in a call or in none (0). False: no memory. */
bool gp_phase_calls_born(struct gp_phase_calls *calls, const struct gp_phase_birth *birth);
/* It is freed; one that is not known changes nothing. */
void gp_phase_calls_dead(struct gp_phase_calls *calls, uint8_t space, uint64_t address);
/* Bytes of what was born after birth `number` and is live. */
uint64_t gp_phase_calls_born_since(struct gp_phase_calls *calls, uint64_t number);

#endif
