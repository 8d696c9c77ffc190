/*
 * A job's profiler, as torch.profiler uses CUPTI: it hands out buffers, reads what comes back, and
 * counts each operation by its correlation id. Also the job's work, and checks of both sides.
 */
#ifndef PROFILING_JOB_H
#define PROFILING_JOB_H

#include "../../interpose/cupti/cupti_abi.h"
#include "../victims/victim.h"
#include "gpu_sink.h"

#include <stdatomic.h>
#include <stdbool.h>

#define IDS (1u << 22)
#define BUFFERS 4096

uint32_t cuptiActivityRegisterCallbacks(gp_cupti_request *request, gp_cupti_complete *complete);
uint32_t cuptiActivityRegisterTimestampCallback(gp_cupti_time *function);
uint32_t cuptiActivityEnable(uint32_t kind);
uint32_t cuptiActivityEnableContext(void *context, uint32_t kind);
uint32_t cuptiActivityDisable(uint32_t kind);
uint32_t cuptiActivityDisableContext(void *context, uint32_t kind);
uint32_t cuptiActivityFlushAll(uint32_t flag);
uint32_t cuptiActivityGetNumDroppedRecords(void *context, uint32_t stream, size_t *dropped);
uint32_t cuptiActivityGetNextRecord(uint8_t *buffer, size_t valid, void **record);
uint32_t cuptiFinalize(void);
uint32_t cuptiSubscribe(void **subscriber, void *callback, void *data);
uint32_t fake_cupti_last_correlation(void);
void fake_cupti_await(void);
bool fake_cupti_is_enabled(int kind);

static struct driver driver;
static CUfunction kernel;
static CUdeviceptr memory;
static CUresult (*set_memory)(CUdeviceptr, unsigned char, size_t);
static struct gpu_sink *sink; /* NULL: bare */

/* ---- the job's profiler ---- */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct {
	uint8_t *start;
	size_t valid;
	bool is_ready;
} buffers[BUFFERS];
static size_t buffer_bytes = 4 << 20, records_most, dropped;
static unsigned buffers_out, buffers_refused, buffers_most_out;
static bool refuses;
static uint8_t seen[IDS], calls[IDS];

static void on_request(uint8_t **buffer, size_t *bytes, size_t *most)
{
	*buffer = NULL;
	*bytes = 0;
	*most = records_most;
	errno = ENOENT;
	pthread_mutex_lock(&lock);
	buffers_refused += refuses;
	for (unsigned k = 0; k < BUFFERS && !refuses && !*buffer; k++) {
		if (buffers[k].start)
			continue;
		buffers[k].start = *buffer = aligned_alloc(8, buffer_bytes);
		*bytes = buffer_bytes;
		buffers[k].is_ready = false;
		buffers_out++;
		buffers_most_out = buffers_out > buffers_most_out ? buffers_out : buffers_most_out;
	}
	must(refuses || *buffer);
	pthread_mutex_unlock(&lock);
}

/* torch.profiler logs an error for a buffer that it has not handed out */
static void on_complete(void *context, uint32_t stream, uint8_t *buffer, size_t bytes, size_t valid)
{
	unsigned k = 0;
	must(!context && !stream && valid <= bytes);
	pthread_mutex_lock(&lock);
	while (k < BUFFERS && (buffers[k].start != buffer || buffers[k].is_ready))
		k++;
	must(k < BUFFERS);
	buffers[k].is_ready = true;
	buffers[k].valid = valid;
	buffers_out--;
	size_t number = 0;
	cuptiActivityGetNumDroppedRecords(NULL, 0, &number);
	dropped += number;
	errno = EBADF;
	pthread_mutex_unlock(&lock);
}

static void read_record(const uint8_t *record)
{
	uint32_t kind, id;
	memcpy(&kind, record, 4);
	const size_t at = kind == GP_CUPTI_CONCURRENT_KERNEL || kind == GP_CUPTI_KERNEL ? 92 :
			  kind == GP_CUPTI_MEMCPY || kind == GP_CUPTI_MEMSET		? 44 :
											  32;
	memcpy(&id, record + at, 4);
	must(id < IDS && kind < 64);
	if (kind == 4 || kind == 5)
		calls[id]++;
	else
		seen[id]++;
}

/* Reads and frees the buffers that are ready, as torch.profiler does. */
static void job_read(void)
{
	pthread_mutex_lock(&lock);
	for (unsigned k = 0; k < BUFFERS; k++) {
		void *record = NULL;
		if (!buffers[k].start || !buffers[k].is_ready)
			continue;
		while (cuptiActivityGetNextRecord(buffers[k].start, buffers[k].valid, &record) == 0)
			read_record(record);
		free(buffers[k].start);
		buffers[k].start = NULL;
	}
	pthread_mutex_unlock(&lock);
}

/* Without a buffer out, torch.profiler does not flush and has no events. */
static void job_collect(void)
{
	pthread_mutex_lock(&lock);
	const bool has_any = buffers_out != 0;
	pthread_mutex_unlock(&lock);
	if (has_any || refuses)
		must(cuptiActivityFlushAll(GP_CUPTI_FLUSH_FORCED) == 0);
	job_read();
}

static const uint32_t job_kinds[] = { GP_CUPTI_MEMCPY, GP_CUPTI_MEMSET, GP_CUPTI_CONCURRENT_KERNEL,
				      5, 4 };

static void job_start(void)
{
	static bool is_registered;
	if (!is_registered)
		must(cuptiActivityRegisterCallbacks(on_request, on_complete) == 0);
	is_registered = true;
	for (unsigned k = 0; k < sizeof job_kinds / sizeof *job_kinds; k++)
		must(cuptiActivityEnable(job_kinds[k]) == 0);
}

static void job_stop(void)
{
	for (unsigned k = 0; k < sizeof job_kinds / sizeof *job_kinds; k++)
		must(cuptiActivityDisable(job_kinds[k]) == 0);
}

/* ---- work ---- */

/* A time span, as correlation ids. */
struct span {
	uint32_t from, to;
};

static void launch(unsigned number)
{
	for (unsigned k = 0; k < number; k++) {
		must(driver.cuLaunchKernel(kernel, 2, 1, 1, 64, 1, 1, 0, NULL, NULL, NULL) == 0);
		if (k % 8 == 0)
			must(set_memory(memory, 0, 4096) == 0);
		if (k % 8 == 1)
			must(driver.cuMemcpyHtoDAsync_v2(memory, &kernel, 4096, NULL) == 0);
	}
}

static struct span work(unsigned number)
{
	struct span span = { fake_cupti_last_correlation() + 1, 0 };
	launch(number);
	span.to = fake_cupti_last_correlation();
	fake_cupti_await();
	return span;
}

static struct span both(struct span first, struct span second)
{
	return (struct span){ first.from, second.to };
}

static unsigned missing_in(const uint8_t *counts, struct span span)
{
	unsigned missing = 0;
	for (uint32_t id = span.from; id <= span.to; id++)
		missing += counts[id] != 1;
	return missing;
}

static unsigned extra_outside(const uint8_t *counts, struct span span)
{
	unsigned extra = 0;
	for (uint32_t id = 0; id < IDS; id++)
		if (id < span.from || id > span.to)
			extra += counts[id];
	return extra;
}

/* The job has exactly the span, each operation once. Forgets them. */
static void job_has(struct span span)
{
	must(span.to >= span.from);
	must(missing_in(seen, span) == 0);
	must(extra_outside(seen, span) == 0);
	for (uint32_t id = span.from; id <= span.to; id++)
		must(calls[id] == 2);
	memset(seen, 0, sizeof seen);
	memset(calls, 0, sizeof calls);
}

static inline void ours_have(struct span span)
{
	for (uint32_t id = span.from; sink && id <= span.to; id++)
		if (sink->seen(id) != 1) {
			fprintf(stderr, "ours saw %u of %u..%u %u times\n", id, span.from, span.to,
				sink->seen(id));
			_exit(70);
		}
}

static inline void ours_are(unsigned long number)
{
	must(!sink || sink->operations() == number);
}

static inline unsigned long length(struct span span)
{
	return span.to - span.from + 1;
}

#endif
