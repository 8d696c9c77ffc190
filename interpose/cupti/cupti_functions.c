/*
 * The functions of CUPTI that we export (cupti_exports.def). Each forwards to CUPTI's own; between
 * the job and CUPTI it stands only in a process that attached. Also the constructor.
 */
#include <stdatomic.h>
#include <string.h>

#include "../counters/range_profiler.h"
#include "cupti_buffers.h"
#include "cupti_clock.h"
#include "cupti_collect.h"
#include "cupti_job.h"
#include "cupti_kinds.h"
#include "cupti_library.h"
#include "cupti_process.h"
#include "cupti_records.h"

#define EXPORTED __attribute__((visibility("default")))

/* ---- what the job's calls do while we stand between ---- */

static uint32_t job_cuptiActivityRegisterCallbacks(const struct gp_cupti *cupti,
						   gp_cupti_request *request,
						   gp_cupti_complete *complete)
{
	if (!request || !complete)
		return cupti->cuptiActivityRegisterCallbacks(request, complete);
	const uint32_t result = gp_cupti_register(cupti);
	if (result == GP_CUPTI_SUCCESS)
		gp_cupti_job_register(request, complete);
	return result;
}

#define CLOCK_NAP_US 1000u

/*
 * CUPTI loses the times of all records that it has when a clock is registered, also when it is the
 * same again. torch.profiler does that at each start. So ours must be out before. Not if the job's
 * records are among them: its callbacks may need a lock that this thread holds.
 */
static uint32_t job_cuptiActivityRegisterTimestampCallback(const struct gp_cupti *cupti,
							   gp_cupti_time *function)
{
	gp_cupti_clock_prepare(cupti);
	if (!gp_cupti_job_awaits() && !gp_cupti_is_ending())
		gp_cupti_drain(cupti, CLOCK_NAP_US);
	const uint32_t result = cupti->cuptiActivityRegisterTimestampCallback(function);
	if (result == GP_CUPTI_SUCCESS)
		gp_cupti_clock_register(function);
	return result;
}

static uint32_t job_cuptiActivityEnable(const struct gp_cupti *cupti, uint32_t kind)
{
	const uint32_t result = gp_cupti_kind_enable(cupti, kind, false);
	if (result == GP_CUPTI_SUCCESS)
		gp_cupti_job_prepare();
	return result;
}

static uint32_t job_cuptiActivityEnableAndDump(const struct gp_cupti *cupti, uint32_t kind)
{
	const uint32_t result = gp_cupti_kind_enable(cupti, kind, true);
	if (result == GP_CUPTI_SUCCESS)
		gp_cupti_job_prepare();
	return result;
}

static uint32_t job_cuptiActivityEnableContext(const struct gp_cupti *cupti, void *context,
					       uint32_t kind)
{
	const uint32_t result = gp_cupti_kind_enable_context(cupti, context, kind);
	if (result == GP_CUPTI_SUCCESS)
		gp_cupti_job_prepare();
	return result;
}

static uint32_t job_cuptiActivityDisable(const struct gp_cupti *cupti, uint32_t kind)
{
	return gp_cupti_kind_disable(cupti, kind);
}

static uint32_t job_cuptiActivityDisableContext(const struct gp_cupti *cupti, void *context,
						uint32_t kind)
{
	return gp_cupti_kind_disable_context(cupti, context, kind);
}

/* `disabled`: before CUPTI's flush. */
static void job_flushed(uint32_t flag, uint64_t disabled)
{
	const bool is_on = gp_cupti_job_collects();
	gp_cupti_await_own_flush();
	gp_cupti_job_deliver(is_on);
	if (is_on)
		gp_cupti_job_prepare();
	if (flag & GP_CUPTI_FLUSH_FORCED || gp_cupti_buffers_out() == 0)
		gp_cupti_kinds_flushed(disabled);
}

static uint32_t job_cuptiActivityFlush(const struct gp_cupti *cupti, void *context, uint32_t stream,
				       uint32_t flag)
{
	const uint64_t disabled = gp_cupti_kinds_disabled();
	const uint32_t result = cupti->cuptiActivityFlush(context, stream, flag);
	job_flushed(flag, disabled);
	return result;
}

static uint32_t job_cuptiActivityFlushAll(const struct gp_cupti *cupti, uint32_t flag)
{
	const uint64_t disabled = gp_cupti_kinds_disabled();
	const uint32_t result = gp_cupti_flush_all(cupti, flag);
	job_flushed(flag, disabled);
	return result;
}

static uint32_t job_cuptiActivityGetNumDroppedRecords(const struct gp_cupti *cupti, void *context,
						      uint32_t stream, size_t *dropped)
{
	const uint32_t result = cupti->cuptiActivityGetNumDroppedRecords(context, stream, dropped);
	if (result == GP_CUPTI_SUCCESS) {
		gp_cupti_count_dropped(*dropped);
		*dropped += gp_cupti_job_take_dropped();
	}
	return result;
}

/* CUPTI has one subscriber. */
static void *_Atomic subscribed;

static uint32_t job_cuptiSubscribe(const struct gp_cupti *cupti, void **subscriber, void *callback,
				   void *data)
{
	const uint32_t result = cupti->cuptiSubscribe(subscriber, callback, data);
	if (result == GP_CUPTI_SUCCESS)
		atomic_store(&subscribed, *subscriber);
	return result;
}

static uint32_t job_cuptiSubscribe_v2(const struct gp_cupti *cupti, void **subscriber,
				      void *callback, void *data, void *parameters)
{
	const uint32_t result = cupti->cuptiSubscribe_v2(subscriber, callback, data, parameters);
	if (result == GP_CUPTI_SUCCESS)
		atomic_store(&subscribed, *subscriber);
	return result;
}

static uint32_t job_cuptiUnsubscribe(const struct gp_cupti *cupti, void *subscriber)
{
	const uint32_t result = cupti->cuptiUnsubscribe(subscriber);
	if (result == GP_CUPTI_SUCCESS)
		atomic_store(&subscribed, NULL);
	return result;
}

/*
 * The job's part ends as if CUPTI had been finalized, and CUPTI itself only without us. The job has
 * flushed before, as CUPTI's manual requires. It may subscribe again.
 */
static uint32_t job_cuptiFinalize(const struct gp_cupti *cupti)
{
	uint32_t result = GP_CUPTI_SUCCESS;
	gp_cupti_kinds_forget_job(cupti);
	void *subscriber = atomic_exchange(&subscribed, NULL);
	if (!gp_cupti_is_collecting()) {
		result = gp_cupti_finalize(cupti);
	} else if (subscriber && cupti->cuptiUnsubscribe) {
		cupti->cuptiUnsubscribe(subscriber);
	}
	gp_cupti_job_deliver(false);
	gp_cupti_kinds_flushed(gp_cupti_kinds_disabled());
	gp_cupti_job_register(NULL, NULL);
	return result;
}

/* ---- exports ---- */

/*
 * We stand between if CUPTI has all that we need. If the job brings a second CUPTI beside the one
 * that we loaded, it gets its own.
 */
static bool functions_stand_between(const struct gp_cupti **cupti)
{
	if (gp_cupti_is_loaded_by_us() && gp_cupti_count() > 1) {
		gp_counters_finalizing();
		if (gp_cupti_is_attached())
			gp_cupti_yield_to_job();
		else
			gp_cupti_prefer_job();
		*cupti = gp_cupti_find();
	}
	return gp_cupti_is_attached() && !gp_cupti_has_yielded() && !gp_cupti_missing(*cupti);
}

#define WITH_CUPTI(...) (cupti __VA_OPT__(, ) __VA_ARGS__)
#define EXPORT(symbol, parameters, arguments)                                                \
	EXPORTED uint32_t symbol parameters;                                                 \
	uint32_t symbol parameters                                                           \
	{                                                                                    \
		const struct gp_cupti *cupti = gp_cupti_find();                              \
		if (!cupti || !cupti->symbol)                                                \
			return GP_CUPTI_NOT_INITIALIZED;                                     \
		if (strcmp(#symbol, "cuptiFinalize") == 0)                                   \
			gp_counters_finalizing();                                            \
		return functions_stand_between(&cupti) ? job_##symbol WITH_CUPTI arguments : \
							 cupti->symbol arguments;            \
	}
#define CALL(symbol, parameters)
#include "cupti_exports.def"
#undef EXPORT
#undef CALL
#undef WITH_CUPTI

/* ---- start ---- */

/* A job may look CUPTI's functions up, as XLA does: also those of a second CUPTI. */
static void *functions_route(void *real)
{
	const struct gp_cupti *cupti = real ? gp_cupti_find() : NULL;
	if (!cupti)
		return real;
	functions_stand_between(&cupti);
	if (!cupti)
		return real;
#define EXPORT(symbol, parameters, arguments)         \
	if (real == (void *)(uintptr_t)cupti->symbol) \
		return (void *)(uintptr_t)symbol;
#define CALL(symbol, parameters)
#include "cupti_exports.def"
#undef EXPORT
#undef CALL
	return real;
}

static const struct gp_gpu_source source = {
	.bytes = sizeof source,
	.start = gp_cupti_start,
	.window = gp_cupti_window,
	.route = functions_route,
	.end = gp_cupti_end,
};

__attribute__((constructor)) static void start(void)
{
	gp_cupti_attach(&source);
}
