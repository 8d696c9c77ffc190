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
static _Atomic uint64_t origins[CAPTURES_KNOWN], owners[CAPTURES_KNOWN];
static _Atomic uint64_t last_owner;
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

static bool place(uint64_t origin)
{
	for (unsigned k = 0; k < CAPTURES_KNOWN; k++) {
		uint64_t none = 0;
		if (atomic_load_explicit(&origins[k], memory_order_relaxed) == 0 &&
		    atomic_compare_exchange_strong(&origins[k], &none, origin))
			return true;
	}
	return false;
}

/* CAPTURES_KNOWN: none began there. */
static unsigned place_of(uint64_t origin)
{
	unsigned k = 0;
	while (k < CAPTURES_KNOWN &&
	       (!origin || atomic_load_explicit(&origins[k], memory_order_relaxed) != origin))
		k++;
	return k;
}

/* False: none began there. */
static bool take_out(uint64_t origin, uint64_t *owner)
{
	const unsigned k = place_of(origin);
	if (k == CAPTURES_KNOWN)
		return false;
	*owner = atomic_exchange(&owners[k], 0);
	atomic_store(&origins[k], 0);
	return true;
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
	else if (!place(origin_of(stream)))
		atomic_fetch_add(&unplaced, 1);
}

static bool take_unplaced(void)
{
	uint32_t seen = atomic_load(&unplaced);
	while (seen != 0 && !atomic_compare_exchange_weak(&unplaced, &seen, seen - 1))
		;
	return seen != 0;
}

uint64_t gp_capture_forget(uint64_t stream)
{
	uint64_t owner = 0;
	if (gp_is_capturing() && take_out(origin_of(stream), &owner))
		atomic_fetch_sub(&gp_captures, 1);
	return owner;
}

uint64_t gp_capture_ended(uint64_t stream, CUresult result)
{
	uint64_t owner = 0;
	switch (result) {
	case CUDA_ERROR_INVALID_VALUE:
	case CUDA_ERROR_INVALID_HANDLE:
	case CUDA_ERROR_STREAM_CAPTURE_UNMATCHED:
	case CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD:
		return 0; /* refused: the capture continues */
	default:
		if (take_out(origin_of(stream), &owner) || take_unplaced())
			atomic_fetch_sub(&gp_captures, 1);
		return owner;
	}
}

uint64_t gp_capture_owner(uint64_t stream)
{
	const unsigned k = place_of(origin_of(stream));
	if (k == CAPTURES_KNOWN)
		return 0;
	uint64_t owner = atomic_load(&owners[k]);
	/* of two threads that allocate at once, the second takes the number of the first */
	if (!owner) {
		const uint64_t next = 2 * atomic_fetch_add(&last_owner, 1) + 1;
		if (atomic_compare_exchange_strong(&owners[k], &owner, next))
			owner = next;
	}
	return owner;
}

void gp_capture_reset(void)
{
	for (unsigned k = 0; k < CAPTURES_KNOWN; k++) {
		atomic_store(&origins[k], 0);
		atomic_store(&owners[k], 0);
	}
	atomic_store(&unplaced, 0);
	atomic_store(&gp_captures, 0);
	atomic_store(&calling, 0);
	atomic_store(&calling_long, 0);
	atomic_store(&overdue, 0);
}
