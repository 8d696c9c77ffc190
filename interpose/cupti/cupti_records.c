/* Completed buffers: records are copied for the job, and handed to the sink (cupti_records.h). */
#include "cupti_records.h"

#include <errno.h>
#include <stdatomic.h>
#include <string.h>

#include "cupti_buffers.h"
#include "cupti_clock.h"
#include "cupti_collect.h"
#include "cupti_job.h"
#include "cupti_kinds.h"
#include "cupti_process.h"

/* kernel_began(record) and so on */
#define FIELD(record, type, name, theirs, at)                             \
	static inline type record##_##name(const void *bytes)             \
	{                                                                 \
		type value;                                               \
		memcpy(&value, (const char *)bytes + (at), sizeof value); \
		return value;                                             \
	}
#include "cupti_layout.def"
#undef FIELD

static _Atomic size_t dropped, lost;
static _Atomic bool is_over;
static _Atomic unsigned flushes;     /* in progress */
static _Atomic unsigned own_flushes; /* of these, by the collecting thread */
#define OWN_FLUSH_MOST_MS 5000u	     /* so that a deadlock ends */
#define OWN_FLUSH_NAP_US 100u
#define RECORD_MOST 4096u /* less room than this: full */
#define DRAIN_TURNS 11u

/* ---- one record ---- */

static struct gp_gpu_kernel records_kernel(const void *r)
{
	return (struct gp_gpu_kernel){
		.name = (const char *)(uintptr_t)kernel_name(r),
		.began_ns = kernel_began(r),
		.ended_ns = kernel_ended(r),
		.node = kernel_node(r),
		.correlation = kernel_correlation(r),
		.stream = kernel_stream(r),
		.context = kernel_context(r),
		.device = kernel_device(r),
		.grid = { kernel_grid_x(r), kernel_grid_y(r), kernel_grid_z(r) },
		.block = { kernel_block_x(r), kernel_block_y(r), kernel_block_z(r) },
		.static_shared = kernel_static_shared(r),
		.dynamic_shared = kernel_dynamic_shared(r),
		.registers = kernel_registers(r),
		.local_bytes = kernel_local_bytes(r),
	};
}

static uint32_t records_what(uint32_t kind, uint32_t from, uint32_t to, uint32_t flags,
			     uint64_t node)
{
	return kind | from << 8 | (to & 0xff) << 16 |
	       (flags & GP_CUPTI_ASYNC ? (uint32_t)GP_GPU_ASYNC : 0) |
	       (node ? (uint32_t)GP_GPU_IN_GRAPH : 0);
}

#define COPIED(record, r, what_kind, what_from)                                               \
	(struct gp_gpu_copied)                                                                \
	{                                                                                     \
		.began_ns = record##_began(r), .ended_ns = record##_ended(r),                 \
		.bytes = record##_bytes(r), .correlation = record##_correlation(r),           \
		.stream = record##_stream(r), .context = record##_context(r),                 \
		.device = record##_device(r),                                                 \
		.what = records_what(what_kind, what_from, record##_to(r), record##_flags(r), \
				     record##_node(r)),                                       \
	}

/*
 * Converts the times of an operation for us. False: it is not for us, or it has no times: CUPTI had
 * no memory for them, or the job has flushed by force before its end.
 */
static bool records_convert(const struct gp_cupti_scale *scale, uint64_t *began, uint64_t *ended)
{
	const bool has_times = *began && *ended;
	*began = gp_cupti_scale_ns(scale, *began);
	*ended = gp_cupti_scale_ns(scale, *ended);
	if (!gp_cupti_is_for_us(*began, *ended))
		return false;
	if (*began && *ended >= *began)
		return true;
	/* a time between both clocks, when the job has just changed them */
	atomic_fetch_add(has_times ? &lost : &dropped, 1);
	return false;
}

static void records_hand(const struct gp_cupti_scale *scale, const void *r, uint32_t kind)
{
	struct gp_gpu_copied copied = { 0 };
	struct gp_gpu_kernel kernel = { 0 };
	switch (kind) {
	case GP_CUPTI_CONCURRENT_KERNEL:
	case GP_CUPTI_KERNEL:
		kernel = records_kernel(r);
		if (records_convert(scale, &kernel.began_ns, &kernel.ended_ns))
			gp_cupti_sink->kernel(&kernel);
		return;
	case GP_CUPTI_MEMCPY:
		copied = COPIED(memcpy, r, memcpy_what(r), memcpy_from(r));
		break;
	case GP_CUPTI_MEMCPY2:
		copied = COPIED(peer, r, peer_what(r), peer_from(r));
		break;
	case GP_CUPTI_MEMSET:
		copied = COPIED(memset, r, GP_GPU_SET, 0);
		break;
	default:
		return;
	}
	if (records_convert(scale, &copied.began_ns, &copied.ended_ns))
		gp_cupti_sink->copy(&copied);
}

/* 0: a record without a time */
static uint64_t records_ended(const void *r, uint32_t kind)
{
	switch (kind) {
	case GP_CUPTI_CONCURRENT_KERNEL:
	case GP_CUPTI_KERNEL:
		return kernel_ended(r);
	case GP_CUPTI_MEMCPY:
	case GP_CUPTI_MEMCPY2:
	case GP_CUPTI_MEMSET:
		return memcpy_ended(r);
	default:
		return 0;
	}
}

/* ---- one buffer ---- */

/*
 * A record ends where the next one begins, so sizes need no table. The last one ends with the
 * buffer. If unfinished records follow it, they are copied with it, as CUPTI would deliver them.
 */
static void records_copy(const struct gp_cupti *cupti, uint8_t *buffer, size_t valid, bool is_early)
{
	struct gp_cupti_desk *desk = gp_cupti_job_begin();
	const struct gp_cupti_scale scale = gp_cupti_scale_get(cupti);
	void *record = NULL;
	uint32_t result = cupti->cuptiActivityGetNextRecord(buffer, valid, &record);
	while (result == GP_CUPTI_SUCCESS) {
		const uint8_t *const start = record;
		const uint32_t kind = kernel_kind(start);
		result = cupti->cuptiActivityGetNextRecord(buffer, valid, &record);
		const bool has_next = result == GP_CUPTI_SUCCESS;
		const uint8_t *const end = has_next ? record : buffer + valid;
		if (!gp_cupti_is_for_job(kind,
					 gp_cupti_scale_ns(&scale, records_ended(start, kind))))
			continue;
		if (desk)
			gp_cupti_job_copy(desk, start, (size_t)(end - start),
					  !has_next && result != GP_CUPTI_LIMIT_REACHED);
		else
			gp_cupti_job_dropped(1);
	}
	if (desk && is_early)
		gp_cupti_job_hand_over(desk);
	if (desk)
		gp_cupti_job_end(desk);
}

/* Operations in a buffer that are for us. */
static uint64_t records_count(const struct gp_cupti *cupti, const struct gp_cupti_scale *scale,
			      uint8_t *buffer, size_t valid)
{
	uint64_t count = 0;
	void *record = NULL;
	while (cupti->cuptiActivityGetNextRecord(buffer, valid, &record) == GP_CUPTI_SUCCESS) {
		const uint64_t ended = records_ended(record, kernel_kind(record));
		count += ended && gp_cupti_is_for_us(gp_cupti_scale_ns(scale, ended),
						     gp_cupti_scale_ns(scale, ended));
	}
	return count;
}

struct completed {
	const struct gp_cupti *cupti;
	struct gp_cupti_scale scale;
	uint8_t *buffer;
	size_t valid;
};

static void records_hand_each(void *context)
{
	const struct completed *c = context;
	void *record = NULL;
	while (c->cupti->cuptiActivityGetNextRecord(c->buffer, c->valid, &record) ==
	       GP_CUPTI_SUCCESS)
		records_hand(&c->scale, record, kernel_kind(record));
}

static void records_hand_all(const struct gp_cupti *cupti, uint8_t *buffer, size_t valid)
{
	struct completed completed = { cupti, gp_cupti_scale_get(cupti), buffer, valid };
	if (!atomic_load(&is_over) && gp_cupti_sink->record(records_hand_each, &completed))
		return;
	if (gp_cupti_sink->is_recording()) /* else they are not part of the recording */
		gp_cupti_sink->lost(records_count(cupti, &completed.scale, buffer, valid));
}

static void records_tell_dropped(const struct gp_cupti *cupti)
{
	size_t number = 0;
	if (cupti->cuptiActivityGetNumDroppedRecords(NULL, 0, &number) == GP_CUPTI_SUCCESS &&
	    number) {
		if (gp_cupti_job_collects())
			gp_cupti_job_dropped(number);
		gp_cupti_count_dropped(number);
	}
	number = atomic_load(&is_over) ? 0 : atomic_exchange(&dropped, 0);
	if (number)
		gp_cupti_sink->state(GP_GPU_TIME_DROPPED, number, 0);
	number = atomic_load(&is_over) ? 0 : atomic_exchange(&lost, 0);
	if (number)
		gp_cupti_sink->lost(number);
}

/* ---- CUPTI's callbacks ---- */

void gp_cupti_on_request(uint8_t **buffer, size_t *bytes, size_t *records_most)
{
	*buffer = gp_cupti_is_attached() ? gp_cupti_buffer_take(gp_cupti_job_collects()) : NULL;
	*bytes = *buffer ? GP_CUPTI_BUFFER_BYTES : 0;
	*records_most = 0;
}

/* While the process ends, the job's buffers and callbacks may be gone, unless it flushes itself. */
static bool is_too_late_for_job(void)
{
	return gp_cupti_is_ending() && atomic_load(&flushes) == atomic_load(&own_flushes);
}

void gp_cupti_on_complete(void *context, uint32_t stream, uint8_t *buffer, size_t bytes,
			  size_t valid)
{
	const struct gp_cupti *cupti = gp_cupti_found();
	const int error = errno;
	const bool is_early = !atomic_load(&flushes) && valid + RECORD_MOST < bytes;
	(void)context, (void)stream;
	if (!gp_cupti_is_attached() || !gp_cupti_buffer_is_ours(buffer))
		return;
	if (cupti && valid) {
		/* first the job, which may wait for its records in a flush */
		if (gp_cupti_job_is_registered() && !is_too_late_for_job())
			records_copy(cupti, buffer, valid, is_early);
		records_hand_all(cupti, buffer, valid);
	}
	gp_cupti_buffer_give(buffer, valid);
	if (cupti) {
		records_tell_dropped(cupti);
		gp_cupti_tell_clock(cupti);
	}
	errno = error;
}

uint32_t gp_cupti_flush_all(const struct gp_cupti *cupti, uint32_t flag)
{
	atomic_fetch_add(&flushes, 1);
	const uint32_t result = cupti->cuptiActivityFlushAll(flag);
	atomic_fetch_sub(&flushes, 1);
	return result;
}

uint32_t gp_cupti_flush_own(const struct gp_cupti *cupti, uint32_t flag)
{
	atomic_fetch_add(&own_flushes, 1);
	const uint32_t result = gp_cupti_flush_all(cupti, flag);
	atomic_fetch_sub(&own_flushes, 1);
	return result;
}

void gp_cupti_drain(const struct gp_cupti *cupti, uint32_t nap_us)
{
	for (unsigned k = 0; k < DRAIN_TURNS && gp_cupti_buffers_out(); k++) {
		if (k != 0)
			gp_cupti_sleep(nap_us);
		gp_cupti_flush_own(cupti, 0);
	}
	if (gp_cupti_buffers_out() && !gp_cupti_job_awaits())
		gp_cupti_flush_own(cupti, GP_CUPTI_FLUSH_FORCED);
}

void gp_cupti_await_own_flush(void)
{
	const uint64_t until = gp_cupti_now_ms() + OWN_FLUSH_MOST_MS;
	while (atomic_load(&own_flushes) && !gp_cupti_job_is_called() && gp_cupti_now_ms() < until)
		gp_cupti_sleep(OWN_FLUSH_NAP_US);
}

void gp_cupti_tell_clock(const struct gp_cupti *cupti)
{
	if (atomic_load(&is_over))
		return;
	const uint64_t before = gp_cupti_sink->now(), gpu_ns = gp_cupti_clock(cupti),
		       after = gp_cupti_sink->now();
	gp_cupti_sink->clock(gpu_ns, before, after);
}

void gp_cupti_count_dropped(size_t number)
{
	atomic_fetch_add(&dropped, number);
}

void gp_cupti_records_end(void)
{
	atomic_store(&is_over, true);
}
