/*
 * Checks at compile time only: interpose/counters/range_profiler_abi.h against CUPTI's headers of
 * CUDA 13.0 and newer. C++, since cupti_profiler_host.h of CUDA 13.0 includes <string>.
 */
#include <cupti.h>
#include <cupti_pmsampling.h>
#include <cupti_profiler_host.h>
#include <cupti_profiler_target.h>
#include <cupti_range_profiler.h>
#include <cupti_target.h>

#include "../../interpose/counters/range_profiler_abi.h"

#define SAME(ours, field, theirs, name)                                         \
	static_assert(offsetof(struct ours, field) == offsetof(theirs, name) && \
			      sizeof(((struct ours *)nullptr)->field) ==        \
				      sizeof(((theirs *)nullptr)->name),        \
		      #theirs "." #name);
SAME(gp_profiler_init, unused, CUpti_Profiler_Initialize_Params, pPriv)
SAME(gp_profiler_support, device, CUpti_Profiler_DeviceSupported_Params, cuDevice)
SAME(gp_profiler_support, supported, CUpti_Profiler_DeviceSupported_Params, isSupported)
SAME(gp_profiler_support, api, CUpti_Profiler_DeviceSupported_Params, api)
SAME(gp_profiler_chip, device, CUpti_Device_GetChipName_Params, deviceIndex)
SAME(gp_profiler_chip, name, CUpti_Device_GetChipName_Params, pChipName)
#define THEIRS CUpti_Profiler_GetCounterAvailability_Params
SAME(gp_profiler_available, context, THEIRS, ctx)
SAME(gp_profiler_available, bytes, THEIRS, counterAvailabilityImageSize)
SAME(gp_profiler_available, image, THEIRS, pCounterAvailabilityImage)
#undef THEIRS
#define THEIRS CUpti_Profiler_Host_Initialize_Params
SAME(gp_host_init, type, THEIRS, profilerType)
SAME(gp_host_init, chip, THEIRS, pChipName)
SAME(gp_host_init, available, THEIRS, pCounterAvailabilityImage)
SAME(gp_host_init, host, THEIRS, pHostObject)
#undef THEIRS
SAME(gp_host_end, host, CUpti_Profiler_Host_Deinitialize_Params, pHostObject)
#define THEIRS CUpti_Profiler_Host_ConfigAddMetrics_Params
SAME(gp_host_metrics, host, THEIRS, pHostObject)
SAME(gp_host_metrics, names, THEIRS, ppMetricNames)
SAME(gp_host_metrics, count, THEIRS, numMetrics)
#undef THEIRS
SAME(gp_host_config_size, host, CUpti_Profiler_Host_GetConfigImageSize_Params, pHostObject)
SAME(gp_host_config_size, bytes, CUpti_Profiler_Host_GetConfigImageSize_Params, configImageSize)
SAME(gp_host_config, bytes, CUpti_Profiler_Host_GetConfigImage_Params, configImageSize)
SAME(gp_host_config, image, CUpti_Profiler_Host_GetConfigImage_Params, pConfigImage)
SAME(gp_host_passes, bytes, CUpti_Profiler_Host_GetNumOfPasses_Params, configImageSize)
SAME(gp_host_passes, image, CUpti_Profiler_Host_GetNumOfPasses_Params, pConfigImage)
SAME(gp_host_passes, passes, CUpti_Profiler_Host_GetNumOfPasses_Params, numOfPasses)
#define THEIRS CUpti_Profiler_Host_EvaluateToGpuValues_Params
SAME(gp_host_values, host, THEIRS, pHostObject)
SAME(gp_host_values, data, THEIRS, pCounterDataImage)
SAME(gp_host_values, bytes, THEIRS, counterDataImageSize)
SAME(gp_host_values, range, THEIRS, rangeIndex)
SAME(gp_host_values, names, THEIRS, ppMetricNames)
SAME(gp_host_values, count, THEIRS, numMetrics)
SAME(gp_host_values, values, THEIRS, pMetricValues)
#undef THEIRS
SAME(gp_range_enable, context, CUpti_RangeProfiler_Enable_Params, ctx)
SAME(gp_range_enable, object, CUpti_RangeProfiler_Enable_Params, pRangeProfilerObject)
SAME(gp_range_object, object, CUpti_RangeProfiler_Disable_Params, pRangeProfilerObject)
SAME(gp_range_object, object, CUpti_RangeProfiler_Start_Params, pRangeProfilerObject)
#define THEIRS CUpti_RangeProfiler_GetCounterDataSize_Params
SAME(gp_range_data_size, names, THEIRS, pMetricNames)
SAME(gp_range_data_size, count, THEIRS, numMetrics)
SAME(gp_range_data_size, ranges, THEIRS, maxNumOfRanges)
SAME(gp_range_data_size, nodes, THEIRS, maxNumRangeTreeNodes)
SAME(gp_range_data_size, bytes, THEIRS, counterDataSize)
#undef THEIRS
#define THEIRS CUpti_RangeProfiler_CounterDataImage_Initialize_Params
SAME(gp_range_data, bytes, THEIRS, counterDataSize)
SAME(gp_range_data, data, THEIRS, pCounterData)
#undef THEIRS
#define THEIRS CUpti_RangeProfiler_SetConfig_Params
SAME(gp_range_config, config_bytes, THEIRS, configSize)
SAME(gp_range_config, config, THEIRS, pConfig)
SAME(gp_range_config, data_bytes, THEIRS, counterDataImageSize)
SAME(gp_range_config, data, THEIRS, pCounterDataImage)
SAME(gp_range_config, range, THEIRS, range)
SAME(gp_range_config, replay, THEIRS, replayMode)
SAME(gp_range_config, ranges, THEIRS, maxRangesPerPass)
SAME(gp_range_config, levels, THEIRS, numNestingLevels)
SAME(gp_range_config, level_least, THEIRS, minNestingLevel)
SAME(gp_range_config, pass, THEIRS, passIndex)
SAME(gp_range_config, level, THEIRS, targetNestingLevel)
#undef THEIRS
SAME(gp_range_stop, pass, CUpti_RangeProfiler_Stop_Params, passIndex)
SAME(gp_range_stop, is_complete, CUpti_RangeProfiler_Stop_Params, isAllPassSubmitted)
SAME(gp_range_decode, dropped, CUpti_RangeProfiler_DecodeData_Params, numOfRangeDropped)
SAME(gp_range_info, data, CUpti_RangeProfiler_GetCounterDataInfo_Params, pCounterDataImage)
SAME(gp_range_info, ranges, CUpti_RangeProfiler_GetCounterDataInfo_Params, numTotalRanges)
#define THEIRS CUpti_PmSampling_GetCounterAvailability_Params
SAME(gp_pm_available, device, THEIRS, deviceIndex)
SAME(gp_pm_available, bytes, THEIRS, counterAvailabilityImageSize)
SAME(gp_pm_available, image, THEIRS, pCounterAvailabilityImage)
#undef THEIRS
SAME(gp_pm_enable, device, CUpti_PmSampling_Enable_Params, deviceIndex)
SAME(gp_pm_enable, object, CUpti_PmSampling_Enable_Params, pPmSamplingObject)
#define THEIRS CUpti_PmSampling_SetConfig_Params
SAME(gp_pm_config, object, THEIRS, pPmSamplingObject)
SAME(gp_pm_config, config_bytes, THEIRS, configSize)
SAME(gp_pm_config, config, THEIRS, pConfig)
SAME(gp_pm_config, hardware_bytes, THEIRS, hardwareBufferSize)
SAME(gp_pm_config, interval, THEIRS, samplingInterval)
SAME(gp_pm_config, trigger, THEIRS, triggerMode)
SAME(gp_pm_config, append, THEIRS, hwBufferAppendMode)
#undef THEIRS
#define THEIRS CUpti_PmSampling_GetCounterDataSize_Params
SAME(gp_pm_data_size, names, THEIRS, pMetricNames)
SAME(gp_pm_data_size, count, THEIRS, numMetrics)
SAME(gp_pm_data_size, samples, THEIRS, maxSamples)
SAME(gp_pm_data_size, bytes, THEIRS, counterDataSize)
#undef THEIRS
SAME(gp_pm_data, bytes, CUpti_PmSampling_CounterDataImage_Initialize_Params, counterDataSize)
SAME(gp_pm_data, data, CUpti_PmSampling_CounterDataImage_Initialize_Params, pCounterData)
#define THEIRS CUpti_PmSampling_DecodeData_Params
SAME(gp_pm_decode, data, THEIRS, pCounterDataImage)
SAME(gp_pm_decode, bytes, THEIRS, counterDataImageSize)
SAME(gp_pm_decode, reason, THEIRS, decodeStopReason)
SAME(gp_pm_decode, overflow, THEIRS, overflow)
#undef THEIRS
#define THEIRS CUpti_PmSampling_GetCounterDataInfo_Params
SAME(gp_pm_info, data, THEIRS, pCounterDataImage)
SAME(gp_pm_info, bytes, THEIRS, counterDataImageSize)
SAME(gp_pm_info, room, THEIRS, numTotalSamples)
SAME(gp_pm_info, begun, THEIRS, numPopulatedSamples)
SAME(gp_pm_info, completed, THEIRS, numCompletedSamples)
#undef THEIRS
#define THEIRS CUpti_PmSampling_CounterData_GetSampleInfo_Params
SAME(gp_pm_sample, object, THEIRS, pPmSamplingObject)
SAME(gp_pm_sample, data, THEIRS, pCounterDataImage)
SAME(gp_pm_sample, bytes, THEIRS, counterDataImageSize)
SAME(gp_pm_sample, index, THEIRS, sampleIndex)
SAME(gp_pm_sample, began, THEIRS, startTimestamp)
SAME(gp_pm_sample, ended, THEIRS, endTimestamp)
#undef THEIRS

#define SAME_NUMBER(ours, theirs) static_assert((int)(ours) == (int)(theirs), #ours);
SAME_NUMBER(GP_CUPTI_INVALID_PARAMETER, CUPTI_ERROR_INVALID_PARAMETER)
SAME_NUMBER(GP_CUPTI_INVALID_CHIP, CUPTI_ERROR_INVALID_CHIP_NAME)
SAME_NUMBER(GP_CUPTI_UNSUPPORTED, CUPTI_PROFILER_CONFIGURATION_UNSUPPORTED)
SAME_NUMBER(GP_CUPTI_DISABLED, CUPTI_PROFILER_CONFIGURATION_DISABLED)
SAME_NUMBER(GP_CUPTI_SUPPORTED, CUPTI_PROFILER_CONFIGURATION_SUPPORTED)
SAME_NUMBER(GP_CUPTI_INVALID_OPERATION, CUPTI_ERROR_INVALID_OPERATION)
SAME_NUMBER(GP_CUPTI_OUT_OF_MEMORY, CUPTI_ERROR_OUT_OF_MEMORY)
SAME_NUMBER(GP_CUPTI_HARDWARE_BUSY, CUPTI_ERROR_HARDWARE_BUSY)
SAME_NUMBER(GP_CUPTI_NOT_SUPPORTED, CUPTI_ERROR_NOT_SUPPORTED)
SAME_NUMBER(GP_CUPTI_MIG_NOT_SUPPORTED, CUPTI_ERROR_MIG_DEVICE_NOT_SUPPORTED)
SAME_NUMBER(GP_CUPTI_API_RANGES, CUPTI_PROFILER_RANGE_PROFILING)
SAME_NUMBER(GP_CUPTI_API_SAMPLES, CUPTI_PROFILER_PM_SAMPLING)
SAME_NUMBER(GP_CUPTI_PM_SAMPLING, CUPTI_PROFILER_TYPE_PM_SAMPLING)
SAME_NUMBER(GP_CUPTI_EVERY_CYCLES, CUPTI_PM_SAMPLING_TRIGGER_MODE_GPU_SYSCLK_INTERVAL)
SAME_NUMBER(GP_CUPTI_EVERY_NS, CUPTI_PM_SAMPLING_TRIGGER_MODE_GPU_TIME_INTERVAL)
SAME_NUMBER(GP_CUPTI_DATA_FULL, CUPTI_PM_SAMPLING_DECODE_STOP_REASON_COUNTER_DATA_FULL)
SAME_NUMBER(GP_CUPTI_END_OF_RECORDS, CUPTI_PM_SAMPLING_DECODE_STOP_REASON_END_OF_RECORDS)
SAME_NUMBER(0, CUPTI_PM_SAMPLING_HARDWARE_BUFFER_APPEND_MODE_KEEP_OLDEST)
SAME_NUMBER(GP_CUPTI_RANGE_PROFILER, CUPTI_PROFILER_TYPE_RANGE_PROFILER)
SAME_NUMBER(GP_CUPTI_AUTO_RANGE, CUPTI_AutoRange)
SAME_NUMBER(GP_CUPTI_USER_REPLAY, CUPTI_UserReplay)

/* Our fields begin where theirs do, so the size up to the last one is theirs, if it is their last. */
#define SAME_SIZE(ours, last, theirs) \
	static_assert(GP_PARAMS_SIZE(ours, last) == theirs##_STRUCT_SIZE, #theirs);
SAME_SIZE(gp_profiler_support, api, CUpti_Profiler_DeviceSupported_Params)
SAME_SIZE(gp_profiler_init, unused, CUpti_Profiler_Initialize_Params)
SAME_SIZE(gp_profiler_chip, name, CUpti_Device_GetChipName_Params)
SAME_SIZE(gp_host_init, host, CUpti_Profiler_Host_Initialize_Params)
SAME_SIZE(gp_host_end, host, CUpti_Profiler_Host_Deinitialize_Params)
SAME_SIZE(gp_host_metrics, count, CUpti_Profiler_Host_ConfigAddMetrics_Params)
SAME_SIZE(gp_host_config_size, bytes, CUpti_Profiler_Host_GetConfigImageSize_Params)
SAME_SIZE(gp_host_config, image, CUpti_Profiler_Host_GetConfigImage_Params)
SAME_SIZE(gp_host_passes, passes, CUpti_Profiler_Host_GetNumOfPasses_Params)
SAME_SIZE(gp_host_values, values, CUpti_Profiler_Host_EvaluateToGpuValues_Params)
SAME_SIZE(gp_range_enable, object, CUpti_RangeProfiler_Enable_Params)
SAME_SIZE(gp_range_object, object, CUpti_RangeProfiler_Disable_Params)
SAME_SIZE(gp_range_object, object, CUpti_RangeProfiler_Start_Params)
SAME_SIZE(gp_range_data_size, bytes, CUpti_RangeProfiler_GetCounterDataSize_Params)
SAME_SIZE(gp_range_data, data, CUpti_RangeProfiler_CounterDataImage_Initialize_Params)
SAME_SIZE(gp_range_config, level, CUpti_RangeProfiler_SetConfig_Params)
SAME_SIZE(gp_range_stop, is_complete, CUpti_RangeProfiler_Stop_Params)
SAME_SIZE(gp_range_decode, dropped, CUpti_RangeProfiler_DecodeData_Params)
SAME_SIZE(gp_range_info, ranges, CUpti_RangeProfiler_GetCounterDataInfo_Params)
SAME_SIZE(gp_pm_available, image, CUpti_PmSampling_GetCounterAvailability_Params)
SAME_SIZE(gp_pm_enable, object, CUpti_PmSampling_Enable_Params)
SAME_SIZE(gp_pm_object, object, CUpti_PmSampling_Disable_Params)
SAME_SIZE(gp_pm_object, object, CUpti_PmSampling_Start_Params)
SAME_SIZE(gp_pm_object, object, CUpti_PmSampling_Stop_Params)
SAME_SIZE(gp_pm_config, append, CUpti_PmSampling_SetConfig_Params)
SAME_SIZE(gp_pm_data_size, bytes, CUpti_PmSampling_GetCounterDataSize_Params)
SAME_SIZE(gp_pm_data, data, CUpti_PmSampling_CounterDataImage_Initialize_Params)
SAME_SIZE(gp_pm_decode, overflow, CUpti_PmSampling_DecodeData_Params)
SAME_SIZE(gp_pm_info, completed, CUpti_PmSampling_GetCounterDataInfo_Params)
SAME_SIZE(gp_pm_sample, ended, CUpti_PmSampling_CounterData_GetSampleInfo_Params)

/* our names of their functions */
#define CALL(symbol) static_assert(sizeof(&(symbol)) != 0, #symbol);
#include "../../interpose/counters/pm_sampling.def"
#include "../../interpose/counters/range_profiler.def"
#undef CALL
