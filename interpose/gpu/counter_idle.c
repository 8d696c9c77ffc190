/*
 * The streams of the process (counter_idle.h). A thread that ends a stream first removes it, then
 * waits for a look, so that no ended stream is queried.
 */
#include "counter_idle.h"

#include <stdatomic.h>
#include <stddef.h>
#include <time.h>

#include "../driver/cuda_api.h"
#include "../hooks/capture.h"

#define STREAMS 512u
#define NAPS 1000u /* of 100 us */
#define REMOVE_NAPS 2000u
#define FILLING 1u /* no handle that the driver returns */

static struct {
	_Atomic uint64_t stream, context; /* stream 0: free */
} idle_streams[STREAMS];
static _Atomic uint32_t idle_used; /* places that ever were */
static _Atomic bool is_looking;

static void idle_nap(void)
{
	nanosleep(&(struct timespec){ .tv_nsec = 100000 }, NULL);
}

void gp_idle_add(uint64_t stream, uint64_t context)
{
	for (uint32_t k = 0; k < STREAMS && stream > (uint64_t)CU_STREAM_PER_THREAD; k++) {
		uint64_t none = 0;
		if (!atomic_compare_exchange_strong(&idle_streams[k].stream, &none, FILLING))
			continue;
		atomic_store(&idle_streams[k].context, context);
		atomic_store(&idle_streams[k].stream, stream);
		for (uint32_t seen = atomic_load(&idle_used);
		     seen <= k && !atomic_compare_exchange_weak(&idle_used, &seen, k + 1);)
			;
		return;
	}
}

void gp_idle_remove(uint64_t stream, uint64_t context)
{
	for (uint32_t k = 0; k < atomic_load(&idle_used); k++) {
		uint64_t seen = atomic_load(&idle_streams[k].stream);
		if (seen > FILLING &&
		    (stream ? seen == stream : atomic_load(&idle_streams[k].context) == context))
			atomic_compare_exchange_strong(&idle_streams[k].stream, &seen, 0);
	}
	/* partner: the store in idle_query, which loads the streams later */
	for (unsigned k = 0; atomic_load(&is_looking); k++, idle_nap())
		if (k == REMOVE_NAPS) /* the look of a thread that a fork or a jump has ended */
			atomic_store(&is_looking, false);
}

static CUresult idle_query_one(uint64_t stream)
{
	return gp_is_capturing() ? CUDA_ERROR_INVALID_VALUE :
				   gp_cuda.cuStreamQuery((CUstream)(uintptr_t)stream);
}

/* The first answer that is not success. */
static CUresult idle_query(uint64_t own, uint64_t context)
{
	CUresult result = idle_query_one(own);
	atomic_store(&is_looking, true);
	for (uint32_t k = 0; k < atomic_load(&idle_used) && result == CUDA_SUCCESS; k++) {
		const uint64_t stream = atomic_load(&idle_streams[k].stream);
		const uint64_t of = atomic_load(&idle_streams[k].context);
		if (stream > FILLING && stream != own && (of == context || of == 0))
			result = idle_query_one(stream);
	}
	atomic_store(&is_looking, false);
	return result;
}

bool gp_idle_await(uint64_t own, uint64_t context)
{
	CUresult result = idle_query(own, context);
	for (unsigned k = 0; result == CUDA_ERROR_NOT_READY && k < NAPS; k++) {
		idle_nap();
		result = idle_query(own, context);
	}
	return result == CUDA_SUCCESS;
}
