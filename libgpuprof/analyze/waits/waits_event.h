/* The state of `gpuprof waits` during its replay, and what each event changes. */
#ifndef GP_WAITS_EVENT_H
#define GP_WAITS_EVENT_H

#include "alloc_again.h"
#include "wait_rows.h"
#include "waits_observe.h"

#define GP_WAIT_STREAMS_MOST 256u /* of a device with work at once; with more it counts as busy */

struct gp_wait_device {
	uint64_t stream[GP_WAIT_STREAMS_MOST]; /* that may have work */
	unsigned streams;
	bool is_beyond; /* others may have some, too */
	/* it has had no work since; -1: it may have */
	int64_t idle_ns;
	size_t blamed; /* index of the place after whose call it is idle */
	/* of the time since: the host was in a data loader; the stack of the module it loaded */
	int64_t data_ns;
	uint32_t data_stack, module_stack;
	bool has_module;
};

struct gp_wait_thread {
	uint64_t key; /* its number */
	/* its last event was a copy: what it was; bytes 0: no copy */
	uint64_t copy_bytes, copy_stream;
	size_t copy_place;		/* SIZE_MAX: it did not block */
	int64_t copy_ns, copy_joins_ns; /* its begin; a wait that begins by then is one with it */
	enum gp_wait_reason copy_reason;
	/* since when it is in a data loader; -1: it is not */
	int64_t data_ns;
	uint32_t data_depth, data_stack;
	struct gp_again *freed; /* of the memory that it freed last; NULL: it freed none */
};

struct gp_waiting {
	struct gp_recording *recording;
	struct gp_waits *out;
	int64_t from_ns, to_ns;	       /* requested */
	struct gp_wait_device *device; /* GP_DEVICES + 1 */
	struct gp_row_table threads;   /* struct gp_wait_thread */
	struct gp_wait_thread no_thread;
	uint32_t loading;	    /* threads that are in a data loader */
	struct gp_row_table places; /* struct gp_wait_place */
	struct gp_steps steps;
	size_t step;			       /* the last one that has begun */
	struct gp_again again[GP_DEVICES + 2]; /* of the devices, and of the host */
	int64_t first_ns, last_ns;	       /* of launches, copies and waits in the interval */
	struct gp_gpu_gaps gaps;
	const struct gp_waits_observer *observer; /* NULL: none */
	uint32_t thread;			  /* of the event that is seen */
	bool is_out_of_memory;
};

/* Passes an event that was applied. Sets is_out_of_memory. */
void gp_waits_see(struct gp_waiting *waiting, const struct gp_event *event);
/* The index of a place in `places`; SIZE_MAX: out of memory. */
size_t gp_wait_place_find(struct gp_waiting *waiting, enum gp_wait_reason reason, uint32_t stack);
struct gp_wait_row *gp_wait_row_at(const struct gp_waiting *waiting, size_t place);

#endif
