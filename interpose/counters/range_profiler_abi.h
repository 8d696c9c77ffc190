/*
 * The part of CUPTI's range profiler, PM sampling and host interface that we use, written down here
 * because users have no CUDA headers. tests/cupti/range_profiler_check.cc compares it. Sources:
 * cupti_range_profiler.h, cupti_pmsampling.h, cupti_profiler_host.h, cupti_profiler_target.h,
 * cupti_target.h of CUDA 12.6 to 13.0. Each struct begins with its own size, up to the last field
 * that the caller has.
 */
#ifndef GP_RANGE_PROFILER_ABI_H
#define GP_RANGE_PROFILER_ABI_H

#include <stddef.h>
#include <stdint.h>

/* CUptiResult, beside those of cupti_abi.h */
enum { GP_CUPTI_INVALID_PARAMETER = 1, GP_CUPTI_INVALID_CHIP = 46 };
enum {
	GP_CUPTI_INVALID_OPERATION = 7,
	GP_CUPTI_OUT_OF_MEMORY = 8,
	GP_CUPTI_HARDWARE_BUSY = 26,
	GP_CUPTI_NOT_SUPPORTED = 27,
	GP_CUPTI_MIG_NOT_SUPPORTED = 43,
};
/* CUpti_Profiler_Support_Level: profiling works only at the last */
enum { GP_CUPTI_UNSUPPORTED = 1, GP_CUPTI_DISABLED = 2, GP_CUPTI_SUPPORTED = 3 };
enum { GP_CUPTI_RANGE_PROFILER = 0, GP_CUPTI_PM_SAMPLING = 1 }; /* CUpti_ProfilerType */
enum { GP_CUPTI_API_RANGES = 0, GP_CUPTI_API_SAMPLES = 3 };	/* CUpti_Profiler_API */
enum { GP_CUPTI_AUTO_RANGE = 1 };				/* CUpti_ProfilerRange */
enum { GP_CUPTI_USER_REPLAY = 3 };				/* CUpti_ProfilerReplayMode */

#define GP_PARAMS_SIZE(type, last) (offsetof(struct type, last) + sizeof(((struct type *)0)->last))
/* A struct with its size, for a call. */
#define GP_PARAMS(type, last, ...) \
	(&(struct type){ .size = GP_PARAMS_SIZE(type, last), __VA_ARGS__ })

#define HEAD         \
	size_t size; \
	void *unused /* NULL */
#define OF_OBJECT \
	HEAD;     \
	void *object /* of the range profiler */
#define OF_HOST \
	HEAD;   \
	void *host

/* cuptiProfilerInitialize */
struct gp_profiler_init {
	HEAD;
};
/* cuptiProfilerDeviceSupported; zeros request the range profiler */
struct gp_profiler_support {
	HEAD;
	int device;
	int supported; /* out, and the parts of it: */
	int architecture, sli, vgpu, confidential, mining, wsl;
	int api;
};
/* cuptiDeviceGetChipName */
struct gp_profiler_chip {
	HEAD;
	size_t device;
	const char *name; /* out */
};
/* cuptiProfilerGetCounterAvailability: image NULL only returns the size */
struct gp_profiler_available {
	HEAD;
	void *context;
	size_t bytes;
	uint8_t *image;
};
/* cuptiProfilerHostInitialize */
struct gp_host_init {
	HEAD;
	int type;
	const char *chip;
	const uint8_t *available;
	void *host; /* out */
};
/* cuptiProfilerHostDeinitialize */
struct gp_host_end {
	OF_HOST;
};
/* cuptiProfilerHostConfigAddMetrics */
struct gp_host_metrics {
	OF_HOST;
	const char *const *names;
	size_t count;
};
/* cuptiProfilerHostGetConfigImageSize, cuptiProfilerHostGetConfigImage */
struct gp_host_config_size {
	OF_HOST;
	size_t bytes; /* out */
};
struct gp_host_config {
	OF_HOST;
	size_t bytes;
	uint8_t *image;
};
/* cuptiProfilerHostGetNumOfPasses */
struct gp_host_passes {
	HEAD;
	size_t bytes;
	uint8_t *image;
	size_t passes; /* out */
};
/* cuptiProfilerHostEvaluateToGpuValues */
struct gp_host_values {
	OF_HOST;
	const uint8_t *data;
	size_t bytes, range;
	const char *const *names;
	size_t count;
	double *values;
};
/* cuptiRangeProfilerEnable */
struct gp_range_enable {
	HEAD;
	void *context;
	void *object; /* out */
};
/* cuptiRangeProfilerDisable, cuptiRangeProfilerStart */
struct gp_range_object {
	OF_OBJECT;
};
/* cuptiRangeProfilerGetCounterDataSize */
struct gp_range_data_size {
	OF_OBJECT;
	const char *const *names;
	size_t count, ranges;
	uint32_t nodes;
	size_t bytes; /* out */
};
/* cuptiRangeProfilerCounterDataImageInitialize */
struct gp_range_data {
	OF_OBJECT;
	size_t bytes;
	uint8_t *data;
};
/* cuptiRangeProfilerSetConfig */
struct gp_range_config {
	OF_OBJECT;
	size_t config_bytes;
	const uint8_t *config;
	size_t data_bytes;
	uint8_t *data;
	int range, replay;
	size_t ranges;
	uint16_t levels, level_least;
	size_t pass;
	uint16_t level;
};
/* cuptiRangeProfilerStop */
struct gp_range_stop {
	OF_OBJECT;
	size_t pass, level;
	uint8_t is_complete; /* out: the last pass was submitted */
};
/* cuptiRangeProfilerDecodeData */
struct gp_range_decode {
	OF_OBJECT;
	size_t dropped; /* out */
};
/* cuptiRangeProfilerGetCounterDataInfo */
struct gp_range_info {
	HEAD;
	const uint8_t *data;
	size_t bytes;
	size_t ranges; /* out */
};

/* cuptiPmSamplingGetCounterAvailability: image NULL only returns the size */
struct gp_pm_available {
	HEAD;
	size_t device, bytes;
	uint8_t *image;
};
/* cuptiPmSamplingEnable */
struct gp_pm_enable {
	HEAD;
	size_t device;
	void *object; /* out */
};
/* cuptiPmSamplingDisable, cuptiPmSamplingStart, cuptiPmSamplingStop */
struct gp_pm_object {
	OF_OBJECT;
};
/* CUpti_PmSampling_TriggerMode: the interval in cycles of the system clock, or nanoseconds */
enum { GP_CUPTI_EVERY_CYCLES = 0, GP_CUPTI_EVERY_NS = 1 };
/* cuptiPmSamplingSetConfig */
struct gp_pm_config {
	OF_OBJECT;
	size_t config_bytes;
	const uint8_t *config;
	size_t hardware_bytes;
	uint64_t interval;
	int trigger;
	int append; /* 0: a full buffer keeps the oldest samples */
};
/* cuptiPmSamplingGetCounterDataSize */
struct gp_pm_data_size {
	OF_OBJECT;
	const char *const *names;
	size_t count;
	uint32_t samples;
	size_t bytes; /* out */
};
/* cuptiPmSamplingCounterDataImageInitialize */
struct gp_pm_data {
	OF_OBJECT;
	size_t bytes;
	uint8_t *data;
};
/* CUpti_PmSampling_DecodeStopReason */
enum { GP_CUPTI_DATA_FULL = 1, GP_CUPTI_END_OF_RECORDS = 2 };
/* cuptiPmSamplingDecodeData */
struct gp_pm_decode {
	OF_OBJECT;
	uint8_t *data;
	size_t bytes;
	int reason;	  /* out */
	uint8_t overflow; /* out: the hardware buffer was full */
};
/* cuptiPmSamplingGetCounterDataInfo */
struct gp_pm_info {
	HEAD;
	const uint8_t *data;
	size_t bytes;
	size_t room, begun, completed; /* out */
};
/* cuptiPmSamplingCounterDataGetSampleInfo */
struct gp_pm_sample {
	OF_OBJECT;
	const uint8_t *data;
	size_t bytes, index;
	uint64_t began, ended; /* out */
};
#undef HEAD
#undef OF_OBJECT
#undef OF_HOST

#endif
