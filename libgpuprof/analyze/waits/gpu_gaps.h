/*
 * Gaps between the operations of a GPU, from GPU time, and what the host did in them. Without GPU
 * time there are none, and waits.c follows launches and waits instead.
 */
#ifndef GP_GPU_GAPS_H
#define GP_GPU_GAPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../../gpuprof.h"
#include "../../state/looks.h"

#define GP_GPU_GAP_NOWHERE SIZE_MAX

enum gp_gpu_gap_doing {
	GP_GPU_GAP_WAITED,  /* a call blocked the host, or a synchronous copy */
	GP_GPU_GAP_WORKED,  /* the host was in a data loader */
	GP_GPU_GAP_LOADED,  /* the host loaded a module, and may have compiled it before */
	GP_GPU_GAP_UNKNOWN, /* GPU time was not recorded */
	/*
	 * the host allocated driver memory. Such a call does not wait for the GPU: work that was
	 * launched before it may outlast it.
	 */
	GP_GPU_GAP_ALLOCATED,
};
/* An activity of a thread of the host. */
struct gp_gpu_gap_activity {
	int64_t from_ns, to_ns;
	size_t place; /* of waits.c */
	uint32_t thread;
	uint8_t doing;
	uint8_t device;	  /* of a wait; GP_DEVICE_UNKNOWN: any */
	bool has_gap;	  /* a gap is due to it */
	int64_t again_ns; /* of a free: its memory was last allocated again; 0: never */
	int64_t last_ns;  /* the last end of all activities up to this one */
};

struct gp_gpu_gap {
	int64_t from_ns, to_ns;
	/* the host had launched the operation that ends it by then; INT64_MAX: unknown */
	int64_t launched_ns;
	int64_t ahead_ns; /* the begin of the next gap before which the host was ahead */
	uint32_t stack;	  /* of that call; 0: none */
	uint8_t device;
	bool is_unknown; /* a launch in between has no operation, and may be of the device */
};

struct gp_gpu_gaps {
	int64_t from_ns, to_ns; /* the interval that is reported on */
	bool is_known;		/* there are operations and their clock */
	/* operations that CUPTI or the recorder lost; launches without one: gaps are not exact */
	uint64_t lost, launches_alone;
	struct gp_gpu_gap *gap; /* also before the interval, for what they lead to in it */
	size_t gaps;
	struct gp_gpu_gap_activity *activity;
	size_t activities, room;
	size_t launched;  /* index of the first activity since the last launch */
	int64_t slack_ns; /* moments of both clocks within this are not in a known order */
	int64_t off_ns;	  /* GPU time is not recorded since; INT64_MAX: it is */
	struct gp_looks looks;
};

/*
 * One replay or two; for the operations that `observer` sees (NULL: none does), three or four.
 * GP_E_MEMORY, and what a replay returns. Release with gp_gpu_gaps_release.
 */
struct gp_waits_observer;
enum gp_status gp_gpu_gaps_find(struct gp_recording *recording, int64_t from_ns, int64_t to_ns,
				const struct gp_waits_observer *observer, struct gp_gpu_gaps *out);
/* False: out of memory. */
bool gp_gpu_gaps_add(struct gp_gpu_gaps *gaps, struct gp_gpu_gap_activity activity);
/* Memory that was freed in the activity with this index has been allocated again. */
void gp_gpu_gaps_again(struct gp_gpu_gaps *gaps, size_t activity, int64_t at_ns);
/*
 * A thread launched work of a device. It did not wait for allocations by other threads since the
 * launch before, so these are dropped.
 */
void gp_gpu_gaps_launched(struct gp_gpu_gaps *gaps, unsigned device, uint32_t thread);
/* A GPU_TIME event. False: out of memory. */
bool gp_gpu_gaps_switch(struct gp_gpu_gaps *gaps, const struct gp_record *r, int64_t at_ns);

/* The reason of a gap. */
enum gp_gpu_gap_due {
	GP_GPU_GAP_TO_PLACE,   /* `activity` */
	GP_GPU_GAP_TO_HOST,    /* the host launched too late, and did nothing that is recorded */
	GP_GPU_GAP_TO_GPU,     /* its work was launched before the gap: latency, dependencies */
	GP_GPU_GAP_TO_NOTHING, /* not known: GPU time was not recorded, or too many activities */
};
/*
 * After the last activity was added. Calls `see` for each part of `ns` of each gap in the interval,
 * in order of the gaps. `activity` is NULL but of GP_GPU_GAP_TO_PLACE.
 */
void gp_gpu_gaps_explain(struct gp_gpu_gaps *gaps,
			 void (*see)(void *context, const struct gp_gpu_gap *gap, int64_t ns,
				     enum gp_gpu_gap_due due, struct gp_gpu_gap_activity *activity),
			 void *context);
void gp_gpu_gaps_release(struct gp_gpu_gaps *gaps);

#endif
