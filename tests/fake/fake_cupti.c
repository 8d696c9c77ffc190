/*
 * A libcupti.so.13 for machines without a GPU: the activity interface, over the operations of the
 * fake driver. A launch takes a place in the active buffer; a worker thread finishes the operation
 * some time later, and completes full buffers. Flushes complete on the calling thread, as CUPTI
 * does. Misuse that the real one would take badly ends the process: a buffer handed in twice.
 * Environment:
 *
 *   FAKE_CUPTI_VERSION   of the interface (130001); up to 28, records are those of CUDA 12.9
 *   FAKE_CUPTI_HELD      not empty: another tool is subscribed, so each call returns error 39
 *   FAKE_CUPTI_ERRNO     not 0: callbacks must keep errno
 *   FAKE_CUPTI_BYTES     at most so many bytes of each buffer are used
 *   FAKE_CUPTI_NS        duration of an operation (2,000)
 *   FAKE_CUPTI_PERIOD_US completes all buffers that often, as after cuptiActivityFlushPeriod
 *   FAKE_CUPTI_LATE_US   after that time an operation counts as finished (300)
 *
 * Built with -DFAKE_CUPTI_PART it lacks cuptiActivityGetNumDroppedRecords.
 */
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "../../interpose/cupti/cupti_abi.h"
#include "fake_operation.h"
#include "fake_records.h"

enum { INVALID_PARAMETER = 1, INVALID_OPERATION = 7, NOT_COMPATIBLE = 14, INVALID_KIND = 21 };
#define BUFFERS 4096
#define ERRNO 77
#define PLACES 65536 /* operations on their way */

struct buffer {
	uint8_t *start; /* NULL: free place */
	size_t bytes, size, used, records, records_most;
	unsigned unfinished;
	bool is_full, is_leaving;
};

struct place {
	uint8_t *record;
	struct buffer *buffer;
	uint64_t began, ended;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static struct buffer buffers[BUFFERS], *active;
static struct place places[PLACES];
static unsigned places_first, places_used, completing;
static bool enabled[KINDS], has_worker;
static gp_cupti_request *request;
static gp_cupti_complete *complete;
static gp_cupti_time *_Atomic clock_of_job;
static size_t dropped;
static uint32_t correlation;
static uint64_t stream_free_at;
static _Atomic bool has_subscriber;
static _Atomic unsigned long requests, completions;

/* what the tests ask */
unsigned long fake_cupti_buffers(int completed);
bool fake_cupti_is_enabled(int kind);
uint32_t fake_cupti_last_correlation(void);
void fake_cupti_await(void);

unsigned long fake_cupti_buffers(int completed)
{
	return atomic_load(completed ? &completions : &requests);
}

bool fake_cupti_is_enabled(int kind)
{
	return enabled[kind];
}

uint32_t fake_cupti_last_correlation(void)
{
	pthread_mutex_lock(&lock);
	const uint32_t last = correlation;
	pthread_mutex_unlock(&lock);
	return last;
}

/* Returns when all operations have finished. */
void fake_cupti_await(void)
{
	for (unsigned left = 1; left && has_worker; usleep(100)) {
		pthread_mutex_lock(&lock);
		left = places_used;
		pthread_mutex_unlock(&lock);
	}
}

static bool is_held(void)
{
	const char *text = getenv("FAKE_CUPTI_HELD");
	return text && *text;
}

static void fail(const char *what)
{
	fprintf(stderr, "fake CUPTI: %s\n", what);
	abort();
}

static void check_errno(void)
{
	if (errno != ERRNO && setting("FAKE_CUPTI_ERRNO", 0))
		fail("a callback has changed errno");
}

static uint64_t now_ns(void)
{
	struct timespec now;
	gp_cupti_time *own = atomic_load(&clock_of_job);
	if (own)
		return own();
	clock_gettime(CLOCK_REALTIME, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* ---- buffers; the lock is held, and left while a callback runs ---- */

static struct buffer *buffer_request(void)
{
	uint8_t *start = NULL;
	size_t bytes = 0, most = 0;
	pthread_mutex_unlock(&lock);
	errno = ERRNO;
	request(&start, &bytes, &most);
	check_errno();
	pthread_mutex_lock(&lock);
	struct buffer *place = NULL;
	if (!start)
		return NULL;
	for (unsigned k = 0; k < BUFFERS; k++) {
		if (buffers[k].start == start)
			fail("a buffer was handed in that CUPTI already has");
		if (!buffers[k].start && !place)
			place = &buffers[k];
	}
	if (!place)
		fail("more buffers than it can count");
	const size_t limit = setting("FAKE_CUPTI_BYTES", 0);
	*place = (struct buffer){ .start = start,
				  .bytes = bytes,
				  .size = limit && limit < bytes ? limit : bytes,
				  .records_most = most };
	atomic_fetch_add(&requests, 1);
	return place;
}

static bool buffer_fits(const struct buffer *b, size_t bytes)
{
	return b && b->used + bytes <= b->size &&
	       (b->records_most == 0 || b->records < b->records_most);
}

static uint8_t *buffer_place(size_t bytes, struct buffer **where)
{
	if (!buffer_fits(active, bytes)) {
		struct buffer *next = buffer_request();
		if (buffer_fits(active, bytes)) { /* another thread was faster */
			if (next)
				next->is_full = true;
		} else {
			if (active)
				active->is_full = true;
			active = next;
		}
	}
	if (!buffer_fits(active, bytes)) {
		dropped++;
		return NULL;
	}
	uint8_t *record = active->start + active->used;
	active->used += bytes;
	active->records++;
	memset(record, 0, bytes);
	*where = active;
	return record;
}

static void buffer_complete(struct buffer *b)
{
	uint8_t *start = b->start;
	const size_t bytes = b->bytes, used = b->used;
	b->is_leaving = true;
	if (active == b)
		active = NULL;
	completing++;
	b->start = NULL; /* the callback may hand it in again */
	pthread_mutex_unlock(&lock);
	atomic_fetch_add(&completions, 1);
	errno = ERRNO;
	complete(NULL, 0, start, bytes, used);
	check_errno();
	pthread_mutex_lock(&lock);
	completing--;
	pthread_cond_broadcast(&changed);
}

static void buffers_complete(bool is_whole, bool is_forced)
{
	for (unsigned k = 0; k < BUFFERS; k++) {
		struct buffer *b = &buffers[k];
		if (!b->start || (!is_whole && !b->is_full) || (b->unfinished && !is_forced))
			continue;
		for (unsigned n = 0; n < places_used; n++)
			if (places[(places_first + n) % PLACES].buffer == b)
				places[(places_first + n) % PLACES].buffer = NULL;
		buffer_complete(b);
	}
}

/* ---- operations ---- */

static void operations_finish(uint64_t before)
{
	while (places_used && places[places_first].ended <= before) {
		struct place *p = &places[places_first];
		if (p->buffer) {
			PUT(p->record, 16, uint64_t, p->began);
			PUT(p->record, 24, uint64_t, p->ended);
			p->buffer->unfinished--;
		}
		places_first = (places_first + 1) % PLACES;
		places_used--;
	}
}

static void *work(void *unused)
{
	(void)unused;
	const unsigned long period = setting("FAKE_CUPTI_PERIOD_US", 0);
	for (unsigned long us = 200;; us += 200) {
		usleep(200);
		pthread_mutex_lock(&lock);
		operations_finish(now_ns() - setting("FAKE_CUPTI_LATE_US", 300) * 1000);
		if (complete)
			buffers_complete(period && us % period == 0, false);
		pthread_mutex_unlock(&lock);
	}
	return NULL;
}

static void record_call(uint32_t kind, uint32_t id)
{
	struct buffer *buffer;
	uint8_t *r = enabled[kind] ? buffer_place(record_bytes(kind), &buffer) : NULL;
	if (!r)
		return;
	PUT(r, 0, uint32_t, kind);
	PUT(r, 8, uint64_t, now_ns());
	PUT(r, 16, uint64_t, now_ns());
	PUT(r, 32, uint32_t, id);
}

static void record_operation(const struct fake_operation *o, unsigned node, uint32_t id)
{
	const uint32_t kind = o->kind == GP_CUPTI_CONCURRENT_KERNEL && enabled[GP_CUPTI_KERNEL] ?
				      (uint32_t)GP_CUPTI_KERNEL :
				      o->kind;
	struct buffer *buffer;
	uint8_t *r = enabled[kind] ? buffer_place(record_bytes(kind), &buffer) : NULL;
	const uint64_t now = now_ns();
	if (!r)
		return;
	if (places_used == PLACES) /* the worker has got no processor */
		operations_finish(UINT64_MAX);
	PUT(r, 0, uint32_t, kind);
	if (o->kind == GP_CUPTI_CONCURRENT_KERNEL)
		fill_kernel(r, o, node, id);
	else
		fill_copy(r, o, id);
	struct place *p = &places[(places_first + places_used++) % PLACES];
	p->record = r;
	p->buffer = buffer;
	p->began = now > stream_free_at ? now : stream_free_at;
	p->ended = stream_free_at = p->began + setting("FAKE_CUPTI_NS", 2000);
	buffer->unfinished++;
}

static void await_work(void)
{
	pthread_mutex_lock(&lock);
	const uint64_t now = now_ns(), until = stream_free_at;
	pthread_mutex_unlock(&lock);
	const uint64_t ns = until > now && until - now < 1000000000 ? until - now : 0;
	nanosleep(&(struct timespec){ 0, (long)ns }, NULL);
}

static void observe(const struct fake_operation *operation)
{
	if (operation->kind == 0) {
		await_work();
		return;
	}
	pthread_mutex_lock(&lock);
	const uint32_t id = ++correlation; /* a request for a buffer leaves the lock */
	if (request) {
		record_call(KIND_DRIVER, id);
		record_call(KIND_RUNTIME, id);
		for (unsigned k = 0; k < (operation->nodes ? operation->nodes : 1); k++)
			record_operation(operation, k, id);
	}
	pthread_mutex_unlock(&lock);
}

/* ---- CUPTI's functions ---- */

uint32_t cuptiGetVersion(uint32_t *version);
uint32_t cuptiGetTimestamp(uint64_t *now);
uint32_t cuptiActivityGetAttribute(int attribute, size_t *bytes, void *value);
uint32_t cuptiActivityRegisterCallbacks(gp_cupti_request *r, gp_cupti_complete *c);
uint32_t cuptiActivityRegisterTimestampCallback(gp_cupti_time *function);
uint32_t cuptiActivityEnable(uint32_t kind);
uint32_t cuptiActivityEnableAndDump(uint32_t kind);
uint32_t cuptiActivityEnableContext(void *context, uint32_t kind);
uint32_t cuptiActivityDisable(uint32_t kind);
uint32_t cuptiActivityDisableContext(void *context, uint32_t kind);
uint32_t cuptiActivityFlush(void *context, uint32_t stream, uint32_t flag);
uint32_t cuptiActivityFlushAll(uint32_t flag);
uint32_t cuptiActivityGetNumDroppedRecords(void *context, uint32_t stream, size_t *number);
uint32_t cuptiActivityGetNextRecord(uint8_t *buffer, size_t valid, void **record);
uint32_t cuptiFinalize(void);
uint32_t cuptiSubscribe(void **subscriber, void *callback, void *data);
uint32_t cuptiUnsubscribe(void *subscriber);

uint32_t cuptiGetVersion(uint32_t *version)
{
	*version = (uint32_t)setting("FAKE_CUPTI_VERSION", 130001);
	return GP_CUPTI_SUCCESS;
}

/* the defaults of the real one */
uint32_t cuptiActivityGetAttribute(int attribute, size_t *bytes, void *value)
{
	const size_t number = attribute == 0 ? 3200000 : attribute == 6 ? 3 : 0;
	if (attribute == 8 && *bytes == 1)
		*(uint8_t *)value = 0;
	else if (*bytes == sizeof number && number)
		memcpy(value, &number, sizeof number);
	else
		return INVALID_PARAMETER;
	return GP_CUPTI_SUCCESS;
}

uint32_t cuptiGetTimestamp(uint64_t *now)
{
	*now = now_ns();
	return GP_CUPTI_SUCCESS;
}

/* Three buffers of two pages each in a context, as the real one. */
static void memory_take(size_t bytes)
{
	void *driver = dlopen("libcuda.so.1", RTLD_NOLOAD | RTLD_LAZY);
	_Atomic size_t *taken = driver ? dlsym(driver, "fake_cuda_tool_bytes") : NULL;
	if (taken)
		atomic_store(taken, bytes);
}

uint32_t cuptiActivityRegisterCallbacks(gp_cupti_request *r, gp_cupti_complete *c)
{
	if (!r || !c)
		return INVALID_PARAMETER;
	if (is_held())
		return GP_CUPTI_MULTIPLE_SUBSCRIBERS;
	pthread_mutex_lock(&lock);
	request = r;
	complete = c;
	pthread_mutex_unlock(&lock);
	memory_take(12 << 20);
	return GP_CUPTI_SUCCESS;
}

/* Records that are in buffers lose their times, as with the real one. */
static void times_lose(void)
{
	for (unsigned n = 0; n < places_used; n++)
		places[(places_first + n) % PLACES].began =
			places[(places_first + n) % PLACES].ended = 0;
	for (unsigned k = 0; k < BUFFERS; k++)
		for (size_t at = 0; buffers[k].start && at < buffers[k].used;) {
			uint32_t kind;
			memcpy(&kind, buffers[k].start + at, sizeof kind);
			if (kind != KIND_DRIVER && kind != KIND_RUNTIME)
				memset(buffers[k].start + at + 16, 0, 16);
			at += record_bytes(kind);
		}
}

uint32_t cuptiActivityRegisterTimestampCallback(gp_cupti_time *function)
{
	pthread_mutex_lock(&lock);
	times_lose();
	clock_of_job = function;
	stream_free_at = 0; /* of the other clock */
	pthread_mutex_unlock(&lock);
	return function ? GP_CUPTI_SUCCESS : INVALID_PARAMETER;
}

static void start_work(void)
{
	void *driver = dlopen("libcuda.so.1", RTLD_NOLOAD | RTLD_LAZY);
	fake_observer *_Atomic *observer = driver ? dlsym(driver, "fake_cuda_observer") : NULL;
	pthread_t thread;
	if (observer)
		atomic_store(observer, observe);
	if (!has_worker && pthread_create(&thread, NULL, work, NULL) == 0) {
		has_worker = true;
		pthread_detach(thread);
	}
}

/* for a job that awaits it */
extern _Atomic uint32_t fake_cupti_enables;
_Atomic uint32_t fake_cupti_enables;

uint32_t cuptiActivityEnable(uint32_t kind)
{
	const uint32_t other = kind == GP_CUPTI_KERNEL		  ? GP_CUPTI_CONCURRENT_KERNEL :
			       kind == GP_CUPTI_CONCURRENT_KERNEL ? GP_CUPTI_KERNEL :
								    0;
	if (kind >= KINDS)
		return INVALID_KIND;
	if (is_held())
		return GP_CUPTI_MULTIPLE_SUBSCRIBERS;
	pthread_mutex_lock(&lock);
	const bool is_refused = other && enabled[other];
	if (!is_refused)
		enabled[kind] = true;
	start_work();
	pthread_mutex_unlock(&lock);
	fake_cupti_enables += kind == GP_CUPTI_CONCURRENT_KERNEL;
	return is_refused ? NOT_COMPATIBLE : GP_CUPTI_SUCCESS;
}

uint32_t cuptiActivityEnableAndDump(uint32_t kind)
{
	return cuptiActivityEnable(kind);
}

uint32_t cuptiActivityEnableContext(void *context, uint32_t kind)
{
	return context ? cuptiActivityEnable(kind) : INVALID_PARAMETER;
}

uint32_t cuptiActivityDisable(uint32_t kind)
{
	if (kind >= KINDS)
		return INVALID_KIND;
	pthread_mutex_lock(&lock);
	enabled[kind] = false;
	pthread_mutex_unlock(&lock);
	return GP_CUPTI_SUCCESS;
}

uint32_t cuptiActivityDisableContext(void *context, uint32_t kind)
{
	return context ? cuptiActivityDisable(kind) : INVALID_PARAMETER;
}

uint32_t cuptiActivityFlushAll(uint32_t flag)
{
	pthread_mutex_lock(&lock);
	const bool is_possible = complete != NULL;
	operations_finish(now_ns() - setting("FAKE_CUPTI_LATE_US", 300) * 1000);
	if (is_possible)
		buffers_complete(true, flag & GP_CUPTI_FLUSH_FORCED);
	while (completing) /* also by other threads: their records are out when this returns */
		pthread_cond_wait(&changed, &lock);
	pthread_mutex_unlock(&lock);
	return is_possible ? GP_CUPTI_SUCCESS : INVALID_OPERATION;
}

uint32_t cuptiActivityFlush(void *context, uint32_t stream, uint32_t flag)
{
	(void)context, (void)stream;
	return cuptiActivityFlushAll(flag);
}

#ifndef FAKE_CUPTI_PART
uint32_t cuptiActivityGetNumDroppedRecords(void *context, uint32_t stream, size_t *number)
{
	(void)context, (void)stream;
	if (!number)
		return INVALID_PARAMETER;
	pthread_mutex_lock(&lock);
	*number = dropped;
	dropped = 0;
	pthread_mutex_unlock(&lock);
	return GP_CUPTI_SUCCESS;
}
#endif

/* A record without its kind or its size is not finished. */
uint32_t cuptiActivityGetNextRecord(uint8_t *buffer, size_t valid, void **record)
{
	uint32_t kind;
	uint8_t *next = buffer;
	if (!buffer || !record)
		return INVALID_PARAMETER;
	if (*record) {
		memcpy(&kind, *record, sizeof kind);
		next = (uint8_t *)*record + record_bytes(kind);
	}
	if (next >= buffer + valid)
		return GP_CUPTI_LIMIT_REACHED;
	memcpy(&kind, next, sizeof kind);
	if (record_bytes(kind) == 0)
		return INVALID_KIND;
	*record = next;
	return GP_CUPTI_SUCCESS;
}

/* In fake_profiler.c, which a CUPTI without the range profiler lacks. */
void fake_profiler_finalize(void) __attribute__((weak));

uint32_t cuptiFinalize(void)
{
	if (fake_profiler_finalize)
		fake_profiler_finalize();
	cuptiActivityFlushAll(GP_CUPTI_FLUSH_FORCED);
	memory_take(0);
	pthread_mutex_lock(&lock);
	memset(enabled, 0, sizeof enabled);
	request = NULL;
	complete = NULL;
	atomic_store(&has_subscriber, false);
	pthread_mutex_unlock(&lock);
	return GP_CUPTI_SUCCESS;
}

uint32_t cuptiSubscribe(void **subscriber, void *callback, void *data)
{
	(void)callback, (void)data;
	if (is_held() || atomic_exchange(&has_subscriber, true))
		return GP_CUPTI_MULTIPLE_SUBSCRIBERS;
	*subscriber = &has_subscriber;
	return GP_CUPTI_SUCCESS;
}

uint32_t cuptiUnsubscribe(void *subscriber)
{
	if (subscriber != &has_subscriber)
		return INVALID_PARAMETER;
	atomic_store(&has_subscriber, false);
	return GP_CUPTI_SUCCESS;
}
