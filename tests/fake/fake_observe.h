/* The fake driver's reports of its operations to an observer: the fake CUPTI. */
#ifndef FAKE_OBSERVE_H
#define FAKE_OBSERVE_H

#include "fake_core.h"
#include "fake_operation.h"

/* NULL: no collection, and launches cost one load */
extern fake_observer *_Atomic fake_cuda_observer;
fake_observer *_Atomic fake_cuda_observer;

/* the shape of the thread's launch, and the bytes of its copy */
static _Thread_local struct {
	uint32_t grid[3], block[3], shared;
	uint64_t bytes;
} fake_observed __attribute__((tls_model("initial-exec")));

static inline bool fake_is_observed(void)
{
	return fake_unlikely(atomic_load_explicit(&fake_cuda_observer, memory_order_relaxed) !=
			     NULL);
}

static void fake_report(struct fake_operation *operation, CUstream handle)
{
	fake_observer *observer = atomic_load(&fake_cuda_observer);
	const struct fake_object *context = fake_current(), *stream = GET(handle, FAKE_STREAM);
	if (!observer || !context)
		return;
	operation->stream = stream ? (uint32_t)stream->number : 7;
	operation->context = (uint32_t)context->number;
	operation->device = (uint32_t)context->device;
	observer(operation);
}

static __attribute__((noinline)) void fake_report_kernel(const char *name, CUstream stream)
{
	struct fake_operation operation = { .kind = 10, .name = name };
	memcpy(operation.grid, fake_observed.grid, sizeof operation.grid);
	memcpy(operation.block, fake_observed.block, sizeof operation.block);
	operation.shared = fake_observed.shared;
	fake_report(&operation, stream);
}

/* The host waits for the work that was reported. */
static __attribute__((noinline)) void fake_report_wait(void)
{
	if (fake_is_observed())
		fake_report(&(struct fake_operation){ .kind = 0 }, NULL);
}

/* By the symbol: cuMemcpyHtoDAsync_v2, cuMemsetD8Async... */
static __attribute__((noinline)) void fake_report_copy(const char *symbol, CUstream stream)
{
	struct fake_operation operation = { .kind = 1, .what = 8, .from = 3, .to = 3 };
	if (strncmp(symbol, "cuMemP", 6) == 0)
		return; /* CUPTI has other records of prefetches */
	operation.is_async = strstr(symbol, "Async") != NULL;
	operation.bytes = fake_observed.bytes;
	if (strncmp(symbol, "cuMemset", 8) == 0)
		operation.kind = 2;
	else if (strstr(symbol, "HtoD"))
		operation.what = 1, operation.from = 1;
	else if (strstr(symbol, "DtoH"))
		operation.what = 2, operation.to = 1;
	fake_report(&operation, stream);
}

#endif
