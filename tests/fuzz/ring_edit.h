/*
 * The input of fuzz_rings: a list of edits of a ring file that was right, and of its recording.
 * What an edit addresses is taken modulo what there is, so any bytes are a list.
 */
#ifndef RING_EDIT_H
#define RING_EDIT_H

#include <stdint.h>

enum ring_edit_where {
	RING_EDIT_NONE,
	RING_EDIT_CONTROL,   /* word `index` of the control page */
	RING_EDIT_HEADER,    /* word `index` of ring `ring` */
	RING_EDIT_PENDING,   /* its head is its tail and `value` */
	RING_EDIT_TAIL,	     /* its tail, the head stays as far behind it */
	RING_EDIT_STATE,     /* enum gp_ring_state */
	RING_EDIT_RECORD,    /* word `index` of its records */
	RING_EDIT_EXTRA,     /* extra slots of record `index` */
	RING_EDIT_STACK,     /* stack of record `index` */
	RING_EDIT_ENTRY,     /* word `index` of the table of stacks */
	RING_EDIT_KIND,	     /* kind and parent of entry `index` */
	RING_EDIT_RINGS,     /* how many there are said to be */
	RING_EDIT_LENGTH,    /* of the ring file */
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
