/*
 * Records what libgpuprof-cupti.so collects: GPU_KERNEL, GPU_COPY, GPU_CLOCK, GPU_TIME and
 * GPU_FUNCTION. gpu_time.h is the interface between both objects.
 */
#ifndef GP_GPU_RECORD_H
#define GP_GPU_RECORD_H

#include "../../libgpuprof/record/record.h"
#include "gpu_time.h"

/* NULL: libgpuprof-cupti.so is not loaded, or nothing is collected. Set before the first thread. */
extern const struct gp_gpu_source *gp_gpu_source GP_HOT_DATA __attribute__((visibility("hidden")));

/* The sink for this source. NULL: GPU time was not requested, or the two files differ. */
const struct gp_gpu_sink *gp_gpu_time_open(const struct gp_gpu_source *source);

GP_COLD void gp_gpu_time_start(void);
/*
 * The driver has made a context, so the caller holds no lock that an allocator needs: starts the
 * collecting thread, once.
 */
GP_HOT void gp_gpu_time_prepare(void)
{
	if (gp_unlikely(gp_gpu_source != NULL))
		gp_gpu_time_start();
}

/* Before the first event of the process: starts it too, and records why nothing is collected. */
void gp_gpu_time_write(void);
/* The process or its recording ends: takes what the GPU has done so far, waits at most 1 s. */
void gp_gpu_time_end(void);
/* The calling thread uses CUPTI for us. It ends soon after gp_recorder_ending. */
void gp_gpu_thread(enum gp_gpu_thread which);

#endif
