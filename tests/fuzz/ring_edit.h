/*
 * The input of fuzz_rings: a list of edits of a correct ring file and of its recording. Addresses
 * are taken modulo the number of items, so any bytes are a valid list.
 */
#ifndef RING_EDIT_H
#define RING_EDIT_H

#include <stdint.h>

enum ring_edit_where {
	RING_EDIT_NONE,
	RING_EDIT_CONTROL,   /* word `index` of the control page */
	RING_EDIT_HEADER,    /* word `index` of ring `ring` */
	RING_EDIT_PENDING,   /* sets its head to its tail and `value` */
	RING_EDIT_TAIL,	     /* sets its tail; the head keeps its distance */
	RING_EDIT_STATE,     /* enum gp_ring_state */
	RING_EDIT_RECORD,    /* word `index` of its records */
	RING_EDIT_EXTRA,     /* extra slots of record `index` */
	RING_EDIT_STACK,     /* stack of record `index` */
	RING_EDIT_ENTRY,     /* word `index` of the table of stacks */
	RING_EDIT_KIND,	     /* kind and parent of entry `index` */
	RING_EDIT_RINGS,     /* the stored number of rings */
	RING_EDIT_LENGTH,    /* length of the ring file */
	RING_EDIT_RECORDING, /* byte `index` of the recording */
	RING_EDIT_CUT,	     /* length of the recording */
	RING_EDITS,
};

struct ring_edit {
	uint8_t where, ring;
	uint16_t index;
	uint32_t zero;
	uint64_t value;
};

#endif
