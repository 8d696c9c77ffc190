/*
 * Captures in progress. The count is raised before the driver's begin and lowered after its end, so
 * that it is never too low. It may be too high for a while, which only postpones a call of the
 * driver.
 */
#include "capture.h"

#include <errno.h>
#include <sched.h>
#include <time.h>

#include "../../libgpuprof/record/record.h"

#define CAPTURES_KNOWN 64u
#define WAIT_TURNS 10000u
#define LONG_TURN_NS 200000

_Atomic uint32_t gp_captures GP_HOT_DATA;
static _Atomic uint32_t calling, calling_long;
/* Calls for which a capture waited in vain. A longjmp may have skipped their end. */
static _Atomic uint32_t overdue;
static _Atomic uint64_t origins[CAPTURES_KNOWN];
static _Atomic uint32_t unplaced; /* captures without a place in `origins` */

bool gp_calls_begin(void)
{
	atomic_fetch_add(&calling, 1);
	/*
	 * partner: the sequentially consistent add in gp_capture_begin: at least one side sees the
	 * other
	 */
	if (atomic_load(&gp_captures) == 0)
		return true;
	gp_calls_end();
	return false;
}

void gp_calls_end(void)
{
	const uint32_t left = atomic_fetch_sub(&calling, 1) - 1;
	uint32_t seen = atomic_load(&overdue);
	if (gp_unlikely(seen > left)) /* one of the overdue calls returned */
		atomic_compare_exchange_strong(&overdue, &seen, left);
}

void gp_calls_are_long(bool are)
{
	if (are)
		atomic_fetch_add(&calling_long, 1);
	else
		atomic_fetch_sub(&calling_long, 1);
}

/* Each thread has its own default stream behind the same per-thread handle. */
static uint64_t origin_of(uint64_t stream)
{
	if (stream == (uint64_t)CU_STREAM_PER_THREAD)
		return (uint64_t)&gp_thread | 1;
	return stream;
}

static bool replace(uint64_t from, uint64_t to)
{
	for (unsigned k = 0; k < CAPTURES_KNOWN; k++) {
		uint64_t seen = from;
		if (atomic_load_explicit(&origins[k], memory_order_relaxed) == from &&
		    atomic_compare_exchange_strong(&origins[k], &seen, to))
			return true;
	}
	return false;
}

void gp_capture_begin(void)
{
	atomic_fetch_add(&gp_captures, 1);
	/*
	 * Our calls are short. The wait is bounded, so that a call that never returns cannot hang
	 * the job. Only one capture waits in vain for such a call.
	 */
	const int kept = errno;
	unsigned turn = 0;
	for (; atomic_load(&calling) > atomic_load(&overdue) && turn < WAIT_TURNS; turn++)
		if (atomic_load(&calling_long))
			nanosleep(&(struct timespec){ .tv_nsec = LONG_TURN_NS }, NULL);
		else
			sched_yield();
	errno = kept;
	if (turn == WAIT_TURNS)
		atomic_store(&overdue, atomic_load(&calling));
}

void gp_capture_began(uint64_t stream, CUresult result)
{
	if (result != CUDA_SUCCESS)
		atomic_fetch_sub(&gp_captures, 1);
	else if (!replace(0, origin_of(stream)))
		atomic_fetch_add(&unplaced, 1);
}

static bool take_unplaced(void)
{
	uint32_t seen = atomic_load(&unplaced);
	while (seen != 0 && !atomic_compare_exchange_weak(&unplaced, &seen, seen - 1))
		;
	return seen != 0;
}

void gp_capture_forget(uint64_t stream)
{
	if (gp_is_capturing() && replace(origin_of(stream), 0))
		atomic_fetch_sub(&gp_captures, 1);
}

void gp_capture_ended(uint64_t stream, CUresult result)
{
	switch (result) {
	case CUDA_ERROR_INVALID_VALUE:
	case CUDA_ERROR_INVALID_HANDLE:
	case CUDA_ERROR_STREAM_CAPTURE_UNMATCHED:
	case CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD:
		return; /* refused: the capture continues */
	default:
		if (replace(origin_of(stream), 0) || take_unplaced())
			atomic_fetch_sub(&gp_captures, 1);
	}
}

bool gp_is_captured(uint64_t stream)
{
	uint64_t origin = origin_of(stream);
	for (unsigned k = 0; k < CAPTURES_KNOWN && origin; k++)
		if (atomic_load_explicit(&origins[k], memory_order_relaxed) == origin)
			return true;
	return false;
}

void gp_capture_reset(void)
{
	for (unsigned k = 0; k < CAPTURES_KNOWN; k++)
		atomic_store(&origins[k], 0);
	atomic_store(&unplaced, 0);
	atomic_store(&gp_captures, 0);
	atomic_store(&calling, 0);
	atomic_store(&calling_long, 0);
	atomic_store(&overdue, 0);
}
