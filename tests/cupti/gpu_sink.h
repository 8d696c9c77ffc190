/* The stand-in for libgpuprof.so's side of GPU time, as a test sees it. */
#ifndef GPU_SINK_H
#define GPU_SINK_H

#include "../../interpose/gpu/gpu_time.h"

struct gpu_sink {
	const struct gp_gpu_source *source; /* NULL: libgpuprof-cupti.so has not attached */
	/* how often the operation with this correlation id was reported */
	unsigned (*seen)(uint32_t correlation);
	unsigned long (*operations)(void);
	unsigned long (*states)(enum gp_gpu_time what); /* sum of numbers for dropped ones */
	unsigned long (*clocks)(void);
	const char *(*fact)(void); /* "" none yet, "yes TEXT", "no TEXT" */
};

/* Exported by the stand-in. */
extern struct gpu_sink gpu_sink;

#endif
